//! When refused Pods are to be looked at again.
//!
//! Falling load moves nothing in the cluster that kube-scheduler would notice, so a refused Pod
//! could wait for its periodic flush of five minutes. A change of a node's annotation wakes it. A
//! node is touched when it turns from fitting none of the waiting Pods to fitting some; while it
//! goes on fitting Pods that do not come (a taint, an affinity), it is touched ever more rarely.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{Operation, Purpose, Target, Write};
use crate::kubernetes::annotations::HEADROOM_RETURNED;
use crate::placement::headroom;
use crate::placement::node_table::NodeSet;
use crate::units::{Amount, Ratio, Resources};

/// How often nodes are touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Between two touches of any nodes: each wakes every refused Pod of the cluster.
    pub min_interval: SignedDuration,
    /// The longest wait between touches of a node that fits Pods which do not come.
    pub max_backoff: SignedDuration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            min_interval: SignedDuration::from_secs(2),
            max_backoff: SignedDuration::from_mins(5),
        }
    }
}

/// A Pod that waits because no node had headroom for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// R.
    pub demand: Resources<Amount>,
    /// The headroom ratio that holds for it.
    pub headroom: Ratio,
    /// Whether it has waited so long that the least loaded nodes take it without headroom.
    pub relaxed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Touched {
    at: Timestamp,
    backoff: SignedDuration,
}

/// What was done so far.
#[derive(Debug, Clone, Default)]
pub struct Wake {
    fitting: HashMap<Arc<str>, Option<Touched>>,
    last: Option<Timestamp>,
}

