//! How much of each history is replayed: less for more HPAs, so that hundreds of them take minutes.

use clap::ValueEnum;
use evenkeel_forecast::ModelSet;
use evenkeel_sandbox::target_replay::{Floors, ReplayPolicy, ReplayTarget, SeasonalRule};
use jiff::SignedDuration;
use serde::Serialize;

use crate::forecast::replay::own_models::OwnPast;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// The depth of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "camelCase")]
pub(super) enum Depth {
    /// The last three days, nine targets, five risks and six seasonal rules
    Whole,
    /// The last day, five targets, three risks and six rules; trees are not fitted again on the data
    /// that they were judged by
    Shorter,
    /// The same with three targets, the default risk, and yesterday and last week times 1.0
    Shortest,
}

impl Depth {
    pub(super) const fn of(loads: usize) -> Self {
        match loads {
            0..=40 => Self::Whole,
            41..=120 => Self::Shorter,
            _ => Self::Shortest,
        }
    }

    pub(super) const fn judged(self) -> SignedDuration {
        match self {
            Self::Whole => SignedDuration::from_hours(72),
            Self::Shorter | Self::Shortest => DAY,
        }
    }

    /// The number of targets and of risks.
    const fn policies_of_each_kind(self) -> (usize, usize) {
        match self {
            Self::Whole => (9, 5),
            Self::Shorter => (5, 3),
            Self::Shortest => (3, 1),
        }
    }

    /// How what lies before the judged time is learnt from.
    pub(super) fn own_past(self) -> OwnPast {
        match self {
            Self::Whole => OwnPast::default(),
            Self::Shorter | Self::Shortest => OwnPast::quick(),
        }
    }

    /// The policies to replay: the plain HPA at its own target first, then at others down to two
    /// thirds of it; floors at risks around the default; seasonal rules for a load with so long a `past`.
    pub(super) fn policies(self, target: &ReplayTarget, past: SignedDuration) -> Vec<ReplayPolicy> {
        let all = ReplayPolicy::frontier(target, Floors::by(ModelSet::Auto));
        let (plain, floors): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|policy| matches!(policy, ReplayPolicy::Hpa { .. }));
        let (targets, risks) = self.policies_of_each_kind();
        let mut chosen = spread(&plain, targets);
        let default = floors.iter().position(
            |policy| matches!(policy, ReplayPolicy::Evenkeel(floors) if floors.is_at_default_risk()),
        );
        let around = default.unwrap_or(0).saturating_sub(risks / 2);
        chosen.extend(floors.into_iter().skip(around).take(risks));
        let is_replayed = |rule: SeasonalRule| self != Self::Shortest || rule.is_plain();
        let rules = ReplayPolicy::rules(past).into_iter();
        chosen.extend(rules.filter(|policy| policy.rule().is_some_and(is_replayed)));
        chosen
    }

    /// The limits of a depth below `Whole`, in words; `None` for `Whole`.
    pub(super) fn told(self, loads: usize) -> Option<String> {
        let (targets, risks) = self.policies_of_each_kind();
        let risks = match risks {
            1 => "one risk and two rules".to_owned(),
            risks => format!("{risks} risks and six rules"),
        };
        let word = if loads == 1 { "load" } else { "loads" };
        (self != Self::Whole).then(|| {
            format!(
                "{loads} {word}: only the last day of each is judged, at {targets} targets, \
                 {risks}, with trees that have not learnt from the two days before; --depth whole \
                 judges the last three days at 9 targets, 5 risks and six rules, and takes some seconds for \
                 each load"
            )
        })
    }
}

/// At most so many of `all`, evenly from the first to the last.
fn spread<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    if all.len() <= most || most < 2 {
        return all.to_vec();
    }
    let places = (0..most).map(|index| index * (all.len() - 1) / (most - 1));
    places.filter_map(|place| all.get(place).copied()).collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::bounds::ReplicaBounds;
    use evenkeel_sandbox::scrape_timing::Timing;
    use evenkeel_sandbox::target_replay::Edges;
    use evenkeel_scaling::load::hpa_aware::PodCapacity;
    use evenkeel_units::{Ratio, Resource};

    use super::*;

    #[test]
    fn each_depth_has_the_own_target_the_lowest_one_and_the_default_risk() {
        let target = ReplayTarget {
            resource: Resource::Cpu,
            capacity: PodCapacity::new(500.0, Ratio::new(0.6).unwrap()).unwrap(),
            bounds: ReplicaBounds::new(2, 30).unwrap(),
            start_up: SignedDuration::from_secs(60),
            metrics: Timing::default(),
            edges: Edges::default(),
            initial: None,
        };
        let week = SignedDuration::from_hours(7 * 24);
        for (loads, targets, risks, past, rules) in [
            (40, 9, 5, week, 6),
            (40, 9, 5, DAY, 3),
            (41, 5, 3, week, 6),
            (120, 5, 3, DAY / 2, 0),
            (500, 3, 1, week, 2),
        ] {
            let policies = Depth::of(loads).policies(&target, past);
            let plain: Vec<f64> = policies
                .iter()
                .filter_map(|policy| match policy {
                    ReplayPolicy::Hpa { target } => Some((target.get() * 100.0).round()),
                    ReplayPolicy::Evenkeel(_) | ReplayPolicy::Rule(_) => None,
                })
                .collect();
            assert_eq!(
                (plain.len(), policies.len()),
                (targets, targets + risks + rules)
            );
            assert_eq!((plain[0], plain[targets - 1]), (60.0, 40.0), "{loads}");
            let default = |policy: &&ReplayPolicy| matches!(policy, ReplayPolicy::Evenkeel(floors) if floors.is_at_default_risk());
            assert_eq!(policies.iter().filter(default).count(), 1, "{loads}");
        }
        assert_eq!(Depth::of(3).told(3), None);
        assert!(Depth::of(500).told(500).unwrap().starts_with("500 loads"));
    }
}
