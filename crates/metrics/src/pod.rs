//! The facts of a Pod that scaling reads: its life, and the requests of its containers.

use std::sync::Arc;

use evenkeel_objects::condition::ConditionStatus;
use jiff::Timestamp;

use super::signal::ResourceName;

/// A Pod of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodFacts {
    pub name: String,
    /// `status.phase`.
    pub phase: PodPhase,
    /// True once the Pod is being deleted (`metadata.deletionTimestamp`).
    pub deleted: bool,
    /// `status.startTime`: when the kubelet took the Pod.
    pub start_time: Option<Timestamp>,
    /// The condition `Ready`, where the Pod has one.
    pub ready: Option<ReadyCondition>,
    /// Usually shared by the Pods of one controller.
    pub spec: Arc<PodSpecFacts>,
}

/// The containers of a Pod and its requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodSpecFacts {
    /// The containers, in the order of the spec.
    pub containers: Vec<ContainerFacts>,
    /// The init containers, sidecars among them, in the order of the spec.
    pub init_containers: Vec<ContainerFacts>,
    /// `spec.resources.requests`: requests of the Pod as a whole.
    pub pod_requests: ResourceRequests,
    /// `spec.overhead`: what the runtime adds to the requests of the containers.
    pub overhead: ResourceRequests,
}

/// `status.phase` of a Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodPhase {
    /// Not started yet.
    Pending,
    /// At least one container runs or starts.
    Running,
    /// All containers ended well.
    Succeeded,
    /// A container failed for good.
    Failed,
    /// The node does not tell.
    Unknown,
}

impl From<&str> for PodPhase {
    /// A word that is not known, or none, is `Unknown`.
    fn from(word: &str) -> Self {
        match word {
            "Pending" => Self::Pending,
            "Running" => Self::Running,
            "Succeeded" => Self::Succeeded,
            "Failed" => Self::Failed,
            _ => Self::Unknown,
        }
    }
}

/// The condition `Ready` of a Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyCondition {
    /// True, false or unknown.
    pub status: ConditionStatus,
    /// `lastTransitionTime`: since when the status is what it is.
    pub last_transition_time: Timestamp,
}

/// The facts of a container that scaling reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerFacts {
    /// The name, which no other container of the Pod has.
    pub name: String,
    /// `resources.requests`.
    pub requests: ResourceRequests,
    /// True for a sidecar: an init container with `restartPolicy: Always`, which runs beside the
    /// containers.
    pub is_sidecar: bool,
}

/// Amounts by resource, in thousandths of the resource's unit: millicores, thousandths of a byte.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceRequests(Vec<(ResourceName, i64)>);

impl ResourceRequests {
    /// The amount of a resource; `None` where nothing is said of it.
    pub fn get(&self, resource: &ResourceName) -> Option<i64> {
        let named = |(name, _): &&(ResourceName, i64)| name == resource;
        self.0.iter().find(named).map(|(_, amount)| *amount)
    }

    /// All amounts, in the order given.
    pub fn iter(&self) -> impl Iterator<Item = (&ResourceName, i64)> {
        self.0.iter().map(|(name, amount)| (name, *amount))
    }

    /// True where nothing is said of any resource.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(ResourceName, i64)> for ResourceRequests {
    fn from_iter<I: IntoIterator<Item = (ResourceName, i64)>>(amounts: I) -> Self {
        Self(amounts.into_iter().collect())
    }
}

impl PodFacts {
    /// True where the condition `Ready` holds.
    pub fn is_ready(&self) -> bool {
        self.ready
            .is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// True for a Pod that counts where the HPA divides one value among its Pods: it runs and is
    /// ready.
    pub fn serves(&self) -> bool {
        self.phase == PodPhase::Running && self.is_ready()
    }

    /// The time from which the Pod has carried load: since when it is ready, while it is not being
    /// deleted. `None` where it carries none. A container that is started again makes its Pod unready,
    /// so that the time counts anew.
    pub fn carries_since(&self) -> Option<Timestamp> {
        let ready = self.ready.filter(|_| self.is_ready() && !self.deleted)?;
        Some(ready.last_transition_time)
    }
}
