//! The status of a target: the decision of a tick, and the conditions with the times of their
//! changes.

pub mod conditions;
pub mod dashboard;
pub(crate) mod events;
pub mod last_status;
pub mod memory;
pub mod opt_in_notice;

use evenkeel_objects::annotations::{BOUNDS, SCALING_STATUS};
use evenkeel_objects::condition::Condition;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::status_writer::Status;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use self::conditions::{Circumstances, FORECAST_TRUSTED};
use crate::limits::LimitedBy;
use crate::load::horizon::{Horizon, Lag, Lead};
use crate::targets::problem::TargetProblem;
use crate::targets::resolve::ResolvedTarget;
use crate::tracker::TickReport;

/// The most bytes of a status that are read: some ten times those of the longest that is written.
const LONGEST: usize = 32 * 1024;

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

/// The status of a target, in an annotation of the object that carries the target. The object's own `status`
/// belongs to another controller.
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
    pub(crate) fn of(
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

    /// The status that an object holds, as far as it says what a status can say; `None` if it holds none that can
    /// be read. Any user may have written it.
    pub(crate) fn held_by(metadata: &Meta) -> Option<Self> {
        let text = metadata.annotation(SCALING_STATUS)?;
        let status = (text.len() <= LONGEST).then(|| serde_json::from_str::<Self>(text).ok());
        status.flatten().map(Self::with_known_conditions)
    }

    /// The status with the first condition of each type that a target can have, and no other: the
    /// types are labels of metrics.
    fn with_known_conditions(mut self) -> Self {
        let mut kinds = conditions::kinds();
        self.conditions.retain(|condition| {
            let known = kinds.iter().position(|kind| *kind == condition.kind);
            known.map(|place| kinds.swap_remove(place)).is_some()
        });
        self
    }

    /// True if the object holds a status, readable or not.
    pub(crate) fn is_on(metadata: &Meta) -> bool {
        metadata.annotation(SCALING_STATUS).is_some()
    }

    /// Puts a status into the `patch` of its object, or takes the present one away with `None`.
    pub(crate) fn put(status: Option<&Self>, metadata: &Meta, patch: &mut ConditionalPatch) {
        let text = status
            .map(|status| serde_json::to_string(status).expect("a status has string keys only"));
        patch.annotate(SCALING_STATUS, Self::is_on(metadata), text);
    }
}

impl Status for TargetStatus {
    const FIGURES_EVERY: SignedDuration = SignedDuration::from_mins(5);

    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// The figures of forecasts and the answers of APIs may be other texts each time.
    fn differs_in_figures_only(&self, other: &Self) -> bool {
        let mut pairs = self.conditions.iter().zip(&other.conditions);
        self.mode == other.mode
            && self.replicas == other.replicas
            && self.limited_by == other.limited_by
            && self.conditions.len() == other.conditions.len()
            && pairs.all(|(a, b)| {
                let same = a.kind == b.kind && a.status == b.status && a.reason == b.reason;
                let varies = [FORECAST_TRUSTED, TargetProblem::SIGNAL_UNKNOWN].contains(&&*a.kind);
                same && (varies || a.message == b.message)
            })
    }
}

/// True for an object on which bounds or status of a target have been written, which is to be taken
/// back once it is no target any more.
pub fn is_marked(metadata: &Meta) -> bool {
    [BOUNDS, SCALING_STATUS]
        .into_iter()
        .any(|key| metadata.annotations.contains_key(key))
}
