//! Questions for the series of one namespace, at present or in the past: the use by Pods, workloads and single
//! containers, and custom and external metrics. The source of the answers does not matter here.
//!
//! A question names only the namespace that its caller is authorised for, and needs more rights than its own
//! ([`SeriesQuery::rights`]). So a caller learns nothing that the metrics APIs would refuse. Each question is
//! checked before it is used, so that no text in it is more than a name.

mod answer;
mod check;
mod openapi;
mod parameters;
mod range;
mod refusal;
mod rights;

pub use answer::{LabelledSeries, SeriesAnswer, SeriesPoint, SeriesUnit};
pub use check::{QueryFault, WrittenQuery};
pub use openapi::{document, index};
pub use parameters::{SeriesRequest, parse};
pub use range::{RangeFault, RangeLimits, SeriesRange};
pub use refusal::SeriesRefusal;
pub use rights::words;

use std::sync::Arc;

use evenkeel_core::scaling::signal::MetricIdentifier;
use evenkeel_core::units::Resource;

use crate::kinds::Kind;

/// The kinds of question, by the names that requests and rights have for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QueryKind {
    /// Use of a resource by single Pods.
    PodResource,
    /// Use of a resource by one container of single Pods.
    ContainerResource,
    /// Use of a resource by all Pods of a workload together.
    WorkloadResource,
    /// Use of a resource by one container of all Pods of a workload together.
    WorkloadContainerResource,
    /// A custom metric of an object.
    Object,
    /// An external metric.
    External,
    /// A metric of the Pods of a workload.
    WorkloadExternal,
}

impl QueryKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::PodResource,
        Self::ContainerResource,
        Self::WorkloadResource,
        Self::WorkloadContainerResource,
        Self::Object,
        Self::External,
        Self::WorkloadExternal,
    ];

    /// The name in paths, rights and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PodResource => "pod-resource",
            Self::ContainerResource => "container-resource",
            Self::WorkloadResource => "workload-resource",
            Self::WorkloadContainerResource => "workload-container-resource",
            Self::Object => "object",
            Self::External => "external",
            Self::WorkloadExternal => "workload-external",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A question that has been checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesQuery {
    pub namespace: Arc<str>,
    pub subject: SeriesSubject,
}

/// The subject of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeriesSubject {
    /// A series for each of some Pods.
    Pods {
        pods: ObjectSelection,
        usage: UsageSubject,
    },
    /// One series: the sum over the Pods of a workload.
    Workload {
        workload: WorkloadReference,
        usage: UsageSubject,
        /// True where Pods count only while they are ready.
        ready_only: bool,
    },
    /// A custom metric of objects of a kind.
    Object {
        kind: GroupKind,
        objects: ObjectSelection,
        metric: MetricIdentifier,
    },
    /// An external metric.
    External(MetricIdentifier),
    /// A metric of the Pods of a workload.
    WorkloadMetric {
        workload: WorkloadReference,
        metric: MetricIdentifier,
    },
}

/// The objects of a kind that are asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectSelection {
    Named(String),
    /// Those that a selector selects, in the text form of selectors.
    Selected(Box<str>),
}

/// The subject of a question about use: a resource, of whole Pods or of one container of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageSubject {
    pub resource: Resource,
    pub container: Option<String>,
}

/// A kind by its group, in whichever version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupKind {
    /// Empty for the core group.
    pub group: String,
    pub kind: String,
}

/// A workload of the question's namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadReference {
    pub kind: GroupKind,
    pub name: String,
}

impl GroupKind {
    /// The kind in the table of kinds, where that has it.
    #[must_use]
    pub fn known(&self) -> Option<Kind> {
        let Self { group, kind } = self;
        let mut all = Kind::ALL.iter().copied();
        all.find(|one| one.group() == group && one.as_str() == kind)
    }
}

impl SeriesQuery {
    /// The kind of the question.
    #[must_use]
    pub const fn kind(&self) -> QueryKind {
        match &self.subject {
            SeriesSubject::Pods { usage, .. } => match usage.container {
                None => QueryKind::PodResource,
                Some(_) => QueryKind::ContainerResource,
            },
            SeriesSubject::Workload { usage, .. } => match usage.container {
                None => QueryKind::WorkloadResource,
                Some(_) => QueryKind::WorkloadContainerResource,
            },
            SeriesSubject::Object { .. } => QueryKind::Object,
            SeriesSubject::External(_) => QueryKind::External,
            SeriesSubject::WorkloadMetric { .. } => QueryKind::WorkloadExternal,
        }
    }
}
