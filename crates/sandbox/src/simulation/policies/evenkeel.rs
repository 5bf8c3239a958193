//! Evenkeel as shipped: the extender's own decisions on the service's node table, beside the
//! default plugins with the weight of the shipped configuration. Measurements, notices, bindings
//! and starts reach the table like the service's watches, queries and calls. All namespaces have
//! opted in, so that Pods' claims count.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_objects::bound_pod::BoundPod;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::node_facts::NodeFacts;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::admission::{ScoreTermInputs, new_pod_shape};
use evenkeel_placement::demand::demand;
use evenkeel_placement::extender::{ExtenderRequest, PlacementContext, VerdictCache, decide};
use evenkeel_placement::node_table::{NearTies, NodeSet, NodeTable};
use evenkeel_placement::plan::deletion_cost;
use evenkeel_placement::plan::deletion_cost::{NodeLabels, Situation};
use evenkeel_placement::removable_pod::{DeletionCostAnnotations, RemovablePod, ReplicaSetPodData};
use evenkeel_placement::score_labels::Shape;
use evenkeel_placement::score_labels::pod_shape::ShapeContext;
use evenkeel_placement::snapshot::{Namespaces, Snapshot};
use evenkeel_placement::start_up::{StartUps, StartedPod};
use evenkeel_placement::{SchedulingPolicy, kube_scheduler_scores};
use evenkeel_units::{Amount, Resources};
use jiff::{SignedDuration, Timestamp};

use super::usage_round::usage_round;
use crate::scenario::{Scenario, ScenarioWorkload};
use crate::simulation::monitoring::NodeMonitor;
use crate::simulation::own_settings::OwnSettings;
use crate::simulation::policy::{LoadPolicy, NodeCandidate};
use crate::simulation::policy_pods::{PodId, PodLifecycleStep, PolicyPod, ScaleInCandidate};
use crate::{autoscaler, objects, opt_in_annotations};

pub(super) struct Evenkeel {
    names: Vec<Arc<str>>,
    policy: SchedulingPolicy,
    table: NodeTable,
    namespaces: Arc<Namespaces>,
    verdicts: VerdictCache,
    /// By workload, as kube-scheduler sends them, without name and UID.
    templates: Vec<Pod>,
    /// By workload, as its Pods count for others.
    counted: Vec<Resources<Amount>>,
    /// The use of each workload's Pods in their first minutes.
    starts: StartUps<usize>,
    pods: BTreeMap<PodId, WatchedPodState>,
    refused_since: BTreeMap<PodId, Timestamp>,
    balances_scale_in: bool,
}

#[derive(Debug, Clone)]
struct WatchedPodState {
    name: PodName,
    /// Its workload.
    index: usize,
    bound: Timestamp,
    started: Option<Timestamp>,
}

impl Evenkeel {
    pub(super) fn new(scenario: &Scenario, own: &OwnSettings) -> Self {
        let mut table = NodeTable::new(own.table);
        let begin = autoscaler::date(SignedDuration::ZERO);
        for node in &scenario.nodes {
            let facts = NodeFacts {
                capacity: node.capacity.map(Some),
                schedulable: true,
                ..NodeFacts::default()
            };
            table.apply_node(&node.name, facts, begin);
        }
        let opted_in = Arc::new(NamespacePolicy {
            enabled: true,
            ..NamespacePolicy::default()
        });
        let namespaces = scenario.namespaces().into_iter();
        let namespaces = namespaces.map(|name| (name.into(), Arc::clone(&opted_in)));
        let names = scenario.nodes.iter().map(|node| Arc::from(&*node.name));
        let templates: Vec<Pod> = scenario.workloads.iter().map(template).collect();
        let largest = table.nodes().largest();
        let counted = templates.iter().map(|pod| {
            let demand = demand(pod, own.policy.caps_as_demand);
            demand.counted(&demand.claims(), &largest)
        });
        Self {
            counted: counted.collect(),
            starts: StartUps::default(),
            templates,
            names: names.collect(),
            policy: own.policy.clone(),
            table,
            namespaces: Arc::new(namespaces.collect()),
            verdicts: VerdictCache::default(),
            pods: BTreeMap::new(),
            refused_since: BTreeMap::new(),
            balances_scale_in: own.balances_scale_in,
        }
    }

