//! The decision on one resource of one container: the target of `[CLBP] (4.18)` and `(4.19)`,
//! within its bounds. If the bounds leave no amount, nothing changes: a container that has just
//! used more than its owner allows is not cut. [`LimitStepRange`] limits how far the limit moves at
//! once.

use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::request_and_limit::RequestAndLimit;

use super::bounds::{ABOVE_HELD, ABOVE_SAMPLE, Bound, Ends, TuningBounds, above, kept};
use super::limit_step::LimitStepRange;
use super::samples::MinuteSamples;
use super::target::{Elasticity, Trend, is_held, target};

/// One resource of a container, with what is known of its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TuningInput {
    pub resource: TunedResource,
    pub current: RequestAndLimit,
    /// The limit at creation, if it was changed since.
    pub original: Option<Amount>,
    /// Killed for lack of memory: its original limit is then its least.
    pub was_killed: bool,
    /// In a Guaranteed Pod the request moves with the limit.
    pub guaranteed: bool,
    /// An autoscaler counts replicas by its request, which then stays.
    pub scaled_by: bool,
    /// Held memory; `None` for cpu.
    pub working_set: Option<Amount>,
    pub bounds: TuningBounds,
}

impl TuningInput {
    /// The original limit, as far as its owner still allows it.
    fn made_with(&self, current: Amount) -> Amount {
        let original = self.original.unwrap_or(current);
        let most = self.bounds.allowed.most;
        most.map_or(original, |most| most.min(original))
    }

    /// The recent use, or the held memory if larger, each with its margin.
    fn needed(&self, samples: &MinuteSamples) -> Amount {
        let held = self.working_set.unwrap_or_default();
        above(samples.highest(), ABOVE_SAMPLE).max(above(held, ABOVE_HELD))
    }

    /// If the limit held it below its original limit for all samples, it gets the original back,
    /// because its need cannot be seen. A limit outside of its owner's bounds moves inside, even at
    /// steady use.
    fn wanted(
        &self,
        samples: &MinuteSamples,
        current: Amount,
        elasticity: Elasticity,
    ) -> Option<Amount> {
        let wanted = target(samples, Trend::within(samples, current), elasticity);
        if is_held(samples, current) {
            return Some(wanted.unwrap_or_default().max(self.made_with(current)));
        }
        wanted.or_else(|| self.bounds.allowed.excludes(current).then_some(current))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TuningDecision {
    pub trend: Trend,
    /// H of `[CLBP] (4.18)`.
    pub target: Amount,
    /// Different from the present values.
    pub values: RequestAndLimit,
    /// The bound that moved the limit away from the target.
    pub limited_by: Option<Bound>,
}

/// Why a container stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TuningSkipReason {
    #[error("it has no limit, and none is added")]
    NoLimit,
    #[error("it has fewer than five samples")]
    FewSamples,
    #[error("its use has changed by 5 % or less")]
    Steady,
    #[error("an autoscaler scales by its request, which would change with its limit")]
    ScaledByRequest,
    #[error("it already has the recommended amount")]
    AsWanted,
    #[error("no limit is possible: at least {}, and at most {}", .0[0].words(), .0[1].words())]
    Contradiction([Bound; 2]),
}

impl TuningSkipReason {
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

/// The new request and limit.
///
/// # Errors
/// It stays as it is, and why.
pub fn decide(
    container: &TuningInput,
    samples: Option<&MinuteSamples>,
    elasticity: Elasticity,
) -> Result<TuningDecision, TuningSkipReason> {
    let current = container.current.limit.ok_or(TuningSkipReason::NoLimit)?;
    let samples = samples.ok_or(TuningSkipReason::FewSamples)?;
    if container.guaranteed && container.scaled_by {
        return Err(TuningSkipReason::ScaledByRequest);
    }
    let wanted = container.wanted(samples, current, elasticity);
    let wanted = wanted.ok_or(TuningSkipReason::Steady)?;
    let ends = ends(container, samples, current);
    let (goal, limited_by) = ends
        .clamp(wanted)
        .map_err(TuningSkipReason::Contradiction)?;
    let step = step(container, samples, current);
    let limit = step.towards(goal);
    let limited_by = if limit == goal {
        limited_by
    } else {
        Some(Bound::Step)
    };
    if container.bounds.limit_range.excludes(limit) {
        // The API server accepts nothing outside of it, on the way either.
        return Err(TuningSkipReason::Contradiction([
            Bound::Step,
            Bound::LimitRange,
        ]));
    }
    let most = ends.highest().map_or(step.most, |most| most.min(step.most));
    let limit = container.resource.rounded(limit, Some(most.max(limit)));
    let values = RequestAndLimit {
        limit: Some(limit),
        request: if container.guaranteed {
            container.current.request.map(|_| limit)
        } else {
            container.current.request
        },
    };
    if values == container.current {
        return Err(TuningSkipReason::AsWanted);
    }
    Ok(TuningDecision {
        trend: Trend::within(samples, current),
        target: wanted,
        values,
        limited_by,
    })
}

fn ends(container: &TuningInput, samples: &MinuteSamples, current: Amount) -> Ends {
    let TuningBounds {
        allowed,
        limit_range,
        quota_limits,
        quota_requests,
        node,
    } = container.bounds;
    let mut ends = Ends::default();
    ends.at_least(above(samples.highest(), ABOVE_SAMPLE), Bound::HighestSample);
    if let Some(held) = container.working_set {
        ends.at_least(above(held, ABOVE_HELD), Bound::WorkingSet);
    }
    let made_with = container.made_with(current);
    ends.at_least(kept(container.resource, made_with), Bound::Kept);
    if container.was_killed {
        ends.at_least(made_with, Bound::MadeWith);
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
    ends
}

/// How far the limit may move at once. Just used amounts and a restored original limit are no
/// guesses, so they come at once.
fn step(container: &TuningInput, samples: &MinuteSamples, current: Amount) -> LimitStepRange {
    let mut step = LimitStepRange::around(current);
    step.reach(container.needed(samples));
    if container.was_killed || is_held(samples, current) {
        step.reach(container.made_with(current));
    }
    step
}

/// The highest limit that the node can carry, at least the present one. A Guaranteed Pod's request
/// is set aside anew; other Pods may use what is free beside their use.
fn within_node(
    container: &TuningInput,
    samples: &MinuteSamples,
    current: Amount,
    left: Amount,
) -> Amount {
    if container.guaranteed {
        current.saturating_add(left)
    } else {
        samples.newest().saturating_add(left).max(current)
    }
}
