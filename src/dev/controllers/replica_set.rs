//! ReplicaSets: as many Pods as they say.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;
use tracing::debug;

use super::Turns;
use crate::clock;
use crate::dev::store::Stores;

/// A Pod that was made counts this long without being shown by the watch.
const EXPECTED: jiff::SignedDuration = jiff::SignedDuration::from_secs(5);

/// Pods deleted that the watch still shows, and when, by their UIDs.
type Deleted = HashMap<String, jiff::Timestamp>;

/// Pods made that the watch has not shown.
#[derive(Default)]
struct Made(HashMap<String, Owned>);

/// The UID of a ReplicaSet, and when it got a Pod.
type Owned = (String, jiff::Timestamp);

impl Made {
    /// Forgets what `pods` show, and what will not be shown any more.
    fn retain(&mut self, pods: &[Arc<Pod>], now: jiff::Timestamp) {
        self.0.retain(|uid, (_, at)| {
            let shown = pods.iter().any(|pod| pod.uid().as_ref() == Some(uid));
            !shown && now.duration_since(*at) < EXPECTED
        });
    }

    /// Whether Pods of a ReplicaSet are still to be shown; until then it would make them again.
    fn any_of(&self, set: &ReplicaSet) -> bool {
        let uid = set.uid();
        self.0
            .values()
            .any(|(owner, _)| Some(owner) == uid.as_ref())
    }
}

pub(super) async fn run(client: Client, stores: Stores) {
    let (mut made, mut deleted) = (Made::default(), Deleted::new());
    let mut turns = Turns::of(&stores);
    loop {
        let pods = stores.pods.list();
        let now = clock::now();
        let shown = |uid: &String| pods.iter().any(|pod| pod.uid().as_ref() == Some(uid));
        made.retain(&pods, now);
        deleted.retain(|uid, _| shown(uid));
        let sets = stores.replica_sets.list();
        let kept = sets.iter().map(|set| {
            let pods = of(set, &pods);
            let leave = made.any_of(set) || set.metadata.deletion_timestamp.is_some();
            let plan = if leave {
                Plan::Nothing
            } else {
                plan(set, &pods, &deleted)
            };
            keep(&client, set, pods, plan)
        });
        // None waits for another's calls.
        let kept = join_all(kept).await;
        for (new, old) in kept {
            made.0.extend(new);
            deleted.extend(old);
        }
        turns.next().await;
    }
}

/// Brings about what is planned for a ReplicaSet; the Pods made and deleted.
async fn keep(
    client: &Client,
    set: &ReplicaSet,
    pods: Vec<Arc<Pod>>,
    plan: Plan,
) -> (Vec<(String, Owned)>, Vec<(String, jiff::Timestamp)>) {
    let (mut made, mut deleted) = (Vec::new(), Vec::new());
    match plan {
        Plan::Make(count) => made = make(client, set, count).await,
        Plan::Delete(pods) => deleted = delete(client, &pods).await,
        Plan::Nothing => {}
    }
    status(client, set, &pods).await;
    (made, deleted)
}

#[derive(Debug, PartialEq)]
enum Plan {
    Nothing,
    Make(usize),
    Delete(Vec<Arc<Pod>>),
}

/// What is missing, or what is too much: first what is not placed, then what is not ready, then
/// the newest.
fn plan(set: &ReplicaSet, pods: &[Arc<Pod>], deleted: &Deleted) -> Plan {
    let wanted = set
        .spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1);
    let wanted = usize::try_from(wanted).unwrap_or(0);
    let gone = |pod: &&Arc<Pod>| {
        let uid = pod.uid().unwrap_or_default();
        !deleted.contains_key(&uid) && pod.metadata.deletion_timestamp.is_none()
    };
    let mut active: Vec<Arc<Pod>> = pods.iter().filter(gone).cloned().collect();
    match active.len() {
        have if have < wanted => Plan::Make(wanted - have),
        have if have > wanted => {
            active.sort_by_key(|pod| {
                let bound = pod
                    .spec
                    .as_ref()
                    .is_some_and(|spec| spec.node_name.is_some());
                let created = pod.creation_timestamp().map(|time| time.0);
                (bound, is_ready(pod), std::cmp::Reverse(created))
            });
            active.truncate(have - wanted);
            Plan::Delete(active)
        }
        _ => Plan::Nothing,
    }
}

/// The Pods that a ReplicaSet owns and that have not ended.
fn of(set: &ReplicaSet, pods: &[Arc<Pod>]) -> Vec<Arc<Pod>> {
    let uid = set.uid().unwrap_or_default();
    let finished = |pod: &Pod| {
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        matches!(phase, Some("Succeeded" | "Failed"))
    };
    let owned = pods.iter().filter(|pod| {
        let owners = pod.owner_references();
        owners.iter().any(|owner| owner.uid == uid) && !finished(pod)
    });
    owned.cloned().collect()
}

