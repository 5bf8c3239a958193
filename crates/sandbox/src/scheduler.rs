//! A stand-in for kube-scheduler: default plugins, extenders called in the same form, and the same
//! habits in retrying. It takes one Pod at a time, by priority and age, and binds while the next
//! Pod is looked at. A refused Pod is tried again when the cluster looks different to a scheduler:
//! after a new text in its own condition, a binding, a deletion or a change of a node.

mod binding;
mod cluster_view;
pub mod configuration;
mod extender;
mod placement_choice;
pub mod plugins;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evenkeel_clock::Clock;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::NodesToScore;
use evenkeel_units::random::RandomSource;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tokio::task::{JoinError, JoinSet};
use tracing::{debug, warn};

use self::binding::Binder;
use self::cluster_view::{Landscape, PodRequestCache};
use self::configuration::Configuration;
use self::extender::{Extender, ExtenderFilterReply};
use self::placement_choice::PlacementChoice;
use super::SandboxEvent;
use super::control_plane_context::ControlPlaneContext;
use super::objects::stamp;
use super::recorder::reference;
use super::store::Stores;
use crate::scheduler::plugins::{
    NodeRefusal, NodeRequest, NodeSearchWindow, PodRequest, best, refusals, scores, unschedulable,
};

const NAME: &str = "default-scheduler";

/// A refused Pod is tried again after this time in any case.
const FLUSH: SignedDuration = SignedDuration::from_mins(5);

/// How long a binding may take on the machine to be in the watch; afterwards it counts as failed.
const ASSUMED: Duration = Duration::from_secs(30);

/// Why a Pod was not placed.
#[derive(Debug)]
enum PlacementFailure {
    /// By all nodes, with the reasons of each.
    Refused(Vec<Vec<NodeRefusal>>),
    /// By an extender that is not ignorable.
    Extender(String),
}

/// With the landscape that the Pod was placed on.
struct FailedBinding {
    uid: String,
    landscape: Landscape,
}

/// The part of a configuration that is in use.
#[derive(Clone, Default)]
struct Setup {
    nodes_to_score: NodesToScore,
    extenders: Vec<Extender>,
}

pub struct Scheduler {
    binder: Binder,
    stores: Stores,
    setup: Arc<Mutex<Setup>>,
    random: RandomSource,
    decisions: u64,
    window: NodeSearchWindow,
    /// Bindings that the watch has not shown.
    assumed: HashMap<String, (String, Timestamp)>,
    /// Last try of each refused Pod, and its landscape.
    refused: BTreeMap<String, (Landscape, Timestamp)>,
    requests: PodRequestCache,
}

/// Changes the configuration of a running scheduler.
#[derive(Clone)]
pub struct SetupSlot(Arc<Mutex<Setup>>);

impl SetupSlot {
    /// From the next Pod on.
    ///
    /// # Errors
    /// Unusable certificates.
    pub fn set(&self, configuration: &Configuration) -> Result<(), configuration::Error> {
        let Configuration {
            nodes_to_score,
            extenders,
        } = configuration;
        let extenders = extenders.iter().map(Extender::new);
        let setup = Setup {
            nodes_to_score: *nodes_to_score,
            extenders: extenders.collect::<Result<Vec<_>, _>>()?,
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = setup;
        Ok(())
    }
}

impl Scheduler {
    pub fn new(client: Client, stores: Stores, parts: ControlPlaneContext, seed: u64) -> Self {
        Self {
            binder: Binder { client, parts },
            stores,
            setup: Arc::default(),
            random: RandomSource::new(seed).stream("scheduler"),
            decisions: 0,
            window: NodeSearchWindow::default(),
            assumed: HashMap::new(),
            refused: BTreeMap::new(),
            requests: PodRequestCache::default(),
        }
    }

    pub fn setup_slot(&self) -> SetupSlot {
        SetupSlot(Arc::clone(&self.setup))
    }

    fn clock(&self) -> Clock {
        self.binder.parts.timeline.clock()
    }

