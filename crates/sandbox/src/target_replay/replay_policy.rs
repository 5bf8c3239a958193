//! The ways of scaling that a replay compares.

use evenkeel_objects::risk::Risk;
use evenkeel_units::Ratio;
use jiff::SignedDuration;

use super::seasonal_rule::SeasonalRule;
use super::settings::{Floors, ReplayTarget};

/// Number of targets of the plain HPA on a frontier.
const TARGETS: u8 = 9;
/// Lowest target, as a share of the target's own.
const LOWEST: f64 = 2.0 / 3.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReplayPolicy {
    /// An HPA alone, with this target.
    Hpa { target: Ratio },
    /// An HPA at its own target, with floors.
    Evenkeel(Floors),
    /// An HPA at its own target, with a seasonal rule as its second metric.
    Rule(SeasonalRule),
}

impl ReplayPolicy {
    /// The plain HPA at targets from its own down to two thirds of it, in whole percentages like an
    /// HPA's, and `floors` at several risks.
    #[must_use]
    pub fn frontier(target: &ReplayTarget, floors: Floors) -> Vec<Self> {
        let own = target.capacity.target();
        let lower = (1..TARGETS).map(|index| {
            let share = f64::from(index) / f64::from(TARGETS - 1);
            own * (1.0 - share * (1.0 - LOWEST))
        });
        // Halves go up, also if the product of floats lies just below.
        let lower = lower.map(|share| (share * 100.0 + 1e-9).round() / 100.0);
        let mut shares: Vec<f64> = [own].into_iter().chain(lower).collect();
        // For a small target, several are the same percentage, or its own target, or zero.
        shares.dedup_by(|next, kept| *next >= *kept);
        let ratios = shares
            .into_iter()
            .filter_map(|share| Ratio::share(share).ok());
        let plain = ratios.map(|target| Self::Hpa { target });
        let floored = Risk::FRONTIER.map(|risk| Self::Evenkeel(Floors { risk, ..floors }));
        plain.chain(floored).collect()
    }

    /// The seasonal rules whose season is no longer than `past`, the time before a load is judged.
    #[must_use]
    pub fn rules(past: SignedDuration) -> Vec<Self> {
        SeasonalRule::within(past).map(Self::Rule).collect()
    }

    #[must_use]
    pub const fn rule(self) -> Option<SeasonalRule> {
        match self {
            Self::Rule(rule) => Some(rule),
            Self::Hpa { .. } | Self::Evenkeel(_) => None,
        }
    }

    pub(super) const fn share(self, target: &ReplayTarget) -> f64 {
        match self {
            Self::Hpa { target: share } => share.get(),
            Self::Evenkeel(_) | Self::Rule(_) => target.capacity.target(),
        }
    }
}
