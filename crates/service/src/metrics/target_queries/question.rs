//! The traits of a question, and of the sources that answer it.

use std::fmt;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::metrics::cache::RefreshError;
use crate::metrics::query_queue::QueueKey;

/// An endpoint that answers questions, with a lane of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TargetQueryEndpoint {
    /// The name in metrics.
    pub name: &'static str,
    /// Questions under way at once that are known to be answered soon.
    pub at_once: usize,
}

/// A question of one target; equal ones are one question. Its lane is its endpoint in `RESPONDENTS`,
/// its tenant the target's namespace.
pub trait TargetQuery: QueueKey + fmt::Debug + Send + Sync + 'static {
    /// The use that a target has for the answer; it does not tell questions apart.
    type Purpose: Purpose;
    type Answer: Send + Sync + 'static;
    type Error: RefreshError;

    /// All endpoints.
    const RESPONDENTS: &'static [TargetQueryEndpoint];
    /// The memory for answers, in bytes.
    const MEMORY: u64;

    /// Removes the parts of an answer that no target has a purpose for.
    fn cut(answer: &mut Self::Answer, purpose: Option<&Self::Purpose>);

    /// The memory that the question takes with its answer, in bytes.
    fn bytes(&self, answer: Option<&Self::Answer>) -> usize;
}

/// The purposes of all targets that share a question.
pub trait Purpose: Clone + Send + Sync + 'static {
    /// Adds that of one more target.
    fn join(&mut self, other: &Self);
}

/// Something that answers questions.
#[async_trait]
pub trait TargetQuerySource<Q: TargetQuery>: Send + Sync {
    /// The answer to a question of the time `now`.
    ///
    /// # Errors
    /// There is none.
    async fn fetch(
        &self,
        question: &Q,
        purpose: Option<&Q::Purpose>,
        now: Timestamp,
    ) -> Result<Q::Answer, Q::Error>;

    /// The span before its time that an answer is made of, where it does not tell.
    fn look_back(&self, _question: &Q) -> SignedDuration {
        SignedDuration::ZERO
    }
}
