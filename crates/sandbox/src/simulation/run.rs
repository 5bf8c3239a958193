//! One run: a scenario under one policy and one seed, from event to event. Nothing happens between
//! two events, so days of hundreds of nodes take seconds; [`crate`] compares this with the engine
//! behind `dev`.

use std::collections::VecDeque;
use std::sync::Arc;

use evenkeel_placement::deletion_order::{Victim, in_order};
use evenkeel_placement::extender::decide::PATIENCE;
use evenkeel_units::Ratio;
use evenkeel_units::random::RandomSource;
use jiff::SignedDuration;

use super::event_queue::{SimulationEvent, SimulationEventQueue};
use super::monitoring::NodeMonitor;
use super::pods::SimulatedPods;
use super::policy::LoadPolicy;
use super::policy_pods::{PodId, PodLifecycleStep};
use super::replicas::Replicas;
use super::scheduler::Scheduler;
use crate::engine::summary::{RunSummary, SummaryBuilder};
use crate::scenario::simulation::Simulation;
use crate::scenario::{NodeShape, Scenario, ScenarioWorkload};
#[cfg(test)]
use evenkeel_units::Resource;

pub(super) struct SimulationRun<'a> {
    nodes: &'a [NodeShape],
    simulation: &'a Simulation,
    replicas: &'a Replicas,
    policy: Box<dyn LoadPolicy>,
    agenda: SimulationEventQueue,
    pods: SimulatedPods,
    scheduler: Scheduler,
    monitoring: NodeMonitor,
    summary: SummaryBuilder,
    random: RandomSource,
    /// Pods that kube-scheduler has not looked at yet, in order.
    queue: VecDeque<PodId>,
    /// End of its work on the last Pod.
    free: SignedDuration,
    /// Its next decision is in the queue.
    is_woken: bool,
    /// When an extender is told of its last choice.
    told: SignedDuration,
    /// Longest wait of an answer for that.
    patience: SignedDuration,
}

/// Shared by all runs of a scenario.
#[derive(Clone, Copy)]
pub(super) struct SimulationInput<'a> {
    pub scenario: &'a Scenario,
    pub workloads: &'a [Arc<ScenarioWorkload>],
    pub replicas: &'a Replicas,
    pub line: Ratio,
}

impl<'a> SimulationRun<'a> {
    pub(super) fn new(given: SimulationInput<'a>, policy: Box<dyn LoadPolicy>, seed: u64) -> Self {
        let SimulationInput {
            scenario,
            workloads,
            replicas,
            line,
        } = given;
        let (nodes, simulation) = (&scenario.nodes[..], &scenario.simulation);
        let random = RandomSource::new(seed);
        let pods = SimulatedPods::new(
            workloads.to_vec(),
            nodes.len(),
            scenario.trace_offset,
            random,
        );
        let mut agenda = SimulationEventQueue::default();
        agenda.add(SignedDuration::ZERO, SimulationEvent::Scrape);
        for (index, workload) in workloads.iter().enumerate() {
            agenda.add(workload.arrival, SimulationEvent::Resize(index));
        }
        Self {
            nodes,
            simulation,
            replicas,
            policy,
            agenda,
            pods,
            scheduler: Scheduler::new(nodes, workloads, simulation.nodes_to_score, random),
            monitoring: NodeMonitor::new(simulation.timing()),
            summary: SummaryBuilder::new(line),
            random,
            queue: VecDeque::new(),
            free: SignedDuration::ZERO,
            is_woken: false,
            told: SignedDuration::ZERO,
            patience: SignedDuration::try_from(PATIENCE).unwrap_or_default(),
        }
    }

    pub(super) fn finish(mut self) -> RunSummary {
        while self.advance() {}
        self.summary.summary()
    }

    /// Takes the next event; false at the end of the run.
    pub(super) fn advance(&mut self) -> bool {
        let Some((now, event)) = self.agenda.next() else {
            return false;
        };
        if now > self.simulation.duration {
            return false;
        }
        match event {
            SimulationEvent::Scrape => self.scrape(now),
            SimulationEvent::Measured => self.policy.measured(&self.monitoring, now),
            SimulationEvent::Resize(index) => self.resize(index, now),
            SimulationEvent::Decide => self.decide(now),
            SimulationEvent::Noticed(pod) => self.noticed(pod, now),
            SimulationEvent::Bound(pod) => self.bound(pod, now),
            SimulationEvent::Started(pod) => self.started(pod, now),
            SimulationEvent::Gone(pod) => self.gone(pod, now),
            SimulationEvent::Retry(pod) => self.wait(pod, now),
        }
        true
    }

    fn scrape(&mut self, now: SignedDuration) {
        let usage = self.pods.usage(self.nodes, now);
        if now >= self.simulation.count_from {
            self.summary.observe(now, &usage.nodes);
        }
        let given = usage.nodes.iter().map(|node| node.given).collect();
        self.monitoring.scrape(now, given, usage.pods);
        let Simulation {
            interval, delay, ..
        } = self.simulation;
        self.agenda
            .add(now.saturating_add(*delay), SimulationEvent::Measured);
        self.agenda
            .add(now.saturating_add(*interval), SimulationEvent::Scrape);
    }

    fn resize(&mut self, index: usize, now: SignedDuration) {
        let (wanted, next) = self.replicas.at(index, now);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let staying = self.pods.staying(index);
        let surplus = staying.len().saturating_sub(wanted);
        if surplus > 0 {
            for pod in self.first_to_go(&staying, surplus, now) {
                self.delete(pod, now);
            }
        }
        let missing = wanted.saturating_sub(staying.len());
        for pod in self.pods.add(index, missing, now) {
            self.insert(pod, now);
        }
        if let Some(next) = next {
            self.agenda.add(next, SimulationEvent::Resize(index));
        }
    }

