//! The bounds of a limit, each with its name: what a decision may not go below or above.

use std::fmt;

use super::cpu_memory::TunedResource;
use crate::units::Amount;

/// The margin of a limit above the highest sample, in percent of that sample.
pub(super) const ABOVE_SAMPLE: u64 = 5;
/// The margin of a memory limit above the held memory, in percent of that memory.
pub(super) const ABOVE_HELD: u64 = 10;
/// The least cpu limit that kubelet enforces, in millicores: below it use tells nothing of what is wanted.
pub(super) const LEAST_CPU: Amount = Amount::new(10);
/// The share of what a container was made with that it keeps, in parts of it, however little it uses: one
/// that is called for again has to get through the minutes until its next turn.
const KEPT: u64 = 10;

/// A rule that a limit is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bound {
    /// The highest sample of the window, and a twentieth above it.
    HighestSample,
    /// The memory that is held now, and a tenth above it.
    WorkingSet,
    /// The request, which no limit may be below.
    Request,
    /// The least that the user allows.
    MinAllowed,
    /// The most that the user allows.
    MaxAllowed,
    /// A LimitRange of the namespace.
    LimitRange,
    /// A ResourceQuota of the namespace.
    Quota,
    /// The amount that the node can still give under the headroom rule.
    NodeHeadroom,
    /// Half as much again or half as much in one step.
    Step,
    /// A tenth of what it was made with, and of cpu what kubelet can enforce.
    Kept,
    /// More than the limit at which it was throttled.
    Throttled,
    /// The limit that it was made with, because it was killed.
    MadeWith,
    /// More than the limit at which it was killed.
    OomKilled,
}

impl Bound {
    /// The name in conditions, metrics and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HighestSample => "highestSample",
            Self::WorkingSet => "workingSet",
            Self::Request => "request",
            Self::MinAllowed => "minAllowed",
            Self::MaxAllowed => "maxAllowed",
            Self::LimitRange => "limitRange",
            Self::Quota => "quota",
            Self::NodeHeadroom => "nodeHeadroom",
            Self::Step => "step",
            Self::Kept => "kept",
            Self::MadeWith => "madeWith",
            Self::Throttled => "throttled",
            Self::OomKilled => "oomKilled",
        }
    }

    /// The rule in words, after "held by".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::HighestSample => "5 % above its highest sample",
            Self::WorkingSet => "10 % above its working set",
            Self::Request => "its request",
            Self::MinAllowed => "its evenkeel.dev/min-allowed",
            Self::MaxAllowed => "its evenkeel.dev/max-allowed",
            Self::LimitRange => "a LimitRange",
            Self::Quota => "a ResourceQuota",
            Self::NodeHeadroom => "the headroom of its node",
            Self::Step => "a step of half",
            Self::Kept => "a tenth of its original amount, and 10m of cpu",
            Self::MadeWith => "its original amount, because it was OOM-killed",
            Self::Throttled => "one step λ above the limit at which it was throttled",
            Self::OomKilled => "one step λ above the limit at which it was OOM-killed",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A least and a most, each where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    pub least: Option<Amount>,
    pub most: Option<Amount>,
}

impl Range {
    /// True for an amount that is not within it.
    #[must_use]
    pub fn excludes(&self, amount: Amount) -> bool {
        let Self { least, most } = *self;
        least.is_some_and(|least| amount < least) || most.is_some_and(|most| amount > most)
    }
}

/// The bounds around one resource of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TuningBounds {
    /// `minAllowed` and `maxAllowed` of its owner.
    pub allowed: Range,
    /// The limits that the LimitRanges of its namespace leave.
    pub limit_range: Range,
    /// The amount by which its limit may still grow under the quotas of its namespace.
    pub quota_limits: Option<Amount>,
    /// The amount by which its request may still grow under them.
    pub quota_requests: Option<Amount>,
    /// The amount that its node can still give under the rule of headroom.
    pub node: Option<Amount>,
}

/// The lower and upper ends that a limit has to stay within, the tightest of each with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Ends {
    least: Option<(Amount, Bound)>,
    most: Option<(Amount, Bound)>,
}

impl Ends {
    pub(super) fn at_least(&mut self, amount: Amount, bound: Bound) {
        if self.least.is_none_or(|(least, _)| amount > least) {
            self.least = Some((amount, bound));
        }
    }

    pub(super) fn at_most(&mut self, amount: Amount, bound: Bound) {
        if self.most.is_none_or(|(most, _)| amount < most) {
            self.most = Some((amount, bound));
        }
    }

    /// The amount nearest to `wanted` within the ends, and the one that moved it.
    ///
    /// # Errors
    /// No amount is within them: the two that leave none.
    pub(super) fn clamp(&self, wanted: Amount) -> Result<(Amount, Option<Bound>), [Bound; 2]> {
        if let (Some((least, lower)), Some((most, upper))) = (self.least, self.most)
            && least > most
        {
            return Err([lower, upper]);
        }
        Ok(match (self.least, self.most) {
            (Some((least, bound)), _) if wanted < least => (least, Some(bound)),
            (_, Some((most, bound))) if wanted > most => (most, Some(bound)),
            _ => (wanted, None),
        })
    }

    /// The highest amount within the ends.
    pub(super) fn highest(&self) -> Option<Amount> {
        self.most.map(|(most, _)| most)
    }
}

/// The least that a limit may come down to from what its container was made with.
pub(super) fn kept(resource: TunedResource, made_with: Amount) -> Amount {
    let share = Amount::new(made_with.get() / KEPT);
    match resource {
        TunedResource::Cpu => share.max(LEAST_CPU.min(made_with)),
        TunedResource::Memory => share,
    }
}

/// The least that the highest use of a resource leaves, with the bound that it is.
pub(super) fn above_use(resource: TunedResource, used: Amount) -> (Amount, Bound) {
    match resource {
        TunedResource::Cpu => (above(used, ABOVE_SAMPLE), Bound::HighestSample),
        TunedResource::Memory => (above(used, ABOVE_HELD), Bound::WorkingSet),
    }
}

/// So many hundredths above an amount, rounded up.
pub(super) fn above(amount: Amount, percent: u64) -> Amount {
    let more = u128::from(amount.get()) * u128::from(100 + percent);
    Amount::new(u64::try_from(more.div_ceil(100)).unwrap_or(u64::MAX))
}
