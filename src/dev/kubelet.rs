//! A kubelet for all nodes: takes on bound Pods, reports how they start, and ends them.
//!
//! What a Pod's status should be is a function of its stage; it is written when the stage changes.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tracing::debug;

use super::objects::{APP, stamp};
use super::store::Stores;
use super::world::{Bound, World};
use super::{Events, Pace};
use crate::clock;
use crate::kubernetes;
use crate::kubernetes::demand::demand;
use crate::placement::usage::PodName;
use crate::simulate::lifecycle::{Lifecycle, Stage};
use crate::simulate::plain;

/// How often stages and loads are looked at, in the scenario: the step of the plain run.
const STEP: SignedDuration = plain::STEP;
/// The least and the most of it on the clock: what a machine can do, and what still looks smooth.
const TICK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(100));

/// Changes that come within this time are looked at together.
const SETTLE: Duration = Duration::from_millis(2);

/// The taint that every new node gets until its kubelet is there.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Runs the Pods of all nodes.
pub struct Kubelet {
    client: Client,
    stores: Stores,
    world: World,
    pace: Pace,
    /// The stage that was last written, by UID.
    written: HashMap<String, Stage>,
}

impl Kubelet {
    /// A kubelet that has no Pods.
    #[must_use]
    pub fn new(client: Client, stores: Stores, world: World, pace: Pace) -> Self {
        Self {
            client,
            stores,
            world,
            pace,
            written: HashMap::new(),
        }
    }

    /// Runs for ever: looks when something has changed, so that no Pod waits for a tick, and at
    /// each tick, since stages end by themselves.
    pub async fn run(mut self) {
        let mut ticks = ticks(&self.pace);
        let mut changes = self.stores.changes();
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = changes.changed() => tokio::time::sleep(SETTLE).await,
            }
            changes.borrow_and_update();
            self.round(clock::now()).await;
        }
    }

    /// Brings every Pod to where it should be; what is to be written is written at once, so that
    /// no Pod waits for another's write.
    async fn round(&mut self, now: Timestamp) {
        let nodes = self.stores.nodes.list();
        let pods = self.stores.pods.list();
        let names: HashSet<PodName> = pods
            .iter()
            .filter(|pod| !is_finished(pod))
            .map(|pod| name(pod))
            .collect();
        self.world.retain(|pod| names.contains(pod));
        let uids: HashSet<&str> = pods.iter().filter_map(|pod| uid(pod)).collect();
        self.written.retain(|uid, _| uids.contains(uid.as_str()));
        let (mut ending, mut advancing) = (Vec::new(), Vec::new());
        for pod in &pods {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            let Some(node) = node.filter(|node| !self.world.is_lost(node)) else {
                continue;
            };
            if pod.metadata.deletion_timestamp.is_some() {
                ending.push(self.end(pod));
            } else if !is_finished(pod) {
                advancing.extend(self.due(pod, node, now));
            }
        }
        let advancing = advancing.into_iter().map(|due| self.advance(due));
        let welcoming = nodes.iter().map(|node| self.welcome(node));
        let (_, written, _) =
            tokio::join!(join_all(ending), join_all(advancing), join_all(welcoming));
        self.written.extend(written.into_iter().flatten());
    }

    /// The stage that has not been written yet.
    fn due<'a>(&self, pod: &'a Pod, node: &str, now: Timestamp) -> Option<Due<'a>> {
        let at = self.pace.scenario(now);
        let known = self.world.life(&name(pod));
        let life = known.unwrap_or_else(|| self.world.bound(&bound(pod, node), at));
        let stage = life.stage(at);
        let written = uid(pod).and_then(|uid| self.written.get(uid));
        (written != Some(&stage)).then_some(Due { pod, stage, life })
    }

    async fn advance(&self, due: Due<'_>) -> Option<(String, Stage)> {
        let Due { pod, stage, life } = due;
        let api: Api<Pod> =
            Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        let patch = Patch::Strategic(status(pod, stage, &life, &self.pace));
        let patched = api
            .patch_status(&pod.name_any(), &PatchParams::default(), &patch)
            .await;
        match patched {
            Ok(_) => Some((pod.uid().unwrap_or_default(), stage)),
            Err(error) => {
                debug!(%error, pod = pod.name_any(), "a status could not be written");
                None
            }
        }
    }

    /// Ends a Pod that is being deleted: its containers have nothing to finish.
    async fn end(&self, pod: &Pod) {
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

/// The moments at which machines are looked at.
#[must_use]
pub fn ticks(pace: &Pace) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(pace.real(STEP, TICK.0).min(TICK.1));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks
}

/// Lets the machines work, for ever, whatever the API server does meanwhile; tells how loaded they
/// are.
pub async fn machines(world: World, pace: Pace, events: Events) {
    let mut ticks = ticks(&pace);
    loop {
        ticks.tick().await;
        let at = pace.scenario(clock::now());
        events.tell(at, world.tick(at));
    }
}

/// A stage that is to be written.
struct Due<'a> {
    pod: &'a Pod,
    stage: Stage,
    life: Lifecycle,
}

/// What a Pod is to its machine.
fn bound(pod: &Pod, node: &str) -> Bound {
    let value = serde_json::to_value(pod).unwrap_or_default();
    let slim: kubernetes::pod::Pod = serde_json::from_value(value).unwrap_or_default();
    Bound {
        pod: name(pod),
        app: pod.labels().get(APP).cloned().unwrap_or_default(),
        node: node.to_owned(),
        demand: demand(&slim, false).amounts,
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
