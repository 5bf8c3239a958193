//! The bounds of a limit, by name.

use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::{Amount, words};

/// Above the highest sample, in percent of it.
pub(super) const ABOVE_SAMPLE: u64 = 5;
/// Above the held memory, in percent of it.
pub(super) const ABOVE_HELD: u64 = 10;
/// The least cpu limit that kubelet enforces, in millicores: below it, use does not show the need.
pub(super) const LEAST_CPU: Amount = Amount::new(10);
/// A container keeps a tenth of its original limit, however little it uses, to get through the
/// minutes until its next turn.
pub(super) const KEPT: u64 = 10;

words! {
    pub enum Bound {
        /// The highest sample of the window plus 5 %.
        HighestSample = "highestSample",
        /// The held memory plus 10 %.
        WorkingSet = "workingSet",
        /// The request, which no limit may be below.
        Request = "request",
        MinAllowed = "minAllowed",
        MaxAllowed = "maxAllowed",
        LimitRange = "limitRange",
        Quota = "quota",
        /// The amount that the node can still give under the headroom rule.
        NodeHeadroom = "nodeHeadroom",
        /// 50 % up or down in one step.
        Step = "step",
        /// A tenth of the original limit, and for cpu what kubelet can enforce.
        Kept = "kept",
        /// More than the limit at which it was throttled.
        Throttled = "throttled",
        /// The original limit, because the container was killed.
        MadeWith = "madeWith",
        /// More than the limit at which it was killed.
        OomKilled = "oomKilled",
    }
}

impl Bound {
    /// After "held by".
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Range {
    pub least: Option<Amount>,
    pub most: Option<Amount>,
}

impl Range {
    pub fn excludes(&self, amount: Amount) -> bool {
        let Self { least, most } = *self;
        least.is_some_and(|least| amount < least) || most.is_some_and(|most| amount > most)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TuningBounds {
    /// `minAllowed` and `maxAllowed` of its owner.
    pub allowed: Range,
    /// The limits that the LimitRanges of its namespace leave.
    pub limit_range: Range,
    /// By how much its limit may still grow.
    pub quota_limits: Option<Amount>,
    /// By how much its request may still grow.
    pub quota_requests: Option<Amount>,
    /// The amount that its node can still give under the headroom rule.
    pub node: Option<Amount>,
}

/// The tightest lower and upper bound of a limit, with their names.
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

    /// The amount nearest to `wanted` within the ends, and the bound that moved it.
    ///
    /// # Errors
    /// The two bounds that leave no amount.
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

    pub(super) fn highest(&self) -> Option<Amount> {
        self.most.map(|(most, _)| most)
    }
}

/// The least limit after `made_with`, the original one.
pub(super) fn kept(resource: TunedResource, made_with: Amount) -> Amount {
    let share = Amount::new(made_with.get() / KEPT);
    match resource {
        TunedResource::Cpu => share.max(LEAST_CPU.min(made_with)),
        TunedResource::Memory => share,
    }
}

/// Above the highest use, with the bound's name.
pub(super) fn above_use(resource: TunedResource, used: Amount) -> (Amount, Bound) {
    match resource {
        TunedResource::Cpu => (above(used, ABOVE_SAMPLE), Bound::HighestSample),
        TunedResource::Memory => (above(used, ABOVE_HELD), Bound::WorkingSet),
    }
}

/// Rounded up.
pub(super) fn above(amount: Amount, percent: u64) -> Amount {
    let more = u128::from(amount.get()) * u128::from(100 + percent);
    Amount::new(u64::try_from(more.div_ceil(100)).unwrap_or(u64::MAX))
}