    /// `count` of the Pods that stay, which their ReplicaSet deletes first.
    fn first_to_go(&self, staying: &[PodId], count: usize, now: SignedDuration) -> Vec<PodId> {
        let leaving = staying.iter().map(|&pod| self.pods.leaving(pod, now));
        let leaving: Vec<_> = leaving.collect();
        let costs = self.policy.deletion_costs(&leaving, count);
        let victim = |&id: &PodId| Victim {
            cost: costs.get(&id).copied().unwrap_or(0),
            ..self.pods.victim(id, now)
        };
        let victims: Vec<_> = staying.iter().map(victim).collect();
        let order = in_order(&victims, victims.iter().map(|pod| pod.node));
        order
            .into_iter()
            .take(count)
            .map(|at| staying[at])
            .collect()
    }

    /// Queues a new Pod. For workloads created at one moment, controllers make the Pods in no
    /// order, so its place is random.
    fn insert(&mut self, pod: PodId, now: SignedDuration) {
        let places = self.queue.len() + 1;
        let step = u64::try_from(pod).unwrap_or(u64::MAX);
        let place = self.random.stream("order").below(step, places);
        self.queue.insert(place, pod);
        self.wake(now);
    }

    fn wait(&mut self, pod: PodId, now: SignedDuration) {
        if !self.pods.get(pod).is_deleted {
            self.queue.push_back(pod);
            self.wake(now);
        }
    }

    fn wake(&mut self, now: SignedDuration) {
        if !self.is_woken && !self.queue.is_empty() {
            self.is_woken = true;
            self.agenda.add(self.free.max(now), SimulationEvent::Decide);
        }
    }

    fn decide(&mut self, now: SignedDuration) {
        self.is_woken = false;
        if let Some(id) = self.queue.pop_front() {
            let subject = self.pods.subject(id);
            // The notice is under way at the same time.
            let is_near = now < self.told && self.told <= now.saturating_add(self.patience);
            if is_near && self.scheduler.awaits(&subject, &mut *self.policy, now) {
                self.queue.push_front(id);
                self.is_woken = true;
                return self.agenda.add(self.told, SimulationEvent::Decide);
            }
            self.free = now.saturating_add(self.simulation.decision);
            let node = self.scheduler.place(&subject, &mut *self.policy, now);
            if let Some(node) = node {
                self.summary.settled(subject.name, now);
                self.pods.choose(id, node);
                let noticed = self.free.saturating_add(self.simulation.notice);
                self.agenda.add(noticed, SimulationEvent::Noticed(id));
                self.told = noticed;
                let bound = self.free.saturating_add(self.simulation.binding);
                self.agenda.add(bound, SimulationEvent::Bound(id));
            } else {
                self.summary.refused(subject.name, now);
                let again = now.saturating_add(self.simulation.retry);
                self.agenda.add(again, SimulationEvent::Retry(id));
            }
        }
        self.wake(now);
    }

    fn noticed(&mut self, id: PodId, now: SignedDuration) {
        if let Some(node) = self.pods.get(id).node {
            let subject = self.pods.subject(id);
            self.policy
                .step(&subject, node, PodLifecycleStep::Noticed, now);
        }
    }

    fn bound(&mut self, id: PodId, now: SignedDuration) {
        let Some(node) = self.pods.get(id).node else {
            return;
        };
        if self.pods.get(id).is_deleted {
            self.gone(id, now);
            return;
        }
        let running = self.pods.bind(id, node, now);
        self.policy
            .step(&self.pods.subject(id), node, PodLifecycleStep::Bound, now);
        self.agenda.add(running, SimulationEvent::Started(id));
    }

    fn started(&mut self, id: PodId, now: SignedDuration) {
        let pod = self.pods.get(id);
        if let (Some(node), Some(_)) = (pod.node, pod.lifecycle) {
            let subject = self.pods.subject(id);
            self.policy
                .step(&subject, node, PodLifecycleStep::Started, now);
        }
    }

    fn delete(&mut self, id: PodId, now: SignedDuration) {
        self.queue.retain(|waiting| *waiting != id);
        let (node, is_bound) = (
            self.pods.get(id).node,
            self.pods.get(id).lifecycle.is_some(),
        );
        let gone = self.pods.delete(id, now);
        match node {
            // The kubelet does not start a deleted Pod.
            Some(_) if !is_bound => {}
            Some(_) => self.agenda.add(gone, SimulationEvent::Gone(id)),
            None => self.summary.settled(&self.pods.get(id).name, now),
        }
    }

    fn gone(&mut self, id: PodId, now: SignedDuration) {
        if let Some(node) = self.pods.get(id).node {
            let subject = self.pods.subject(id);
            self.scheduler.forget(&subject, node);
            self.policy
                .step(&subject, node, PodLifecycleStep::Gone, now);
        }
        self.pods.remove(id);
    }
}

#[cfg(test)]
impl SimulationRun<'_> {
    /// Checks that scheduler and kubelets agree.
    pub(super) fn check(&self) {
        let assumed: u32 = self.scheduler.nodes().iter().map(|node| node.pods).sum();
        let placed = self.pods.placed();
        assert_eq!(usize::try_from(assumed).unwrap(), placed);
        for node in self.scheduler.nodes() {
            assert!(node.pods <= node.max_pods, "{}", node.name);
            for resource in [Resource::Cpu, Resource::Memory, Resource::Disk] {
                let (asked, most) = (node.requested[resource], node.allocatable[resource]);
                assert!(asked <= most, "{}: {resource}", node.name);
            }
        }
    }
}
