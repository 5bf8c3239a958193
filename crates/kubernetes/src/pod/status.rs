//! The status of a Pod.

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use super::ResourceRequirements;
use crate::json::{lenient, lenient_time, list, null_is_default};
use crate::resource_list::ResourceList;

/// The status of a Pod, as its kubelet reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    #[serde(deserialize_with = "null_is_default")]
    pub phase: PodStatusPhase,
    /// The time at which kubelet took it on.
    #[serde(deserialize_with = "lenient_time")]
    pub start_time: Option<Timestamp>,
    /// The conditions, by type.
    #[serde(deserialize_with = "list")]
    pub conditions: Vec<PodCondition>,
    /// The state of each container that is no init container.
    #[serde(deserialize_with = "list")]
    pub container_statuses: Vec<ContainerStatus>,
    /// The state of each init container.
    #[serde(deserialize_with = "list")]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// The resources of the Pod as a whole, if it asks for any as a whole.
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

/// The phase of a Pod's life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum PodStatusPhase {
    /// No container runs yet.
    Pending,
    /// At least one container runs.
    Running,
    /// All containers ended well.
    Succeeded,
    /// All containers ended, at least one of them badly.
    Failed,
    /// Not told, or not by a name that is known here.
    #[default]
    #[serde(other)]
    Unknown,
}

/// One thing that is known of a Pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodCondition {
    /// The type, such as `PodScheduled`.
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null_is_default")]
    pub status: String,
    /// The reason in one word.
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

/// The state of one container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStatus {
    /// The container's name.
    #[serde(deserialize_with = "lenient")]
    pub name: Option<String>,
    /// The present state.
    #[serde(deserialize_with = "null_is_default")]
    pub state: ContainerState,
    /// The state before, where the container has been started before.
    #[serde(deserialize_with = "null_is_default")]
    pub last_state: ContainerState,
    /// The number of times that it has been started again.
    #[serde(deserialize_with = "null_is_default")]
    pub restart_count: u32,
    /// The resources of the running container.
    #[serde(deserialize_with = "null_is_default")]
    pub resources: ResourceRequirements,
    /// The resources that kubelet has set aside for it; a resize changes them before the container has them.
    #[serde(deserialize_with = "null_is_default")]
    pub allocated_resources: ResourceList,
}

/// The state of a container; it waits where it neither runs nor has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// Set while it runs.
    pub running: Option<ContainerStateRunning>,
    /// Set once it has ended.
    pub terminated: Option<ContainerStateTerminated>,
    /// Set while it waits to be started.
    pub waiting: Option<ContainerStateWaiting>,
}

/// A container that waits to be started.
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

/// A container that runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStateRunning {
    /// The time since which it has been so.
    #[serde(deserialize_with = "lenient_time")]
    pub started_at: Option<Timestamp>,
}

/// A container that has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerStateTerminated {
    /// The time at which it started.
    #[serde(deserialize_with = "lenient_time")]
    pub started_at: Option<Timestamp>,
    /// The time at which it ended.
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
    /// The time at which the container last started, if it ever has; a runtime that lost the start of
    /// one that has ended is taken by its end.
    #[must_use]
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
    /// True where it was killed for want of memory when it last ended, or ends whenever it is started, for
    /// which want of memory may be the cause: a runtime that finds too little of it ends by itself.
    #[must_use]
    pub fn may_lack_memory(&self) -> bool {
        let states = [&self.state, &self.last_state].into_iter();
        let mut ended = states.filter_map(|state| state.terminated);
        ended.any(|ended| ended.is_oom_kill)
            || self
                .state
                .waiting
                .is_some_and(|waiting| waiting.is_crash_loop)
    }

    /// The earliest time at which the container is told to have started: samples hold what it uses
    /// from then on, however often it has been started again.
    #[must_use]
    pub(crate) fn first_started_at(&self) -> Option<Timestamp> {
        let before = self.last_state.terminated;
        let before = before.and_then(|ended| ended.started_at.or(ended.finished_at));
        before.or_else(|| self.started_at())
    }
}

impl PodStatus {
    /// The time at which the last of the containers ended, as far as is told.
    #[must_use]
    pub(crate) fn finished_at(&self) -> Option<Timestamp> {
        self.container_statuses
            .iter()
            .filter_map(|container| container.state.terminated?.finished_at)
            .max()
    }

    /// The condition of this type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&PodCondition> {
        self.conditions
            .iter()
            .find(|condition| condition.kind == kind)
    }
}
