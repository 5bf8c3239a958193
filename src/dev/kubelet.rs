//! A kubelet for all nodes: takes on bound Pods, reports how they start, and ends them.
//!
//! What a Pod's status should be is a function of its stage; it is written when the stage changes.

mod containers;
pub mod heartbeat;

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tracing::debug;

use self::heartbeat::Heartbeats;
use super::objects::{APP, stamp};
use super::parts::Parts;
use super::recorder::{Recorder, reference};
use super::store::Stores;
use super::world::{Bound, World};
use super::{Events, Pace};
use crate::clock;
use crate::kubernetes;
use crate::kubernetes::demand::demand;
use crate::placement::usage::PodName;
use crate::simulate::lifecycle::{Lifecycle, Stage};

/// How often stages and loads are looked at.
const TICK: Duration = Duration::from_millis(100);

/// The taint that every new node gets until its kubelet is there.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Runs the Pods of all nodes.
pub struct Kubelet {
    client: Client,
    stores: Stores,
    world: World,
    pace: Pace,
    events: Events,
    recorder: Recorder,
    heartbeats: Heartbeats,
    /// The stage that was last written, by UID.
    written: HashMap<String, Stage>,
}

impl Kubelet {
    /// A kubelet that has no Pods.
    #[must_use]
    pub fn new(client: Client, stores: Stores, world: World, parts: Parts) -> Self {
        let Parts {
            pace,
            events,
            recorder,
        } = parts;
        Self {
            client,
            stores,
            world,
            pace,
            events,
            recorder,
            heartbeats: Heartbeats::default(),
            written: HashMap::new(),
        }
    }

    /// Runs for ever.
    pub async fn run(mut self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let now = clock::now();
            self.round(now).await;
            let at = self.pace.scenario(now);
            let loads = self.world.tick(at);
            self.events.tell(at, loads);
        }
    }

    async fn round(&mut self, now: Timestamp) {
        let nodes = self.stores.nodes.list();
        self.heartbeats
            .retain(|name| nodes.iter().any(|node| node.name_any() == name));
        for node in nodes {
            if self.world.is_lost(&node.name_any()) {
                continue;
            }
            self.welcome(&node).await;
            self.heartbeats.beat(&self.client, &node, now).await;
        }
        let pods = self.stores.pods.list();
        let names: std::collections::HashSet<PodName> = pods
            .iter()
            .filter(|pod| !is_finished(pod))
            .map(|pod| name(pod))
            .collect();
        self.world.retain(|pod| names.contains(pod));
        let known = |uid: &String| pods.iter().any(|pod| pod.uid().as_ref() == Some(uid));
        self.written.retain(|uid, _| known(uid));
        for pod in &pods {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            let Some(node) = node.filter(|node| !self.world.is_lost(node)) else {
                continue;
            };
            if pod.metadata.deletion_timestamp.is_some() {
                self.end(pod).await;
            } else if !is_finished(pod) {
                self.advance(pod, node, now).await;
            }
        }
    }

    async fn advance(&mut self, pod: &Pod, node: &str, now: Timestamp) {
        let at = self.pace.scenario(now);
        let app = pod.labels().get(APP).map_or("", String::as_str);
        let value = serde_json::to_value(pod).unwrap_or_default();
        let slim: kubernetes::pod::Pod = serde_json::from_value(value).unwrap_or_default();
        let demand = demand(&slim, false).amounts;
        let bound = Bound {
            pod: name(pod),
            app: app.to_owned(),
            node: node.to_owned(),
            demand,
            containers: containers::shares(pod),
        };
        let life = self.world.bound(&bound, at);
        let stage = life.stage(at);
        let uid = pod.uid().unwrap_or_default();
        if self.written.get(&uid) == Some(&stage) {
            return;
        }
        let patch = status(pod, stage, &life, &self.pace);
        let api: Api<Pod> =
            Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        let patch = Patch::Strategic(patch);
        match api
            .patch_status(&pod.name_any(), &PatchParams::default(), &patch)
            .await
        {
            Ok(_) => {
                let before = self.written.insert(uid, stage);
                self.tell(pod, before, stage);
            }
            Err(error) => debug!(%error, pod = pod.name_any(), "a status could not be written"),
        }
    }

    /// Tells of what a Pod has come to since it was last written.
    fn tell(&self, pod: &Pod, before: Option<Stage>, now: Stage) {
        let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
        for container in containers {
            let (name, image) = (&container.name, container.image.as_deref().unwrap_or("?"));
            let told = [
                (
                    Stage::Pulling,
                    "Pulling",
                    format!("Pulling image \"{image}\""),
                ),
                (
                    Stage::Starting,
                    "Pulled",
                    format!("Successfully pulled image \"{image}\""),
                ),
                (
                    Stage::Warming,
                    "Created",
                    format!("Created container: {name}"),
                ),
                (
                    Stage::Warming,
                    "Started",
                    format!("Started container {name}"),
                ),
            ];
            for (stage, reason, message) in told {
                if stage <= now && before.is_none_or(|before| before < stage) {
                    let mut about = reference(pod);
                    about.field_path = Some(format!("spec.containers{{{name}}}"));
                    self.recorder.normal(about, reason, message);
                }
            }
        }
    }

    /// Ends a Pod that is being deleted: its containers have nothing to finish.
    async fn end(&mut self, pod: &Pod) {
        for container in pod.spec.iter().flat_map(|spec| &spec.containers) {
            let message = format!("Stopping container {}", container.name);
            self.recorder.normal(reference(pod), "Killing", message);
        }
        let api: Api<Pod> =
            Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        let now = DeleteParams::default().grace_period(0);
        if let Err(error) = api.delete(&pod.name_any(), &now).await {
            debug!(%error, pod = pod.name_any(), "a Pod could not be ended");
        }
    }

    /// Takes off the taint that admission puts on every new node.
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

