//! The numbers of one HPA.

use evenkeel_metrics::signal::{ResourceName, Signal};
use evenkeel_objects::truncate::excerpt;
use evenkeel_scaling::counterfactual::cost_benefit::{Agreement, LowerTarget};
use evenkeel_units::count_as_f64;
use jiff::Timestamp;
use serde::Serialize;

use super::candidate::{AssessCandidate, ForecastableLoad};
use super::load_history::LoadPast;
use super::recommendation::{RecommendedWay, TargetJudgement};
use super::scaling_advice::ScalingAdvice;
use super::target_replay::{AssessOutcome, AssessedTarget};
use super::verdict;
use super::verdict::AssessVerdict;
use crate::forecast::replay::report::{PolicyCost, Ratios, ReplayedSeries};
use crate::forecast::report::SideCost;

/// The characters of a text about a target that are told.
const MOST_TOLD: usize = 1000;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TargetReport {
    pub namespace: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaled_object: Option<String>,
    pub workload: String,
    pub verdict: AssessVerdict,
    pub reason: &'static str,
    /// The reason in words.
    pub because: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommended: Option<ScalingAdvice>,
    pub notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past: Option<PastReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<EvaluationReport>,
    #[serde(skip)]
    pub series: Option<ReplayedSeries>,
}

/// Costs without floors less those with them; below 0 where floors cost more.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FloorSavings {
    pub under_provisioned_seconds: f64,
    pub overloaded_seconds: f64,
    pub replica_hours: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoadReport {
    pub signal: String,
    pub unit: &'static str,
    pub request: f64,
    pub target: f64,
    pub min_replicas: i32,
    pub max_replicas: i32,
    pub start_up_seconds: i64,
    /// False where it was taken from --start-up.
    pub start_up_is_measured: bool,
}

/// The known past of a load, in days.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PastReport {
    pub known_days: f64,
    /// The part that lies on a line between what is known, beside scale-outs for the most part.
    pub bridged_days: f64,
}

/// The judged days.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EvaluationReport {
    pub from: Timestamp,
    pub to: Timestamp,
    /// The HPA as it is.
    pub today: SideCost,
    /// The share of the time that it was under-provisioned.
    pub risk_today: f64,
    #[serde(flatten)]
    pub floors: Option<WithFloors>,
    pub policies: Vec<PolicyCost>,
}

/// The figures of the judged days with floors.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WithFloors {
    /// At the default risk.
    pub floors: SideCost,
    pub saved: FloorSavings,
    /// Floors at the default risk beside the plain HPA with as many replica-hours.
    pub at_equal_replica_hours: Ratios,
    /// The plain HPA with the highest target that is as safe as floors.
    pub as_safe: Option<AsSafe>,
    pub half_days: HalfDays,
    /// As `yesterday x 1.0: 0.43`, with its share of the plain HPA's time under-provisioned at equal replica-hours.
    #[serde(skip)]
    pub best_rule: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AsSafe {
    pub target: f64,
    pub replica_hours: f64,
    pub under_provisioned_seconds: f64,
}

/// The half days by what they say of floors.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HalfDays {
    pub better: usize,
    pub worse: usize,
    pub even: usize,
    /// The smallest and the largest ratio at equal replica-hours, of the time under-provisioned.
    pub lowest: Option<f64>,
    pub highest: Option<f64>,
}

impl FloorSavings {
    fn of(today: &SideCost, floors: &SideCost) -> Self {
        Self {
            under_provisioned_seconds: today.under_provisioned_seconds
                - floors.under_provisioned_seconds,
            overloaded_seconds: today.overloaded_seconds - floors.overloaded_seconds,
            replica_hours: today.replica_hours - floors.replica_hours,
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            under_provisioned_seconds: self.under_provisioned_seconds
                + other.under_provisioned_seconds,
            overloaded_seconds: self.overloaded_seconds + other.overloaded_seconds,
            replica_hours: self.replica_hours + other.replica_hours,
        }
    }
}

