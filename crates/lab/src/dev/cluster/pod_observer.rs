//! Finds changes that no component reports: classifications, wanted Pods, and Pods that begin or
//! stop to wait.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use evenkeel_objects::annotations::{PROFILE, PROFILE_SOURCE};
use evenkeel_objects::pod_name::PodName;
use evenkeel_sandbox::Timeline;
use evenkeel_sandbox::machines::Machines;
use evenkeel_sandbox::objects::APP;
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_sandbox::store::Stores;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use super::events::{DevEvent, DevEventBus};

pub(super) struct Observer {
    pub(super) stores: Stores,
    pub(super) scenario: Scenario,
    pub(super) machines: Machines,
    pub(super) timeline: Timeline,
    pub(super) events: DevEventBus,
}

impl Observer {
    pub(super) async fn run(self) {
        let mut changes = self.stores.changes();
        let mut seen = HashSet::new();
        let mut waiting = BTreeMap::new();
        loop {
            changes.borrow_and_update();
            let at = self.timeline.elapsed();
            let pods = self.stores.pods.list();
            want(&self.stores, &self.machines, at);
            self.admissions(&pods, &mut seen, at);
            self.waits(&pods, &mut waiting, at);
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn admissions(&self, pods: &[Arc<Pod>], seen: &mut HashSet<String>, at: SignedDuration) {
        seen.retain(|uid| pods.iter().any(|pod| pod.uid().as_ref() == Some(uid)));
        for pod in pods {
            if seen.insert(pod.uid().unwrap_or_default())
                && let Some(event) = admitted(pod, &self.scenario)
            {
                self.events.tell(at, event);
            }
        }
    }

    /// Notes which Pods, by their UIDs, wait for a node, and which no longer do.
    fn waits(
        &self,
        pods: &[Arc<Pod>],
        waiting: &mut BTreeMap<String, PodName>,
        at: SignedDuration,
    ) {
        let refused = pods.iter().filter(|pod| is_refused(pod));
        let refused: BTreeMap<String, PodName> = refused
            .map(|pod| (pod.uid().unwrap_or_default(), name(pod)))
            .collect();
        for pod in refused.values() {
            self.machines.refused(pod, at);
        }
        for (_, pod) in waiting
            .iter()
            .filter(|(uid, _)| !refused.contains_key(*uid))
        {
            self.machines.settled(pod, at);
        }
        *waiting = refused;
    }
}

/// Notes the replicas that Deployments ask for.
fn want(stores: &Stores, machines: &Machines, at: SignedDuration) {
    for deployment in stores.deployments.list() {
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
        let replicas = u32::try_from(replicas.unwrap_or(1)).unwrap_or(0);
        let namespace = deployment.namespace().unwrap_or_default();
        machines.want(&namespace, &deployment.name_any(), replicas, at);
    }
}

/// The outcome of admission for a new Pod; a Pod of the scenario without annotations was let in
/// unchanged.
fn admitted(pod: &Pod, scenario: &Scenario) -> Option<DevEvent> {
    let annotations = pod.annotations();
    if let Some(profile) = annotations.get(PROFILE) {
        let source = annotations.get(PROFILE_SOURCE);
        return Some(DevEvent::PodClassified {
            pod: name(pod),
            profile: profile.clone(),
            source: source.map_or("declared", String::as_str).to_owned(),
        });
    }
    let app = pod.labels().get(APP)?;
    let of = scenario.workload(&pod.namespace().unwrap_or_default(), app);
    of.map(|_| DevEvent::FailedOpen {
        call: "webhook",
        pod: name(pod),
    })
}

fn name(pod: &Pod) -> PodName {
    PodName::new(&pod.namespace().unwrap_or_default(), &pod.name_any())
}

/// True for a Pod that a scheduler has found no node for.
fn is_refused(pod: &Pod) -> bool {
    let bound = pod
        .spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some());
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    !bound
        && conditions
            .into_iter()
            .flatten()
            .any(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
}
