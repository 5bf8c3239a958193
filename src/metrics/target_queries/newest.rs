//! The newest answers to the questions of a tick.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use super::question::TargetQuery;
use crate::metrics::cache::{CachedValue, FailedRefresh, RefreshError};

/// The state of one question.
#[derive(Debug)]
pub struct CachedAnswer<A, E> {
    /// The newest answer, however old.
    pub answer: Option<CachedValue<A>>,
    /// The last attempt to get a newer one, where it failed.
    pub failed: Option<FailedRefresh<E>>,
    /// The span before its time that an answer is made of, where it does not tell.
    pub look_back: SignedDuration,
}

impl<A, E: RefreshError> CachedAnswer<A, E> {
    /// Why the last attempt to get a newer answer failed.
    #[must_use]
    pub fn error(&self) -> Option<&E> {
        self.failed.as_ref().map(|failed| &*failed.error)
    }

    /// When it was last asked, if the answer was empty. An empty answer is no value to scale by,
    /// but it is still an answer.
    #[must_use]
    pub fn empty_at(&self) -> Option<Timestamp> {
        let failed = self.failed.as_ref();
        let empty = failed.filter(|failed| failed.error.is_empty());
        empty.map(|empty| empty.attempted_at)
    }
}

impl<A, E> Default for CachedAnswer<A, E> {
    fn default() -> Self {
        Self {
            answer: None,
            failed: None,
            look_back: SignedDuration::ZERO,
        }
    }
}

impl<A, E> Clone for CachedAnswer<A, E> {
    fn clone(&self) -> Self {
        Self {
            answer: self.answer.clone(),
            failed: self.failed.clone(),
            look_back: self.look_back,
        }
    }
}

/// The newest answers by question; of questions that were wanted before.
pub type LatestAnswers<Q> =
    HashMap<Q, CachedAnswer<<Q as TargetQuery>::Answer, <Q as TargetQuery>::Error>>;
