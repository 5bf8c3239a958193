//! The question of a check, and what of its answer is kept.

use std::sync::Arc;

use evenkeel_scaling::external_checks::{ChangeAsked, CheckQuestion, StepCheckAnswer};

use super::error::CheckError;
use crate::metrics::cache::RefreshError;
use crate::metrics::query_queue::QueueKey;
use crate::metrics::target_queries::{Purpose, TargetQuery, TargetQueryEndpoint};

/// The memory of an answer with its question beside the config, in bytes.
const OVERHEAD: usize = 2048;

impl Purpose for ChangeAsked {
    fn join(&mut self, other: &Self) {
        // A check has one change.
        self.clone_from(other);
    }
}

impl QueueKey for CheckQuestion {
    fn tenant(&self) -> Option<&Arc<str>> {
        Some(&self.namespace)
    }
}

impl TargetQuery for CheckQuestion {
    type Purpose = ChangeAsked;
    type Answer = StepCheckAnswer;
    type Error = CheckError;

    const RESPONDENTS: &'static [TargetQueryEndpoint] = &[TargetQueryEndpoint {
        name: "externalCheck",
        at_once: 16,
    }];

    /// Some four thousand changes under way at once.
    const MEMORY: u64 = 16 * 1024 * 1024;

    fn cut(_: &mut StepCheckAnswer, _: Option<&ChangeAsked>) {}

    fn bytes(&self, answer: Option<&StepCheckAnswer>) -> usize {
        let config = self.asked.config.iter();
        let config: usize = config.map(|(key, value)| key.len() + value.len()).sum();
        OVERHEAD + config + answer.map_or(0, |answered| answered.answer.message.len())
    }
}

impl RefreshError for CheckError {
    fn timeout() -> Self {
        Self::Timeout
    }

    fn aborted() -> Self {
        Self::Aborted
    }

    fn reason(&self) -> &'static str {
        Self::reason(self)
    }
}
