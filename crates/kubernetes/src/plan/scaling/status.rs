//! The status of a target: the decision of a tick, and the conditions with the times of their
//! changes.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::conditions::{self, Circumstances, FORECAST_TRUSTED};
use super::problem::TargetProblem;
use super::targets::ResolvedTarget;
use crate::condition::Condition;
use evenkeel_core::scaling::LimitedBy;
use evenkeel_core::scaling::horizon::{Horizon, Lag, Lead};
use evenkeel_core::scaling::tracker::TickReport;

/// The age that the texts of a written status may reach when nothing else changes: the figures in them
/// change with every tick, which is not worth a write each.
const TEXTS: SignedDuration = SignedDuration::from_mins(5);

/// The parts of a horizon in seconds. It is their sum, but at least 60 s and at most 15 minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HorizonParts {
    /// The age of measurements.
    pub age: i64,
    /// Half of the rate window, of which a measurement is the mean.
    pub half_window: i64,
    /// The time between two looks of the HPA.
    pub sync: i64,
    /// The time between two decisions.
    pub tick: i64,
    /// The 90th percentile of the times that Pods take from a node to readiness.
    pub start_up: i64,
    /// The wait for a node, where the last scale-outs waited for nodes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub node_start_up: i64,
}

// Serde gives a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
const fn is_zero(seconds: &i64) -> bool {
    *seconds == 0
}

impl HorizonParts {
    /// The parts of `horizon`, whole seconds of each.
    #[must_use]
    pub const fn of(horizon: &Horizon) -> Self {
        let Horizon {
            lag: Lag { age, half_window },
            lead:
                Lead {
                    sync,
                    tick,
                    start_up,
                    node_start_up,
                },
        } = horizon;
        Self {
            age: age.as_secs(),
            half_window: half_window.as_secs(),
            sync: sync.as_secs(),
            tick: tick.as_secs(),
            start_up: start_up.as_secs(),
            node_start_up: node_start_up.as_secs(),
        }
    }
}

/// The status of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetStatus {
    /// The mode in effect.
    pub mode: String,
    /// The replicas that were decided; in mode floor, the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The rule that limited the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// The decision in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The horizon: what passes between a load and the capacity for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon_seconds: Option<i64>,
    /// The parts of the horizon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon_parts: Option<HorizonParts>,
    /// The model that is listened to, of the first load that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub conditions: Vec<Condition>,
}

impl TargetStatus {
    /// The status of a target after a tick that ended in `report`; without a report there is no decision.
    pub(super) fn of(
        resolved: &ResolvedTarget,
        report: Option<&TickReport>,
        circumstances: &Circumstances<'_>,
    ) -> Self {
        let decision = report.map(|report| &report.decision);
        let loads = report.map_or(&[][..], |report| &report.loads);
        let mut models = loads.iter().filter_map(|load| load.model);
        Self {
            mode: resolved.mode.as_str().to_owned(),
            replicas: decision.map(|decision| decision.replicas),
            limited_by: decision
                .and_then(|decision| decision.limited_by)
                .map(|limit| LimitedBy::reason(limit).to_owned()),
            reason: decision.map(|decision| decision.reason.clone()),
            horizon_seconds: report.map(|report| report.horizon.total().as_secs()),
            horizon_parts: report.map(|report| HorizonParts::of(&report.horizon)),
            model: models.next().map(|model| model.name.to_owned()),
            conditions: conditions::of(resolved, report, circumstances),
        }
    }

    /// The status with the first condition of each type that a target can have, and no other: the
    /// types are labels of metrics.
    pub(super) fn with_known_conditions(mut self) -> Self {
        let mut kinds = conditions::kinds();
        self.conditions.retain(|condition| {
            let known = kinds.iter().position(|kind| *kind == condition.kind);
            known.map(|place| kinds.swap_remove(place)).is_some()
        });
        self
    }

    /// The condition of the given type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == kind)
    }

    /// True where the status is to be written over `held`, which was last written at `at`.
    pub(super) fn is_due(&self, held: Option<&Self>, at: Timestamp, now: Timestamp) -> bool {
        let Some(held) = held else { return true };
        if self == held {
            return false;
        }
        let old = now.duration_since(at) >= TEXTS;
        old || !self.tells_as(held)
    }

    /// True where both say the same, but for figures of forecasts and times.
    pub(super) fn tells_as(&self, other: &Self) -> bool {
        self.same_decision(other) && self.same_conditions(other)
    }

    fn same_decision(&self, other: &Self) -> bool {
        self.mode == other.mode
            && self.replicas == other.replicas
            && self.limited_by == other.limited_by
    }

    /// True where the conditions differ at most in the figures of forecasts and in what APIs answer, which
    /// may be another text each time.
    fn same_conditions(&self, other: &Self) -> bool {
        let mut pairs = self.conditions.iter().zip(&other.conditions);
        self.conditions.len() == other.conditions.len()
            && pairs.all(|(a, b)| {
                let same = a.kind == b.kind && a.status == b.status && a.reason == b.reason;
                let varies = [FORECAST_TRUSTED, TargetProblem::SIGNAL_UNKNOWN].contains(&&*a.kind);
                same && (varies || a.message == b.message)
            })
    }
}
