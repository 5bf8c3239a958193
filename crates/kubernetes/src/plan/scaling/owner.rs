//! Which object of a target carries its bounds and its status, and how it is addressed.
//!
//! Where KEDA makes the HPA, its ScaledObject is the one to write: KEDA would undo all else. A
//! workload that nothing scales carries the status, and has no bounds.

use crate::annotations::{BOUNDS, SCALING_STATUS};
use crate::kinds::{KEDA_MAX_REPLICAS, Kind};
use crate::meta::Meta;
use crate::object_ref::ObjectRef;
use crate::plan::event::Regarding;
use evenkeel_core::scaling::ownership::ObjectBounds;

use super::Observed;
use super::status::Status;

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
                    max: spec.max_replica_count.unwrap_or(KEDA_MAX_REPLICAS),
                }),
            });
        }
        let Some(autoscaler) = &observed.autoscaler else {
            return Self::workload(observed);
        };
        let own = autoscaler.scaled_object().is_none();
        own.then(|| Self {
            kind: Kind::HorizontalPodAutoscaler,
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
            kind: workload.kind,
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

    /// The object as writes name it; `None` without a name.
    #[must_use]
    pub fn object(&self, namespace: &str) -> Option<ObjectRef> {
        let name = self.metadata.name.as_deref()?;
        Some(ObjectRef::in_namespace(self.kind, namespace, name))
    }

    /// The object as Events name it.
    pub(super) fn regarding(&self, namespace: &str) -> Regarding {
        Regarding {
            namespace: Some(namespace.to_owned()),
            ..Regarding::of(self.kind, self.metadata)
        }
    }
}
