//! The refill of a target's past from a database: the targets that can have one, and those that have it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use evenkeel_forecast::Resolution;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::pod_names;
use evenkeel_objects::pod_names::WorkloadName;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::reference::TargetRef;

/// The state of the refill of a target's past.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RefillState {
    /// The past is being asked for.
    Running,
    /// All of the past that there is has been taken.
    Done,
    /// There is no database to ask: it learns as it goes, and has no model of its own past.
    NoPrometheus,
    /// The names of the Pods do not tell which workload they belong to: as without a database.
    NotByName,
}

/// The first state of a target of this workload; `has_past` where there is a database to ask.
pub fn begin(workload: &TargetRef, has_past: bool) -> RefillState {
    let ending = pod_names::ending(workload.object().kind(), workload.name());
    if !has_past {
        RefillState::NoPrometheus
    } else if ending.is_none() {
        RefillState::NotByName
    } else {
        RefillState::Running
    }
}

impl RefillState {
    /// The state once everything has arrived that was asked for up to the tick `answered`. A target
    /// that was first asked for at a later tick, `asked`, is in none of the answers yet.
    pub(crate) fn after_answer(self, asked: u64, answered: u64) -> Self {
        if self == Self::Running && asked <= answered {
            Self::Done
        } else {
            self
        }
    }
}

/// A part of the past, in the loop's time.
#[derive(Debug)]
pub struct SignalBackfill {
    pub signal: Signal,
    /// The distance of the points.
    pub resolution: Resolution,
    /// The sums by workload.
    pub sums: HashMap<WorkloadName, Points>,
}

/// A part of the past of one query, in the loop's time.
#[derive(Debug)]
pub struct FilledQuery {
    pub query: Arc<str>,
    /// The distance of the points.
    pub resolution: Resolution,
    pub points: Points,
}

/// A past that is wished for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackfillRequest {
    /// That of the targets of a namespace, as of a tick.
    Namespace(Box<str>, u64),
    /// That of a target's own query.
    Query(Arc<str>),
}

/// Namespaces with a requested past, each with the newest tick of a request.
pub type BackfillNamespaces = BTreeMap<Box<str>, u64>;

/// Values of the past, in the order of time.
pub type Points = Vec<(Timestamp, f64)>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_past_is_asked_for_where_names_tell_the_workload() {
        let begin = |kind: &str, length: usize, has_past| {
            let workload = TargetRef::new("apps/v1", kind, "shop", &"x".repeat(length));
            super::begin(&workload, has_past)
        };
        for (kind, length, has_past, state) in [
            ("Deployment", 3, true, RefillState::Running),
            ("StatefulSet", 46, true, RefillState::Running),
            ("Deployment", 47, true, RefillState::NotByName),
            ("Rollout", 3, true, RefillState::NotByName),
            ("Deployment", 3, false, RefillState::NoPrometheus),
        ] {
            assert_eq!(begin(kind, length, has_past), state, "{kind} {length}");
        }
    }

    #[test]
    fn an_answer_fills_those_who_were_there_when_it_was_asked_for() {
        let running = RefillState::Running;
        assert_eq!(running.after_answer(3, 3), RefillState::Done);
        assert_eq!(running.after_answer(4, 3), RefillState::Running);
        let other = RefillState::NotByName;
        assert_eq!(other.after_answer(1, 3), other);
    }
}
