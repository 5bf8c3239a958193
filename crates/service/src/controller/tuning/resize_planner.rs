//! Decisions for the Pods that use most of the due nodes. Headroom of a node or quota of a
//! namespace that one decision takes is not available to the next.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use evenkeel_objects::plan::Write;
use evenkeel_objects::qos_class::QosClass;
use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::node_table::NodeState;
use evenkeel_placement::snapshot::{OptIn, Snapshot};
use evenkeel_scaling::status::dashboard::ScalingStatus;
use evenkeel_tuning::decision::{
    MinuteSamples, ResourceBudget, ResourceGrants, TuningBounds, TuningDecision, TuningInput,
    TuningSkipReason, decide, is_called_for, is_turn_of,
};
use evenkeel_tuning::namespace_limits::NamespaceLimits;
use evenkeel_tuning::plan::{TunedContainer, TunedWorkload, TuningContext, begin, scaled_by};
use evenkeel_tuning::resizable_pod::{ContainerPlace, ResizablePod};
use evenkeel_tuning::resize::ResizeRules;
use evenkeel_tuning::resize_record::{ContainerValues, resources};
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use evenkeel_units::request_and_limit::RequestAndLimit;
use jiff::Timestamp;

use super::candidates::{Candidates, ResizeCandidate};
use super::limits::ResizeLimits;
use super::memory::TuningMemory;
use super::metrics::TuningMetrics;
use super::settings::{Settings, rules_of};
use super::workloads::{WorkloadId, id_of};
use crate::cluster::ClusterState;

pub(super) struct ResizePlanner {
    pub(super) cluster: ClusterState,
    pub(super) policy: Arc<SchedulingPolicy>,
    pub(super) settings: Settings,
    /// The decisions of scaling.
    pub(super) targets: Arc<Vec<Arc<ScalingStatus>>>,
    pub(super) rules: ResizeRules,
    pub(super) limits: Arc<ResizeLimits>,
    pub(super) reporter: String,
    pub(super) metrics: TuningMetrics,
    pub(super) now: Timestamp,
}

/// The limits around a Pod that is decided on.
struct ResizeContext<'a> {
    node: ResourceBudget,
    limits: &'a NamespaceLimits,
    on_node: &'a mut ResourceGrants,
    in_namespace: &'a mut ResourceGrants,
    scaled_by: CpuMemory<bool>,
    /// True where what is decided is also done.
    is_resized: bool,
}

impl ResizeContext<'_> {
    /// Takes what a decision gives away from what is left for others.
    fn give(&mut self, container: &TuningInput, decision: &TuningDecision) {
        if self.is_resized {
            self.on_node.count(container, decision);
            self.in_namespace.count(container, decision);
        }
    }
}

struct ResizeAttempt {
    write: Result<Option<Write>, String>,
    /// False while scaling comes first.
    may_go: bool,
}

#[derive(Default)]
struct PodTuningDecision {
    changes: ContainerValues,
    statuses: BTreeMap<String, TunedContainer>,
}

