//! From observation and decision of a target to its status on the board.

mod traffic;

use evenkeel_metrics::load_unit::LoadUnit;
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::condition::Condition;
use jiff::Timestamp;

use super::target_state::TargetState;
use crate::limits::LimitedBy;
use crate::recommend::decision_basis::DecisionBasis;
use crate::status::dashboard::{
    Floor, ForecastTrust, LoadForecast, LoadStatus, ObjectName, RiskStatus, ScalingStatus, Word,
};
use crate::status::{HorizonParts, TargetStatus, TargetStatus as PlannedStatus};
use crate::targets::bounds::ObservedBounds;
use crate::targets::history_backfill::RefillState;
use crate::targets::owner::Owner;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::scaling_target::ScalingTarget;
use crate::targets::target_objects::TargetObjects;
use crate::tracker::{LoadReport, TickReport};

/// Status of a target; `None` for an object that is none and has no problem to tell of.
pub(super) fn shown(
    observed: &TargetObjects,
    resolved: &ResolvedTarget,
    report: Option<&TickReport>,
    state: &TargetState,
    now: Timestamp,
) -> Option<ScalingStatus> {
    if resolved.target.is_none() && resolved.problems.is_empty() {
        return None;
    }
    let owner = Owner::of(observed).or_else(|| Owner::workload(observed))?;
    let user = resolved.autoscaler_bounds().map(ObservedBounds::user);
    let target = resolved.target.as_ref();
    let policy = target.map(|target| target.policy.bounds);
    let decision = report.map(|report| &report.decision);
    Some(ScalingStatus {
        namespace: observed.namespace.clone(),
        object: ObjectName {
            kind: owner.kind.as_str().into(),
            name: owner.metadata.name.as_deref().unwrap_or_default().into(),
        },
        workload: ObjectName {
            kind: observed.target.kind().into(),
            name: observed.target.name().into(),
        },
        mode: resolved.mode.as_str().into(),
        current: target.map(|target| target.current),
        min: user.map_or_else(|| policy.map(ReplicaBounds::min), |user| user.min),
        max: user.map(|user| user.max).or(policy.map(ReplicaBounds::max)),
        decided: decision.map(|decision| decision.replicas),
        plain_hpa: plain_hpa(target, report),
        limited_by: decision
            .and_then(|decision| decision.limited_by.map(LimitedBy::reason))
            .map(Word::from),
        reason: decision.map_or_else(|| refusal(resolved), |decision| decision.reason.clone()),
        horizon_seconds: report.map(|report| report.horizon.total().as_secs()),
        horizon_parts: report.map(|report| HorizonParts::of(&report.horizon)),
        grounds: decision
            .map_or(DecisionBasis::Nothing, |decision| decision.grounds)
            .as_str()
            .into(),
        refill: state.refill.unwrap_or(RefillState::Running),
        loads: report
            .iter()
            .flat_map(|report| {
                report
                    .loads
                    .iter()
                    .map(|load| shown_load(load, report, now))
            })
            .collect(),
        traffic: report.and_then(|report| report.traffic.as_ref().map(traffic::shown)),
        conditions: conditions(observed, state.plans.written.planned(), &owner),
        floor: resolved
            .bounds
            .as_ref()
            .and_then(|bounds| bounds.floor(now))
            .map(|floor| Floor {
                replicas: floor.replicas,
                until: floor.until,
            }),
        decisions: state
            .decisions
            .iter()
            .map(|(by, count)| (*by, *count))
            .collect(),
    })
}

/// The count by the HPA's formula: the largest of the signals that the target scales by.
fn plain_hpa(target: Option<&ScalingTarget>, report: Option<&TickReport>) -> Option<i32> {
    let (target, report) = target.zip(report)?;
    let loads = report.loads.iter().take(target.signals.len());
    let counts = loads.map(|load| Some(load.capacity.desired_for_sum(load.now?)));
    let largest = counts.collect::<Option<Vec<i32>>>()?.into_iter().max()?;
    Some(target.policy.bounds.clamp(largest))
}

fn refusal(resolved: &ResolvedTarget) -> String {
    let problems: Vec<String> = resolved.problems.iter().map(ToString::to_string).collect();
    problems.join("; ")
}

fn shown_load(load: &LoadReport, report: &TickReport, now: Timestamp) -> LoadStatus {
    let at = now
        .checked_add(report.horizon.ahead())
        .unwrap_or(Timestamp::MAX);
    LoadStatus {
        resource: load.signal.label().into(),
        unit: LoadUnit::of(&load.signal).as_str().into(),
        now: load.now,
        at: load.at,
        measured_at: load.measured,
        estimate: load.estimate.map(|estimate| estimate.sum),
        request: load.capacity.request(),
        target: load.capacity.target(),
        forecast: load.model.and_then(|model| {
            let step = model.at_horizon?;
            Some(LoadForecast {
                at,
                mean: step.mean,
                lower80: step.interval80.lower,
                upper80: step.interval80.upper,
                lower95: step.interval95.lower,
                upper95: step.interval95.upper,
                model: model.name.into(),
            })
        }),
        waits_for: load.waits_for().map(ToString::to_string),
        trust: load.model.map(|model| ForecastTrust {
            trusted: model.trust.is_trusted(),
            reason: model.trust.to_string(),
            ratio: model.accuracy.ratio(),
            coverage: (model.accuracy.scored > 0).then_some(model.accuracy.coverage80),
        }),
        risk: load.cover.map(|cover| RiskStatus {
            asked: cover.risk(),
            achieved: cover.achieved(),
        }),
    }
}

/// The conditions as they are planned to be told, else as the object has them.
fn conditions(
    observed: &TargetObjects,
    planned: Option<&TargetStatus>,
    owner: &Owner<'_>,
) -> Vec<Condition> {
    let ihpa = observed.ihpa.as_ref();
    let told = |status: TargetStatus| status.conditions;
    let held = match (planned, ihpa) {
        (Some(status), _) => status.conditions.clone(),
        (None, Some(ihpa)) => {
            let status = ihpa.object.status.as_ref();
            status.map_or_else(Vec::new, |status| status.conditions.clone())
        }
        (None, None) => PlannedStatus::held_by(owner.metadata).map_or_else(Vec::new, told),
    };
    let conditions = held.into_iter().map(|condition| Condition {
        // It belongs to the object that carries the condition.
        observed_generation: None,
        ..condition
    });
    conditions.collect()
}