    pub(super) const fn nodes(&self) -> &NodeSet {
        self.table.nodes()
    }

    pub(super) const fn policy(&self) -> &SchedulingPolicy {
        &self.policy
    }

    /// The demand with which each Pod of a workload counts.
    pub(super) fn counted(&self, index: usize) -> &Resources<Amount> {
        &self.counted[index]
    }

    /// Pods in flight for too long no longer count.
    pub(super) fn advance(&mut self, now: SignedDuration) {
        self.table.advance(autoscaler::date(now));
    }

    /// The shape of a new Pod; `carried` is that of its workload's newest Pod.
    pub(super) fn shape(&self, index: usize, carried: Option<&Shape>) -> Shape {
        let context = ShapeContext {
            nodes: self.table.nodes(),
            namespace: &NamespacePolicy::default(),
            policy: &self.policy,
        };
        let inputs = ScoreTermInputs {
            carried: carried.cloned(),
            ..ScoreTermInputs::default()
        };
        new_pod_shape(&self.templates[index], &context, &inputs)
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            nodes: self.table.nodes().clone(),
            namespaces: Arc::clone(&self.namespaces),
            expects_metrics: true,
            synced: true,
            second_scheduler: None,
            labelled_shapes: Arc::default(),
        }
    }

    fn call<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        pod: PodId,
        now: Timestamp,
    ) -> PlacementContext<'a> {
        PlacementContext {
            snapshot,
            policy: &self.policy,
            now,
            refused_since: self.refused_since.get(&pod).copied(),
        }
    }

    /// A Pod in kube-scheduler's question: earlier answers no longer hold.
    fn ask(&mut self, pod: &PolicyPod<'_>, now: Timestamp) {
        let facts = self.facts(pod.name, pod.index);
        self.table.ask(&uid(pod.id), &facts, now);
    }

    fn show(&mut self, pod: PodId, node: usize, now: Timestamp) {
        if let Some(known) = self.pods.get(&pod) {
            let facts = BoundPod {
                node: Some(&self.names[node]),
                bound: Some(known.bound),
                first_started: known.started,
                started: known.started,
                ..self.facts(&known.name, known.index)
            };
            self.table.apply_pod(&uid(pod), &facts, now);
        }
    }

    fn facts<'a>(&self, name: &'a PodName, index: usize) -> BoundPod<'a> {
        let facts = BoundPod::on(name, None, self.counted[index]);
        let start_up = self.starts.usual(&index);
        if start_up == Resources::default() {
            return facts;
        }
        let mut pod = self.templates[index].clone();
        pod.start_up = start_up;
        let demand = demand(&pod, self.policy.caps_as_demand);
        BoundPod {
            start_up: demand.beyond(&facts.demand, &self.table.nodes().largest()),
            ..facts
        }
    }

    fn removable(&self, pod: &ScaleInCandidate<'_>) -> RemovablePod {
        let template = &self.templates[pod.subject.index];
        RemovablePod {
            name: pod.subject.name.name().into(),
            uid: uid(pod.subject.id).into(),
            node: pod.node.map(|node| Arc::clone(&self.names[node])),
            goes_first: !pod.is_ready,
            profile: template.declared_profile().map(Arc::from),
            common: Arc::new(ReplicaSetPodData {
                namespace: pod.subject.name.namespace().to_owned(),
                priority_class: template.spec.priority_class_name.clone(),
                ..ReplicaSetPodData::default()
            }),
            mark: DeletionCostAnnotations::default(),
        }
    }

    /// The Pod and the nodes at these positions, as kube-scheduler asks about them.
    fn request<'a>(
        &'a self,
        pod: &PolicyPod<'_>,
        nodes: impl Iterator<Item = usize>,
    ) -> ExtenderRequest<'a> {
        let mut asked = self.templates[pod.index].clone();
        asked.metadata.name = Some(pod.name.name().to_owned());
        asked.metadata.uid = Some(uid(pod.id));
        asked.start_up = self.starts.usual(&pod.index);
        ExtenderRequest {
            pod: asked,
            names: nodes
                .map(|node| Cow::Borrowed(&*self.names[node]))
                .collect(),
            objects: None,
        }
    }
}

