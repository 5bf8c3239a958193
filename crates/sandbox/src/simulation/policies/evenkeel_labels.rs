//! Evenkeel's score labels: the leader writes levels of nodes as labels, admission gives each new Pod
//! terms that read them, and kube-scheduler's NodeAffinity adds them up. No extender is called, so
//! the leader sees a Pod only once its binding is seen. It works once a second, as in the service,
//! and a patch reaches kube-scheduler as late as a binding reaches the leader.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use evenkeel_placement::plan::score_labels::{
    LabelledNode, LevelInputs, LevelPlanner, PATCHES_PER_SECOND, ScoreLabelChange,
};
use evenkeel_placement::score_labels::kept_shapes::assigned;
use evenkeel_placement::score_labels::{
    ScoreTerm, Shape, ShapeTotals, node_affinity_sum, score_terms,
};
use evenkeel_units::Resources;
use jiff::{SignedDuration, Timestamp};

use super::evenkeel::Evenkeel;
use crate::autoscaler;
use crate::scenario::Scenario;
use crate::scheduler::plugins;
use crate::simulation::monitoring::NodeMonitor;
use crate::simulation::own_settings::OwnSettings;
use crate::simulation::policy::{LoadPolicy, NodeCandidate};
use crate::simulation::policy_pods::{PodId, PodLifecycleStep, PolicyPod};

/// The leader computes levels anew so often while Pods are bound.
const TURN: SignedDuration = SignedDuration::from_secs(1);

pub(super) struct EvenkeelLabels {
    /// The service's view of the cluster, without calls of kube-scheduler.
    service: Evenkeel,
    leader: ScoreLabelLeader,
    /// Patches that kube-scheduler has not seen yet, with the time when it sees them.
    under_way: VecDeque<(SignedDuration, ScoreLabelChange)>,
    /// From the leader's patch until kube-scheduler sees it.
    delay: SignedDuration,
    /// The labels that kube-scheduler sees, by position of the node.
    shown: Vec<LabelledNode>,
    pods: BTreeMap<PodId, AdmittedPod>,
    /// The shape of the newest Pod of each workload.
    carried: BTreeMap<usize, Shape>,
    /// The leader's next turn.
    next: SignedDuration,
}

struct AdmittedPod {
    /// The position of its workload in the scenario.
    workload: usize,
    /// The shape with the labels that it reads; `None` if all kept shapes are smaller.
    shape: Option<Shape>,
    terms: Vec<ScoreTerm>,
}

/// The leader's memory and the labels as it has written them.
#[derive(Default)]
struct ScoreLabelLeader {
    planner: LevelPlanner,
    nodes: Vec<LabelledNode>,
    /// The input of its next turn; the Pods are counted when the turn begins.
    inputs: LevelInputs,
    /// A level may be out of date, or a change was left by the last turn.
    has_work: bool,
}

impl EvenkeelLabels {
    pub(super) fn new(scenario: &Scenario, own: &OwnSettings) -> Self {
        let unlabelled = |name: &str| LabelledNode {
            name: Arc::from(name),
            labels: BTreeMap::new(),
        };
        let nodes = scenario.nodes.iter().map(|node| unlabelled(&node.name));
        let nodes: Vec<LabelledNode> = nodes.collect();
        Self {
            service: Evenkeel::new(scenario, own),
            leader: ScoreLabelLeader {
                nodes: nodes.clone(),
                ..ScoreLabelLeader::default()
            },
            under_way: VecDeque::new(),
            delay: scenario.simulation.binding,
            shown: nodes,
            pods: BTreeMap::new(),
            carried: BTreeMap::new(),
            next: TURN,
        }
    }

    /// Takes the leader's turns up to `now`. Turns without measurements or new Pods are
    /// skipped, although the service computes levels anew every 15 seconds.
    fn advance(&mut self, now: SignedDuration) {
        while self.next <= now && self.leader.has_work {
            let at = self.next;
            self.service.advance(at);
            let pods = self.pods_by_shape();
            let sent = self.leader.turn(&self.service, pods, autoscaler::date(at));
            let seen = at.saturating_add(self.delay);
            self.under_way
                .extend(sent.into_iter().map(|change| (seen, change)));
            self.next = at.saturating_add(TURN);
        }
        if self.next <= now {
            let whole = SignedDuration::from_secs(now.as_secs());
            self.next = whole.saturating_add(TURN);
        }
        while let Some((seen, _)) = self.under_way.front()
            && *seen <= now
        {
            if let Some((_, change)) = self.under_way.pop_front() {
                apply(&change, &mut self.shown);
            }
        }
    }

