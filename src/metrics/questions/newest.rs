//! The newest answers to the questions of a tick.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::question::Question;
use crate::metrics::cache::{Entry, Failed, Failure};

/// The state of one question.
#[derive(Debug)]
pub struct Known<A, E> {
    /// The newest answer, however old.
    pub answer: Option<Entry<A>>,
    /// The last attempt to get a newer one, where it failed.
    pub failed: Option<Failed<E>>,
    /// The span before its time that an answer is made of, where it does not tell.
    pub look_back: SignedDuration,
}

impl<A, E: Failure> Known<A, E> {
    /// Why the last attempt to get a newer answer failed.
    #[must_use]
    pub fn error(&self) -> Option<&E> {
        self.failed.as_ref().map(|failed| &*failed.error)
    }

    /// When it was last asked, where there was nothing in the answer. That is no value to scale by, but it is not
    /// that nobody answered.
    #[must_use]
    pub fn empty_at(&self) -> Option<Timestamp> {
        let failed = self.failed.as_ref();
        let empty = failed.filter(|failed| failed.error.is_empty());
        empty.map(|empty| empty.attempted_at)
    }
}

impl<A, E> Default for Known<A, E> {
    fn default() -> Self {
        Self {
            answer: None,
            failed: None,
            look_back: SignedDuration::ZERO,
        }
    }
}

impl<A, E> Clone for Known<A, E> {
    fn clone(&self) -> Self {
        Self {
            answer: self.answer.clone(),
            failed: self.failed.clone(),
            look_back: self.look_back,
        }
    }
}

/// The newest answers by question.
pub struct Newest<Q: Question>(HashMap<Q, Known<Q::Answer, Q::Error>>);

impl<Q: Question> Default for Newest<Q> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<Q: Question> Clone for Newest<Q> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<Q: Question> Newest<Q> {
    /// The state of a question; `None` for one that was not wanted before.
    #[must_use]
    pub fn get(&self, question: &Q) -> Option<&Known<Q::Answer, Q::Error>> {
        self.0.get(question)
    }
}

impl<Q: Question> FromIterator<(Q, Known<Q::Answer, Q::Error>)> for Newest<Q> {
    fn from_iter<I: IntoIterator<Item = (Q, Known<Q::Answer, Q::Error>)>>(known: I) -> Self {
        Self(known.into_iter().collect())
    }
}