impl LoadPolicy for Evenkeel {
    fn measured(&mut self, monitoring: &NodeMonitor, now: SignedDuration) {
        let now = autoscaler::date(now);
        let known = |pod: PodId| self.pods.get(&pod).map(|known| &known.name);
        let round = usage_round(&self.names, monitoring, known);
        self.starts.measure(&round, now);
        self.table.advance(now);
        self.table.apply_sample(Arc::new(round), now);
    }

    fn doubts(&mut self, pod: &PolicyPod<'_>, nodes: &[usize], now: SignedDuration) -> bool {
        let now = autoscaler::date(now);
        self.ask(pod, now);
        let snapshot = self.snapshot();
        let request = self.request(pod, nodes.iter().copied());
        let call = self.call(&snapshot, pod.id, now);
        snapshot.nodes.is_in_doubt() && decide::filter(&request, &call, &self.verdicts).doubted
    }

    fn filter(&mut self, pod: &PolicyPod<'_>, nodes: &mut Vec<usize>, now: SignedDuration) {
        let now = autoscaler::date(now);
        self.table.advance(now);
        self.ask(pod, now);
        let snapshot = self.snapshot();
        let request = self.request(pod, nodes.iter().copied());
        let call = self.call(&snapshot, pod.id, now);
        let filtered = decide::filter(&request, &call, &self.verdicts);
        drop(request);
        let only = filtered.only().map(|position| nodes[position]);
        let mut positions = 0..;
        nodes.retain(|_| positions.next().is_some_and(|at| filtered.passes(at)));
        if let Some(only) = only {
            let name = &self.names[only];
            self.table
                .place(&uid(pod.id), name, NearTies::default(), now);
        }
        if nodes.is_empty() {
            self.refused_since.entry(pod.id).or_insert(now);
        }
    }

    fn score(
        &mut self,
        pod: &PolicyPod<'_>,
        candidates: &mut [NodeCandidate],
        now: SignedDuration,
    ) {
        let now = autoscaler::date(now);
        self.ask(pod, now);
        let snapshot = self.snapshot();
        let request = self.request(pod, candidates.iter().map(|candidate| candidate.node));
        let prioritized = decide::prioritize(&request, &self.call(&snapshot, pod.id, now));
        drop(request);
        for (candidate, score) in candidates.iter_mut().zip(&prioritized.scores) {
            candidate.sum += i64::from(*score) * kube_scheduler_scores::POINT;
        }
        if let Some(best) = prioritized.best {
            let name = &self.names[candidates[best].node];
            self.table.place(&uid(pod.id), name, prioritized.near, now);
        }
    }