    fn pods_by_shape(&self) -> BTreeMap<Shape, ShapeTotals> {
        let mut pods: BTreeMap<Shape, ShapeTotals> = BTreeMap::new();
        for pod in self.pods.values() {
            if let Some(shape) = &pod.shape {
                let demand = self.service.counted(pod.workload);
                let demand = shape.demand_within(demand, &Resources::from_fn(|_| true));
                pods.entry(shape.clone()).or_default().add(&demand);
            }
        }
        pods
    }

    /// Admission: the Pod keeps its terms from its creation on.
    fn admit(&mut self, pod: &PolicyPod<'_>) {
        if self.pods.contains_key(&pod.id) {
            return;
        }
        let carried = self.carried.get(&pod.index);
        let shape = self.service.shape(pod.index, carried);
        let shape = assigned(&shape, self.leader.planner.shapes());
        if let Some(shape) = &shape {
            self.carried.insert(pod.index, shape.clone());
        }
        let terms = shape.as_ref().map(|shape| score_terms(shape, &[]));
        let levels = self.leader.planner.levels();
        self.leader.has_work |= shape.as_ref().is_some_and(|shape| !levels.has(shape));
        let terms = terms.unwrap_or_default();
        let admitted = AdmittedPod {
            workload: pod.index,
            shape,
            terms,
        };
        self.pods.insert(pod.id, admitted);
    }
}

impl ScoreLabelLeader {
    /// Computes the levels that are out of date, and returns the patches of this second.
    fn turn(
        &mut self,
        service: &Evenkeel,
        pods: BTreeMap<Shape, ShapeTotals>,
        now: Timestamp,
    ) -> Vec<ScoreLabelChange> {
        let counts = pods.iter().map(|(shape, pods)| (shape.clone(), pods.count));
        let inputs = &mut self.inputs;
        inputs.counts = counts.collect();
        inputs.totals = pods;
        let labelled = self.planner.shapes().clone();
        self.planner.choose(inputs, &labelled, now);
        let (nodes, policy) = (service.nodes(), service.policy());
        self.planner.compute(inputs, nodes, policy, now);
        inputs.bound.clear();
        let mut due = self.planner.changes(&self.nodes);
        self.has_work = due.len() > PATCHES_PER_SECOND;
        due.truncate(PATCHES_PER_SECOND);
        for change in &due {
            apply(change, &mut self.nodes);
        }
        due
    }
}

/// Writes a change on the node that it names.
fn apply(change: &ScoreLabelChange, nodes: &mut [LabelledNode]) {
    let mut named = nodes.iter_mut().filter(|node| node.name == change.node);
    let Some(node) = named.next() else {
        return;
    };
    for (key, level) in &change.labels {
        match level {
            Some(level) => {
                node.labels.insert(key.clone(), level.value().into());
            }
            None => {
                node.labels.remove(key);
            }
        }
    }
}

impl LoadPolicy for EvenkeelLabels {
    fn measured(&mut self, monitoring: &NodeMonitor, now: SignedDuration) {
        self.advance(now);
        self.service.measured(monitoring, now);
        self.leader.inputs.rounds += 1;
        self.leader.has_work = true;
        // A round is worked on at once, and the turns of each second follow it.
        self.next = now;
        self.advance(now);
    }

    fn filter(&mut self, pod: &PolicyPod<'_>, _nodes: &mut Vec<usize>, now: SignedDuration) {
        self.advance(now);
        self.admit(pod);
    }

    fn score(
        &mut self,
        pod: &PolicyPod<'_>,
        candidates: &mut [NodeCandidate],
        _now: SignedDuration,
    ) {
        let Some(admitted) = self.pods.get(&pod.id) else {
            return;
        };
        let Some(key) = admitted.terms.first().map(|term| term.key.as_str()) else {
            return;
        };
        let sums = candidates.iter().map(|candidate| {
            let label = self.shown[candidate.node].labels.get(key);
            i64::from(node_affinity_sum(
                &admitted.terms,
                label.map(|level| &**level),
            ))
        });
        let points = plugins::affinity_points(sums.collect());
        for (candidate, points) in candidates.iter_mut().zip(points) {
            candidate.sum += points;
        }
    }

    fn step(
        &mut self,
        pod: &PolicyPod<'_>,
        node: usize,
        step: PodLifecycleStep,
        now: SignedDuration,
    ) {
        self.advance(now);
        match step {
            // kube-scheduler tells these to extenders alone.
            PodLifecycleStep::Chosen | PodLifecycleStep::Noticed => return,
            PodLifecycleStep::Bound => {
                let admitted = self.pods.get(&pod.id);
                let shape = admitted.and_then(|pod| pod.shape.clone());
                self.leader.has_work |= shape.is_some();
                self.leader.inputs.bound.extend(shape);
            }
            PodLifecycleStep::Started => {}
            PodLifecycleStep::Gone => {
                self.pods.remove(&pod.id);
            }
        }
        self.service.step(pod, node, step, now);
    }
}