    fn setup(&self) -> MutexGuard<'_, Setup> {
        self.setup.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn run(mut self) {
        let mut changes = self.stores.changes();
        let flush = self.clock().period(FLUSH);
        let mut bindings = JoinSet::new();
        loop {
            changes.borrow_and_update();
            while let Some(pod) = self.next(self.clock().now()) {
                self.attempt(&pod, &mut bindings).await;
                while let Some(bound) = bindings.try_join_next() {
                    self.settle(bound);
                }
            }
            tokio::select! {
                Some(bound) = bindings.join_next() => self.settle(bound),
                // An error would mean that the stores are dropped, and then this task ends too.
                _ = tokio::time::timeout(flush, changes.changed()) => {}
            }
        }
    }

    /// The Pod of a failed binding is tried again.
    fn settle(&mut self, bound: Result<Option<FailedBinding>, JoinError>) {
        if let Ok(Some(FailedBinding { uid, landscape })) = bound {
            self.assumed.remove(&uid);
            self.refused.insert(uid, (landscape, self.clock().now()));
        }
    }

    /// The due Pod with the highest priority, then the oldest.
    fn next(&mut self, now: Timestamp) -> Option<Arc<Pod>> {
        let pods = self.stores.pods.list();
        let landscape = Landscape::of(&pods, &self.stores.nodes.list());
        let bound = |uid: &str| {
            pods.iter()
                .any(|pod| pod.uid().as_deref() == Some(uid) && is_bound(pod))
        };
        let assumed_for = self.clock().elapsed(ASSUMED);
        self.assumed
            .retain(|uid, (_, at)| !bound(uid) && now.duration_since(*at) < assumed_for);
        let exists = |uid: &String| pods.iter().any(|pod| pod.uid().as_ref() == Some(uid));
        self.refused.retain(|uid, _| exists(uid));
        let due = |pod: &&Arc<Pod>| {
            let uid = pod.uid().unwrap_or_default();
            let waits = self.refused.get(&uid).is_some_and(|(tried, at)| {
                let old = now.duration_since(*at) >= FLUSH;
                *tried == landscape.with(pod) && !old
            });
            is_pending(pod) && !waits && !self.assumed.contains_key(&uid)
        };
        pods.iter()
            .filter(due)
            .min_by_key(|pod| order(pod))
            .cloned()
    }

    /// Like kube-scheduler, goes on to the next Pod during the binding.
    async fn attempt(&mut self, pod: &Arc<Pod>, bindings: &mut JoinSet<Option<FailedBinding>>) {
        let uid = pod.uid().unwrap_or_default();
        let pods = self.stores.pods.list();
        let nodes = self.stores.nodes.list();
        let landscape = Landscape::of(&pods, &nodes).with(pod);
        match self.place(pod, &pods, &nodes).await {
            Ok(placed) => {
                self.refused.remove(&uid);
                let assumed = (placed.node.clone(), self.clock().now());
                self.assumed.insert(uid.clone(), assumed);
                let binder = self.binder.clone();
                let extenders = self.setup().extenders.clone();
                let pod = Arc::clone(pod);
                bindings.spawn(async move {
                    let error = binder.bind(&pod, &placed, &extenders).await.err()?;
                    debug!(%error, pod = pod.name_any(), "a Pod could not be bound");
                    Some(FailedBinding { uid, landscape })
                });
            }
            Err(unplaced) => {
                self.refused.insert(uid, (landscape, self.clock().now()));
                self.refuse(pod, unplaced).await;
            }
        }
    }

    async fn place(
        &mut self,
        pod: &Pod,
        pods: &[Arc<Pod>],
        nodes: &[Arc<Node>],
    ) -> Result<PlacementChoice, PlacementFailure> {
        let views = self.requests.views(nodes, pods, &self.assumed);
        let request = cluster_view::request(pod);
        let mut against: Vec<Vec<NodeRefusal>> =
            views.iter().map(|node| refusals(&request, node)).collect();
        let Setup {
            nodes_to_score,
            extenders,
        } = self.setup().clone();
        let mut feasible = self
            .window
            .find(views.len(), nodes_to_score, |node| against[node].is_empty());
        for extender in &extenders {
            if feasible.is_empty() {
                break;
            }
            let asked: Vec<&str> = feasible.iter().map(|&node| &*views[node].name).collect();
            let filtered = extender.filter(pod, &asked).await;
            let ExtenderFilterReply {
                kept,
                refused,
                skipped,
            } = filtered.map_err(PlacementFailure::Extender)?;
            if skipped {
                self.tell_skipped(pod);
            }
            let position = |name: &String| views.iter().position(|view| view.name == *name);
            for (name, refusal) in refused {
                if let Some(node) = position(&name) {
                    against[node] = vec![refusal];
                }
            }
            feasible = kept.iter().filter_map(position).collect();
        }
        let candidates: Vec<&NodeRequest> = feasible.iter().map(|&node| &views[node]).collect();
        self.decisions += 1;
        let choice = self.random.unit(self.decisions);
        let placed = rank(pod, &request, &candidates, &extenders, choice).await;
        placed.ok_or(PlacementFailure::Refused(against))
    }

