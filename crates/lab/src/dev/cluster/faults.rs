//! Breaks things when their time has come, and mends them.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tracing::warn;

use super::events::{DevEvent, DevEventBus};
use evenkeel_apiserver::Control;
use evenkeel_sandbox::Timeline;
use evenkeel_sandbox::blockable_proxy::Gate;
use evenkeel_sandbox::machines::Machines;
use evenkeel_sandbox::objects::{self, stamp};
use evenkeel_sandbox::prometheus::Behaviour;
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_sandbox::scenario::faults::{Fault, FaultKind};

/// The taint of nodes that stopped answering.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// How often the Pods of a lost node are evicted: a binding under way at its loss brings another.
const EVICTION: SignedDuration = SignedDuration::from_secs(5);

/// When what the API server did not take is tried again.
const AGAIN: Duration = Duration::from_millis(200);

pub(super) struct Faults {
    pub(super) planned: Vec<Fault>,
    pub(super) client: Client,
    pub(super) scenario: Scenario,
    pub(super) machines: Machines,
    pub(super) control: Control,
    pub(super) behaviour: Behaviour,
    pub(super) gate: Gate,
    pub(super) timeline: Timeline,
    pub(super) events: DevEventBus,
}

impl Faults {
    pub(super) async fn run(self) {
        let mut moments: Vec<(SignedDuration, bool, Fault)> = self
            .planned
            .iter()
            .flat_map(|fault| [(fault.from, true, *fault), (fault.until, false, *fault)])
            .collect();
        // Where one fault ends as another of its kind begins, the end comes first.
        moments.sort_by_key(|(at, begins, _)| (*at, *begins));
        let mut lost = false;
        for (at, begins, fault) in moments {
            tokio::select! {
                () = self.timeline.wait_until(at) => {}
                () = self.keep_empty(), if lost => {}
            }
            if fault.kind == FaultKind::NodeLoss {
                lost = begins;
            }
            self.events.tell(
                self.timeline.elapsed(),
                DevEvent::Fault {
                    fault: fault.to_string(),
                    begins,
                },
            );
            // A restart of the API server may fall on the moment.
            while let Err(error) = self.turn(&fault, begins).await {
                warn!(%error, %fault, "a fault could not be brought about");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    async fn turn(&self, fault: &Fault, begins: bool) -> kube::Result<()> {
        match fault.kind {
            FaultKind::MetricsDown => self.behaviour.set_down(begins),
            FaultKind::MetricsHang => self.behaviour.set_hanging(begins),
            FaultKind::Hang => self.gate.set_blocked(begins),
            FaultKind::ApiRestart if begins => {
                let span = fault.until.saturating_sub(fault.from);
                self.control.restart(self.timeline.clock().wait(span));
            }
            // It comes back by itself.
            FaultKind::ApiRestart => {}
            FaultKind::NodeLoss => self.lose_node(begins).await?,
        }
        Ok(())
    }

    /// The first node: its kubelet is gone, and what a node controller does about it.
    async fn lose_node(&self, lost: bool) -> kube::Result<()> {
        let Some(shape) = self.scenario.nodes.first() else {
            return Ok(());
        };
        self.machines.set_lost(&shape.name, lost);
        let nodes: Api<Node> = Api::all(self.client.clone());
        let parameters = PatchParams::default();
        let status = Patch::Merge(objects::node_status(shape, !lost, self.timeline.now()));
        nodes
            .patch_status(&shape.name, &parameters, &status)
            .await?;
        let node = nodes.get(&shape.name).await?;
        let mut taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
        taints.retain(|taint| taint.key != UNREACHABLE);
        let mut taints = json!(taints);
        if let (true, Some(taints)) = (lost, taints.as_array_mut()) {
            let since = stamp(self.timeline.now());
            for effect in ["NoSchedule", "NoExecute"] {
                taints.push(json!({"key": UNREACHABLE, "effect": effect, "timeAdded": since}));
            }
        }
        let patch = Patch::Merge(json!({"spec": {"taints": taints}}));
        nodes.patch(&shape.name, &parameters, &patch).await?;
        if lost {
            self.evict(&shape.name).await?;
        }
        Ok(())
    }

    async fn keep_empty(&self) {
        let Some(shape) = self.scenario.nodes.first() else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(self.timeline.clock().wait(EVICTION)).await;
            if let Err(error) = self.evict(&shape.name).await {
                warn!(%error, node = shape.name, "the Pods of a lost node were not all evicted");
            }
        }
    }

    /// Evicts the Pods of an unreachable node, without the minutes that a real cluster waits.
    async fn evict(&self, node: &str) -> kube::Result<()> {
        let pods: Api<Pod> = Api::all(self.client.clone());
        let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
        for pod in pods.list(&on_node).await? {
            let namespace = pod.namespace().unwrap_or_default();
            let api: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
            let at_once = DeleteParams::default().grace_period(0);
            api.delete(&pod.name_any(), &at_once).await?;
        }
        Ok(())
    }
}
