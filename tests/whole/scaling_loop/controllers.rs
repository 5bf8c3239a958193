//! The simulated kube-controller-manager and kubelets of the target: the HPA's own rule, Pods that
//! follow the count at once, and a diary of it.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::Request;
use evenkeel_clock::Clock;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::world::{DEPLOYMENT, HPA, TARGET, World, annotation, least, number, pod_spec};
use crate::support::dev_api::{create, get};
use crate::support::load::{Handle, NODE};

/// How often the HPA looks, in real time.
const SYNC: Duration = Duration::from_millis(150);

/// The Pods of the world.
pub(crate) const PODS: &str = "/api/v1/namespaces/shop/pods";
/// The annotation of a Pod that a ReplicaSet controller reads.
pub(crate) const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// The ReplicaSet of the version that serves.
pub(super) const STABLE: &str = "web-7c5ddb8f4";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/shop/replicasets";

/// One look of the HPA.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// When, in the world's time.
    pub at: Timestamp,
    /// The HPA's `minReplicas`.
    pub min: i64,
    /// The count that its own rule gives.
    pub plain: i64,
    /// The count that there was.
    pub before: i64,
}

/// The running controllers; they end when this is dropped.
pub(crate) struct Controllers<'a> {
    diary: Arc<Mutex<Vec<Moment>>>,
    task: JoinHandle<()>,
    world: &'a World<'a>,
}

impl Drop for Controllers<'_> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<'a> Controllers<'a> {
    pub(super) async fn start(world: &'a World<'a>) -> Self {
        Self::following(world, DEPLOYMENT, ("apps/v1", "Deployment")).await
    }

    /// The same for a workload of another kind with a controller that makes ReplicaSets as that of
    /// a Deployment does.
    pub(super) async fn following(
        world: &'a World<'a>,
        workload: &'static str,
        (version, kind): (&str, &str),
    ) -> Self {
        let mut running = Running::new(world, workload, (version, kind), STABLE).await;
        let prometheus = world.prometheus.handle.clone();
        let begun = running
            .scale(needed(prometheus.load(world.clock.now())))
            .await;
        begun.expect("the API server is there");
        prometheus.set_pods(&running.pods);
        let diary = Arc::<Mutex<Vec<Moment>>>::default();
        let written = Arc::clone(&diary);
        let task = tokio::spawn(async move {
            loop {
                // While the API server is away nothing is done.
                if let Some(moment) = running.sync(&prometheus).await {
                    written
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(moment);
                }
                tokio::time::sleep(SYNC).await;
            }
        });
        Self { diary, task, world }
    }

    /// The diary so far.
    pub(crate) fn diary(&self) -> Vec<Moment> {
        self.diary
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The diary in words, from the world's beginning.
    pub(crate) fn told(&self) -> String {
        let mut told = String::new();
        let mut last = None;
        for moment in self.diary() {
            let now = (moment.min, moment.plain, moment.before);
            if last.replace(now) != Some(now) {
                let at = moment.at.strftime("%H:%M:%S");
                let (min, plain, replicas) = now;
                let _ = writeln!(told, "{at} min {min} plain {plain} replicas {replicas}");
            }
        }
        let now = self.world.clock.now().strftime("%H:%M:%S");
        format!("{told}now {now}")
    }
}

