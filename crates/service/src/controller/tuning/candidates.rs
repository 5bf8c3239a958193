//! The Pods that are due on each node: those that use most of it, and before them Pods held at a
//! lowered limit, which use little because of it and would never be among the highest. Pods that
//! are only reported on have ten places of their own.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_placement::node_table::NodeState;
use evenkeel_tuning::decision::{HighestPods, Trend};
use evenkeel_tuning::plan::TunedWorkload;
use evenkeel_tuning::resizable_pod::ResizablePod;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use jiff::Timestamp;

use super::memory::TuningMemory;
use super::settings::Settings;
use super::workloads::tuned;
use crate::cluster::ClusterState;

pub(super) struct ResizeCandidate<'a> {
    pub(super) pod: Arc<ResizablePod>,
    pub(super) workload: &'a TunedWorkload,
}

pub(super) struct Candidates<'a> {
    pub(super) cluster: &'a ClusterState,
    pub(super) settings: &'a Settings,
    pub(super) memory: &'a TuningMemory,
    pub(super) now: Timestamp,
}

impl Candidates<'_> {
    /// Those of each node, in the order in which they are decided on.
    pub(super) fn of<'a>(
        &self,
        workloads: &'a [TunedWorkload],
        nodes: &[&NodeState],
    ) -> Vec<Vec<ResizeCandidate<'a>>> {
        let places: HashMap<&str, usize> = nodes
            .iter()
            .enumerate()
            .map(|(place, node)| (&*node.name, place))
            .collect();
        let capacities: Vec<_> = nodes.iter().map(|node| capacity(node)).collect();
        let [mut held, mut resized, mut told] =
            std::array::from_fn(|_| HighestPods::new(capacities.clone()));
        let mut pods: Vec<(Arc<ResizablePod>, &TunedWorkload)> = Vec::new();
        for workload in tuned(workloads) {
            let is_resized = self.settings.mode_of(workload) == TuningMode::On;
            for pod in self.pods(workload) {
                let place = pod.node.as_deref().and_then(|node| places.get(node));
                let used = place.and_then(|_| self.memory.used(&pod.uid, self.now));
                let (Some(place), Some(used)) = (place, used) else {
                    continue;
                };
                let among = if !is_resized {
                    &mut told
                } else if self.is_held(&pod) {
                    &mut held
                } else {
                    &mut resized
                };
                among.see(*place, pods.len(), used);
                pods.push((pod, workload));
            }
        }
        let mut found: Vec<Vec<ResizeCandidate<'a>>> = nodes.iter().map(|_| Vec::new()).collect();
        for highest in [held, resized, told] {
            for (candidates, highest) in found.iter_mut().zip(highest.into_nodes()) {
                candidates.extend(highest.into_iter().map(|one| {
                    let (pod, workload) = &pods[one.pod];
                    ResizeCandidate {
                        pod: Arc::clone(pod),
                        workload,
                    }
                }));
            }
        }
        found
    }

    fn pods(&self, workload: &TunedWorkload) -> impl Iterator<Item = Arc<ResizablePod>> {
        let all = workload.controllers.iter();
        let all = all.flat_map(|controller| self.cluster.resizable().of(controller));
        all.filter(|pod| pod.has_limits())
    }

    /// True for a Pod with a container at a limit below what it was made with.
    fn is_held(&self, pod: &ResizablePod) -> bool {
        pod.containers.iter().any(|container| {
            let lowered = |resource: TunedResource| {
                let limit = container.values[resource].limit?;
                let original = pod.original(&container.name, resource)?;
                (limit < original).then_some((resource, limit))
            };
            let mut lowered = TunedResource::ALL
                .into_iter()
                .filter_map(lowered)
                .peekable();
            if lowered.peek().is_none() {
                return false;
            }
            let samples = self.memory.samples(&pod.uid, &container.name, self.now);
            samples.is_some_and(|samples| {
                lowered.any(|(resource, limit)| {
                    Trend::within(&samples[resource], limit) == Trend::AtLimit
                })
            })
        })
    }
}

fn capacity(node: &NodeState) -> CpuMemory<Amount> {
    CpuMemory::from_fn(|resource| {
        let known = node.load.capacity[resource.resource()];
        known.unwrap_or_default()
    })
}
