//! Why a Pod is not resized, in one word and in a sentence.

use evenkeel_objects::qos_class::QosClass;
use evenkeel_units::cpu_memory::TunedResource;
use jiff::Timestamp;

use crate::resizable_pod::{Obstacle, ResizePhase};
use crate::resize_record::RefusedRecord;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResizeRefusal {
    #[error(transparent)]
    Obstacle(#[from] Obstacle),
    #[error("an annotation asks to leave it alone")]
    Skipped,
    #[error("a resize of it is {}", .0.as_str())]
    UnderWay(ResizePhase),
    #[error("it has no container {0}")]
    NoSuchContainer(Box<str>),
    #[error("the init container {0} has already run")]
    InitContainer(Box<str>),
    #[error("container {container} has no {field} of {resource}, and none is added")]
    Absent {
        container: Box<str>,
        field: &'static str,
        resource: TunedResource,
    },
    #[error("container {container} would restart for a change of its {resource}")]
    Restarts {
        container: Box<str>,
        resource: TunedResource,
    },
    #[error("the request of {resource} of container {container} would be above its limit")]
    AboveLimit {
        container: Box<str>,
        resource: TunedResource,
    },
    #[error("its QoS class would change from {} to {}", .0.as_str(), .1.as_str())]
    ClassChanges(QosClass, QosClass),
    #[error("the API server does not lower the memory limit of the running container {0}")]
    MemoryLimitStays(Box<str>),
    #[error("another writer has changed its resources since the last resize")]
    ChangedByOthers,
    #[error("another part of Evenkeel has resized it")]
    ResizedOtherwise,
    #[error(transparent)]
    Record(#[from] RefusedRecord),
    #[error("it has too many containers for a record of their original resources")]
    TooManyContainers,
    #[error("the same resize has failed, and is not tried again before {0}")]
    Rests(Timestamp),
}

impl ResizeRefusal {
    /// The cause in one word.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Obstacle(obstacle) => obstacle.reason(),
            Self::Skipped => "Skipped",
            Self::UnderWay(_) => "ResizeUnderWay",
            Self::NoSuchContainer(_) => "NoSuchContainer",
            Self::InitContainer(_) => "InitContainer",
            Self::Absent { .. } => "AbsentIsNotAdded",
            Self::Restarts { .. } => "WouldRestart",
            Self::AboveLimit { .. } => "RequestAboveLimit",
            Self::ClassChanges(..) => "ClassWouldChange",
            Self::MemoryLimitStays(_) => "MemoryLimitStays",
            Self::ChangedByOthers => "ChangedByOthers",
            Self::ResizedOtherwise => "ResizedOtherwise",
            Self::TooManyContainers => "TooManyContainers",
            Self::Record(RefusedRecord::Foreign) => "ForeignRecord",
            Self::Record(RefusedRecord::Unreadable) => "UnreadableRecord",
            Self::Rests(_) => "Rests",
        }
    }
}
