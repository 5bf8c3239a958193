//! Wakes refused Pods when headroom returns. kube-scheduler does not notice falling load, so a
//! refused Pod could wait five minutes for its periodic flush. A change of a node's annotation
//! wakes it. A node is touched when it starts to fit a kind of waiting Pod, and ever more rarely
//! while it fits Pods that do not come (a taint, an affinity).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use evenkeel_objects::annotations::HEADROOM_RETURNED;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use evenkeel_objects::pod::Pod;
use evenkeel_units::{Amount, Ratio, Resources};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::extender::placement_rules;
use crate::extender::placement_rules::{PlacementContext, PlacementRules};
use crate::headroom;
use crate::node_table::{NodeSet, NodeState};

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
pub struct RefusedPod {
    /// R in `[CLBP] (4.1)`.
    pub demand: Resources<Amount>,
    /// h in `[CLBP] (4.1)`.
    pub headroom: Ratio,
    /// True where nodes take it without headroom, so that any of them may wake it.
    pub relaxed: bool,
}

impl RefusedPod {
    pub fn of(pod: &Pod, call: &PlacementContext<'_>) -> Self {
        let judgement = PlacementRules::if_judged(pod, call);
        Self {
            demand: judgement.demand.amounts,
            headroom: judgement.headroom,
            // Without headroom the policy may send the Pod to the least loaded nodes. A Pod that is
            // no longer judged, because its namespace opted out, is to be asked about again as
            // well.
            relaxed: judgement.relaxes(call, true)
                || placement_rules::exemption(pod, call).is_some(),
        }
    }
}

/// Classes of Pods in a round: with 5,000 nodes some milliseconds of work. A workload is one class.
const CLASSES: usize = 128;

#[derive(Debug, Clone, Default)]
struct Class {
    /// The nodes that fitted when they were last looked at.
    fitting: HashSet<Arc<str>>,
    /// One of them that did not before, and has not been touched for it.
    news: Option<Arc<str>>,
    /// The last touch for this class, and how long to wait for the next one.
    touched: Option<(Timestamp, SignedDuration)>,
}

/// The memory of all classes.
#[derive(Debug, Clone, Default)]
pub struct Wake {
    classes: BTreeMap<PodClassKey, Class>,
    version: Option<u64>,
    last: Option<Timestamp>,
}

/// The properties that the Pods of a class share.
type PodClassKey = ([Amount; 5], u64, bool);

impl RefusedPod {
    fn key(&self) -> PodClassKey {
        let headroom = self.headroom.get().to_bits();
        (*self.demand.values(), headroom, self.relaxed)
    }

    fn fits(&self, node: &NodeState) -> bool {
        node.schedulable
            && (self.relaxed || headroom::fits(&self.demand, &node.load, self.headroom))
    }
}

impl Class {
    fn look(&mut self, pod: &RefusedPod, nodes: &NodeSet) {
        let fitting: HashSet<Arc<str>> = nodes
            .iter()
            .filter(|node| pod.fits(node))
            .map(|node| Arc::clone(&node.name))
            .collect();
        let new = fitting.difference(&self.fitting).min().cloned();
        let known = self.news.take().filter(|news| fitting.contains(news));
        self.news = new.or(known);
        self.fitting = fitting;
    }

    fn touch(&mut self, settings: &Settings, now: Timestamp) -> Option<Arc<str>> {
        let base = settings.min_interval * 4;
        let (node, backoff) = match (self.news.take(), self.touched) {
            (Some(node), _) => (node, base),
            (None, None) => (self.fitting.iter().min().cloned()?, base),
            (None, Some((since, backoff))) if has_passed(since, backoff, now) => {
                (self.fitting.iter().min().cloned()?, backoff * 2)
            }
            (None, Some(_)) => return None,
        };
        self.touched = Some((now, backoff.min(settings.max_backoff)));
        Some(node)
    }
}

impl Wake {
    /// The node to touch now, if any. Waiting Pods with the same demand are one class. A class is
    /// due when a new node fits it, or when nodes have fitted it for its backoff. One touch wakes
    /// all refused Pods, so one node a round is enough and counts for every due class.
    pub fn plan(
        &mut self,
        nodes: &NodeSet,
        waiting: &[RefusedPod],
        settings: &Settings,
        now: Timestamp,
    ) -> Option<Arc<str>> {
        self.look(nodes, waiting);
        if self
            .last
            .is_some_and(|last| !has_passed(last, settings.min_interval, now))
        {
            return None;
        }
        let mut chosen = None;
        for class in self.classes.values_mut() {
            if let Some(node) = class.touch(settings, now) {
                chosen.get_or_insert(node);
            }
        }
        if chosen.is_some() {
            self.last = Some(now);
        }
        chosen
    }

