//! Numbers of a replay: the costs of each policy, and the floors' beside the plain HPA's.

use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::ScaleDown;
use evenkeel_sandbox::target_replay;
use evenkeel_sandbox::target_replay::{ReplayOutcome, ReplayPolicy, SeasonalRule};
use evenkeel_scaling::counterfactual::pareto_frontier::{
    Cost, CostRatios, FrontierComparison, FrontierPosition, ParetoFrontier, mean_cost, mean_ratios,
};
use evenkeel_units::Resource;
use jiff::Timestamp;
use serde::Serialize;

use super::replay_series::Entrant;
use crate::forecast::report::base_unit;

#[derive(Debug, Clone, Serialize)]
pub(super) struct Replay {
    /// True if interrupted: unbegun series are left out, the last may lack policies, and means are
    /// of finished ones.
    pub partial: bool,
    pub series: Vec<ReplayedSeries>,
    pub mean: Mean,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayedSeries {
    pub name: String,
    /// The distance of its samples.
    pub step_seconds: i64,
    /// The unit of `request` and of the loads of points.
    pub unit: &'static str,
    pub request: f64,
    pub min: i32,
    pub max: i32,
    pub start_up_seconds: i64,
    pub count_from: Timestamp,
    pub to: Timestamp,
    /// Gaps in the load, in which nothing moves and nothing is counted.
    pub gaps: usize,
    pub policies: Vec<PolicyCost>,
    /// The geometric mean over the risks.
    pub at_equal_replica_hours: Ratios,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Mean {
    pub policies: Vec<PolicyCost>,
    pub at_equal_replica_hours: Ratios,
    /// The largest of any series.
    pub worst: Ratios,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PolicyCost {
    pub policy: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<f64>,
    /// When floors go down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<&'static str>,
    #[serde(flatten)]
    pub rule: Option<SeasonalRule>,
    pub under_provisioned_seconds: f64,
    pub overloaded_seconds: f64,
    pub replica_hours: f64,
    /// Floors or a rule beside the plain HPA with as many replica-hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_equal_replica_hours: Option<Ratios>,
    /// Where the replica-hours of floors or a rule lie among the plain HPA's; in the means only if the same
    /// for all series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside_hpa: Option<&'static str>,
    /// In the means, the number of series that it was replayed on, if that is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<ReplayPolicyTick>>,
}

/// Seconds as shares of those of the plain HPA; `null` where nothing can be said.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ratios {
    pub under_provisioned: Option<f64>,
    pub overloaded: Option<f64>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct ReplayPolicyTick {
    /// Seconds since 1970.
    pub t: i64,
    pub load: Option<f64>,
    pub ready: i32,
    pub replicas: i32,
    pub floor: i32,
}

impl Replay {
    /// The report of what was replayed, policy by policy of each series.
    pub(super) fn of(
        entrants: &[Entrant],
        replayed: Vec<Vec<(ReplayPolicy, ReplayOutcome)>>,
        with_points: bool,
        partial: bool,
    ) -> Self {
        let series = entrants.iter().zip(replayed);
        let series = series.filter(|(_, replayed)| !replayed.is_empty());
        let series =
            series.map(|(entrant, replayed)| ReplayedSeries::of(entrant, replayed, with_points));
        let series: Vec<_> = series.collect();
        let mean = Mean::of(&series);
        Self {
            partial,
            series,
            mean,
        }
    }
}

impl ReplayedSeries {
    pub(crate) fn of(
        entrant: &Entrant,
        replayed: Vec<(ReplayPolicy, ReplayOutcome)>,
        with_points: bool,
    ) -> Self {
        let target = &entrant.target;
        let plain = replayed
            .iter()
            .filter_map(|(policy, replayed)| is_plain(*policy).then_some(replayed.cost));
        let frontier = ParetoFrontier::new(plain.collect());
        let policies = replayed.into_iter().map(|(policy, replayed)| {
            let mut one = PolicyCost::of(policy, replayed.cost);
            if let (false, Some(frontier)) = (is_plain(policy), &frontier) {
                one.compare(frontier.compare(&replayed.cost));
            }
            one.points =
                with_points.then(|| replayed.points.iter().map(ReplayPolicyTick::of).collect());
            one
        });
        let policies: Vec<_> = policies.collect();
        let floors = policies.iter().filter(|one| one.risk.is_some());
        let compared = floors.filter_map(PolicyCost::ratios);
        Self {
            name: entrant.name.clone(),
            step_seconds: entrant.step.as_secs(),
            unit: base_unit(Resource::Cpu),
            request: target.capacity.request(),
            min: target.bounds.min(),
            max: target.bounds.max(),
            start_up_seconds: target.start_up.as_secs(),
            count_from: entrant.load.counted_from(),
            to: entrant.load.end(),
            gaps: entrant.gaps,
            at_equal_replica_hours: Ratios::of(mean_ratios(&compared.collect::<Vec<_>>())),
            policies,
        }
    }

    /// The seasonal rule with the least time under-provisioned at equal replica-hours, with its share.
    pub(super) fn best_rule(&self) -> Option<(&PolicyCost, f64)> {
        let rules = self.policies.iter().filter(|one| one.rule.is_some());
        let compared = rules.filter_map(|one| Some((one, one.ratios()?.under_provisioned)));
        compared.min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// The plain HPA at its own target, and the floors at the risk that a target has by default.
    pub(crate) fn by_default(&self) -> Option<(&PolicyCost, &PolicyCost)> {
        by_default(&self.policies)
    }
}

pub(super) fn by_default(policies: &[PolicyCost]) -> Option<(&PolicyCost, &PolicyCost)> {
    let plain = policies.iter().find(|one| one.target.is_some())?;
    let default = Risk::default().get();
    let is_default = |one: &&PolicyCost| {
        one.risk
            .is_some_and(|risk| risk.total_cmp(&default).is_eq())
    };
    Some((plain, policies.iter().find(is_default)?))
}

const fn is_plain(policy: ReplayPolicy) -> bool {
    matches!(policy, ReplayPolicy::Hpa { .. })
}

impl Mean {
    fn of(series: &[ReplayedSeries]) -> Self {
        let most = series.iter().map(|one| one.policies.len()).max();
        let policies = (0..most.unwrap_or(0)).filter_map(|index| {
            let same = series.iter().filter_map(|one| one.policies.get(index));
            let same: Vec<_> = same.collect();
            let mean = PolicyCost::mean(&same)?;
            Some(PolicyCost {
                series: (same.len() < series.len()).then_some(same.len()),
                ..mean
            })
        });
        let ratios = series
            .iter()
            .filter_map(|one| one.at_equal_replica_hours.both());
        let ratios: Vec<_> = ratios.collect();
        let worst = |of: fn(&CostRatios) -> f64| ratios.iter().map(of).max_by(f64::total_cmp);
        Self {
            policies: policies.collect(),
            at_equal_replica_hours: Ratios::of(mean_ratios(&ratios)),
            worst: Ratios {
                under_provisioned: worst(|one| one.under_provisioned),
                overloaded: worst(|one| one.overloaded),
            },
        }
    }
}

impl PolicyCost {
    fn of(policy: ReplayPolicy, cost: Cost) -> Self {
        let (name, target, floors) = match policy {
            ReplayPolicy::Hpa { target } => ("hpa", Some(target.get()), None),
            ReplayPolicy::Evenkeel(floors) => ("evenkeel", None, Some(floors)),
            ReplayPolicy::Rule(_) => ("rule", None, None),
        };
        let scale_down = floors.map(|floors| floors.scale_down);
        Self {
            policy: name,
            target,
            risk: floors.map(|floors| floors.risk.get()),
            scale_down: scale_down.map(ScaleDown::as_str),
            rule: policy.rule(),
            under_provisioned_seconds: cost.under_provisioned_seconds,
            overloaded_seconds: cost.overloaded_seconds,
            replica_hours: cost.replica_hours,
            at_equal_replica_hours: None,
            beside_hpa: None,
            series: None,
            points: None,
        }
    }

    const fn compare(&mut self, FrontierComparison { place, ratios }: FrontierComparison) {
        self.at_equal_replica_hours = Some(Ratios::of(ratios));
        self.beside_hpa = Some(match place {
            FrontierPosition::Below => "fewer",
            FrontierPosition::Inside => "among",
            FrontierPosition::Above => "more",
        });
    }

    /// The same without what is drawn.
    pub(crate) fn without_points(&self) -> Self {
        Self {
            points: None,
            ..*self
        }
    }

    pub(crate) const fn cost(&self) -> Cost {
        Cost {
            under_provisioned_seconds: self.under_provisioned_seconds,
            overloaded_seconds: self.overloaded_seconds,
            replica_hours: self.replica_hours,
        }
    }

    fn ratios(&self) -> Option<CostRatios> {
        self.at_equal_replica_hours?.both()
    }

    fn mean(all: &[&Self]) -> Option<Self> {
        let first = *all.first()?;
        let costs: Vec<_> = all.iter().map(|one| one.cost()).collect();
        let cost = mean_cost(&costs)?;
        let ratios: Vec<_> = all.iter().filter_map(|one| one.ratios()).collect();
        let alike = all.iter().all(|one| one.beside_hpa == first.beside_hpa);
        Some(Self {
            under_provisioned_seconds: cost.under_provisioned_seconds,
            overloaded_seconds: cost.overloaded_seconds,
            replica_hours: cost.replica_hours,
            at_equal_replica_hours: first
                .at_equal_replica_hours
                .map(|_| Ratios::of(mean_ratios(&ratios))),
            beside_hpa: first.beside_hpa.filter(|_| alike),
            points: None,
            ..*first
        })
    }

    /// The target, the risk, or the season of a rule with its factor.
    pub(crate) fn label(&self) -> String {
        if let Some(rule) = self.rule {
            return rule.to_string();
        }
        match (self.target, self.risk.map(Risk::new)) {
            (Some(target), _) => percentage(target),
            (None, Some(Ok(risk))) => risk.to_string(),
            (None, _) => String::new(),
        }
    }
}

/// A share with the digits that it has: 60%, 57.5%.
pub(crate) fn percentage(share: f64) -> String {
    let percent = format!("{:.2}", share * 100.0);
    format!("{}%", percent.trim_end_matches('0').trim_end_matches('.'))
}

impl Ratios {
    const fn of(ratios: Option<CostRatios>) -> Self {
        match ratios {
            Some(ratios) => Self {
                under_provisioned: Some(ratios.under_provisioned),
                overloaded: Some(ratios.overloaded),
            },
            None => Self {
                under_provisioned: None,
                overloaded: None,
            },
        }
    }

    fn both(self) -> Option<CostRatios> {
        Some(CostRatios {
            under_provisioned: self.under_provisioned?,
            overloaded: self.overloaded?,
        })
    }

    /// As `0.51 / 0.58`.
    pub(crate) fn told(self) -> String {
        let one = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        format!("{} / {}", one(self.under_provisioned), one(self.overloaded))
    }
}

impl ReplayPolicyTick {
    fn of(point: &target_replay::ReplayPoint) -> Self {
        Self {
            t: point.at.as_second(),
            load: point.load,
            ready: point.ready,
            replicas: point.replicas,
            floor: point.floor,
        }
    }
}