/// Whether a Pod's condition says that it serves.
pub(super) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Makes Pods in batches that double, as kube-controller-manager does, until one cannot be made.
async fn make(client: &Client, set: &ReplicaSet, count: usize) -> Vec<(String, Owned)> {
    let (mut made, parameters) = (Vec::new(), PostParams::default());
    let (Some(owner), Some(spec)) = (set.controller_owner_ref(&()), &set.spec) else {
        return made;
    };
    let template = spec.template.clone().unwrap_or_default();
    let mut metadata = template.metadata.unwrap_or_default();
    metadata.generate_name = Some(format!("{}-", set.name_any()));
    metadata.owner_references = Some(vec![owner]);
    let pod = Pod {
        metadata,
        spec: template.spec,
        status: None,
    };
    let api: Api<Pod> = Api::namespaced(client.clone(), &set.namespace().unwrap_or_default());
    let (mut left, mut batch) = (count, 1);
    while left > 0 {
        let creating = (0..batch.min(left)).map(|_| api.create(&parameters, &pod));
        let created = join_all(creating).await;
        left -= created.len();
        batch *= 2;
        for created in created {
            match created {
                Ok(pod) => {
                    let uid = set.uid().unwrap_or_default();
                    made.push((pod.uid().unwrap_or_default(), (uid, clock::now())));
                }
                Err(error) => {
                    debug!(%error, set = set.name_any(), "a Pod could not be made");
                    left = 0;
                }
            }
        }
    }
    made
}

async fn delete(client: &Client, pods: &[Arc<Pod>]) -> Vec<(String, jiff::Timestamp)> {
    let parameters = DeleteParams::default();
    let deleting = pods.iter().map(|pod| async {
        let namespace = pod.namespace().unwrap_or_default();
        let api: Api<Pod> = Api::namespaced(client.clone(), &namespace);
        match api.delete(&pod.name_any(), &parameters).await {
            Ok(_) => Some((pod.uid().unwrap_or_default(), clock::now())),
            Err(error) => {
                debug!(%error, pod = pod.name_any(), "a Pod could not be deleted");
                None
            }
        }
    });
    join_all(deleting).await.into_iter().flatten().collect()
}

async fn status(client: &Client, set: &ReplicaSet, pods: &[Arc<Pod>]) {
    let ready = pods.iter().filter(|pod| is_ready(pod)).count();
    let labelled = json!({
        "replicas": pods.len(), "fullyLabeledReplicas": pods.len(), "readyReplicas": ready,
        "availableReplicas": ready, "observedGeneration": set.metadata.generation,
    });
    let now = set.status.as_ref().map(|status| {
        json!({
            "replicas": status.replicas,
            "fullyLabeledReplicas": status.fully_labeled_replicas.unwrap_or(0),
            "readyReplicas": status.ready_replicas.unwrap_or(0),
            "availableReplicas": status.available_replicas.unwrap_or(0),
            "observedGeneration": status.observed_generation,
        })
    });
    if now.as_ref() == Some(&labelled) {
        return;
    }
    let api: Api<ReplicaSet> =
        Api::namespaced(client.clone(), &set.namespace().unwrap_or_default());
    let patch = Patch::Merge(json!({"status": labelled}));
    if let Err(error) = api
        .patch_status(&set.name_any(), &PatchParams::default(), &patch)
        .await
    {
        debug!(%error, set = set.name_any(), "a status could not be written");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn set(replicas: usize) -> ReplicaSet {
        let spec = json!({"replicas": replicas, "selector": {}});
        serde_json::from_value(json!({"metadata": {"name": "s", "uid": "s"}, "spec": spec}))
            .unwrap()
    }

    fn pod(name: &str, created: &str, spec: &Value, ready: bool) -> Arc<Pod> {
        let ready = if ready { "True" } else { "False" };
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "s", "uid": "s"});
        Arc::new(serde_json::from_value(json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": created, "ownerReferences": [owner]},
            "spec": spec,
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap())
    }

    #[test]
    fn the_least_useful_pods_go_first() {
        let (bound, waiting) = (
            json!({"containers": [], "nodeName": "n"}),
            json!({"containers": []}),
        );
        let pods = [
            pod("old", "2026-01-01T00:00:00Z", &bound, true),
            pod("new", "2026-01-01T00:00:09Z", &bound, true),
            pod("starting", "2026-01-01T00:00:05Z", &bound, false),
            pod("waiting", "2026-01-01T00:00:01Z", &waiting, false),
        ];
        for (wanted, going) in [
            (3, vec!["waiting"]),
            (2, vec!["waiting", "starting"]),
            (1, vec!["waiting", "starting", "new"]),
        ] {
            let Plan::Delete(pods) = plan(&set(wanted), &pods, &Deleted::new()) else {
                panic!()
            };
            let names: Vec<String> = pods.iter().map(|pod| pod.name_any()).collect();
            assert_eq!(names, going);
        }
        assert_eq!(plan(&set(4), &pods, &Deleted::new()), Plan::Nothing);
        assert_eq!(plan(&set(6), &pods, &Deleted::new()), Plan::Make(2));
        let deleted = Deleted::from([("old".to_owned(), jiff::Timestamp::UNIX_EPOCH)]);
        assert_eq!(plan(&set(4), &pods, &deleted), Plan::Make(1));
    }
}