    /// Takes the last touch back, since it could not be written: it is due again.
    pub fn failed(&mut self) {
        for class in self.classes.values_mut() {
            class.touched = None;
        }
    }

    /// Brings the classes in line with Pods and nodes, where one of them has changed.
    fn look(&mut self, nodes: &NodeSet, waiting: &[RefusedPod]) {
        let pods: BTreeMap<PodClassKey, &RefusedPod> =
            waiting.iter().map(|pod| (pod.key(), pod)).collect();
        // Those that ask for least come first: they are the likeliest to fit.
        let pods: BTreeMap<PodClassKey, &RefusedPod> = pods.into_iter().take(CLASSES).collect();
        let version = Some(nodes.version());
        if self.version == version && pods.keys().eq(self.classes.keys()) {
            return;
        }
        self.version = version;
        self.classes.retain(|key, _| pods.contains_key(key));
        for (key, pod) in pods {
            self.classes.entry(key).or_default().look(pod, nodes);
        }
    }
}

/// True once a wait is over; a clock that was set back ends it as well.
fn has_passed(since: Timestamp, wait: SignedDuration, now: Timestamp) -> bool {
    now < since || now.duration_since(since) >= wait
}

pub fn write(node: &str, resource_version: &str, now: Timestamp) -> Write {
    let patch = json!({
        "metadata": {
            "resourceVersion": resource_version,
            "annotations": { HEADROOM_RETURNED: now.to_string() },
        }
    });
    let target = ObjectRef::of_cluster(Kind::Node, node);
    Write::new(Purpose::WakePods, target, WriteOperation::Merge(patch))
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::bound_pod::BoundPod;
    use evenkeel_objects::node_facts::NodeFacts;
    use evenkeel_objects::pod_name::PodName;
    use evenkeel_units::Resource;

    use super::*;
    use crate::node_table::NodeTable;

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
        let facts = BoundPod::on(&name, Some("a"), cpu(demand));
        table.apply_pod("filler", &facts, at(0));
    }

    fn waiting() -> Vec<RefusedPod> {
        vec![RefusedPod {
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
    fn a_pod_that_never_comes_does_not_delay_another_one() {
        let (mut wake, mut table) = (Wake::default(), table());
        occupy(&mut table, 500);
        let small = waiting();
        let big = RefusedPod {
            demand: cpu(600),
            ..small[0]
        };
        let both = [small[0], big];
        let mut plan = |table: &NodeTable, second| {
            wake.plan(table.nodes(), &both, &Settings::default(), at(second))
                .is_some()
        };
        let touched = (0..620).filter(|&second| plan(&table, second)).count();
        assert!(touched > 3, "for the small one, ever more rarely");
        occupy(&mut table, 100);
        assert!(plan(&table, 620), "headroom for the big one returned");
    }

    #[test]
    fn a_touch_that_failed_is_due_again() {
        let (mut wake, mut table) = (Wake::default(), table());
        occupy(&mut table, 100);
        assert!(plan(&mut wake, &table, 0));
        assert!(!plan(&mut wake, &table, 3));
        wake.failed();
        assert!(plan(&mut wake, &table, 4));
    }

    #[test]
    fn headroom_that_returns_within_the_pause_is_not_forgotten() {
        let (mut wake, mut table) = (Wake::default(), table());
        occupy(&mut table, 100);
        assert!(plan(&mut wake, &table, 0));
        occupy(&mut table, 700);
        assert!(!plan(&mut wake, &table, 1));
        occupy(&mut table, 100);
        assert!(!plan(&mut wake, &table, 1), "within the pause");
        assert!(plan(&mut wake, &table, 2));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_stop_the_wakes() {
        let (mut wake, mut table) = (Wake::default(), table());
        occupy(&mut table, 100);
        assert!(plan(&mut wake, &table, 1000));
        assert!(plan(&mut wake, &table, 0));
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
        let WriteOperation::Merge(patch) = write.operation else {
            panic!("a merge patch")
        };
        assert_eq!(patch["metadata"]["resourceVersion"], "42");
        assert_eq!(
            patch["metadata"]["annotations"]["evenkeel.dev/headroom-returned"],
            at(0).to_string()
        );
    }
}
