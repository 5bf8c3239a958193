//! The status of a target in one annotation: what was decided and the conditions.
//!
//! A condition keeps the time of its last change. The figures in the texts change with every tick,
//! which is not worth a write each: they follow after five minutes, or with a change that counts.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::problem::Problem;
use super::targets::Resolved;
use evenkeel_core::forecast::{Distrust, Trust};
use evenkeel_core::scaling::LimitedBy;
use evenkeel_core::scaling::tracker::{LoadReport, Report};

/// How old texts may be when nothing else has changed.
const TEXTS: SignedDuration = SignedDuration::from_mins(5);
/// How long it is told that a record was damaged, which nothing else shows any more.
const TOLD: SignedDuration = SignedDuration::from_hours(1);

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Truth {
    /// It does.
    True,
    /// It does not.
    False,
}

impl Truth {
    /// The word in conditions.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// One condition, as Kubernetes writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What is told of.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: Truth,
    /// Why, from a closed set.
    pub reason: String,
    /// Why, in words.
    pub message: String,
    /// Since when it holds, or does not.
    pub last_transition_time: Timestamp,
}

/// The condition that a forecast has earned to be heard.
pub const FORECAST_TRUSTED: &str = "ForecastTrusted";
/// The condition that all loads are known as they are now.
pub const METRICS_AVAILABLE: &str = "MetricsAvailable";
/// The condition that another writer has been left the bounds.
pub const FLOOR_CONTESTED: &str = "FloorContested";
/// The condition that the record of the bounds could not be read.
pub const RECORD_DAMAGED: &str = "BoundsRecordDamaged";

/// What is told of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The mode in effect.
    pub mode: String,
    /// The replicas that were decided; in mode floor, the least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The rule that held the decision back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// The decision in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How far ahead was looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon_seconds: Option<i64>,
    /// The model that is listened to, of the load that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

/// What conditions are found from, beside the objects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances<'a> {
    pub(super) now: Timestamp,
    /// The status of the tick before.
    pub(super) previous: Option<&'a Status>,
    /// The field manager of the other writer, where it is known.
    pub(super) contester: Option<&'a str>,
    /// Whether so little time has passed since the begin that what was never measured may come.
    pub(super) begins: bool,
}

impl Status {
    /// The status that an annotation holds; one that does not parse is none.
    pub(super) fn from_annotation(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn to_annotation(&self) -> String {
        serde_json::to_string(self).expect("a status has string keys only")
    }

    /// What is to be told of a target now.
    pub(super) fn of(
        resolved: &Resolved,
        report: Option<&Report>,
        circumstances: &Circumstances<'_>,
    ) -> Self {
        let models = report.map_or(&[][..], |report| &report.loads);
        let mut models = models.iter().filter_map(|load| load.model);
        Self {
            mode: resolved.mode.as_str().to_owned(),
            replicas: report.map(|report| report.decision.replicas),
            limited_by: report.and_then(|report| {
                let limit = report.decision.limited_by.map(LimitedBy::reason);
                limit.map(ToOwned::to_owned)
            }),
            reason: report.map(|report| report.decision.reason.clone()),
            horizon_seconds: report.map(|report| report.horizon.as_secs()),
            model: models.next().map(|model| model.name.to_owned()),
            conditions: conditions(resolved, report, circumstances),
        }
    }

    /// A condition of the given type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == kind)
    }

    /// Whether it is to be written over `held`, which was last written `at`.
    pub(super) fn is_due(&self, held: Option<&Self>, at: Timestamp, now: Timestamp) -> bool {
        let Some(held) = held else { return true };
        if self == held {
            return false;
        }
        let old = now.duration_since(at) >= TEXTS;
        old || self.facts() != held.facts() || !self.same_conditions(held)
    }

    fn facts(&self) -> (&str, Option<i32>, Option<&str>) {
        (&self.mode, self.replicas, self.limited_by.as_deref())
    }

    fn same_conditions(&self, other: &Self) -> bool {
        let same = |(a, b): (&Condition, &Condition)| {
            let figures = a.kind == FORECAST_TRUSTED || a.message == b.message;
            (&a.kind, a.status, &a.reason) == (&b.kind, b.status, &b.reason) && figures
        };
        self.conditions.len() == other.conditions.len()
            && self.conditions.iter().zip(&other.conditions).all(same)
    }
}

