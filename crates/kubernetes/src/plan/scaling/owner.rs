//! Which object of a target carries its bounds and its status, and how it is addressed.
//!
//! Where KEDA makes the HPA, its ScaledObject is the one to write: KEDA would undo all else. A
//! workload that nothing scales carries the status, and has no bounds.

use crate::annotations::{BOUNDS, SCALING_STATUS};
use crate::meta::Meta;
use crate::plan::Target;
use crate::plan::notice::About;
use crate::scaled_object;
use crate::workload::WorkloadKind;
use evenkeel_core::scaling::ownership::ObjectBounds;

use super::Observed;
use super::status::Status;

/// What KEDA takes where a ScaledObject has no most replicas.
const KEDA_MOST: i32 = 100;

/// The kinds of object that carry anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `autoscaling/v2` HorizontalPodAutoscaler.
    Autoscaler,
    /// `keda.sh/v1alpha1` ScaledObject.
    ScaledObject,
    /// A workload.
    Workload(WorkloadKind),
}

impl Kind {
    /// The name in Kubernetes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Autoscaler => "HorizontalPodAutoscaler",
            Self::ScaledObject => scaled_object::KIND,
            Self::Workload(kind) => kind.as_str(),
        }
    }

    /// The fields of the least and of the most replicas; `None` where it has none.
    pub(super) const fn bounds(self) -> Option<[&'static str; 2]> {
        match self {
            Self::Autoscaler => Some(["minReplicas", "maxReplicas"]),
            Self::ScaledObject => Some(["minReplicaCount", "maxReplicaCount"]),
            Self::Workload(_) => None,
        }
    }
}

/// An object that carries the bounds or the status of a target.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its name, version and annotations.
    pub metadata: &'a Meta,
    /// The bounds that it has; `None` for a workload.
    pub bounds: Option<ObjectBounds>,
}

impl<'a> Owner<'a> {
    /// The object of a target; `None` where it is not known, as while KEDA's is not.
    #[must_use]
    pub fn of(observed: &'a Observed) -> Option<Self> {
        if let Some(scaled_object) = &observed.scaled_object {
            let spec = &scaled_object.spec;
            return Some(Self {
                kind: Kind::ScaledObject,
                metadata: &scaled_object.metadata,
                bounds: Some(ObjectBounds {
                    min: spec.min_replica_count,
                    max: spec.max_replica_count.unwrap_or(KEDA_MOST),
                }),
            });
        }
        let Some(autoscaler) = &observed.autoscaler else {
            return Self::workload(observed);
        };
        let own = autoscaler.scaled_object().is_none();
        own.then(|| Self {
            kind: Kind::Autoscaler,
            metadata: &autoscaler.metadata,
            bounds: Some(ObjectBounds {
                min: autoscaler.spec.min_replicas,
                max: autoscaler.spec.max_replicas,
            }),
        })
    }

    /// The workload of a target, where it is known.
    #[must_use]
    pub fn workload(observed: &'a Observed) -> Option<Self> {
        let workload = observed.workload.as_ref()?;
        Some(Self {
            kind: Kind::Workload(workload.kind),
            metadata: &workload.metadata,
            bounds: None,
        })
    }

    /// The record of its bounds, as it stands.
    pub(super) fn record(&self) -> Option<&'a str> {
        self.metadata.annotation(BOUNDS)
    }

    /// What it tells of the target, where that can be read.
    #[must_use]
    pub fn told(&self) -> Option<Status> {
        self.status().and_then(Status::from_annotation)
    }

    /// Its status, as it stands.
    pub(super) fn status(&self) -> Option<&'a str> {
        self.metadata.annotation(SCALING_STATUS)
    }

    /// The target of a write to it; `None` without a name.
    #[must_use]
    pub fn target(&self, namespace: &str) -> Option<Target> {
        let (namespace, name) = (namespace.to_owned(), self.metadata.name.clone()?);
        Some(match self.kind {
            Kind::Autoscaler => Target::HorizontalPodAutoscaler(namespace, name),
            Kind::ScaledObject => Target::ScaledObject(namespace, name),
            Kind::Workload(WorkloadKind::Deployment) => Target::Deployment(namespace, name),
            Kind::Workload(WorkloadKind::StatefulSet) => Target::StatefulSet(namespace, name),
        })
    }

    /// What an Event says of it.
    pub(super) fn about(&self, namespace: &str) -> About {
        About {
            kind: self.kind.as_str(),
            namespace: Some(namespace.to_owned()),
            name: self.metadata.name.clone().unwrap_or_default(),
            uid: self.metadata.uid.clone().unwrap_or_default(),
        }
    }
}
