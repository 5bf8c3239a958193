//! Queries for the series of one namespace, present or past: use by Pods, workloads and containers,
//! and custom and external metrics, from any source. A query names only its caller's namespace and
//! needs the rights of the metrics API too ([`SeriesQuery::rights`]), so a caller learns nothing
//! that these APIs would refuse. Each query is checked first, so that no text in it is more than a
//! name.

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

use evenkeel_objects::kinds::Kind;
use evenkeel_units::{Resource, words};

use crate::signal::MetricIdentifier;

words! {
    pub enum QueryKind {
        PodResource = "pod-resource",
        ContainerResource = "container-resource",
        WorkloadResource = "workload-resource",
        WorkloadContainerResource = "workload-container-resource",
        Object = "object",
        External = "external",
        WorkloadExternal = "workload-external",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesQuery {
    pub namespace: Arc<str>,
    pub subject: SeriesSubject,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeriesSubject {
    Pods {
        pods: ObjectSelection,
        usage: UsageSubject,
    },
    /// One series: the sum over the Pods of a workload.
    Workload {
        workload: WorkloadReference,
        usage: UsageSubject,
        ready_only: bool,
    },
    /// A custom metric of objects of a kind.
    Object {
        kind: GroupKind,
        objects: ObjectSelection,
        metric: MetricIdentifier,
    },
    External(MetricIdentifier),
    WorkloadMetric {
        workload: WorkloadReference,
        metric: MetricIdentifier,
    },
}

/// The objects of a kind that are asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObjectSelection {
    Named(String),
    Selected(Box<str>),
}

/// The subject of a question about use: a resource, of whole Pods or of one container of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageSubject {
    pub resource: Resource,
    pub container: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupKind {
    /// Empty for the core group.
    pub group: String,
    pub kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadReference {
    pub kind: GroupKind,
    pub name: String,
}

impl GroupKind {
    pub fn known(&self) -> Option<Kind> {
        let Self { group, kind } = self;
        let mut all = Kind::ALL.iter().copied();
        all.find(|one| one.group() == group && one.as_str() == kind)
    }
}

impl SeriesQuery {
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