/// The status of a Pod in a stage.
fn status(pod: &Pod, stage: Stage, life: &Lifecycle, pace: &Pace) -> Value {
    let running = stage >= Stage::Warming;
    let ready = stage == Stage::Ready;
    let word = |holds: bool| if holds { "True" } else { "False" };
    let since = stamp(pace.clock(if ready { life.ready } else { life.running }));
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let containers: Vec<Value> = containers
        .map(|container| {
            let doing = if running {
                json!({"running": {"startedAt": stamp(pace.clock(life.running))}})
            } else {
                json!({"waiting": {"reason": "ContainerCreating"}})
            };
            json!({
                "name": container.name, "image": container.image, "imageID": "",
                "containerID": format!("simulated://{}", container.name),
                "restartCount": 0, "ready": ready, "started": running, "state": doing,
                "resources": container.resources,
            })
        })
        .collect();
    let condition = |kind: &str, holds: bool| {
        json!({
            "type": kind, "status": word(holds), "lastTransitionTime": since,
        })
    };
    json!({"status": {
        "phase": if running { "Running" } else { "Pending" },
        "hostIP": "127.0.0.1",
        "podIP": "127.0.0.1",
        "startTime": pod.status.as_ref().and_then(|status| status.start_time.clone())
            .map_or_else(|| Value::from(since.clone()), |time| json!(time)),
        "conditions": [
            condition("Initialized", true),
            condition("Ready", ready),
            condition("ContainersReady", ready),
        ],
        "containerStatuses": containers,
    }})
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::simulate::scenario::Startup;
    use crate::units::Ratio;

    #[test]
    fn the_status_follows_the_stage_as_the_rules_read_it() {
        let second = SignedDuration::from_secs;
        let pace = Pace::new(Ratio::new(1.0).unwrap());
        pace.begin(Timestamp::from_second(1_000).unwrap());
        let startup = Startup {
            pull: second(3),
            start: second(2),
            warm_up: second(5),
        };
        let life = Lifecycle::new(&startup, second(10), false);
        let mut object =
            json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}});
        let pod: Pod = serde_json::from_value(object.clone()).unwrap();
        for (stage, phase, started) in [
            (Stage::Pulling, "Pending", None),
            (Stage::Starting, "Pending", None),
            (Stage::Warming, "Running", Some(1_015)),
            (Stage::Ready, "Running", Some(1_015)),
        ] {
            json_patch::merge(&mut object, &status(&pod, stage, &life, &pace));
            let read: kubernetes::pod::Pod = serde_json::from_value(object.clone()).unwrap();
            assert_eq!(object["status"]["phase"], phase);
            assert_eq!(
                read.started_at().map(Timestamp::as_second),
                started,
                "{stage:?}"
            );
            let ready = read
                .status
                .condition("Ready")
                .map(|ready| ready.status == "True");
            assert_eq!(ready, Some(stage == Stage::Ready));
        }
    }
}
