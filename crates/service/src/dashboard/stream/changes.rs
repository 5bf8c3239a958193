//! The changes since the last event of one stream: the rows that its reader knows, compared with
//! the newest states. No state is locked for longer than a copy of its list of pointers takes.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use evenkeel_objects::condition::ConditionStatus;
use evenkeel_scaling::status::conditions;
use evenkeel_scaling::status::dashboard::ScalingStatus;

use crate::api::calendar::Calendar;
use crate::api::nodes::NodeUsage;
use crate::api::replay::ReplayComparison;
use crate::api::stream::{ClusterChange, LoadSummary, ReportedProblem, TargetName, TargetSummary};
use crate::dashboard::{DashboardScalingState, nodes};
use crate::server::handlers::Handlers;

/// The rows that one reader knows.
#[derive(Debug, Default)]
pub(super) struct StreamReader {
    has_begun: bool,
    /// The version of the nodes, and their own taints.
    seen: Option<(u64, BTreeMap<String, String>)>,
    nodes: HashMap<Arc<str>, Arc<NodeUsage>>,
    /// The number of the last placement.
    sequence: u64,
    board: Option<Arc<Vec<Arc<ScalingStatus>>>>,
    targets: HashMap<TargetName, Arc<TargetSummary>>,
    calendar: Option<Arc<Calendar>>,
    replay: Option<Arc<ReplayComparison>>,
}

impl StreamReader {
    pub(super) const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The changes since the last call; the first one is about everything.
    pub(super) fn next(
        &mut self,
        handlers: &Handlers,
        scaling: &DashboardScalingState,
        newest: &Arc<Calendar>,
    ) -> ClusterChange {
        let cluster = &handlers.cluster;
        let full = !std::mem::replace(&mut self.has_begun, true);
        let headroom = handlers.policy.headroom;
        let snapshot = cluster.snapshot();
        let (mut changed_nodes, mut gone_nodes) = (Vec::new(), Vec::new());
        let seen = (snapshot.nodes.version(), cluster.overloaded());
        if self.seen.as_ref() != Some(&seen) {
            let usage = nodes::usage(&snapshot, &seen.1, headroom);
            let named = usage.into_iter().map(|node| (Arc::clone(&node.name), node));
            (changed_nodes, gone_nodes) = replace(&mut self.nodes, named.collect());
            self.seen = Some(seen);
        }
        let placements = handlers
            .decisions
            .placements_since(self.sequence, &handlers.policy);
        if let Some(newest) = placements.last() {
            self.sequence = newest.sequence;
        }
        let (mut targets, mut gone_targets) = (Vec::new(), Vec::new());
        let board = scaling.board.targets();
        let is_known = |known: &Arc<_>| Arc::ptr_eq(known, &board);
        if !self.board.as_ref().is_some_and(is_known) {
            let rows = board.iter().map(|status| {
                let row = Arc::new(summary(status));
                (row.name.clone(), row)
            });
            (targets, gone_targets) = replace(&mut self.targets, rows.collect());
            self.board = Some(board);
        }
        let calendar = changed(&mut self.calendar, Some(Arc::clone(newest)));
        let replay = changed(&mut self.replay, scaling.replay.newest());
        ClusterChange {
            at: cluster.now(),
            full,
            synced: snapshot.synced,
            headroom: headroom.get(),
            writes: handlers.writes().as_str().into(),
            nodes: changed_nodes,
            gone_nodes,
            placements,
            targets,
            gone_targets,
            calendar,
            replay,
        }
    }
}

/// The newest value, if it is another than the one that is known.
fn changed<T>(known: &mut Option<Arc<T>>, newest: Option<Arc<T>>) -> Option<Arc<T>> {
    let same = match (&*known, &newest) {
        (Some(known), Some(newest)) => Arc::ptr_eq(known, newest),
        (None, None) => true,
        _ => false,
    };
    known.clone_from(&newest);
    newest.filter(|_| !same)
}

/// Replaces rows; returns those that are new or have changed, and the keys of those that are gone.
fn replace<K: Clone + Eq + Hash + Ord, T: PartialEq>(
    known: &mut HashMap<K, Arc<T>>,
    new: HashMap<K, Arc<T>>,
) -> (Vec<Arc<T>>, Vec<K>) {
    let before = std::mem::replace(known, new);
    let changed = known
        .iter()
        .filter(|(key, row)| before.get(*key) != Some(*row));
    let changed = changed.map(|(_, row)| Arc::clone(row)).collect();
    let gone = before.keys().filter(|key| !known.contains_key(*key));
    let mut gone: Vec<K> = gone.cloned().collect();
    gone.sort();
    (changed, gone)
}

