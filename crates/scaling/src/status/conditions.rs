//! The conditions of a target. Each keeps the time of its last change.

use evenkeel_forecast::{Distrust, HeldOutDay, ModelTrust, TrafficModel};
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::condition::{Condition, ConditionStatus, settle};
use evenkeel_objects::truncate::excerpt;
use jiff::{SignedDuration, Timestamp};

use crate::counterfactual::cost_benefit::CostBenefitVerdict;
use crate::counterfactual::{CounterfactualResult, cost_benefit};
use crate::limits::LimitedBy;
use crate::recommend::traffic_fit::{AcceptedTraffic, TrafficFit, TrafficRefusal};
use crate::recommend::traffic_need::TrafficStanding;
use crate::targets::problem::TargetProblem;
use crate::targets::resolve::ResolvedTarget;
use crate::tracker::{LoadReport, ModelReport, TickReport, TrafficReport};

/// The condition that a forecast is trusted.
pub(crate) const FORECAST_TRUSTED: &str = "ForecastTrusted";
/// Its reason while no model has seen enough to forecast.
const NOT_ENOUGH_HISTORY: &str = "NotEnoughHistory";
/// The condition that floors would be, or are, worth what they cost.
pub(crate) const WORTH_ENABLING: &str = "WorthEnabling";
/// The condition that a model makes replicas of the traffic that the target names.
pub(crate) const TRAFFIC_MODEL: &str = "TrafficModel";
/// The condition that every load has a fresh measurement.
pub(crate) const METRICS_AVAILABLE: &str = "MetricsAvailable";
/// The condition that the bounds are left to another writer.
pub(crate) const FLOOR_CONTESTED: &str = "FloorContested";
/// The condition that the record of the bounds is not accepted: it cannot be read, makes no sense, or
/// another writer wrote it.
pub(crate) const RECORD_DAMAGED: &str = "BoundsRecordDamaged";

/// The condition that the replicas are left to another writer.
pub(crate) const REPLICAS_CONTESTED: &str = "ReplicasContested";

/// The conditions that tell of another hand on what a target is scaled by.
pub const CONFLICTS: [&str; 5] = [
    TargetProblem::TARGET_CONFLICT,
    TargetProblem::DIRECT_CONFLICT,
    TargetProblem::CRON_CONFLICT,
    FLOOR_CONTESTED,
    REPLICAS_CONTESTED,
];

/// True for the condition of what keeps a target from being scaled, or from being scaled by all that was asked for,
/// and is none of [`CONFLICTS`] and no pause of its user's.
pub fn is_problem(kind: &str) -> bool {
    let told_elsewhere = CONFLICTS.contains(&kind) || kind == TargetProblem::PAUSED;
    kind == RECORD_DAMAGED || (TargetProblem::KINDS.contains(&kind) && !told_elsewhere)
}

/// The conditions of the HPA's algorithm, where it is run here.
const HPA: [&str; 4] = [
    "AbleToScale",
    "ScalingActive",
    "ScalingLimited",
    "ScaledToZero",
];

/// The types of all conditions that a target can have.
pub(crate) fn kinds() -> Vec<&'static str> {
    let own = [
        FORECAST_TRUSTED,
        WORTH_ENABLING,
        TRAFFIC_MODEL,
        METRICS_AVAILABLE,
        FLOOR_CONTESTED,
        REPLICAS_CONTESTED,
        RECORD_DAMAGED,
    ];
    let own = own.into_iter().chain(HPA);
    own.chain(TargetProblem::KINDS).collect()
}

/// The longest message of a condition that tells of problems, in characters: it repeats what APIs answer
/// for each signal that fails.
const LONGEST_MESSAGE: usize = 1000;

/// The time for which a damaged record is shown, of which nothing else is left.
const DAMAGE_SHOWN: SignedDuration = SignedDuration::from_hours(1);

/// The circumstances that conditions follow from, beside the objects and the loads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances<'a> {
    pub(crate) now: Timestamp,
    /// The conditions of the tick before.
    pub(crate) previous: &'a [Condition],
    /// The field manager that contests the bounds, where it is known.
    pub(crate) contester: Option<&'a str>,
    /// True so shortly after the begin that what was never measured may still come.
    pub(crate) begins: bool,
}

impl<'a> Circumstances<'a> {
    fn before(&self, kind: &str) -> Option<&'a Condition> {
        self.previous.iter().find(|before| before.kind == kind)
    }
}

/// The conditions of a target after a tick; without a report nothing was decided.
pub(crate) fn of(
    resolved: &ResolvedTarget,
    report: Option<&TickReport>,
    circumstances: &Circumstances<'_>,
) -> Vec<Condition> {
    let loads = report.map_or(&[][..], |report| &report.loads);
    let mut found: Vec<Condition> = Vec::new();
    found.extend(of_hpa(report));
    found.extend(forecast_trusted(loads));
    found.extend(worth_enabling(loads));
    found.extend(report.and_then(traffic_model));
    found.extend(metrics_available(loads, circumstances));
    found.extend(of_problems(&resolved.problems));
    if resolved.is_contested() {
        let until = resolved
            .bounds
            .as_ref()
            .and_then(|bounds| bounds.contested_until(circumstances.now));
        found.push(floor_contested(until, circumstances));
    }
    let limit = report.and_then(|report| report.decision.limited_by);
    if let Some(LimitedBy::Contested { until }) = limit {
        found.push(replicas_contested(until, circumstances));
    }
    found.extend(record_damaged(resolved, circumstances));
    settle(&mut found, circumstances.previous, None, circumstances.now);
    found
}

