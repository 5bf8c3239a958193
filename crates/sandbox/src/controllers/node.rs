//! Marks and taints nodes with a silent kubelet, and evicts Pods without a toleration, like the two
//! node controllers of kube-controller-manager. Times are those of Kubernetes by the cluster's
//! clock, but never so short that a slow machine would lose nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tracing::debug;

use crate::kubelet::heartbeat::LEASES;
use crate::objects::stamp;
use crate::recorder::{Recorder, reference};
use crate::store::Stores;
use evenkeel_clock::Clock;

const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// Allowed silence of a kubelet.
const GRACE: SignedDuration = SignedDuration::from_secs(50);
/// Least of it on the machine: several heartbeats.
const LEAST_GRACE: Duration = Duration::from_secs(40);
/// Interval of checks.
const LOOK: Duration = Duration::from_secs(2);
const SILENT: &str = "NodeStatusUnknown";

pub(super) struct Nodes {
    pub(super) client: Client,
    pub(super) stores: Stores,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
}

impl Nodes {
    pub(super) async fn run(self) {
        let mut ticks = tokio::time::interval(LOOK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.round().await {
                debug!(%error, "the nodes could not be looked at");
            }
        }
    }

    async fn round(&self) -> kube::Result<()> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), LEASES);
        let leases = leases.list(&ListParams::default()).await?;
        let renewed: BTreeMap<String, Timestamp> = leases
            .into_iter()
            .filter_map(|lease| Some((lease.name_any(), lease.spec?.renew_time?.0)))
            .collect();
        let now = self.clock.now();
        let grace = GRACE.max(self.clock.elapsed(LEAST_GRACE));
        for node in self.stores.nodes.list() {
            let heard = renewed.get(&node.name_any()).copied();
            let heard = heard.or(node.creation_timestamp().map(|time| time.0));
            let age = heard.map_or(SignedDuration::ZERO, |heard| now.duration_since(heard));
            let kept = if age > grace {
                self.mark(&node, now).await
            } else {
                self.clear(&node).await
            };
            if let Err(error) = kept {
                debug!(%error, node = node.name_any(), "a node could not be kept");
            }
        }
        self.evict(now).await;
        Ok(())
    }

    /// A silent node gets unknown conditions and a taint against all Pods.
    async fn mark(&self, node: &Node, now: Timestamp) -> kube::Result<()> {
        let name = node.name_any();
        let api: Api<Node> = Api::all(self.client.clone());
        let parameters = PatchParams::default();
        if readiness(node) != Some("Unknown") {
            let patch = Patch::Merge(json!({"status": {"conditions": unknown(node, now)}}));
            api.patch_status(&name, &parameters, &patch).await?;
            let message = format!("Node {name} status is now: NodeNotReady");
            self.recorder
                .normal(reference(node), "NodeNotReady", message);
        }
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone());
        let mut taints = taints.unwrap_or_default();
        let before = taints.len();
        for effect in ["NoSchedule", "NoExecute"] {
            let same = |taint: &Taint| taint.key == UNREACHABLE && taint.effect == effect;
            if !taints.iter().any(same) {
                taints.push(Taint {
                    key: UNREACHABLE.to_owned(),
                    effect: effect.to_owned(),
                    time_added: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(now)),
                    value: None,
                });
            }
        }
        if taints.len() == before {
            return Ok(());
        }
        self.taint(node, &taints).await
    }

    /// An answering node loses the taint once it is Ready again.
    async fn clear(&self, node: &Node) -> kube::Result<()> {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone());
        let taints = taints.unwrap_or_default();
        let mut rest = taints.clone();
        rest.retain(|taint| taint.key != UNREACHABLE);
        if rest.len() == taints.len() || readiness(node) != Some("True") {
            return Ok(());
        }
        self.taint(node, &rest).await?;
        let name = node.name_any();
        let message = format!("Node {name} status is now: NodeReady");
        self.recorder.normal(reference(node), "NodeReady", message);
        Ok(())
    }

    async fn taint(&self, node: &Node, taints: &[Taint]) -> kube::Result<()> {
        let api: Api<Node> = Api::all(self.client.clone());
        let patch = Patch::Merge(json!({
            "metadata": {"resourceVersion": node.resource_version()},
            "spec": {"taints": taints},
        }));
        api.patch(&node.name_any(), &PatchParams::default(), &patch)
            .await
            .map(drop)
    }

    /// Deletes Pods that do not tolerate a taint of their node, or no longer.
    async fn evict(&self, now: Timestamp) {
        for pod in self.stores.pods.list() {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
            let node = node.and_then(|node| self.stores.nodes.get("", &node));
            let Some(node) = node.filter(|_| pod.metadata.deletion_timestamp.is_none()) else {
                continue;
            };
            let Some(taint) = intolerable(&pod, &node, now) else {
                continue;
            };
            let api: Api<Pod> =
                Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
            match api.delete(&pod.name_any(), &DeleteParams::default()).await {
                Ok(_) => {
                    let message = format!("Marking for deletion Pod for taint {}", taint.key);
                    let about = reference(&*pod);
                    self.recorder.normal(about, "TaintManagerEviction", message);
                }
                Err(error) => debug!(%error, pod = pod.name_any(), "a Pod could not be evicted"),
            }
        }
    }
}