fn summary(status: &ScalingStatus) -> TargetSummary {
    let load = status.loads.first().map(|load| LoadSummary {
        resource: load.resource.clone(),
        unit: load.unit.clone(),
        now: load.now,
        forecast: load.forecast.as_ref().map(|forecast| forecast.mean),
        model: load
            .forecast
            .as_ref()
            .map(|forecast| forecast.model.clone()),
        trusted: load.trust.as_ref().map(|trust| trust.trusted),
    });
    let failing = status
        .conditions
        .iter()
        .filter(|condition| is_problem(&condition.kind, condition.status));
    TargetSummary {
        name: TargetName {
            namespace: Arc::clone(&status.namespace),
            object: status.object.clone(),
        },
        workload: status.workload.clone(),
        mode: status.mode.clone(),
        current: status.current,
        min: status.min,
        max: status.max,
        decided: status.decided,
        floor: status.floor.as_ref().map(|floor| floor.replicas),
        plain_hpa: status.plain_hpa,
        grounds: status.grounds.clone(),
        reason: status.reason.clone(),
        load,
        problems: failing
            .map(|condition| ReportedProblem {
                kind: condition.kind.clone(),
                reason: condition.reason.clone(),
            })
            .collect(),
    }
}

/// Conditions that are no problem if they are `False`.
const MAY_BE_FALSE: [&str; 4] = [
    "WorthEnabling",
    "ScalingLimited",
    "ScaledToZero",
    "GrayProgressing",
];

/// True if a condition that names a problem is `True`, or if any other is `False`, except those of
/// [`MAY_BE_FALSE`].
fn is_problem(kind: &str, status: ConditionStatus) -> bool {
    let names_problem = conditions::is_problem(kind) || conditions::CONFLICTS.contains(&kind);
    match status {
        ConditionStatus::True => names_problem,
        ConditionStatus::False => !names_problem && !MAY_BE_FALSE.contains(&kind),
        ConditionStatus::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::scaling::sample;

    #[test]
    fn rows_that_changed_and_keys_that_are_gone_are_found() {
        let row = |text: &str| Arc::new(text.to_owned());
        let mut known = HashMap::from([(1, row("a")), (2, row("b")), (3, row("c"))]);
        let new = HashMap::from([(2, row("b")), (3, row("d")), (4, row("e"))]);
        let (mut changed, gone) = replace(&mut known, new);
        changed.sort();
        assert_eq!(changed, [row("d"), row("e")]);
        assert_eq!(gone, [1]);
        let same = known.clone();
        assert_eq!(replace(&mut known, same), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_value_is_sent_once() {
        let (mut known, first, second) = (None, Arc::new(1), Arc::new(2));
        assert_eq!(changed(&mut known, None), None);
        assert_eq!(
            changed(&mut known, Some(Arc::clone(&first))),
            Some(Arc::clone(&first))
        );
        assert_eq!(changed(&mut known, Some(first)), None);
        assert_eq!(changed(&mut known, Some(Arc::clone(&second))), Some(second));
    }

    #[test]
    fn a_summary_names_the_conditions_that_report_a_problem() {
        let mut status = sample::status();
        let before = summary(&status);
        assert!(before.problems.is_empty());
        assert_eq!(before.load.unwrap().forecast, Some(7200.0));
        status.conditions[0].status = ConditionStatus::False;
        status.conditions[0].reason = "NotEnoughHistory".to_owned();
        let problems = summary(&status).problems;
        assert_eq!(problems[0].reason, "NotEnoughHistory");
        for (kind, status, expected) in [
            ("NoMetric", ConditionStatus::True, true),
            ("FloorContested", ConditionStatus::True, true),
            ("FloorContested", ConditionStatus::False, false),
            ("MetricsAvailable", ConditionStatus::True, false),
            ("MetricsAvailable", ConditionStatus::Unknown, false),
            ("WorthEnabling", ConditionStatus::False, false),
        ] {
            assert_eq!(is_problem(kind, status), expected, "{kind} {status}");
        }
    }
}