    fn tell_skipped(&self, pod: &Pod) {
        let event = SandboxEvent::ExtenderSkipped {
            pod: PodName::new(&pod.namespace().unwrap_or_default(), &pod.name_any()),
        };
        self.binder.parts.tell(event);
    }

    /// Explains in the Pod's condition why it waits; writes only a new text.
    async fn refuse(&self, pod: &Pod, unplaced: PlacementFailure) {
        let (reason, message) = match unplaced {
            PlacementFailure::Refused(against) => ("Unschedulable", unschedulable(&against)),
            PlacementFailure::Extender(message) => ("SchedulerError", message),
        };
        let recorder = &self.binder.parts.recorder;
        recorder.warning(reference(pod), "FailedScheduling", message.clone());
        if cluster_view::condition(pod) == Some((reason, &message)) {
            return;
        }
        let namespace = pod.namespace().unwrap_or_default();
        let now = self.clock().now();
        let patch = json!({"status": {"conditions": [{
            "type": "PodScheduled", "status": "False", "reason": reason, "message": message,
            "lastTransitionTime": stamp(now),
        }]}});
        let api: Api<Pod> = Api::namespaced(self.binder.client.clone(), &namespace);
        let patched = api
            .patch_status(
                &pod.name_any(),
                &PatchParams::default(),
                &Patch::Strategic(patch),
            )
            .await;
        if let Err(error) = patched {
            warn!(%error, pod = pod.name_any(), "a Pod's condition could not be written");
        }
        let pod = PodName::new(&namespace, &pod.name_any());
        let event = SandboxEvent::PodRefused { pod, message };
        self.binder.parts.tell(event);
    }
}

/// The node with the highest sum of all scores.
async fn rank(
    pod: &Pod,
    request: &PodRequest,
    candidates: &[&NodeRequest],
    extenders: &[Extender],
    choice: f64,
) -> Option<PlacementChoice> {
    let names: Vec<&str> = candidates.iter().map(|node| &*node.name).collect();
    let mut total = scores(request, candidates);
    let mut given: Option<Vec<(i64, i64)>> = None;
    // One node needs no ranking.
    if names.len() > 1 {
        for extender in extenders {
            let scores = extender.prioritize(pod, &names).await;
            for (sum, (score, weight)) in total.iter_mut().zip(&scores) {
                *sum += score * weight;
            }
            given = Some(scores);
        }
    }
    let chosen = best(&total, choice)?;
    let given = given.and_then(|scores| scores.get(chosen).copied());
    Some(PlacementChoice {
        node: names[chosen].to_owned(),
        score: given.map(|(score, _)| score),
        why: match given {
            Some((score, _)) => format!("score {score} of 10 by the extender"),
            None if names.len() == 1 => "the only node that takes it".to_owned(),
            None => "kube-scheduler's own preference".to_owned(),
        },
    })
}

fn is_bound(pod: &Pod) -> bool {
    pod.spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some())
}

fn is_pending(pod: &Pod) -> bool {
    let ours = pod.spec.as_ref().is_some_and(|spec| {
        let scheduler = spec.scheduler_name.as_deref();
        let gated = spec
            .scheduling_gates
            .as_ref()
            .is_some_and(|gates| !gates.is_empty());
        spec.node_name.is_none() && !gated && scheduler.is_none_or(|name| name == NAME)
    });
    ours && pod.metadata.deletion_timestamp.is_none()
}

/// By priority, then age, then name.
fn order(pod: &Pod) -> (i32, Option<Timestamp>, String) {
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority);
    (
        -priority.unwrap_or(0),
        pod.creation_timestamp().map(|time| time.0),
        pod.name_any(),
    )
}