/// A ReplicaSet of a workload with so many Pods, which are ready. Nothing scales it. Gives the names of the Pods.
pub(super) async fn replica_set(
    world: &World<'_>,
    workload: &'static str,
    kind: (&str, &str),
    (name, count): (&'static str, i64),
) -> Vec<String> {
    let mut running = Running::new(world, workload, kind, name).await;
    let made = running.follow(count).await;
    made.expect("the API server is there");
    running.pods
}

fn reference(version: &str, kind: &str, owner: &Value) -> Value {
    let metadata = &owner["metadata"];
    json!({"apiVersion": version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"],
        "controller": true})
}

struct Running {
    client: Client,
    clock: Clock,
    /// The path of what is counted.
    workload: &'static str,
    /// The name of the ReplicaSet, and a reference to it.
    set: &'static str,
    owner: Value,
    pods: Vec<String>,
    made: usize,
}

impl Running {
    /// No Pods yet, of a new ReplicaSet.
    async fn new(
        world: &World<'_>,
        workload: &'static str,
        (version, kind): (&str, &str),
        name: &'static str,
    ) -> Self {
        let owner = get(world.client, workload).await;
        let set = json!({"metadata": {"name": name, "labels": {"app": "web"},
                "ownerReferences": [reference(version, kind, &owner)]},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()}}});
        let set = create(world.client, REPLICA_SETS, &set).await;
        Self {
            client: world.client.clone(),
            clock: world.clock,
            workload,
            set: name,
            owner: reference("apps/v1", "ReplicaSet", &set),
            pods: Vec::new(),
            made: 0,
        }
    }

    /// One look of the HPA and what follows from it; `None` while the API server is away.
    async fn sync(&mut self, prometheus: &Handle) -> Option<Moment> {
        // A refusal is no answer.
        let Some(hpa) = self.say("GET", HPA, &Value::Null).await else {
            // Without an HPA, another writer sets the count.
            let workload = self.say("GET", self.workload, &Value::Null).await?;
            self.follow(number(&workload, "/spec/replicas")?).await?;
            prometheus.set_pods(&self.pods);
            return None;
        };
        let before = i64::try_from(self.pods.len()).expect("few Pods");
        let plain = rule(prometheus.load(self.clock.now()), before);
        let (min, max) = (least(&hpa), number(&hpa, "/spec/maxReplicas")?);
        let wanted = plain.clamp(min, max.max(min));
        let status = json!({"status": {"currentReplicas": before, "desiredReplicas": wanted,
            "conditions": [{"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound",
                "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        self.say("PATCH", &format!("{HPA}/status"), &status).await?;
        self.scale(wanted).await?;
        prometheus.set_pods(&self.pods);
        Some(Moment {
            at: self.clock.now(),
            min,
            plain,
            before,
        })
    }

    async fn scale(&mut self, wanted: i64) -> Option<()> {
        let replicas = json!({"spec": {"replicas": wanted}});
        self.say("PATCH", self.workload, &replicas).await?;
        self.follow(wanted).await
    }

    /// As many Pods as are wanted.
    async fn follow(&mut self, wanted: i64) -> Option<()> {
        let wanted = usize::try_from(wanted).expect("not negative");
        while self.pods.len() < wanted {
            self.start().await?;
        }
        while self.pods.len() > wanted {
            let name = self.first_to_go().await?;
            let now = json!({"gracePeriodSeconds": 0});
            self.say("DELETE", &format!("{PODS}/{name}"), &now).await?;
            self.pods.retain(|pod| *pod != name);
        }
        Some(())
    }

    /// The Pod with the lowest cost of deletion, of equals the newest.
    async fn first_to_go(&self) -> Option<String> {
        let list = self.say("GET", PODS, &Value::Null).await?;
        let cost = |name: &String| {
            let mut pods = list["items"].as_array().into_iter().flatten();
            let pod = pods.find(|pod| pod["metadata"]["name"] == **name);
            let cost = pod.and_then(|pod| annotation(pod, DELETION_COST)?.parse().ok());
            cost.unwrap_or(0_i64)
        };
        self.pods
            .iter()
            .rev()
            .min_by_key(|name| cost(name))
            .cloned()
    }

    async fn start(&mut self) -> Option<()> {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        let letter = |place: usize| char::from(LETTERS[place % LETTERS.len()]);
        let (first, second) = (letter(self.made / LETTERS.len()), letter(self.made));
        let name = format!("{}-bcd{first}{second}", self.set);
        self.made += 1;
        let mut spec = pod_spec();
        spec["nodeName"] = NODE.into();
        let pod = json!({"metadata": {"name": name, "labels": {"app": "web"},
            "ownerReferences": [self.owner]}, "spec": spec});
        self.say("POST", PODS, &pod).await?;
        let now = self.clock.now().to_string();
        let status = json!({"status": {"phase": "Running", "startTime": now,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": now}],
            "containerStatuses": [{"name": "app", "ready": true, "started": true,
                "restartCount": 0, "image": "x", "imageID": "x",
                "state": {"running": {"startedAt": now}}}]}});
        let path = format!("{PODS}/{name}/status");
        self.say("PATCH", &path, &status).await?;
        self.pods.push(name);
        Some(())
    }

    /// The answer to a request; `None` where there is none or it is a refusal.
    async fn say(&self, method: &str, path: &str, body: &Value) -> Option<Value> {
        let media = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", media)
            .body(body);
        let text = self.client.request_text(request.expect("a request")).await;
        serde_json::from_str(&text.ok()?).ok()
    }
}

/// The HPA's rule with its tolerance.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // a handful
fn rule(load: f64, current: i64) -> i64 {
    let ratio = load / (current as f64 * TARGET);
    if (ratio - 1.0).abs() <= 0.1 {
        return current;
    }
    needed(load)
}

/// The Pods that carry a load.
#[allow(clippy::cast_possible_truncation)] // a handful
pub(crate) fn needed(load: f64) -> i64 {
    (load / TARGET).ceil() as i64
}