fn conditions(
    resolved: &Resolved,
    report: Option<&Report>,
    circumstances: &Circumstances<'_>,
) -> Vec<Condition> {
    let loads = report.map_or(&[][..], |report| &report.loads);
    let mut found: Vec<Condition> = Vec::new();
    found.extend(forecast_trusted(loads));
    found.extend(metrics_available(loads, circumstances));
    found.extend(resolved.problems.iter().map(problem));
    if resolved.is_contested() {
        let told = circumstances
            .previous
            .and_then(|status| status.condition(FLOOR_CONTESTED));
        let message = match (circumstances.contester, told) {
            (None, Some(told)) => told.message.clone(),
            (who, _) => {
                let who = who.unwrap_or("another writer");
                format!("{who} undid the floor twice within 5 minutes and is left the field")
            }
        };
        found.push(condition(FLOOR_CONTESTED, true, "UndoneTwice", message));
    }
    found.extend(record_damaged(resolved, circumstances));
    for condition in &mut found {
        let before = circumstances
            .previous
            .and_then(|status| status.condition(&condition.kind));
        let since = before.filter(|before| before.status == condition.status);
        condition.last_transition_time =
            since.map_or(circumstances.now, |before| before.last_transition_time);
    }
    found
}

fn condition(kind: &str, holds: bool, reason: &str, message: String) -> Condition {
    Condition {
        kind: kind.to_owned(),
        status: holds.into(),
        reason: reason.to_owned(),
        message,
        last_transition_time: Timestamp::UNIX_EPOCH,
    }
}

fn problem(problem: &Problem) -> Condition {
    condition(problem.kind(), true, problem.kind(), problem.to_string())
}

/// It holds when one of the loads has a forecast that is heard.
fn forecast_trusted(loads: &[LoadReport]) -> Option<Condition> {
    let models = || loads.iter().filter_map(|load| Some((load, load.model?)));
    let of_all =
        models().map(
            |(load, model)| match (model.at_horizon, lacking(load, model.name)) {
                (None, Some(lacking)) => (
                    false,
                    "NotEnoughHistory",
                    format!("{}: {lacking}", load.resource),
                ),
                (None, None) => (
                    false,
                    "NotEnoughHistory",
                    format!("{}: {} begins anew", load.resource, model.name),
                ),
                (Some(_), _) => {
                    let told = format!("{}: {} {}", load.resource, model.name, model.trust);
                    (model.trust.is_trusted(), model.trust.reason(), told)
                }
            },
        );
    let of_all: Vec<_> = of_all.collect();
    let chosen = of_all
        .iter()
        .find(|(trusted, ..)| *trusted)
        .or(of_all.first())?;
    let told: Vec<_> = of_all.iter().map(|(_, _, told)| told.as_str()).collect();
    Some(condition(
        FORECAST_TRUSTED,
        chosen.0,
        chosen.1,
        told.join("; "),
    ))
}

fn lacking(load: &LoadReport, model: &str) -> Option<String> {
    let lacking = load.lacking.iter().find(|lacking| lacking.model == model);
    lacking.map(ToString::to_string)
}

/// It holds when every load is known as it is now. At the begin it stays as it was.
fn metrics_available(loads: &[LoadReport], circumstances: &Circumstances<'_>) -> Option<Condition> {
    if loads.is_empty() {
        return None;
    }
    let stale = loads.iter().filter(|load| !load.fresh);
    let stale: Vec<_> = stale.map(|load| load.resource.as_str()).collect();
    if stale.is_empty() {
        let told = "every load has a fresh measurement".to_owned();
        return Some(condition(METRICS_AVAILABLE, true, "Measured", told));
    }
    let never = loads.iter().any(|load| load.measured.is_none());
    if never && circumstances.begins {
        return circumstances
            .previous
            .and_then(|status| status.condition(METRICS_AVAILABLE))
            .cloned();
    }
    let told = format!("no fresh measurement of {}", stale.join(" and "));
    Some(condition(METRICS_AVAILABLE, false, "Stale", told))
}

fn record_damaged(resolved: &Resolved, circumstances: &Circumstances<'_>) -> Option<Condition> {
    if let Some(error) = resolved.bounds.as_ref().and_then(|bounds| bounds.damaged()) {
        let told = format!("{error}; the bounds are left as they are and count as the user's");
        return Some(condition(RECORD_DAMAGED, true, "OwnershipRecord", told));
    }
    let before = circumstances.previous?.condition(RECORD_DAMAGED)?;
    let age = circumstances
        .now
        .duration_since(before.last_transition_time);
    (age < TOLD).then(|| before.clone())
}

/// Whether a reason of [`FORECAST_TRUSTED`] is a judgement, and not only a want of samples.
pub(super) fn is_distrust(reason: &str) -> bool {
    let judged = [
        Distrust::NotBetterThanNaive { ratio: None },
        Distrust::Coverage { coverage: 0.0 },
    ];
    judged
        .iter()
        .any(|distrust| Trust::Untrusted(*distrust).reason() == reason)
}
