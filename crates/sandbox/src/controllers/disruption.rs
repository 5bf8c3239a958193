//! PodDisruptionBudgets: how many Pods may go now, for the eviction subresource.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tracing::debug;

use super::replica_set::is_ready;
use super::resync::ResyncSignal;
use crate::objects::{condition_since, stamp};
use crate::store::Stores;
use evenkeel_clock::Clock;
use evenkeel_label_selector::Selector;

/// An allowed eviction that does not show for so long did not happen.
const DISRUPTED: SignedDuration = SignedDuration::from_mins(2);

pub(super) async fn run(client: Client, stores: Stores, clock: Clock) {
    let mut turns = ResyncSignal::of(&stores);
    loop {
        for budget in stores.budgets.list() {
            if let Err(error) = reconcile(&client, &stores, &budget, clock.now()).await {
                debug!(%error, budget = budget.name_any(), "a disruption budget could not be kept");
            }
        }
        turns.next().await;
    }
}

async fn reconcile(
    client: &Client,
    stores: &Stores,
    budget: &PodDisruptionBudget,
    now: Timestamp,
) -> kube::Result<()> {
    let namespace = budget.namespace().unwrap_or_default();
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.clone());
    let selector = selector.and_then(|selector| Selector::try_from(selector).ok());
    let mut pods = stores.pods.list();
    pods.retain(|pod| {
        let ours = selector
            .as_ref()
            .is_some_and(|selector| selector.matches(pod.labels()));
        ours && pod.namespace().as_ref() == Some(&namespace)
    });
    let status = status(budget, &pods, scale(stores, &pods), now);
    let is = json!(budget.status);
    let same = |(field, value): (&String, &Value)| {
        let nothing = value.as_object().is_some_and(serde_json::Map::is_empty);
        is[field] == *value || (is[field].is_null() && nothing)
    };
    if status.as_object().into_iter().flatten().all(same) {
        return Ok(());
    }
    // A concurrent eviction from the budget makes this write too late.
    let patch = Patch::Merge(json!({
        "metadata": {"resourceVersion": budget.resource_version()},
        "status": status,
    }));
    let api: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), &namespace);
    api.patch_status(&budget.name_any(), &PatchParams::default(), &patch)
        .await
        .map(drop)
}

/// Pods wanted by the controllers: each ReplicaSet's Deployment, or itself.
fn scale(stores: &Stores, pods: &[Arc<Pod>]) -> i32 {
    let mut wanted: BTreeMap<String, i32> = BTreeMap::new();
    for pod in pods {
        let namespace = pod.namespace().unwrap_or_default();
        let owner = controller(pod.owner_references());
        let set = owner.and_then(|name| stores.replica_sets.get(&namespace, &name));
        let Some(set) = set else { continue };
        let deployment = controller(set.owner_references())
            .and_then(|name| stores.deployments.get(&namespace, &name));
        let (uid, replicas) = if let Some(deployment) = deployment {
            let spec = deployment.spec.as_ref();
            (deployment.uid(), spec.and_then(|spec| spec.replicas))
        } else {
            let spec = set.spec.as_ref();
            (set.uid(), spec.and_then(|spec| spec.replicas))
        };
        wanted.insert(uid.unwrap_or_default(), replicas.unwrap_or(1));
    }
    wanted.values().sum()
}

fn controller(
    owners: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference],
) -> Option<String> {
    let mut controllers = owners.iter().filter(|owner| owner.controller == Some(true));
    controllers.next().map(|owner| owner.name.clone())
}

