//! The object of a target that carries its bounds and its status.
//!
//! Where KEDA makes the HPA, its ScaledObject is the one to write: KEDA would undo all else. A
//! workload that nothing scales carries the status, and its count stands in the place of bounds.

use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_objects::annotations::BOUNDS;
use evenkeel_objects::bounds::{NO_MOST, ObjectBounds};
use evenkeel_objects::kinds::{KEDA_MAX_REPLICAS, Kind};
use evenkeel_objects::meta::Meta;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::event::RegardingObject;
use evenkeel_objects::workload::Workload;
use serde_json::Value;

use super::scaled_object::ScaledObject;
use super::target_objects::TargetObjects;
use crate::bounds_record::annotation::{BoundsAnnotation, BoundsAnnotationError};
use crate::specs::ihpa::CheckedIhpa;

/// An object that carries the bounds or the status of a target.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    /// The kind of the object.
    pub kind: Kind,
    /// Its name, version and annotations.
    pub metadata: &'a Meta,
    /// The bounds that it has, or its count; `None` for a workload without one.
    pub bounds: Option<ObjectBounds>,
    /// The most replicas where it says so itself, and leaves them to no default.
    max: Option<i32>,
    /// The smallest least that it takes.
    pub(crate) least: i32,
}

impl<'a> Owner<'a> {
    /// The object that scales the workload of a target, where that is neither the workload itself nor KEDA's.
    pub fn scaler(observed: &'a TargetObjects) -> Option<Self> {
        let ihpa = observed.ihpa.as_deref().map(Self::of_ihpa);
        ihpa.or_else(|| observed.autoscaler.as_deref().map(Self::of_autoscaler))
    }

    /// The object of a target; `None` where it is not known, as while KEDA's is not.
    pub fn of(observed: &'a TargetObjects) -> Option<Self> {
        if let Some(ihpa) = &observed.ihpa {
            return Some(Self::of_ihpa(ihpa));
        }
        if let Some(scaled_object) = &observed.scaled_object {
            return Some(Self::of_scaled_object(scaled_object));
        }
        let Some(autoscaler) = &observed.autoscaler else {
            return Self::workload(observed);
        };
        let own = autoscaler.scaled_object().is_none();
        own.then(|| Self::of_autoscaler(autoscaler))
    }

    /// An IHPA. Its bounds are its user's alone.
    pub(crate) fn of_ihpa(ihpa: &'a CheckedIhpa) -> Self {
        Self {
            kind: Kind::Ihpa,
            metadata: &ihpa.object.metadata,
            bounds: None,
            max: None,
            least: 0,
        }
    }

    /// A ScaledObject, whatever it scales.
    pub fn of_scaled_object(scaled_object: &'a ScaledObject) -> Self {
        let spec = &scaled_object.spec;
        Self {
            kind: Kind::ScaledObject,
            metadata: &scaled_object.metadata,
            bounds: Some(ObjectBounds {
                min: spec.min_replica_count,
                max: spec
                    .max_replica_count
                    .unwrap_or(KEDA_MAX_REPLICAS)
                    .min(NO_MOST - 1),
            }),
            max: spec.max_replica_count,
            least: 0,
        }
    }

    /// An HPA, whatever it scales and whatever made it.
    pub fn of_autoscaler(autoscaler: &'a Autoscaler) -> Self {
        let spec = &autoscaler.spec;
        Self {
            kind: Kind::HorizontalPodAutoscaler,
            metadata: &autoscaler.metadata,
            bounds: Some(ObjectBounds {
                min: spec.min_replicas,
                // The largest of all stands for no most, which an HPA does not have.
                max: spec.max_replicas.min(NO_MOST - 1),
            }),
            max: Some(spec.max_replicas),
            least: spec.metrics.least_replicas(),
        }
    }

    /// The workload of a target, where it is known.
    pub fn workload(observed: &'a TargetObjects) -> Option<Self> {
        observed.workload.as_deref().map(Self::of_workload)
    }

    /// A workload, whatever scales it.
    pub fn of_workload(workload: &'a Workload) -> Self {
        Self {
            kind: workload.kind,
            metadata: &workload.metadata,
            bounds: workload
                .kind
                .bounds_fields()
                .map(|_| ObjectBounds::of_count(workload.replicas)),
            max: None,
            least: 0,
        }
    }

    /// True for a workload: its bounds are its count.
    pub(crate) fn has_count(&self) -> bool {
        self.bounds.is_some() && self.kind.has_scale()
    }

    /// The record of its bounds; `None` where it has none.
    ///
    /// # Errors
    /// A record that this program did not write, that cannot be read, or that makes no sense.
    pub(crate) fn record(&self) -> Option<Result<BoundsAnnotation, BoundsAnnotationError>> {
        let parsed = BoundsAnnotation::of(self.metadata)?;
        Some(parsed.map(|record| record.with_least(self.least)))
    }

    /// Makes a patch fail unless the object has the bounds and the record that it has here.
    pub(crate) fn expect_bounds(&self, patch: &mut ConditionalPatch) {
        if let Some((fields, bounds)) = self.kind.bounds_fields().zip(self.bounds) {
            patch.expect(&["spec", fields.min], Value::from(bounds.min));
            if let Some(max) = fields.max {
                patch.expect(&["spec", max], Value::from(self.max));
            }
        }
        patch.expect_annotation(BOUNDS, self.metadata.annotation(BOUNDS));
    }

    /// Changes the bounds to those `wanted`, as far as they are others.
    pub(crate) fn change_bounds(&self, patch: &mut ConditionalPatch, wanted: ObjectBounds) {
        let Some((fields, found)) = self.kind.bounds_fields().zip(self.bounds) else {
            return;
        };
        if wanted.min != found.min {
            let to = Value::from(wanted.min);
            patch.change(&["spec", fields.min], found.min.is_some(), to);
        }
        if let Some(max) = fields.max.filter(|_| wanted.max != found.max) {
            let to = Value::from(wanted.max);
            patch.change(&["spec", max], self.max.is_some(), to);
        }
    }

    /// The smallest least that it takes.
    pub(crate) const fn least(&self) -> i32 {
        self.least
    }

    /// The object as writes name it; `None` without a name.
    pub fn object(&self, namespace: &str) -> Option<ObjectRef> {
        let name = self.metadata.name.as_deref()?;
        Some(ObjectRef::in_namespace(self.kind, namespace, name))
    }

    /// The object as Events name it.
    pub(crate) fn regarding(&self, namespace: &str) -> RegardingObject {
        RegardingObject {
            namespace: Some(namespace.to_owned()),
            ..RegardingObject::of(self.kind, self.metadata)
        }
    }
}