impl ResizePlanner {
    /// The records of the resizes that begin.
    pub(super) fn plan(
        &self,
        memory: &mut TuningMemory,
        workloads: &[TunedWorkload],
    ) -> Vec<Write> {
        let Some(before) = memory.looked.replace(self.now) else {
            return Vec::new();
        };
        let snapshot = self.cluster.snapshot();
        let interval = self.settings.interval;
        let nodes: Vec<&NodeState> = snapshot
            .nodes
            .iter()
            .filter(|node| is_turn_of(&node.name, before, self.now, interval))
            .collect();
        if nodes.is_empty() || snapshot.blind().is_some() {
            return Vec::new();
        }
        let turns = Candidates {
            cluster: &self.cluster,
            settings: &self.settings,
            memory,
            now: self.now,
        };
        let turns = turns.of(workloads, &nodes);
        let scaled = self.scaled_by();
        let called = self.called_for();
        let mut namespaces: HashMap<Arc<str>, (NamespaceLimits, ResourceGrants)> = HashMap::new();
        let mut writes = Vec::new();
        for (node, candidates) in nodes.iter().zip(turns) {
            let mut on_node = ResourceGrants::default();
            for ResizeCandidate { pod, workload } in candidates {
                let id = id_of(workload);
                let quiet = memory.quiet(&id, called.contains(&id));
                let may_go = quiet.allows(self.now, self.settings.after_scaling);
                let vertical = self.limits.vertical(&id);
                let namespace = namespaces.entry(Arc::clone(&workload.namespace));
                let fresh = || {
                    (
                        self.limits.of(&workload.namespace),
                        ResourceGrants::default(),
                    )
                };
                let (limits, in_namespace) = namespace.or_insert_with(fresh);
                let mut around = ResizeContext {
                    node: self.room(node, &pod, &snapshot),
                    limits,
                    on_node: &mut on_node,
                    in_namespace,
                    scaled_by: scaled.get(&id).copied().unwrap_or_default(),
                    is_resized: may_go
                        && vertical.is_none()
                        && self.settings.mode_of(workload) == TuningMode::On,
                };
                let decided = self.decide_pod(memory, &pod, workload, &mut around);
                let write = match vertical {
                    Some(name) => Err(format!("the VerticalPodAutoscaler {name} changes its Pods")),
                    None if around.is_resized => self.begin(&pod, workload, &decided.changes),
                    None => Ok(None),
                };
                writes.extend(write.clone().ok().flatten());
                note(memory, &id, decided, ResizeAttempt { write, may_go });
            }
        }
        writes
    }

    fn scaled_by(&self) -> HashMap<WorkloadId, CpuMemory<bool>> {
        let view = self.cluster.scaling_view();
        let mut found: HashMap<WorkloadId, CpuMemory<bool>> = HashMap::new();
        for observed in &view.targets {
            let Some(workload) = &observed.workload else {
                continue;
            };
            let id = (
                Arc::clone(&observed.namespace),
                workload.kind.as_str(),
                observed.target.name().to_owned(),
            );
            let one = scaled_by(observed);
            let all = found.entry(id).or_default();
            *all = CpuMemory::from_fn(|resource| all[resource] || one[resource]);
        }
        found
    }

    /// The workloads for which a forecast asks for other replicas than they have.
    fn called_for(&self) -> HashSet<WorkloadId> {
        let called = self.targets.iter().filter(|status| {
            let mode = status.mode.parse().unwrap_or_default();
            is_called_for(mode, status.current, status.decided)
        });
        let called = called.filter_map(|status| {
            let workload = &status.workload;
            let mut kinds = evenkeel_objects::kinds::Kind::WORKLOADS.iter();
            let kind = kinds.find(|kind| kind.as_str() == &*workload.kind)?;
            let name = workload.name.to_string();
            Some((Arc::clone(&status.namespace), kind.as_str(), name))
        });
        called.collect()
    }

    fn room(&self, node: &NodeState, pod: &ResizablePod, snapshot: &Snapshot) -> ResourceBudget {
        let own = match snapshot.opt_in(&pod.namespace) {
            OptIn::In(policy) => policy.headroom,
            OptIn::Unknown | OptIn::Out => None,
        };
        ResourceBudget::of_node(node, own.unwrap_or(self.policy.headroom))
    }

