//! ReplicaSets with their Pods. ReplicaSets do not wait for each other, and missing Pods are made
//! in batches, so that the control plane of a busy machine is as prompt as a real one.

mod status;
mod victims;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use tracing::debug;

pub(super) use self::status::is_ready;

use super::resync::ResyncSignal;
use crate::recorder::{Recorder, reference};
use crate::store::Stores;
use evenkeel_clock::{self as clock, Clock};

/// How long a created Pod counts without being in the watch.
const EXPECTED: Duration = Duration::from_secs(5);

/// Deleted Pods that the watch still shows, by UID.
type DeletedPodTimes = HashMap<String, Instant>;

/// Created Pods that the watch has not shown.
#[derive(Default)]
struct PodExpectations(HashMap<String, ReplicaSetCreation>);

/// UID of a ReplicaSet, and when it got a Pod.
type ReplicaSetCreation = (String, Instant);

impl PodExpectations {
    /// Forgets Pods that `pods` show, and those that the watch will not show any more.
    fn retain(&mut self, pods: &[Arc<Pod>], now: Instant) {
        self.0.retain(|uid, (_, at)| {
            let shown = pods.iter().any(|pod| pod.uid().as_ref() == Some(uid));
            !shown && now.duration_since(*at) < EXPECTED
        });
    }

    /// Pods of the ReplicaSet are not in the watch yet; until then it would make them again.
    fn any_of(&self, set: &ReplicaSet) -> bool {
        let uid = set.uid();
        self.0
            .values()
            .any(|(owner, _)| Some(owner) == uid.as_ref())
    }
}

/// Created and deleted in one turn.
type PodTurnChanges = (Vec<(String, ReplicaSetCreation)>, Vec<(String, Instant)>);

pub(super) struct ReplicaSets {
    pub(super) client: Client,
    pub(super) stores: Stores,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
}

impl ReplicaSets {
    pub(super) async fn run(self) {
        let (mut made, mut deleted) = (PodExpectations::default(), DeletedPodTimes::new());
        let mut turns = ResyncSignal::of(&self.stores);
        loop {
            let pods = self.stores.pods.list();
            let now = clock::instant();
            let shown = |uid: &String| pods.iter().any(|pod| pod.uid().as_ref() == Some(uid));
            made.retain(&pods, now);
            deleted.retain(|uid, _| shown(uid));
            let sets = self.stores.replica_sets.list();
            let kept = sets.iter().map(|set| {
                let related = related(set, &sets, &pods);
                let pods = of(set, &pods);
                let leave = made.any_of(set) || set.metadata.deletion_timestamp.is_some();
                let plan = if leave {
                    ReplicaSetPlan::Nothing
                } else {
                    plan(set, &pods, &deleted, |active| {
                        victims::in_order(&active, &related, self.clock.now())
                    })
                };
                self.keep(set, pods, plan)
            });
            let kept = join_all(kept).await;
            for (new, old) in kept {
                made.0.extend(new);
                deleted.extend(old);
            }
            turns.next().await;
        }
    }

    /// Carries out the plan of a ReplicaSet; the Pods made and deleted.
    async fn keep(
        &self,
        set: &ReplicaSet,
        pods: Vec<Arc<Pod>>,
        plan: ReplicaSetPlan,
    ) -> PodTurnChanges {
        let (mut made, mut deleted) = (Vec::new(), Vec::new());
        match plan {
            ReplicaSetPlan::Make(count) => made = self.make(set, count).await,
            ReplicaSetPlan::Delete(pods) => deleted = self.delete(set, &pods).await,
            ReplicaSetPlan::Nothing => {}
        }
        status::write(&self.client, set, &pods, self.clock.now()).await;
        (made, deleted)
    }

    /// In batches that double, like kube-controller-manager, until a Pod cannot be made.
    async fn make(&self, set: &ReplicaSet, count: usize) -> Vec<(String, ReplicaSetCreation)> {
        let (mut made, parameters) = (Vec::new(), PostParams::default());
        let Some(pod) = template(set) else {
            return made;
        };
        let namespace = set.namespace().unwrap_or_default();
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let (mut left, mut batch) = (count, 1);
        while left > 0 {
            let creating = (0..batch.min(left)).map(|_| api.create(&parameters, &pod));
            let created = join_all(creating).await;
            left -= created.len();
            batch *= 2;
            for created in created {
                match created {
                    Ok(pod) => {
                        let message = format!("Created pod: {}", pod.name_any());
                        let about = reference(set);
                        self.recorder.normal(about, "SuccessfulCreate", message);
                        let uid = set.uid().unwrap_or_default();
                        made.push((pod.uid().unwrap_or_default(), (uid, clock::instant())));
                    }
                    Err(error) => {
                        let message = format!("Error creating: {error}");
                        let about = reference(set);
                        self.recorder.warning(about, "FailedCreate", message);
                        debug!(%error, set = set.name_any(), "a Pod could not be made");
                        left = 0;
                    }
                }
            }
        }
        made
    }