/// One condition for all problems of a kind: a type stands in a status once, and so it does in metrics.
fn of_problems(problems: &[TargetProblem]) -> Vec<Condition> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for problem in problems {
        let message = problem.to_string();
        match found.iter_mut().find(|(kind, _)| *kind == problem.kind()) {
            Some((_, told)) => *told = format!("{told}; {message}"),
            None => found.push((problem.kind(), message)),
        }
    }
    let condition = |(kind, told): (&str, String)| {
        Condition::new(kind, true, kind, excerpt(&told, LONGEST_MESSAGE))
    };
    found.into_iter().map(condition).collect()
}

/// The conditions that the HPA's algorithm tells, where it is run here.
fn of_hpa(report: Option<&TickReport>) -> impl Iterator<Item = Condition> {
    let told = report.and_then(|report| report.hpa.as_ref());
    let conditions = told.into_iter().flat_map(|hpa| &hpa.conditions);
    conditions.map(|told| {
        Condition::new(
            told.condition_type.as_str(),
            told.status == ConditionStatus::True,
            &told.reason,
            told.message.clone().into_owned(),
        )
    })
}

fn replicas_contested(until: Timestamp, circumstances: &Circumstances<'_>) -> Condition {
    let who = circumstances.contester.unwrap_or("another writer");
    let message = format!(
        "{who} repeatedly sets other replicas: Evenkeel does not set replicas until \
            {until:.0}"
    );
    Condition::new(REPLICAS_CONTESTED, true, "SetTwice", message)
}

fn floor_contested(until: Option<Timestamp>, circumstances: &Circumstances<'_>) -> Condition {
    let before = circumstances.before(FLOOR_CONTESTED);
    let message = match (circumstances.contester, before) {
        (None, Some(before)) => before.message.clone(),
        (who, _) => {
            let who = who.unwrap_or("another writer");
            let until = until.map_or_else(String::new, |until| format!(" until {until:.0}"));
            format!(
                "{who} reverted the floor twice within 5 minutes: Evenkeel does not write the bounds{until}"
            )
        }
    };
    Condition::new(FLOOR_CONTESTED, true, "UndoneTwice", message)
}

/// It holds where one of the loads has a trusted forecast; the messages of all loads stand in it.
fn forecast_trusted(loads: &[LoadReport]) -> Option<Condition> {
    let all = loads
        .iter()
        .filter_map(|load| Some(trust_of(load, load.model.as_ref()?)));
    let all: Vec<_> = all.collect();
    let trusted = |one: &&Condition| one.status == ConditionStatus::True;
    let chosen = all.iter().find(trusted).or(all.first())?;
    let messages: Vec<_> = all.iter().map(|one| one.message.as_str()).collect();
    Some(Condition {
        message: messages.join("; "),
        ..chosen.clone()
    })
}

/// It holds where replicas are made of the traffic; else it says why not.
fn traffic_model(report: &TickReport) -> Option<Condition> {
    let TrafficReport { standing, fit } = report.traffic.as_ref()?;
    let (reason, message) = match (fit, standing) {
        (TrafficFit::Accepted(accepted), TrafficStanding::Without { lack, why }) => {
            let explained = percent(accepted.model.held_out.explained);
            let message = format!("the traffic explains {explained} of a day, but {why}");
            (lack.reason(), message)
        }
        (TrafficFit::Accepted(accepted), _) => {
            return Some(Condition::new(
                TRAFFIC_MODEL,
                true,
                "Explained",
                explained(accepted),
            ));
        }
        (TrafficFit::Awaited, TrafficStanding::Without { lack, why }) => {
            (lack.reason(), why.clone())
        }
        (TrafficFit::Refused(TrafficRefusal { reason, why }), _) => (*reason, why.clone()),
        (TrafficFit::Awaited, _) => return None,
    };
    let message = excerpt(&message, LONGEST_MESSAGE);
    Some(Condition::new(TRAFFIC_MODEL, false, reason, message))
}

