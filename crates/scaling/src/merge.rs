//! The one merge of all recommendations for a target: the bounds within which others scale it, the count that
//! holds, and the providers that were not heard. The order and repetitions of the recommendations do not matter.

pub mod recommendation;

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use evenkeel_objects::bounds::{ObjectBounds, ReplicaBounds};
use jiff::{SignedDuration, Timestamp};

use self::recommendation::{Ask, Provider, Recommendation, Unavailable};
use crate::limits::LimitedBy;

/// The time for which a failing provider keeps the others from lowering the count: the HPA's
/// default window for scaling in. A provider that fails for longer counts as absent.
const GRACE: SignedDuration = SignedDuration::from_mins(5);

/// The count that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedRecommendation {
    /// The provider that asks for it; of several that ask for the same, the first by name.
    pub by: Provider,
    pub priority: i32,
    pub replicas: i32,
    /// The moment until which the provider is known to ask for it.
    pub until: Option<Timestamp>,
}

/// All recommendations together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedRecommendations {
    pub bounds: ObjectBounds,
    /// The count that holds; `None` if no provider asks for one.
    pub asked: Option<SelectedRecommendation>,
    /// The providers that have failed or expired, by name.
    pub unheard: Vec<Recommendation>,
    /// The moment until which the count is not to be lowered: one that could say more has failed lately.
    pub keeps_until: Option<Timestamp>,
}

/// The count that a target is to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundedReplicas {
    pub replicas: i32,
    /// The rule that kept it from what the providers ask for.
    pub limited_by: Option<LimitedBy>,
}

/// The bounds of an object and the count of a target at `now`, from the bounds of the `user` and all
/// recommendations that have not ended.
///
/// The maximum is the largest of the user's and the recommended ones. A minimum of priority 1 or
/// more replaces the user's; one of priority 0 raises it. Neither exceeds the maximum: the user may
/// have lowered it, and the API server refuses crossed bounds. Bounds without recommendations stay as
/// the user set them, crossed or not.
///
/// Of several counts the one with the highest priority holds, and of equal priorities the larger one.
/// A failed provider with at least that priority may be about to ask for more. For [a
/// while](MergedRecommendations::keeps_until) the count is not lowered without it.
pub fn merge<'a>(
    user: ObjectBounds,
    all: impl IntoIterator<Item = &'a Recommendation>,
    now: Timestamp,
) -> MergedRecommendations {
    let mut max = user.max;
    let (mut base, mut floor, mut best) = (None, None, None);
    let mut unheard = BTreeMap::new();
    for one in all {
        match one.ask {
            Ask::Unavailable(Unavailable::Absent) => {}
            Ask::Unavailable(_) => {
                unheard.insert(&one.by, one);
            }
            Ask::AtLeast { .. } | Ask::Exactly(_) if !one.counts(now) => {}
            Ask::AtLeast { min, max: most } => {
                max = max.max(most.unwrap_or(max));
                if one.replaces() {
                    base = base.max(min.map(|min| (one.priority, min)));
                } else {
                    floor = floor.max(min);
                }
            }
            Ask::Exactly(replicas) => {
                let rank = (one.priority, replicas, Reverse(&one.by), one.end());
                best = best.max(Some(rank));
            }
        }
    }
    let base = base.map(|(_, min)| min).or(user.min);
    let min = base.max(floor.map(|floor: i32| floor.min(max)));
    let changed = ObjectBounds { min, max };
    let asked = best.map(
        |(priority, replicas, Reverse(by), until)| SelectedRecommendation {
            by: by.clone(),
            priority,
            replicas,
            until: Some(until).filter(|until| *until < Timestamp::MAX),
        },
    );
    MergedRecommendations {
        bounds: if changed == user {
            user
        } else {
            changed.with_min_within_max()
        },
        keeps_until: keeps_until(unheard.values().copied(), asked.as_ref(), now),
        unheard: unheard.into_values().cloned().collect(),
        asked,
    }
}

/// The end of the grace of those that have failed and could ask for more than what holds.
fn keeps_until<'a>(
    unheard: impl Iterator<Item = &'a Recommendation>,
    asked: Option<&SelectedRecommendation>,
    now: Timestamp,
) -> Option<Timestamp> {
    let could_speak =
        |one: &&Recommendation| asked.is_none_or(|asked| asked.priority <= one.priority);
    let ends = unheard.filter(could_speak).filter_map(|one| match one.ask {
        Ask::Unavailable(Unavailable::Failed { since, .. }) => since.checked_add(GRACE).ok(),
        _ => None,
    });
    ends.max().filter(|end| now < *end)
}

impl MergedRecommendations {
    /// The count within the user's `bounds` for a target with `current` replicas online. If no provider
    /// asks for a count, or it may not be lowered yet, the current one stays, as far as the bounds allow.
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
