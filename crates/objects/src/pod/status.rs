//! The status of a Pod.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use super::ResourceRequirements;
use crate::json::{lenient, lenient_time, list, null_is_default};
use crate::resource_list::ResourceList;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    #[serde(deserialize_with = "null_is_default")]
    pub phase: PodStatusPhase,
    #[serde(deserialize_with = "lenient_time")]
    pub start_time: Option<Timestamp>,
    #[serde(deserialize_with = "list")]
    pub conditions: Vec<PodCondition>,
    #[serde(deserialize_with = "list")]
    pub container_statuses: Vec<ContainerStatus>,
    #[serde(deserialize_with = "list")]
    pub init_container_statuses: Vec<ContainerStatus>,
    #[serde(deserialize_with = "lenient")]
    pub resources: Option<ResourceRequirements>,
    /// The resources that kubelet has set aside for the Pod as a whole.
    #[serde(deserialize_with = "null_is_default")]
    pub allocated_resources: ResourceList,
    /// The node that others were preempted on for it.
    #[serde(deserialize_with = "lenient")]
    pub nominated_node_name: Option<String>,
    /// True where devices that it claims also take of the node's cpu or memory.
    #[serde(
        rename = "nodeAllocatableResourceClaimStatuses",
        deserialize_with = "is_any"
    )]
    pub claims_node_resources: bool,
}

/// True for a list that is not empty, whatever it holds.
fn is_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let all: Option<Vec<IgnoredAny>> = lenient(deserializer)?;
    Ok(all.is_some_and(|all| !all.is_empty()))
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum PodStatusPhase {
    Pending,
    Running,
    Succeeded,
    Failed,
    /// Not told, or not by a name that is known here.
    #[default]
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodCondition {
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    pub kind: String,
    #[serde(deserialize_with = "null_is_default")]
    pub status: String,
    #[serde(deserialize_with = "null_is_default")]
    pub reason: String,
    /// The reason in words, for people.
    #[serde(deserialize_with = "null_is_default")]
    pub message: String,
    /// The time since which it has been so.
    #[serde(deserialize_with = "lenient_time")]
    pub last_transition_time: Option<Timestamp>,
    /// The `metadata.generation` that it was made of.
    #[serde(deserialize_with = "lenient")]
    pub observed_generation: Option<i64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    #[serde(deserialize_with = "lenient")]
    pub name: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub state: ContainerState,
    /// The state before, where the container has been started before.
    #[serde(deserialize_with = "null_is_default")]
    pub last_state: ContainerState,
    /// The number of times that it has been started again.
    #[serde(deserialize_with = "null_is_default")]
    pub restart_count: u32,
    #[serde(deserialize_with = "null_is_default")]
    pub resources: ResourceRequirements,
    /// The resources that kubelet has set aside for it; a resize changes these first.
    #[serde(deserialize_with = "null_is_default")]
    pub allocated_resources: ResourceList,
}

/// The state of a container; it waits where it neither runs nor has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    pub running: Option<ContainerStateRunning>,
    pub terminated: Option<ContainerStateTerminated>,
    pub waiting: Option<ContainerStateWaiting>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ContainerStateWaiting {
    /// True where kubelet waits since the container has ended again and again.
    #[serde(rename = "reason", deserialize_with = "is_crash_loop")]
    pub is_crash_loop: bool,
}

fn is_crash_loop<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let reason: Option<String> = lenient(deserializer)?;
    Ok(reason.as_deref() == Some("CrashLoopBackOff"))
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStateRunning {
    /// The time since which it has been so.
    #[serde(deserialize_with = "lenient_time")]
    pub started_at: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStateTerminated {
    #[serde(deserialize_with = "lenient_time")]
    pub started_at: Option<Timestamp>,
    #[serde(deserialize_with = "lenient_time")]
    pub finished_at: Option<Timestamp>,
    /// True where the kernel killed it for want of memory.
    #[serde(rename = "reason", deserialize_with = "is_oom_kill")]
    pub is_oom_kill: bool,
}

fn is_oom_kill<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let reason: Option<String> = lenient(deserializer)?;
    Ok(reason.as_deref() == Some("OOMKilled"))
}

impl ContainerStatus {
    /// When the container last started, if ever; if the runtime lost the start of an ended one, its
    /// end.
    pub fn started_at(&self) -> Option<Timestamp> {
        let running = self.state.running.and_then(|running| running.started_at);
        let ended = |state: &ContainerState| {
            let ended = state.terminated?;
            ended.started_at.or(ended.finished_at)
        };
        running
            .or_else(|| ended(&self.state))
            .or_else(|| ended(&self.last_state))
    }
}

impl ContainerStatus {
    /// True if its last end was an out-of-memory kill, or if it ends at each start: a runtime with
    /// too little memory ends by itself.
    pub fn may_lack_memory(&self) -> bool {
        let states = [&self.state, &self.last_state].into_iter();
        let mut ended = states.filter_map(|state| state.terminated);
        ended.any(|ended| ended.is_oom_kill)
            || self
                .state
                .waiting
                .is_some_and(|waiting| waiting.is_crash_loop)
    }

    /// The earliest known start of the container: samples hold its use from then on, across
    /// restarts.
    pub(crate) fn first_started_at(&self) -> Option<Timestamp> {
        let before = self.last_state.terminated;
        let before = before.and_then(|ended| ended.started_at.or(ended.finished_at));
        before.or_else(|| self.started_at())
    }
}

impl PodStatus {
    /// The time at which the last of the containers ended, as far as is told.
    pub(crate) fn finished_at(&self) -> Option<Timestamp> {
        self.container_statuses
            .iter()
            .filter_map(|container| container.state.terminated?.finished_at)
            .max()
    }

    /// True if one of its containers is not in its first run.
    pub fn has_restarted(&self) -> bool {
        let mut containers = self.container_statuses.iter();
        containers.any(|container| container.restart_count > 0)
    }

    pub fn condition(&self, kind: &str) -> Option<&PodCondition> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == kind)
    }
}
