//! A kubelet for all nodes: takes on bound Pods, reports their start, and ends them. A Pod's status
//! is a function of its stage and resources, and is written when one of these changes.

mod containers;
pub mod heartbeat;
mod pod_events;
mod resize;
mod status;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use evenkeel_objects as kubernetes;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::demand::demand;
use futures::future::join_all;
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tracing::debug;

use self::resize::{Allocation, Allocations, PodHostNode};
use self::status::{PodStatusInput, is_open, status};
use super::Timeline;
use super::control_plane_context::ControlPlaneContext;
use super::objects::APP;
use super::recorder::Recorder;
use super::store::Stores;
use crate::engine::BoundPod;
use crate::lifecycle::Lifecycle;
use crate::machines::{Machines, steps};

/// Changes within this time are handled together.
const SETTLE: Duration = Duration::from_millis(2);

/// Taint of a new node until its kubelet is there.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

pub struct Kubelet {
    client: Client,
    stores: Stores,
    machines: Machines,
    timeline: Timeline,
    recorder: Recorder,
    written: HashMap<String, PodStatusInput>,
    allocations: Allocations,
}

impl Kubelet {
    pub fn new(
        client: Client,
        stores: Stores,
        machines: Machines,
        parts: ControlPlaneContext,
    ) -> Self {
        let ControlPlaneContext {
            timeline, recorder, ..
        } = parts;
        Self {
            client,
            stores,
            machines,
            timeline,
            recorder,
            written: HashMap::new(),
            allocations: Allocations::default(),
        }
    }

    /// Runs for ever: at changes, so that no Pod waits for a tick, and at ticks, because stages end
    /// by themselves.
    pub async fn run(mut self) {
        let mut ticks = steps(self.timeline.clock());
        let mut changes = self.stores.changes();
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = changes.changed() => tokio::time::sleep(SETTLE).await,
            }
            changes.borrow_and_update();
            self.round(self.timeline.elapsed()).await;
        }
    }

    /// Writes all statuses concurrently, so that no Pod waits for another.
    async fn round(&mut self, at: SignedDuration) {
        let nodes = self.stores.nodes.list();
        let pods = self.stores.pods.list();
        let names: HashSet<PodName> = pods
            .iter()
            .filter(|pod| !is_finished(pod))
            .map(|pod| name(pod))
            .collect();
        self.machines.retain(|pod| names.contains(pod));
        let uids: HashSet<&str> = pods.iter().filter_map(|pod| uid(pod)).collect();
        self.written.retain(|uid, _| uids.contains(uid.as_str()));
        self.allocations.retain(&uids);
        let there: HashMap<String, &Node> = nodes
            .iter()
            .map(|node| (node.name_any(), &**node))
            .collect();
        let mut allocations = std::mem::take(&mut self.allocations);
        let now = self.timeline.date(at);
        let (mut ending, mut advancing) = (Vec::new(), Vec::new());
        for pod in &pods {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            let Some(node) = node.filter(|node| !self.machines.is_lost(node)) else {
                continue;
            };
            if pod.metadata.deletion_timestamp.is_some() {
                let gone = self.machines.delete(&name(pod), at);
                if gone.is_none_or(|gone| gone <= at) {
                    ending.push(self.end(pod));
                }
            } else if !is_finished(pod) {
                let on = PodHostNode {
                    name: node,
                    node: there.get(node).copied(),
                };
                let allocation = allocations.look(pod, on, now);
                advancing.extend(self.due(pod, node, allocation, at));
            }
        }
        let advancing = advancing.into_iter().map(|due| self.advance(due));
        let answering = nodes
            .iter()
            .filter(|node| !self.machines.is_lost(&node.name_any()));
        let welcoming = answering.map(|node| self.welcome(node));
        let (_, written, _) =
            tokio::join!(join_all(ending), join_all(advancing), join_all(welcoming));
        self.written.extend(written.into_iter().flatten());
        self.allocations = allocations;
    }

    /// The stage or the resources that have not been written yet.
    fn due<'a>(
        &self,
        pod: &'a Pod,
        node: &str,
        allocation: Arc<Allocation>,
        at: SignedDuration,
    ) -> Option<PendingPodStatus<'a>> {
        let known = self.machines.lifecycle(&name(pod));
        let life = known.unwrap_or_else(|| self.machines.bind(&bound(pod, node), at));
        let wanted = PodStatusInput {
            stage: life.stage(at),
            is_open: is_open(pod),
            allocation,
        };
        self.machines.set_open(&name(pod), wanted.is_open);
        let written = uid(pod).and_then(|uid| self.written.get(uid));
        (written != Some(&wanted)).then_some(PendingPodStatus { pod, wanted, life })
    }

    async fn advance(&self, due: PendingPodStatus<'_>) -> Option<(String, PodStatusInput)> {
        let PendingPodStatus { pod, wanted, life } = due;
        let api: Api<Pod> =
            Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        let now = self.timeline.clock().now();
        let patch = Patch::Strategic(status(pod, &wanted, &life, &self.timeline, now));
        let patched = api
            .patch_status(&pod.name_any(), &PatchParams::default(), &patch)
            .await;
        match patched {
            Ok(_) => {
                let before = uid(pod).and_then(|uid| self.written.get(uid));
                let before = before.map(|before| before.stage);
                pod_events::reached(&self.recorder, pod, before, wanted.stage);
                Some((pod.uid().unwrap_or_default(), wanted))
            }
            Err(error) => {
                debug!(%error, pod = pod.name_any(), "a status could not be written");
                None
            }
        }
    }

    /// Ends a deleted Pod after its containers have finished their requests.
    async fn end(&self, pod: &Pod) {
        let api: Api<Pod> =
            Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        let now = DeleteParams::default().grace_period(0);
        match api.delete(&pod.name_any(), &now).await {
            Ok(_) => pod_events::ended(&self.recorder, pod),
            Err(error) => debug!(%error, pod = pod.name_any(), "a Pod could not be ended"),
        }
    }

    /// Removes the taint that admission puts on every new node.
    async fn welcome(&self, node: &Node) {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let Some(taints) =
            taints.filter(|taints| taints.iter().any(|taint| taint.key == NOT_READY))
        else {
            return;
        };
        let rest: Vec<_> = taints
            .iter()
            .filter(|taint| taint.key != NOT_READY)
            .collect();
        let patch = json!({"metadata": {"resourceVersion": node.resource_version()}, "spec": {"taints": rest}});
        let api: Api<Node> = Api::all(self.client.clone());
        let patched = api
            .patch(
                &node.name_any(),
                &PatchParams::default(),
                &Patch::Merge(patch),
            )
            .await;
        if let Err(error) = patched {
            debug!(%error, node = node.name_any(), "a taint could not be taken off");
        }
    }
}

struct PendingPodStatus<'a> {
    pod: &'a Pod,
    wanted: PodStatusInput,
    life: Lifecycle,
}

/// As its machine knows it.
fn bound(pod: &Pod, node: &str) -> BoundPod {
    let value = serde_json::to_value(pod).unwrap_or_default();
    let slim: kubernetes::pod::Pod = serde_json::from_value(value).unwrap_or_default();
    BoundPod {
        pod: name(pod),
        app: pod.labels().get(APP).cloned().unwrap_or_default(),
        node: node.to_owned(),
        demand: demand(&slim, false).amounts,
        containers: containers::shares(pod),
    }
}

fn uid(pod: &Pod) -> Option<&str> {
    pod.metadata.uid.as_deref()
}

fn name(pod: &Pod) -> PodName {
    PodName::new(&pod.namespace().unwrap_or_default(), &pod.name_any())
}

fn is_finished(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}