impl Wake {
    /// The node to touch now, if any: the first one that newly fits a waiting Pod, or whose wait
    /// is over.
    ///
    /// One touch wakes all refused Pods, so one node a round is enough.
    pub fn plan(
        &mut self,
        nodes: &NodeSet,
        waiting: &[Waiting],
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Arc<str>> {
        let fits = |node: &&crate::placement::node_table::NodeState| {
            node.schedulable
                && waiting
                    .iter()
                    .any(|pod| pod.relaxed || headroom::fits(&pod.demand, &node.load, pod.headroom))
        };
        let fitting: Vec<Arc<str>> = nodes
            .iter()
            .filter(fits)
            .map(|node| Arc::clone(&node.name))
            .collect();
        let before = std::mem::take(&mut self.fitting);
        self.fitting = fitting
            .into_iter()
            .map(|name| {
                let touched = before.get(&name).copied().flatten();
                (name, touched)
            })
            .collect();
        if self
            .last
            .is_some_and(|last| now.duration_since(last) < settings.min_interval)
        {
            return None;
        }
        let due = |touched: &Option<Touched>| {
            touched.is_none_or(|touched| now.duration_since(touched.at) >= touched.backoff)
        };
        let name = self
            .fitting
            .iter()
            .filter(|(_, touched)| due(touched))
            .map(|(name, touched)| (touched.map(|touched| touched.at), name))
            .min()
            .map(|(_, name)| Arc::clone(name))?;
        self.touch_all(settings, now);
        Some(name)
    }

    /// Every fitting node shares in the touch, since it woke the Pods for all of them.
    fn touch_all(&mut self, settings: &Settings, now: Timestamp) {
        self.last = Some(now);
        for touched in self.fitting.values_mut() {
            let backoff = touched.map_or(settings.min_interval * 4, |touched| touched.backoff * 2);
            *touched = Some(Touched {
                at: now,
                backoff: backoff.min(settings.max_backoff),
            });
        }
    }
}

/// The write that touches a node.
#[must_use]
pub fn write(node: &str, resource_version: &str, now: Timestamp) -> Write {
    Write {
        purpose: Purpose::WakePods,
        target: Target::Node(node.to_owned()),
        operation: Operation::Merge(json!({
            "metadata": {
                "resourceVersion": resource_version,
                "annotations": { HEADROOM_RETURNED: now.to_string() },
            }
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::node_table::{NodeFacts, NodeTable, PodFacts};
    use crate::placement::usage::PodName;
    use crate::units::Resource;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + second).unwrap()
    }

    fn cpu(value: u64) -> Resources<Amount> {
        let mut amounts = Resources::default();
        amounts[Resource::Cpu] = Amount::new(value);
        amounts
    }

    fn table() -> NodeTable {
        let mut table = NodeTable::default();
        let mut facts = NodeFacts {
            schedulable: true,
            ..NodeFacts::default()
        };
        facts.capacity[Resource::Cpu] = Some(Amount::new(1000));
        table.apply_node("a", facts, at(0));
        occupy(&mut table, 700);
        table
    }

    fn occupy(table: &mut NodeTable, demand: u64) {
        let name = PodName::new("default", "filler");
        let facts = PodFacts {
            name: &name,
            node: Some("a"),
            demand: cpu(demand),
            started: None,
            finished: None,
        };
        table.apply_pod("filler", &facts, at(0));
    }

    fn waiting() -> Vec<Waiting> {
        vec![Waiting {
            demand: cpu(200),
            headroom: Ratio::share(0.8).unwrap(),
            relaxed: false,
        }]
    }

    fn plan(wake: &mut Wake, table: &NodeTable, second: i64) -> bool {
        wake.plan(table.nodes(), &waiting(), &Settings::default(), at(second))
            .is_some()
    }

    #[test]
    fn a_node_is_touched_once_when_headroom_returns() {
        let (mut wake, mut table) = (Wake::default(), table());
        assert!(!plan(&mut wake, &table, 0), "full");
        occupy(&mut table, 100);
        assert!(plan(&mut wake, &table, 10));
        assert!(!plan(&mut wake, &table, 11));
    }

    #[test]
    fn a_node_that_fits_pods_which_never_come_is_touched_ever_more_rarely() {
        let (mut wake, mut table) = (Wake::default(), table());
        occupy(&mut table, 100);
        let touches = (0..3600)
            .filter(|second| plan(&mut wake, &table, *second))
            .count();
        // 0, 8, 24, 56, 120, 248, 504 s and then every 300 s.
        assert_eq!(touches, 17);
    }

    #[test]
    fn a_node_that_fills_up_again_starts_anew() {
        let (mut wake, mut table) = (Wake::default(), table());
        for round in 0..5_i64 {
            occupy(&mut table, 100);
            assert!(plan(&mut wake, &table, round * 10));
            occupy(&mut table, 700);
            assert!(!plan(&mut wake, &table, round * 10 + 5));
        }
    }

    #[test]
    fn a_pod_that_has_waited_long_enough_is_woken_without_headroom() {
        let (mut wake, table) = (Wake::default(), table());
        let mut waiting = waiting();
        let settings = Settings::default();
        assert_eq!(wake.plan(table.nodes(), &waiting, &settings, at(0)), None);
        waiting[0].relaxed = true;
        assert!(
            wake.plan(table.nodes(), &waiting, &settings, at(1))
                .is_some()
        );
    }

    #[test]
    fn nobody_waits_or_the_node_is_cordoned_nothing_is_touched() {
        let (mut wake, mut table) = (Wake::default(), table());
        occupy(&mut table, 100);
        assert_eq!(
            wake.plan(table.nodes(), &[], &Settings::default(), at(0)),
            None
        );
        let mut facts = NodeFacts::default();
        facts.capacity[Resource::Cpu] = Some(Amount::new(1000));
        table.apply_node("a", facts, at(1));
        assert!(!plan(&mut wake, &table, 2));
    }

    #[test]
    fn the_write_is_conditional() {
        let write = write("a", "42", at(0));
        let Operation::Merge(patch) = write.operation else {
            panic!("a merge patch")
        };
        assert_eq!(patch["metadata"]["resourceVersion"], "42");
        assert_eq!(
            patch["metadata"]["annotations"]["evenkeel.dev/headroom-returned"],
            at(0).to_string()
        );
    }
}
