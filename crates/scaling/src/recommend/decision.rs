//! The outcome of one tick: a number of replicas, the reason in words, and the rule that limited it.

use jiff::Timestamp;

use super::decision_basis::DecisionBasis;
use crate::limits::LimitedBy;

/// The replicas that a target is to have, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalingDecision {
    /// The replicas; in mode floor, the `minReplicas`.
    pub replicas: i32,
    /// The reason, in words for the user.
    pub reason: String,
    /// The rule that kept the replicas from what the load asks for.
    pub limited_by: Option<LimitedBy>,
    /// The extent of what was known when the decision was taken.
    pub grounds: DecisionBasis,
}

impl ScalingDecision {
    /// True where the replicas are left to another writer.
    pub(crate) const fn is_contested(&self) -> bool {
        matches!(self.limited_by, Some(LimitedBy::Contested { .. }))
    }
}

/// A raised `minReplicas`, for a limited time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    pub replicas: i32,
    /// When the floor lapses unless it is renewed.
    pub until: Timestamp,
}

impl Floor {
    /// The higher of two floors; of equal ones the one that stands for longer.
    pub(crate) fn higher(self, other: Self) -> Self {
        if (other.replicas, other.until) > (self.replicas, self.until) {
            other
        } else {
            self
        }
    }
}