    fn decide_pod(
        &self,
        memory: &TuningMemory,
        pod: &ResizablePod,
        workload: &TunedWorkload,
        around: &mut ResizeContext<'_>,
    ) -> PodTuningDecision {
        let guaranteed = pod.class() == QosClass::Guaranteed;
        let mut decided = PodTuningDecision::default();
        for container in pod.containers.iter() {
            if matches!(container.place, ContainerPlace::Init(_)) {
                continue;
            }
            let samples = memory.samples(&pod.uid, &container.name, self.now);
            let mut values = container.values;
            let mut reasons = BTreeMap::new();
            for resource in TunedResource::ALL {
                let samples = samples.as_ref().map(|samples| &samples[resource]);
                let node = around.node.without(around.on_node);
                let quotas = around.limits.quotas.without(around.in_namespace);
                let one = TuningInput {
                    resource,
                    current: container.values[resource],
                    original: pod.original(&container.name, resource),
                    was_killed: resource == TunedResource::Memory
                        && pod.lacked_memory(&container.name),
                    guaranteed,
                    scaled_by: around.scaled_by[resource],
                    working_set: working_set(resource, samples),
                    bounds: TuningBounds {
                        allowed: workload.policy.allowed(&container.name, resource),
                        limit_range: around.limits.range(
                            pod,
                            &decided.changes,
                            &container.name,
                            resource,
                        ),
                        quota_limits: quotas.limits[resource],
                        quota_requests: quotas.requests[resource],
                        node: node.for_limit(resource, guaranteed),
                    },
                };
                let outcome = decide(&one, samples, self.settings.elasticity);
                reasons.insert(resource.to_string(), self.reason(resource, &one, &outcome));
                if let Ok(decision) = outcome {
                    around.give(&one, &decision);
                    values[resource] = decision.values;
                }
            }
            if values != container.values {
                decided.changes.insert(container.name.clone(), values);
            }
            let status = TunedContainer {
                resources: resources(&values),
                reasons,
            };
            decided.statuses.insert(container.name.to_string(), status);
        }
        decided
    }

    fn reason(
        &self,
        resource: TunedResource,
        container: &TuningInput,
        outcome: &Result<TuningDecision, TuningSkipReason>,
    ) -> String {
        match outcome {
            Err(unchanged) => {
                self.metrics.unchanged(unchanged.reason()).inc();
                unchanged.to_string()
            }
            Ok(decision) => {
                let text = |amount: Option<Amount>| {
                    amount.map_or("none".to_owned(), |amount| {
                        resource.quantity(amount).to_string()
                    })
                };
                let RequestAndLimit { limit, .. } = decision.values;
                let held = decision.limited_by.map_or(String::new(), |bound| {
                    format!(", held by {}", bound.words())
                });
                format!(
                    "its use {}: limit {} to {}{held}",
                    decision.trend.as_str(),
                    text(container.current.limit),
                    text(limit)
                )
            }
        }
    }

    fn begin(
        &self,
        pod: &ResizablePod,
        workload: &TunedWorkload,
        changes: &ContainerValues,
    ) -> Result<Option<Write>, String> {
        if changes.is_empty() {
            return Ok(None);
        }
        if let Some(why) = self.limits.unknown(&workload.namespace) {
            return Err(why.to_owned());
        }
        let rules = rules_of(self.rules, workload);
        let context = TuningContext {
            mode: TuningMode::On,
            rules,
            policy: Some(&workload.policy),
            withdraw_after: self.settings.withdraw_after,
            reporter: &self.reporter,
            now: self.now,
        };
        let begun = begin(pod, changes, &context);
        begun.map_err(|refusal| {
            self.metrics.unchanged(refusal.reason()).inc();
            format!("{}: {refusal}", pod.name)
        })
    }
}

/// Keeps what was decided for the status of the workload.
fn note(
    memory: &mut TuningMemory,
    id: &WorkloadId,
    decided: PodTuningDecision,
    begun: ResizeAttempt,
) {
    let Some(standing) = memory.workloads.get_mut(id) else {
        return;
    };
    standing.held = match begun.write {
        Err(why) => Some(why),
        Ok(_) if !begun.may_go => {
            Some("it was scaled recently, or a forecast is about to scale it".to_owned())
        }
        Ok(_) => None,
    };
    standing.containers = decided.statuses;
    standing.is_news = true;
}

/// The memory that a container holds; of cpu nothing is held.
fn working_set(resource: TunedResource, samples: Option<&MinuteSamples>) -> Option<Amount> {
    match resource {
        TunedResource::Cpu => None,
        TunedResource::Memory => samples.map(MinuteSamples::newest),
    }
}
