//! A Pod as far as in-place resizes read it: its requests, obstacles to a resize, and the stage of
//! a running one. The spec holds what was asked for last; kubelet reports the progress in
//! conditions, and the actual resources in the status.

mod obstacle;

use std::sync::Arc;

use evenkeel_objects::annotations::RESIZED;
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::pod::{
    Container, ContainerStatus, Pod, PodStatusPhase, ResourceRequirements,
};
use evenkeel_objects::qos_class::QosClass;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use evenkeel_units::request_and_limit::RequestAndLimit;
use evenkeel_units::{Amount, words};
use jiff::Timestamp;

use crate::resize_record::{ContainerValues, RefusedRecord, ResizeRecord, Resizer};

pub use obstacle::Obstacle;

/// The least cpu limit that kubelet can give a container, in millicores.
const LEAST_CPU: Amount = Amount::new(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResizablePod {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
    pub uid: Arc<str>,
    pub resource_version: Box<str>,
    pub node: Option<Arc<str>>,
    pub controller: Option<ControllerKey>,
    /// True where it has annotations at all, to which one may be added.
    pub is_annotated: bool,
    pub is_skipped: bool,
    /// The record of the last resize in its annotation; `None` if it has none.
    pub record: Option<Result<Box<ResizeRecord>, RefusedRecord>>,
    /// Those of `spec.containers`, then those of `spec.initContainers`.
    pub containers: Arc<[ResizableContainer]>,
    pub obstacle: Option<Obstacle>,
    pub resize: Option<Resize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResizableContainer {
    pub name: Box<str>,
    pub place: ContainerPlace,
    pub values: CpuMemory<RequestAndLimit>,
    /// True where a change of the resource starts it anew.
    pub restarts: CpuMemory<bool>,
    /// True where it was killed for want of memory, or may have ended for it.
    pub lacks_memory: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerPlace {
    Container(usize),
    /// An init container that runs beside the others.
    Sidecar(usize),
    /// An init container that has run before the others.
    Init(usize),
}

impl ContainerPlace {
    /// The list in the spec, and the number in it.
    pub const fn path(self) -> (&'static str, usize) {
        match self {
            Self::Container(number) => ("containers", number),
            Self::Sidecar(number) | Self::Init(number) => ("initContainers", number),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resize {
    pub phase: ResizePhase,
    pub since: Option<Timestamp>,
    pub message: Box<str>,
}

words! {
    pub enum ResizePhase {
        /// Kubelet has not said anything of it yet.
        Unseen = "Unseen",
        /// The node has no room for it at present.
        Deferred = "Deferred",
        /// The node can never do it.
        Infeasible = "Infeasible",
        /// Kubelet has set the resources aside and gives them to the containers.
        InProgress = "InProgress",
        /// Kubelet has failed to, and tries again.
        Error = "Error",
    }
}

impl ResizablePod {
    /// A Pod as it now is; `None` for one that has ended or goes.
    pub fn of(pod: &Pod) -> Option<Self> {
        if pod.is_finished() || pod.is_terminating() {
            return None;
        }
        let metadata = &pod.metadata;
        let containers = containers(pod);
        let mut seen = Self {
            namespace: pod.namespace().into(),
            name: pod.name().into(),
            uid: pod.uid().into(),
            resource_version: metadata.resource_version.as_deref().unwrap_or("").into(),
            node: pod.spec.node_name.as_deref().map(Arc::from),
            controller: metadata
                .controller()
                .and_then(|owner| ControllerKey::of_reference(pod.namespace(), owner)),
            is_annotated: metadata.annotations.is_there,
            is_skipped: pod.is_skipped(),
            record: metadata
                .annotation(RESIZED)
                .map(|text| record(text, metadata.own_records.resize, &containers)),
            containers,
            obstacle: None,
            resize: None,
        };
        seen.obstacle = obstacle(pod, seen.class());
        seen.resize = resize(pod, &seen.containers);
        Some(seen)
    }

    /// Replaces namespace, controller and containers by those of `other` where they are equal.
    pub fn share(&mut self, other: &Self) {
        if self.namespace == other.namespace {
            self.namespace = Arc::clone(&other.namespace);
        }
        if self.controller == other.controller {
            self.controller.clone_from(&other.controller);
        }
        if self.containers == other.containers {
            self.containers = Arc::clone(&other.containers);
        }
    }

    /// True where it carries what Evenkeel has written of a resize, readable or not.
    pub fn is_resized(&self) -> bool {
        !matches!(self.record, None | Some(Err(RefusedRecord::Foreign)))
    }

    /// True if this part of Evenkeel must restore the resources: by its own record, or by an
    /// unreadable one.
    pub fn is_resized_by(&self, resizer: Resizer) -> bool {
        match &self.record {
            Some(Ok(record)) => record.by == resizer,
            Some(Err(RefusedRecord::Unreadable)) => true,
            None | Some(Err(RefusedRecord::Foreign)) => false,
        }
    }

    pub fn class(&self) -> QosClass {
        QosClass::of(self.containers.iter().map(|container| &container.values))
    }

    /// True where some container has a limit that could be another.
    pub fn has_limits(&self) -> bool {
        let mut all = self.containers.iter();
        let is_limited =
            |one: &CpuMemory<RequestAndLimit>| one.iter().any(|(_, of)| of.limit.is_some());
        all.any(|container| is_limited(&container.values))
    }

    pub fn container(&self, name: &str) -> Option<&ResizableContainer> {
        let mut containers = self.containers.iter();
        containers.find(|container| *container.name == *name)
    }

    /// The requests and limits of its containers, by their names.
    pub fn values(&self) -> ContainerValues {
        let all = self.containers.iter();
        all.map(|one| (one.name.clone(), one.values)).collect()
    }

    /// The limit that a container was made with, where a record tells that it was given another.
    pub fn original(&self, container: &str, resource: TunedResource) -> Option<Amount> {
        let record = self.record.as_ref()?.as_ref().ok()?;
        if record.marks.left {
            return None;
        }
        record.original.get(container)?[resource].limit
    }

    /// True where a container lacked memory, now or since it was resized.
    pub fn lacked_memory(&self, container: &str) -> bool {
        let record = self.record.as_ref().and_then(|record| record.as_ref().ok());
        self.container(container)
            .is_some_and(|one| one.lacks_memory)
            || record.is_some_and(|record| record.marks.lacked.contains(container))
    }

    pub fn metadata(&self) -> Meta {
        let mut metadata = Meta {
            name: Some(self.name.to_string()),
            namespace: Some(self.namespace.to_string()),
            uid: Some(self.uid.to_string()),
            resource_version: Some(self.resource_version.to_string()),
            ..Meta::default()
        };
        metadata.annotations.is_there = self.is_annotated;
        metadata
    }
}

/// The record in an annotation, for these containers. The text of an unusable record is not kept:
/// any user can write a quarter of a megabyte of it.
fn record(
    text: &str,
    is_own: bool,
    containers: &[ResizableContainer],
) -> Result<Box<ResizeRecord>, RefusedRecord> {
    if !is_own {
        return Err(RefusedRecord::Foreign);
    }
    let record = ResizeRecord::parse(text)?;
    let is_there = |name: &str| containers.iter().any(|one| *one.name == *name);
    Ok(Box::new(record.of_containers(is_there)))
}

fn containers(pod: &Pod) -> Arc<[ResizableContainer]> {
    let read = |place: ContainerPlace, container: &Container| ResizableContainer {
        name: container.name.as_deref().unwrap_or_default().into(),
        place,
        values: container.resources.tuned(),
        restarts: CpuMemory::from_fn(|resource| container.restarts_for(resource)),
        lacks_memory: statuses_of(pod, place)
            .and_then(|statuses| status_of(container.name.as_deref(), statuses))
            .is_some_and(ContainerStatus::may_lack_memory),
    };
    let main = pod.spec.containers.iter().enumerate();
    let main = main.map(|(number, one)| read(ContainerPlace::Container(number), one));
    let init = pod.spec.init_containers.iter().enumerate();
    let init = init.map(|(number, one)| {
        let place = if one.is_sidecar() {
            ContainerPlace::Sidecar(number)
        } else {
            ContainerPlace::Init(number)
        };
        read(place, one)
    });
    main.chain(init).collect()
}

fn obstacle(pod: &Pod, class: QosClass) -> Option<Obstacle> {
    let ResourceRequirements { requests, limits } = pod.spec.resources;
    let has = |list: evenkeel_objects::resource_list::ResourceList| {
        list.pod_level().thousandths().count() > 0
    };
    let is_windows = pod.spec.os.as_ref().is_some_and(|os| os.name == "windows");
    let found = if pod.is_mirror() {
        Obstacle::Static
    } else if is_windows {
        Obstacle::Windows
    } else if has(requests) || has(limits) {
        Obstacle::PodLevelResources
    } else if pod.status.claims_node_resources {
        Obstacle::NodeResourceClaims
    } else if class == QosClass::BestEffort {
        Obstacle::BestEffort
    } else if pod.spec.node_name.is_none() || pod.status.phase != PodStatusPhase::Running {
        Obstacle::NotRunning
    } else if !tells_resources(pod) {
        Obstacle::NodeWithoutSupport
    } else {
        return None;
    };
    Some(found)
}

/// True where kubelet tells what the containers have that ask for anything.
fn tells_resources(pod: &Pod) -> bool {
    pod.spec.containers.iter().all(|container| {
        let status = status_of(container.name.as_deref(), &pod.status.container_statuses);
        let asks = container.resources.tuned() != CpuMemory::default();
        let tells = |status: &ContainerStatus| status.resources.tuned() != CpuMemory::default();
        !asks || status.is_some_and(tells)
    })
}

/// The statuses among which that of a container is, where it runs beside the others.
fn statuses_of(pod: &Pod, place: ContainerPlace) -> Option<&[ContainerStatus]> {
    match place {
        ContainerPlace::Container(_) => Some(&pod.status.container_statuses),
        ContainerPlace::Sidecar(_) => Some(&pod.status.init_container_statuses),
        ContainerPlace::Init(_) => None,
    }
}

fn status_of<'a>(
    name: Option<&str>,
    statuses: &'a [ContainerStatus],
) -> Option<&'a ContainerStatus> {
    let mut statuses = statuses.iter();
    statuses.find(|status| status.name.is_some() && status.name.as_deref() == name)
}

fn resize(pod: &Pod, containers: &[ResizableContainer]) -> Option<Resize> {
    let told = |kind: &str| {
        let condition = pod.status.condition(kind);
        condition.filter(|condition| condition.status == "True")
    };
    let (phase, condition) = if let Some(pending) = told("PodResizePending") {
        let phase = match pending.reason.as_str() {
            "Infeasible" => ResizePhase::Infeasible,
            _ => ResizePhase::Deferred,
        };
        (phase, pending)
    } else if let Some(progress) = told("PodResizeInProgress") {
        let phase = match progress.reason.as_str() {
            "Error" => ResizePhase::Error,
            _ => ResizePhase::InProgress,
        };
        (phase, progress)
    } else {
        let is_seen = |container| has_what_it_asks_for(pod, container);
        return (!containers.iter().all(is_seen)).then(|| Resize {
            phase: ResizePhase::Unseen,
            since: None,
            message: Box::default(),
        });
    };
    Some(Resize {
        phase,
        since: condition.last_transition_time,
        message: condition.message.as_str().into(),
    })
}

/// True where the status of a container shows the resources of its spec, or none.
fn has_what_it_asks_for(pod: &Pod, container: &ResizableContainer) -> bool {
    let statuses = statuses_of(pod, container.place);
    let status = statuses.and_then(|statuses| status_of(Some(&container.name), statuses));
    let Some(status) = status else {
        return true;
    };
    let has = status.resources.tuned();
    TunedResource::ALL.into_iter().all(|resource| {
        let asked = container.values[resource];
        let allocated = status.allocated_resources.tuned(resource);
        let allocated = allocated.or(has[resource].request);
        let same = |has: Option<Amount>, asked: Option<Amount>| match (has, asked) {
            (Some(has), Some(asked)) => {
                has == asked || (resource == TunedResource::Cpu && has.max(asked) <= LEAST_CPU)
            }
            _ => true,
        };
        same(allocated, asked.request) && same(has[resource].limit, asked.limit)
    })
}

#[cfg(test)]
pub(crate) mod tests;
