//! The events of a run for its displays: those of the simulated cluster and of the service. A
//! subscriber that falls behind loses the oldest events and gets their number.

use std::sync::Arc;

use evenkeel_objects::annotations::PROFILE;
use evenkeel_objects::pod_name::PodName;
use evenkeel_sandbox::engine::{Loads, NodeLoads, WorkloadLoad};
use evenkeel_sandbox::events as sandbox;
use evenkeel_scaling::status::dashboard::ScalingStatus;
use jiff::SignedDuration;
use serde::{Serialize, Serializer};
use tokio::sync::broadcast;

/// Events kept for a subscriber that is busy: a minute of a lively cluster.
const KEPT: usize = 4_096;

/// One thing that happened, at a time of the scenario.
#[derive(Debug, Clone, Serialize)]
pub struct TimedEvent {
    #[serde(serialize_with = "seconds")]
    pub at: SignedDuration,
    #[serde(flatten)]
    pub event: DevEvent,
}

#[derive(Debug, Clone, Serialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum DevEvent {
    /// Admission has named the profile of a new Pod.
    PodClassified {
        #[serde(serialize_with = "pod_name")]
        pod: PodName,
        profile: String,
        /// How it was found: `declared`, `requests` or `history`.
        source: String,
    },
    /// A Pod was bound.
    PodPlaced {
        #[serde(serialize_with = "pod_name")]
        pod: PodName,
        node: String,
        profile: Option<String>,
        /// The extender's score of the node, 0 to 10; `None` where it was not asked.
        score: Option<i64>,
        /// The reason in words.
        why: String,
    },
    /// No node takes a Pod.
    PodRefused {
        #[serde(serialize_with = "pod_name")]
        pod: PodName,
        message: String,
    },
    /// A workload was scaled.
    Scaled {
        namespace: String,
        workload: String,
        from: u32,
        /// Replicas from now on.
        to: u32,
        why: String,
    },
    /// How loaded the nodes are, and the workloads.
    Loads {
        nodes: Vec<NodeLoads>,
        /// By namespace and name.
        workloads: Vec<WorkloadLoad>,
    },
    /// A fault begins or ends.
    Fault { fault: String, begins: bool },
    /// A call to the service was not answered in time, and went on without it.
    FailedOpen {
        /// The kind of the call: `webhook` or `extender`.
        call: &'static str,
        #[serde(serialize_with = "pod_name")]
        pod: PodName,
    },
    /// The scenario runs slower than it was asked to, or faster again.
    Pace {
        /// Seconds of the scenario per second on the clock, as asked for.
        asked: f64,
        /// From now on.
        kept: f64,
    },
    /// The faults that the service tells of; one that is not named any more is over.
    Notices {
        /// All that is on.
        on: Vec<DevServiceNotice>,
    },
    /// An Event object of the service.
    #[serde(rename = "said")]
    ServiceEvent {
        regarding: String,
        reason: String,
        note: String,
        warning: bool,
    },
    /// The state of the workloads that the service scales.
    Scaling {
        /// As the service's API tells them, in its order.
        targets: Vec<Arc<ScalingStatus>>,
    },
    /// The replicas that a plain HPA would have now, without Evenkeel.
    Plain {
        /// By namespace and name.
        replicas: Vec<PlainReplicas>,
    },
    /// The state of the service.
    ServiceState {
        /// In a few words, such as `ready`.
        state: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DevServiceNotice {
    /// The subject, in a word that stays the same.
    pub about: &'static str,
    /// The fault, and how the service helps itself.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlainReplicas {
    pub namespace: String,
    pub workload: String,
    pub replicas: u32,
}

fn seconds<S: Serializer>(at: &SignedDuration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(at.as_secs_f64())
}

fn pod_name<S: Serializer>(pod: &PodName, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(pod)
}

impl From<sandbox::SandboxEvent> for DevEvent {
    fn from(event: sandbox::SandboxEvent) -> Self {
        match event {
            sandbox::SandboxEvent::PodPlaced {
                pod,
                annotations,
                node,
                score,
                why,
            } => Self::PodPlaced {
                pod,
                node,
                profile: annotations.get(PROFILE).cloned(),
                score,
                why,
            },
            sandbox::SandboxEvent::PodRefused { pod, message } => Self::PodRefused { pod, message },
            sandbox::SandboxEvent::ExtenderSkipped { pod } => Self::FailedOpen {
                call: "extender",
                pod,
            },
            sandbox::SandboxEvent::Scaled {
                namespace,
                workload,
                from,
                to,
                why,
            } => Self::Scaled {
                namespace,
                workload,
                from,
                to,
                why,
            },
            sandbox::SandboxEvent::Loads(Loads { nodes, workloads }) => {
                Self::Loads { nodes, workloads }
            }
        }
    }
}

/// Where events are told; clones tell the same subscribers.
#[derive(Debug, Clone)]
pub struct DevEventBus(broadcast::Sender<TimedEvent>);

impl Default for DevEventBus {
    fn default() -> Self {
        Self(broadcast::Sender::new(KEPT))
    }
}

impl DevEventBus {
    /// Sends an event to all subscribers. There need not be any.
    pub fn tell(&self, at: SignedDuration, event: DevEvent) {
        let _ = self.0.send(TimedEvent { at, event });
    }

    pub(super) fn of_cluster(&self) -> sandbox::SandboxEventSink {
        let events = self.clone();
        sandbox::SandboxEventSink::new(move |at, event: sandbox::SandboxEvent| {
            events.tell(at, event.into());
        })
    }

    pub fn subscribe(&self) -> broadcast::Receiver<TimedEvent> {
        self.0.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_read_one_flat_object_an_event() {
        let happened = TimedEvent {
            at: SignedDuration::from_millis(1500),
            event: DevEvent::PodPlaced {
                pod: PodName::new("shop", "web-0"),
                node: "large-1".to_owned(),
                profile: Some("network".to_owned()),
                score: Some(9),
                why: "most even: network 43 % here, 61 % elsewhere".to_owned(),
            },
        };
        assert_eq!(
            serde_json::to_value(&happened).unwrap(),
            serde_json::json!({
                "at": 1.5, "event": "podPlaced", "pod": "shop/web-0", "node": "large-1",
                "profile": "network", "score": 9, "why": "most even: network 43 % here, 61 % elsewhere",
            })
        );
    }
}
