//! From what the providers ask for to the count that a target is to have, within its bounds.

use std::cmp::Ordering;

use super::merge::MergedOutcomes;
use crate::scaling::bounds::ReplicaBounds;
use crate::scaling::limit::LimitedBy;

/// The count that a target is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundedReplicas {
    pub replicas: i32,
    /// The rule that kept it from what the providers ask for.
    pub limited_by: Option<LimitedBy>,
}

impl MergedOutcomes {
    /// The count within the user's `bounds` for a target with `current` replicas online. If no provider
    /// asks for a count, or it may not be lowered yet, the current one stays, as far as the bounds allow.
    #[must_use]
    pub fn target(&self, current: i32, bounds: ReplicaBounds) -> BoundedReplicas {
        let Some(asked) = &self.asked else {
            return BoundedReplicas {
                replicas: bounds.clamp(current),
                limited_by: Some(LimitedBy::MissingData),
            };
        };
        let kept = self.keeps_until.filter(|_| asked.replicas < current);
        let wanted = if kept.is_some() {
            current
        } else {
            asked.replicas
        };
        let replicas = bounds.clamp(wanted);
        let by_bounds = match replicas.cmp(&wanted) {
            Ordering::Less => Some(LimitedBy::MaxReplicas(bounds.max())),
            Ordering::Greater => Some(LimitedBy::MinReplicas(bounds.min())),
            Ordering::Equal => None,
        };
        BoundedReplicas {
            replicas,
            limited_by: by_bounds.or(kept.map(|until| LimitedBy::FailedPortrait { until })),
        }
    }
}