    fn deletion_costs(&self, pods: &[ScaleInCandidate<'_>], count: usize) -> BTreeMap<PodId, i32> {
        // If all Pods go, their order does not matter.
        if !self.balances_scale_in || count >= pods.len() {
            return BTreeMap::new();
        }
        let removable: Vec<_> = pods
            .iter()
            .map(|pod| Arc::new(self.removable(pod)))
            .collect();
        let situation = Situation {
            nodes: self.table.nodes(),
            labels: &NodeLabels::default(),
            policy: &self.policy,
            namespace: &NamespacePolicy::default(),
            usage: &|uid| self.table.part_of_load(uid).unwrap_or_default(),
            around: &|| Arc::new(removable.clone()),
        };
        let costs = deletion_cost::choose(&removable, count, &situation);
        let costs = costs.unwrap_or_default();
        let given = pods.iter().map(|pod| pod.subject.id);
        let given = given.filter_map(|id| Some((id, costs.get(uid(id).as_str())?.cost)));
        given.collect()
    }

    fn step(
        &mut self,
        pod: &PolicyPod<'_>,
        node: usize,
        step: PodLifecycleStep,
        now: SignedDuration,
    ) {
        let now = autoscaler::date(now);
        match step {
            PodLifecycleStep::Chosen => {
                self.refused_since.remove(&pod.id);
            }
            PodLifecycleStep::Noticed => {
                self.table.notice(&uid(pod.id), &self.names[node], now);
            }
            PodLifecycleStep::Bound => {
                let known = WatchedPodState {
                    name: pod.name.clone(),
                    index: pod.index,
                    bound: now,
                    started: None,
                };
                self.pods.insert(pod.id, known);
                self.show(pod.id, node, now);
            }
            PodLifecycleStep::Started => {
                if let Some(known) = self.pods.get_mut(&pod.id) {
                    known.started = Some(now);
                    let started = StartedPod {
                        name: &known.name,
                        started: now,
                        host_network: false,
                        reuses_name: false,
                    };
                    self.starts.observe(&known.index, &started, now);
                }
                self.show(pod.id, node, now);
            }
            PodLifecycleStep::Gone => {
                self.pods.remove(&pod.id);
                self.table.remove_pod(&uid(pod.id), now);
            }
        }
    }
}

fn uid(pod: PodId) -> String {
    pod.to_string()
}

/// As kube-scheduler sends it.
fn template(workload: &ScenarioWorkload) -> Pod {
    let template = opt_in_annotations::deployment(workload)
        .spec
        .map(|spec| spec.template);
    let template = serde_json::to_value(template).expect("its keys are texts");
    let mut pod: Pod = objects::typed(template);
    pod.metadata.namespace = Some(workload.namespace.clone());
    pod
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_a_scale_in_the_fuller_node_gives_where_that_is_turned_on() {
        let scenario = Scenario::mixed();
        let workload = Arc::new(scenario.workloads[0].clone());
        for balances_scale_in in [true, false] {
            let own = OwnSettings {
                balances_scale_in,
                ..crate::simulation::tests::own()
            };
            let mut policy = Evenkeel::new(&scenario, &own);
            let names: Vec<PodName> = (0..4)
                .map(|id| PodName::new("shop", &format!("web-{id}")))
                .collect();
            let subject = |id: PodId| PolicyPod {
                id,
                name: &names[id],
                workload: &workload,
                index: 0,
            };
            // Three on the first node, the newest on the second.
            let nodes = [0, 0, 0, 1];
            for (id, node) in nodes.into_iter().enumerate() {
                policy.step(
                    &subject(id),
                    node,
                    PodLifecycleStep::Bound,
                    SignedDuration::ZERO,
                );
            }
            let leaving = |(id, node)| ScaleInCandidate {
                subject: subject(id),
                node: Some(node),
                is_ready: true,
            };
            let pods: Vec<_> = nodes.into_iter().enumerate().map(leaving).collect();
            let mut costs: Vec<(i32, PodId)> = policy
                .deletion_costs(&pods, 2)
                .into_iter()
                .map(|(id, cost)| (cost, id))
                .collect();
            costs.sort_unstable();
            let first: Vec<PodId> = costs.into_iter().map(|(_, id)| id).collect();
            let expected = if balances_scale_in {
                vec![0, 1]
            } else {
                vec![]
            };
            assert_eq!(first, expected);
            assert!(policy.deletion_costs(&pods, 4).is_empty(), "all of them go");
        }
    }

    #[test]
    fn the_extender_finds_the_demand_of_the_scenario_in_the_pods() {
        for workload in &Scenario::mixed().workloads {
            assert_eq!(demand(&template(workload), false).amounts, workload.demand);
        }
    }
}
