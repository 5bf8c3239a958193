//! The decision on one resource of one container: the target of `[CLBP] (4.18)` and `(4.19)`, held to the
//! bounds around it.
//!
//! Where the bounds leave no amount, nothing is changed: a container that has just used more than its
//! owner allows is not cut, and one that would have to move by more than a step in one is not moved.

use super::bounds::{Bound, Bounds, Ends};
use super::cpu_memory::TunedResource;
use super::samples::Samples;
use super::target::{Elasticity, Trend, target};
use crate::units::Amount;

/// A request and a limit, each where it is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Values {
    pub request: Option<Amount>,
    pub limit: Option<Amount>,
}

/// One resource of a container, with what is known of its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Container {
    pub resource: TunedResource,
    pub current: Values,
    /// True in a Pod of the class Guaranteed, where the request moves with the limit.
    pub guaranteed: bool,
    /// True where an autoscaler counts replicas by its request, which then stays.
    pub scaled_by: bool,
    /// The memory that it holds now; of cpu there is none.
    pub working_set: Option<Amount>,
    pub bounds: Bounds,
}

/// What a container is to be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub trend: Trend,
    /// H.
    pub target: Amount,
    /// What the container is to have; it differs from what it has.
    pub values: Values,
    /// The bound that moved the limit away from the target.
    pub limited_by: Option<Bound>,
}

/// Why a container stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unchanged {
    #[error("it has no limit, and none is added")]
    NoLimit,
    #[error("there are fewer than five samples of it")]
    FewSamples,
    #[error("what it uses is within 5 % of before")]
    Steady,
    #[error("an autoscaler counts by its request, which would move with its limit")]
    ScaledByRequest,
    #[error("what is wanted is what it has")]
    AsWanted,
    #[error("no limit is at least {} and at most {}", .0[0].words(), .0[1].words())]
    Contradiction([Bound; 2]),
}

impl Unchanged {
    /// The cause in one word.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoLimit => "NoLimit",
            Self::FewSamples => "FewSamples",
            Self::Steady => "Steady",
            Self::ScaledByRequest => "ScaledByRequest",
            Self::AsWanted => "AsWanted",
            Self::Contradiction(_) => "Contradiction",
        }
    }
}

/// The request and limit that a container is to be given.
///
/// # Errors
/// It stays as it is, and why.
pub fn decide(
    container: &Container,
    samples: Option<&Samples>,
    elasticity: Elasticity,
) -> Result<Decision, Unchanged> {
    let current = container.current.limit.ok_or(Unchanged::NoLimit)?;
    let samples = samples.ok_or(Unchanged::FewSamples)?;
    if container.guaranteed && container.scaled_by {
        return Err(Unchanged::ScaledByRequest);
    }
    let trend = Trend::within(samples, current);
    let wanted = target(samples, trend, elasticity).ok_or(Unchanged::Steady)?;
    let ends = ends(container, samples, current);
    let (limit, limited_by) = ends.clamp(wanted).map_err(Unchanged::Contradiction)?;
    let limit = container.resource.rounded(limit, ends.highest());
    let values = Values {
        limit: Some(limit),
        request: if container.guaranteed {
            container.current.request.map(|_| limit)
        } else {
            container.current.request
        },
    };
    if values == container.current {
        return Err(Unchanged::AsWanted);
    }
    Ok(Decision {
        trend,
        target: wanted,
        values,
        limited_by,
    })
}

fn ends(container: &Container, samples: &Samples, current: Amount) -> Ends {
    let Bounds {
        allowed,
        limit_range,
        quota_limits,
        quota_requests,
        node,
    } = container.bounds;
    let mut ends = Ends::default();
    ends.at_least(above(samples.highest(), 5), Bound::HighestSample);
    if let Some(held) = container.working_set {
        ends.at_least(above(held, 10), Bound::WorkingSet);
    }
    if let Some(request) = container.current.request.filter(|_| !container.guaranteed) {
        ends.at_least(request, Bound::Request);
    }
    for (range, lower, upper) in [
        (allowed, Bound::MinAllowed, Bound::MaxAllowed),
        (limit_range, Bound::LimitRange, Bound::LimitRange),
    ] {
        if let Some(least) = range.least {
            ends.at_least(least, lower);
        }
        if let Some(most) = range.most {
            ends.at_most(most, upper);
        }
    }
    let quota = if container.guaranteed {
        [quota_limits, quota_requests].into_iter().flatten().min()
    } else {
        quota_limits
    };
    if let Some(left) = quota {
        ends.at_most(current.saturating_add(left), Bound::Quota);
    }
    if let Some(left) = node {
        ends.at_most(
            within_node(container, samples, current, left),
            Bound::NodeHeadroom,
        );
    }
    let half = current.get() / 2;
    ends.at_least(Amount::new(current.get() - half), Bound::Step);
    ends.at_most(Amount::new(current.get().saturating_add(half)), Bound::Step);
    ends
}

/// The highest limit that the node can carry: of a Pod of the class Guaranteed its request is set aside
/// anew, others may come to use what is left beside what they use. What it has it may keep.
fn within_node(container: &Container, samples: &Samples, current: Amount, left: Amount) -> Amount {
    if container.guaranteed {
        current.saturating_add(left)
    } else {
        samples.newest().saturating_add(left).max(current)
    }
}

/// So many hundredths above an amount, rounded up.
fn above(amount: Amount, percent: u64) -> Amount {
    let more = u128::from(amount.get()) * u128::from(100 + percent);
    Amount::new(u64::try_from(more.div_ceil(100)).unwrap_or(u64::MAX))
}