/// A taint of the node that the Pod does not tolerate, or no longer.
fn intolerable(pod: &Pod, node: &Node, now: Timestamp) -> Option<Taint> {
    let taints = node.spec.as_ref()?.taints.as_ref()?;
    let tolerations = pod.spec.as_ref()?.tolerations.as_deref();
    let tolerations = tolerations.unwrap_or_default();
    let mut executing = taints.iter().filter(|taint| taint.effect == "NoExecute");
    let intolerable = |taint: &&Taint| match tolerated(taint, tolerations) {
        TolerationSpan::Never => true,
        TolerationSpan::For(span) => {
            let since = taint.time_added.as_ref();
            since.is_some_and(|since| now.duration_since(since.0) > span)
        }
        TolerationSpan::Always => false,
    };
    executing.find(intolerable).cloned()
}

#[derive(Debug, PartialEq, Eq)]
enum TolerationSpan {
    Never,
    For(SignedDuration),
    Always,
}

fn tolerated(taint: &Taint, tolerations: &[Toleration]) -> TolerationSpan {
    let matches = |toleration: &&Toleration| {
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let (key, effect) = (text(&toleration.key), text(&toleration.effect));
        let exists = toleration.operator.as_deref() == Some("Exists");
        (effect.is_empty() || effect == taint.effect)
            && (key == taint.key || (key.is_empty() && exists))
            && (exists || text(&toleration.value) == text(&taint.value))
    };
    let spans: Vec<Option<i64>> = tolerations
        .iter()
        .filter(matches)
        .map(|toleration| toleration.toleration_seconds)
        .collect();
    if spans.is_empty() {
        return TolerationSpan::Never;
    }
    // The shortest finite one counts.
    let shortest = spans.into_iter().flatten().min();
    shortest.map_or(TolerationSpan::Always, |seconds| {
        TolerationSpan::For(SignedDuration::from_secs(seconds.max(0)))
    })
}

fn readiness(node: &Node) -> Option<&str> {
    let conditions = node.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions.iter().find(|one| one.type_ == "Ready")?;
    Some(&ready.status)
}

fn unknown(node: &Node, now: Timestamp) -> Vec<Value> {
    let status = node.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let marked = conditions.into_iter().flatten().map(|condition| {
        let mut condition = json!(condition);
        condition["status"] = "Unknown".into();
        condition["reason"] = SILENT.into();
        condition["message"] = "Kubelet stopped posting node status.".into();
        condition["lastTransitionTime"] = stamp(now).into();
        condition
    });
    marked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_toleration_counts() {
        let taint = Taint {
            key: UNREACHABLE.to_owned(),
            effect: "NoExecute".to_owned(),
            ..Taint::default()
        };
        let second = SignedDuration::from_secs;
        let until = |seconds: i64| {
            json!({"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": seconds})
        };
        let always = json!({"operator": "Exists"});
        let other = json!({"key": "other", "operator": "Exists"});
        for (tolerations, expected) in [
            (json!([]), TolerationSpan::Never),
            (json!([other]), TolerationSpan::Never),
            (json!([always]), TolerationSpan::Always),
            (
                json!([until(300), until(60)]),
                TolerationSpan::For(second(60)),
            ),
            (
                json!([always, until(300)]),
                TolerationSpan::For(second(300)),
            ),
        ] {
            let tolerations: Vec<Toleration> = serde_json::from_value(tolerations).unwrap();
            assert_eq!(tolerated(&taint, &tolerations), expected, "{tolerations:?}");
        }
    }

    #[test]
    fn of_a_silent_node_nothing_is_known() {
        let node: Node = serde_json::from_value(json!({"status": {"conditions": [
            {"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}]}}))
        .unwrap();
        assert_eq!(readiness(&node), Some("True"));
        let conditions = unknown(&node, Timestamp::UNIX_EPOCH);
        assert!(conditions.iter().all(|one| one["status"] == "Unknown"));
        assert_eq!(conditions[1]["type"], "DiskPressure");
    }
}
