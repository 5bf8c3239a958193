//! Sees in the cluster what nobody tells: classifications, Pods that are wanted, and Pods that wait
//! or no longer do.

use std::collections::{BTreeMap, HashSet};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use evenkeel_core::placement::usage::PodName;
use evenkeel_kubernetes::annotations::{PROFILE, PROFILE_SOURCE};
use evenkeel_sandbox::machines::Machines;
use evenkeel_sandbox::objects::APP;
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_sandbox::store::Stores;
use evenkeel_sandbox::{Event, Events, Timeline};

pub(super) async fn run(
    (stores, scenario): (Stores, Scenario),
    machines: Machines,
    timeline: Timeline,
    events: Events,
) {
    let mut changes = stores.changes();
    let mut seen = HashSet::new();
    let mut waiting: BTreeMap<String, PodName> = BTreeMap::new();
    loop {
        changes.borrow_and_update();
        let at = timeline.elapsed();
        let pods = stores.pods.list();
        want(&stores, &machines, at);
        seen.retain(|uid| pods.iter().any(|pod| pod.uid().as_ref() == Some(uid)));
        for pod in &pods {
            let (uid, name) = (pod.uid().unwrap_or_default(), name(pod));
            if seen.insert(uid.clone())
                && let Some(event) = admitted(pod, &scenario)
            {
                events.tell(at, event);
            }
            if is_refused(pod) {
                machines.refused(&name, at);
                waiting.insert(uid, name);
            }
        }
        waiting.retain(|uid, name| {
            let waits =
                |pod: &&std::sync::Arc<Pod>| pod.uid().as_ref() == Some(uid) && is_refused(pod);
            let still = pods.iter().any(|pod| waits(&pod));
            if !still {
                machines.settled(name, at);
            }
            still
        });
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// What Deployments say that there should be.
fn want(stores: &Stores, machines: &Machines, at: SignedDuration) {
    for deployment in stores.deployments.list() {
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
        let replicas = u32::try_from(replicas.unwrap_or(1)).unwrap_or(0);
        let namespace = deployment.namespace().unwrap_or_default();
        machines.want(&namespace, &deployment.name_any(), replicas, at);
    }
}

/// What admission has done to a new Pod; one of the scenario's own that carries nothing of it was
/// let in without.
fn admitted(pod: &Pod, scenario: &Scenario) -> Option<Event> {
    let annotations = pod.annotations();
    if let Some(profile) = annotations.get(PROFILE) {
        let source = annotations.get(PROFILE_SOURCE);
        return Some(Event::PodClassified {
            pod: name(pod),
            profile: profile.clone(),
            source: source.map_or("declared", String::as_str).to_owned(),
        });
    }
    let app = pod.labels().get(APP)?;
    let of = scenario.workload(&pod.namespace().unwrap_or_default(), app);
    of.map(|_| Event::FailedOpen {
        call: "webhook",
        pod: name(pod),
    })
}

fn name(pod: &Pod) -> PodName {
    PodName::new(&pod.namespace().unwrap_or_default(), &pod.name_any())
}

/// Whether a scheduler has found no node for the Pod.
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