/// `scale` is the number wanted by the Pods' controllers, the base of shares and `maxUnavailable`.
fn status(budget: &PodDisruptionBudget, pods: &[Arc<Pod>], scale: i32, now: Timestamp) -> Value {
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let spec = budget.spec.clone().unwrap_or_default();
    let (expected, needed) = match (&spec.max_unavailable, &spec.min_available) {
        (Some(most), _) => (scale, (scale - share(most, scale)).max(0)),
        (None, Some(IntOrString::Int(least))) => (count(pods.len()), *least),
        (None, Some(least)) => (scale, share(least, scale)),
        (None, None) => (count(pods.len()), 0),
    };
    let disrupted = disrupted(budget, pods, now);
    let healthy = pods.iter().filter(|pod| {
        is_ready(pod)
            && pod.metadata.deletion_timestamp.is_none()
            && !disrupted.contains_key(&pod.name_any())
    });
    let healthy = count(healthy.count());
    let allowed = if expected > 0 {
        (healthy - needed).max(0)
    } else {
        0
    };
    let (holds, reason) = if allowed > 0 {
        ("True", "SufficientPods")
    } else {
        ("False", "InsufficientPods")
    };
    let before = json!(budget.status);
    json!({
        "currentHealthy": healthy, "desiredHealthy": needed, "expectedPods": expected,
        "disruptionsAllowed": allowed, "disruptedPods": disrupted,
        "observedGeneration": budget.metadata.generation,
        "conditions": [{
            "type": "DisruptionAllowed", "status": holds, "reason": reason, "message": "",
            "observedGeneration": budget.metadata.generation,
            "lastTransitionTime": condition_since(&before, "DisruptionAllowed", holds, &stamp(now)),
        }],
    })
}

/// Shares are hundredths of `total`, rounded up.
fn share(bound: &IntOrString, total: i32) -> i32 {
    match bound {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let share = (percent * i64::from(total) + 99) / 100;
            i32::try_from(share).unwrap_or(i32::MAX)
        }
    }
}

/// Pods that may be evicted and are not deleted yet, with the time of the permission.
fn disrupted(
    budget: &PodDisruptionBudget,
    pods: &[Arc<Pod>],
    now: Timestamp,
) -> BTreeMap<String, Value> {
    let status = budget.status.as_ref();
    let noted = status.and_then(|status| status.disrupted_pods.as_ref());
    let waits = |name: &str, since: Timestamp| {
        let mut pods = pods.iter();
        let stays =
            pods.any(|pod| pod.name_any() == name && pod.metadata.deletion_timestamp.is_none());
        stays && now.duration_since(since) < DISRUPTED
    };
    noted
        .into_iter()
        .flatten()
        .filter(|(name, since)| waits(name, since.0))
        .map(|(name, since)| (name.clone(), json!(since)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(spec: &Value) -> PodDisruptionBudget {
        let object = json!({"metadata": {"name": "b", "generation": 3}, "spec": spec,
            "status": {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
                "disruptionsAllowed": 0, "disruptedPods": {"p0": "1970-01-01T00:00:00Z"}}});
        serde_json::from_value(object).unwrap()
    }

    fn pods(ready: usize, others: usize) -> Vec<Arc<Pod>> {
        let pod = |index: usize| {
            let holds = if index < ready { "True" } else { "False" };
            let pod = json!({"metadata": {"name": format!("p{index}")},
                "status": {"conditions": [{"type": "Ready", "status": holds}]}});
            Arc::new(serde_json::from_value(pod).unwrap())
        };
        (0..ready + others).map(pod).collect()
    }

    #[test]
    fn budgets_are_counted_as_the_disruption_controller_counts() {
        for (spec, ready, others, expected) in [
            (json!({"minAvailable": 2}), 3, 0, [3, 2, 3, 1]),
            (json!({"minAvailable": 3}), 3, 1, [3, 3, 4, 0]),
            (json!({"minAvailable": "50%"}), 4, 0, [4, 3, 5, 1]),
            (json!({"maxUnavailable": 1}), 5, 0, [5, 4, 5, 1]),
            (json!({"maxUnavailable": "30%"}), 4, 1, [4, 3, 5, 1]),
            (json!({"maxUnavailable": 0}), 5, 0, [5, 5, 5, 0]),
        ] {
            let long_after = Timestamp::from_second(1_000).unwrap();
            let status = status(&budget(&spec), &pods(ready, others), 5, long_after);
            let fields = [
                "currentHealthy",
                "desiredHealthy",
                "expectedPods",
                "disruptionsAllowed",
            ];
            let found = fields.map(|field| status[field].as_i64().unwrap());
            assert_eq!(found, expected.map(i64::from), "{spec}");
            assert_eq!(status["observedGeneration"], 3);
        }
    }

    #[test]
    fn a_pod_that_is_about_to_go_does_not_count() {
        let soon = Timestamp::from_second(60).unwrap();
        let status = status(&budget(&json!({"minAvailable": 1})), &pods(2, 0), 2, soon);
        assert_eq!(status["currentHealthy"], 1);
        assert_eq!(status["disruptionsAllowed"], 0);
        assert!(status["disruptedPods"]["p0"].is_string());
    }
}