/// The share of a day that the traffic explains, with the figures of the model.
fn explained(accepted: &AcceptedTraffic) -> String {
    let TrafficModel {
        utilisation,
        learnt: (from, to),
        held_out,
        ..
    } = &accepted.model;
    let HeldOutDay {
        error,
        linear_error,
        explained,
        explained_without,
        ..
    } = held_out;
    let is_cpu = *utilisation == Signal::CPU.label();
    let unit = if is_cpu { " millicores" } else { "" };
    format!(
        "the traffic explains {} of a day that the model had not seen (replicas and time alone: \
         {}); mean error per replica: {error:.1}{unit} of {utilisation} (linear part alone: \
         {linear_error:.1}); fitted on {from:.0} to {to:.0}",
        percent(*explained),
        percent(*explained_without)
    )
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// It holds where floors on one of the loads would have been worth it; the figures of all loads stand in it.
fn worth_enabling(loads: &[LoadReport]) -> Option<Condition> {
    let all = loads
        .iter()
        .filter_map(|load| Some(worth_of(load, &load.tried?)));
    let all: Vec<_> = all.collect();
    let pays = |one: &&Condition| one.status == ConditionStatus::True;
    let chosen = all.iter().find(pays).or(all.first())?;
    let messages: Vec<_> = all.iter().map(|one| one.message.as_str()).collect();
    Some(Condition {
        message: messages.join("; "),
        ..chosen.clone()
    })
}

/// The same of one load by itself.
fn worth_of(load: &LoadReport, tried: &CounterfactualResult) -> Condition {
    let CounterfactualResult {
        floors,
        plain,
        rival,
        cost_more,
    } = tried;
    let minutes = |under: f64| under * 24.0 * 60.0;
    let message = format!(
        "{}: over the last days, with floors: {:.0} min a day above target, at {:.1} replicas; the HPA as it is: \
         {:.0} min, at {:.1}; an HPA with {}: {:.0} min{}",
        load.signal.label(),
        minutes(floors.under),
        floors.replicas,
        minutes(plain.under),
        plain.replicas,
        if *cost_more {
            "two thirds of the target, which costs less than floors"
        } else {
            "a lower target at equal cost"
        },
        minutes(rival.under),
        load.cost_limit(),
    );
    let verdict = cost_benefit::judge_trial(tried);
    Condition::new(
        WORTH_ENABLING,
        verdict == CostBenefitVerdict::Worth,
        verdict.reason(),
        message,
    )
}

/// The condition of one load by itself.
fn trust_of(load: &LoadReport, model: &ModelReport) -> Condition {
    let signal = load.signal.label();
    if model.at_horizon.is_some() {
        let trust = model.trust;
        let waits = load.waits_for();
        let waits = waits.map_or_else(String::new, |model| format!(", and {model}"));
        let message = format!("{signal}: {} {trust}{waits}", model.name);
        return Condition::new(
            FORECAST_TRUSTED,
            trust.is_trusted(),
            trust.reason(),
            message,
        );
    }
    let mut lacking = load.lacking.iter();
    let message = match lacking.find(|lacking| lacking.model == model.name) {
        Some(lacking) => format!("{signal}: {lacking}"),
        None => format!(
            "{signal}: {} restarted and is not used until it has enough data",
            model.name
        ),
    };
    Condition::new(FORECAST_TRUSTED, false, NOT_ENOUGH_HISTORY, message)
}

/// It holds where every load is known as it is now, or is estimated while Pods settle. At the begin
/// it stays as it was.
fn metrics_available(loads: &[LoadReport], circumstances: &Circumstances<'_>) -> Option<Condition> {
    if loads.is_empty() {
        return None;
    }
    let names = |of: fn(&LoadReport) -> bool| {
        let named = loads.iter().filter(|load| of(load));
        let named: Vec<_> = named.map(|load| load.signal.label()).collect();
        named.join(" and ")
    };
    let stale = names(|load| !load.fresh && !load.is_estimated);
    let estimated = names(|load| load.is_estimated);
    if stale.is_empty() && !estimated.is_empty() {
        let message = format!("{estimated} is estimated until the Pods settle");
        return Some(Condition::new(
            METRICS_AVAILABLE,
            true,
            "Estimated",
            message,
        ));
    }
    if stale.is_empty() {
        let message = "every load has a fresh measurement".to_owned();
        return Some(Condition::new(METRICS_AVAILABLE, true, "Measured", message));
    }
    let never = loads.iter().any(|load| load.measured.is_none());
    if never && circumstances.begins {
        return circumstances.before(METRICS_AVAILABLE).cloned();
    }
    let message = format!("no fresh measurement of {stale}");
    Some(Condition::new(METRICS_AVAILABLE, false, "Stale", message))
}

fn record_damaged(
    resolved: &ResolvedTarget,
    circumstances: &Circumstances<'_>,
) -> Option<Condition> {
    if let Some(refused) = resolved.bounds.as_ref().and_then(|bounds| bounds.refused()) {
        let message = format!(
            "{}; the bounds are left as they are and count as the user's",
            refused.error
        );
        return Some(Condition::new(
            RECORD_DAMAGED,
            true,
            refused.reason,
            message,
        ));
    }
    let before = circumstances.before(RECORD_DAMAGED)?;
    let age = circumstances
        .now
        .duration_since(before.last_transition_time);
    (age < DAMAGE_SHOWN).then(|| before.clone())
}

/// True for a reason of [`FORECAST_TRUSTED`] that judges the forecasts, and does not only wait for
/// samples.
pub(crate) fn is_distrust(reason: &str) -> bool {
    let unproven = ModelTrust::Untrusted(Distrust::Unproven { scored: 0 });
    ![unproven.reason(), NOT_ENOUGH_HISTORY].contains(&reason)
}