impl TargetReport {
    pub(super) fn of(assessed: AssessedTarget) -> Self {
        let AssessedTarget {
            candidate,
            past,
            outcome,
        } = assessed;
        let (verdict, reason) = (
            AssessVerdict::of(&outcome),
            verdict::reason(&outcome, past.as_ref()),
        );
        // The names of metrics in them are an HPA's author's, and terminals obey some characters.
        let told = |text: &str| excerpt(text, MOST_TOLD);
        let because = told(&verdict::because(&outcome, past.as_ref()));
        let (series, judged) = match outcome {
            AssessOutcome::Unfit(_) | AssessOutcome::TooLittle => (None, None),
            AssessOutcome::NothingToSave(series) => (Some(*series), None),
            AssessOutcome::Judged(judged) => (Some(judged.0), Some(judged.1)),
        };
        let way = match &judged {
            Some(judged) => Some(judged.recommended),
            None => series.as_ref().map(|_| RecommendedWay::Unchanged),
        };
        let AssessCandidate {
            namespace,
            name,
            scaled_object,
            workload,
            load,
        } = candidate;
        let load = load.ok();
        let advice = way.zip(load.as_ref());
        let advice =
            advice.map(|(way, load)| ScalingAdvice::of(way, load, scaled_object.as_deref()));
        Self {
            namespace: namespace.to_string(),
            name,
            scaled_object,
            workload,
            verdict,
            reason,
            because,
            recommended: advice,
            notes: load.as_ref().map_or_else(Vec::new, |load| {
                load.notes.iter().map(|note| told(note)).collect()
            }),
            load: load.as_ref().map(LoadReport::of),
            past: load.map(|_| PastReport::of(&past.unwrap_or_default())),
            judged: series
                .as_ref()
                .map(|series| EvaluationReport::of(series, judged.as_ref())),
            series,
        }
    }

    /// The savings of floors; `None` if no floors were replayed.
    pub(super) fn saved(&self) -> Option<FloorSavings> {
        Some(self.judged.as_ref()?.floors.as_ref()?.saved)
    }

    /// As `shop/web`.
    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

impl LoadReport {
    fn of(load: &ForecastableLoad) -> Self {
        let target = &load.target;
        Self {
            signal: load.signal.label(),
            unit: unit(&load.signal),
            request: target.capacity.request(),
            target: target.capacity.target(),
            min_replicas: target.bounds.min(),
            max_replicas: target.bounds.max(),
            start_up_seconds: target.start_up.as_secs(),
            start_up_is_measured: load.start_up_is_measured,
        }
    }
}

const fn unit(signal: &Signal) -> &'static str {
    match signal {
        Signal::Resource(ResourceName::Cpu) => "millicores",
        Signal::Resource(ResourceName::Memory) => "bytes",
        Signal::Resource(ResourceName::Other(_)) => "bytes/s",
        _ => "of the metric",
    }
}

impl PastReport {
    fn of(past: &LoadPast) -> Self {
        let days = |minutes: usize| count_as_f64(minutes) / (24.0 * 60.0);
        Self {
            known_days: days(past.known),
            bridged_days: days(past.bridged),
        }
    }
}

impl EvaluationReport {
    fn of(series: &ReplayedSeries, judged: Option<&TargetJudgement>) -> Self {
        let seconds = series.to.duration_since(series.count_from).as_secs_f64();
        let today = series.policies.first().map(PolicyCost::cost);
        let today: SideCost = today.unwrap_or_default().into();
        let by_default = series.by_default().map(|(_, floors)| floors);
        let floors = by_default.zip(judged).map(|(floors, judged)| {
            let (worth, rule) = (&judged.floors, judged.rule.as_ref());
            let cost: SideCost = floors.cost().into();
            WithFloors {
                floors: cost,
                saved: FloorSavings::of(&today, &cost),
                at_equal_replica_hours: floors.at_equal_replica_hours.unwrap_or(Ratios {
                    under_provisioned: None,
                    overloaded: None,
                }),
                as_safe: worth.as_safe.map(AsSafe::of),
                half_days: HalfDays::of(&worth.agreement),
                best_rule: rule.map(|best| format!("{}: {:.2}", best.rule, best.share)),
            }
        });
        Self {
            from: series.count_from,
            to: series.to,
            today,
            risk_today: today.under_provisioned_seconds / seconds.max(1.0),
            floors,
            policies: series
                .policies
                .iter()
                .map(PolicyCost::without_points)
                .collect(),
        }
    }
}

impl AsSafe {
    const fn of(lower: LowerTarget) -> Self {
        Self {
            target: lower.target,
            replica_hours: lower.cost.replica_hours,
            under_provisioned_seconds: lower.cost.under_provisioned_seconds,
        }
    }
}

impl HalfDays {
    fn of(agreement: &Agreement) -> Self {
        let Agreement {
            better,
            worse,
            even,
            range,
        } = *agreement;
        let (lowest, highest) = range.unzip();
        Self {
            better,
            worse,
            even,
            lowest,
            highest,
        }
    }

    /// As `4 better, 1 worse (0.31 to 1.20)`.
    pub(super) fn told(&self) -> String {
        let range = self.lowest.zip(self.highest);
        let range = range.map_or_else(String::new, |(lowest, highest)| {
            format!(" ({lowest:.2} to {highest:.2})")
        });
        format!("{} better, {} worse{range}", self.better, self.worse)
    }
}