    async fn delete(&self, set: &ReplicaSet, pods: &[Arc<Pod>]) -> Vec<(String, Instant)> {
        let parameters = DeleteParams::default();
        let deleting = pods.iter().map(|pod| async {
            let namespace = pod.namespace().unwrap_or_default();
            let api: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
            match api.delete(&pod.name_any(), &parameters).await {
                Ok(_) => {
                    let message = format!("Deleted pod: {}", pod.name_any());
                    let about = reference(set);
                    self.recorder.normal(about, "SuccessfulDelete", message);
                    Some((pod.uid().unwrap_or_default(), clock::instant()))
                }
                Err(error) => {
                    debug!(%error, pod = pod.name_any(), "a Pod could not be deleted");
                    None
                }
            }
        });
        join_all(deleting).await.into_iter().flatten().collect()
    }
}

fn template(set: &ReplicaSet) -> Option<Pod> {
    let (owner, spec) = (set.controller_owner_ref(&())?, set.spec.as_ref()?);
    let template = spec.template.clone().unwrap_or_default();
    let mut metadata = template.metadata.unwrap_or_default();
    metadata.generate_name = Some(format!("{}-", set.name_any()));
    metadata.owner_references = Some(vec![owner]);
    Some(Pod {
        metadata,
        spec: template.spec,
        status: None,
    })
}

#[derive(Debug, PartialEq)]
enum ReplicaSetPlan {
    Nothing,
    Make(usize),
    Delete(Vec<Arc<Pod>>),
}

/// Pods to make, or to delete, the first `in_order`.
fn plan(
    set: &ReplicaSet,
    pods: &[Arc<Pod>],
    deleted: &DeletedPodTimes,
    in_order: impl FnOnce(Vec<Arc<Pod>>) -> Vec<Arc<Pod>>,
) -> ReplicaSetPlan {
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
    let active: Vec<Arc<Pod>> = pods.iter().filter(gone).cloned().collect();
    match active.len() {
        have if have < wanted => ReplicaSetPlan::Make(wanted - have),
        have if have > wanted => {
            let mut order = in_order(active);
            order.truncate(have - wanted);
            ReplicaSetPlan::Delete(order)
        }
        _ => ReplicaSetPlan::Nothing,
    }
}

/// Active Pods of all ReplicaSets with the same owner; without an owner, of the set itself.
fn related(set: &ReplicaSet, sets: &[Arc<ReplicaSet>], pods: &[Arc<Pod>]) -> Vec<Arc<Pod>> {
    let owner = |set: &ReplicaSet| {
        let owners = set.owner_references().iter();
        let mut managers = owners.filter(|owner| owner.controller == Some(true));
        managers.next().map(|owner| owner.uid.clone())
    };
    let own = owner(set);
    let siblings = sets
        .iter()
        .filter(|other| other.uid() == set.uid() || own.is_some() && owner(other) == own);
    let theirs = siblings.flat_map(|sibling| of(sibling, pods));
    theirs
        .filter(|pod| pod.metadata.deletion_timestamp.is_none())
        .collect()
}

/// Owned by the ReplicaSet, and not ended.
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
    fn what_is_missing_is_made_and_what_is_too_much_goes_in_order() {
        let bound = json!({"containers": [], "nodeName": "n"});
        let pods = ["a", "b", "c"].map(|name| pod(name, "2026-01-01T00:00:00Z", &bound, true));
        let backwards = |mut pods: Vec<Arc<Pod>>| {
            pods.reverse();
            pods
        };
        let plan =
            |wanted, deleted: &DeletedPodTimes| plan(&set(wanted), &pods, deleted, backwards);
        let ReplicaSetPlan::Delete(going) = plan(1, &DeletedPodTimes::new()) else {
            panic!()
        };
        let names: Vec<String> = going.iter().map(|pod| pod.name_any()).collect();
        assert_eq!(names, ["c", "b"]);
        assert_eq!(plan(3, &DeletedPodTimes::new()), ReplicaSetPlan::Nothing);
        assert_eq!(plan(5, &DeletedPodTimes::new()), ReplicaSetPlan::Make(2));
        let deleted = DeletedPodTimes::from([("a".to_owned(), clock::instant())]);
        assert_eq!(plan(3, &deleted), ReplicaSetPlan::Make(1));
    }
}
