//! The quarantine of a target after a panic. It lasts until the user changes the target's objects, or for
//! a time that doubles with each panic that follows.
//!
//! A panic is a defect that this target's objects or loads reveal. A panic at every tick would fill the
//! log. To leave the target for good would outlast the cause.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_api::ihpa::spec::IhpaSpec;
use evenkeel_hpa::autoscaler::{Autoscaler, AutoscalerSpec};
use evenkeel_objects::annotations::{BOUNDS, SCALING_STATUS};
use evenkeel_objects::meta::Meta;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_objects::workload::Workload;
use evenkeel_units::panic_error::PanicError;
use jiff::{SignedDuration, Timestamp};

use crate::targets::problem::TargetProblem;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::scaled_object::ScaledObject;
use crate::targets::target_objects::TargetObjects;

/// The first rest, and the longest.
const FIRST: SignedDuration = SignedDuration::from_mins(5);
const LONGEST: SignedDuration = SignedDuration::from_hours(1);

/// The quarantine of one target; one that is over is kept until the panic counts as mended.
#[derive(Debug, Clone)]
pub(crate) struct Quarantine {
    panicked: PanicError,
    autoscaler: Option<Arc<Autoscaler>>,
    /// Its status changes with each of its own writes.
    ihpa: Option<IhpaSpec>,
    scaled_object: Option<Arc<ScaledObject>>,
    workload: Option<Arc<Workload>>,
    rest: SignedDuration,
    until: Timestamp,
}

impl Quarantine {
    /// Begins with a panic in the work on `observed`; `before` is the last one of the target.
    pub(crate) fn begin(
        observed: &TargetObjects,
        panicked: PanicError,
        before: Option<&Self>,
        now: Timestamp,
    ) -> Self {
        let again = before.filter(|before| !before.is_mended(now));
        let rest = again.map_or(FIRST, |before| (before.rest * 2).min(LONGEST));
        let TargetObjects {
            namespace: _,
            namespace_policy: _,
            autoscaler,
            ihpa,
            portraits: _,
            profiles: _,
            scaled_object,
            workload,
            target: _,
            pods: _,
        } = observed;
        Self {
            panicked,
            autoscaler: autoscaler.clone(),
            ihpa: ihpa.as_ref().map(|ihpa| ihpa.object.spec.clone()),
            scaled_object: scaled_object.clone(),
            workload: workload.clone(),
            rest,
            until: now.checked_add(rest).unwrap_or(Timestamp::MAX),
        }
    }

    /// When it ends at the latest.
    pub(crate) const fn until(&self) -> Timestamp {
        self.until
    }

    /// True while the target is left alone: the time has not come, and its user has changed nothing.
    /// A change ends it for good.
    pub(crate) fn holds(&mut self, observed: &TargetObjects, now: Timestamp) -> bool {
        if now < self.until && self.has_changed(observed) {
            self.until = now;
        }
        now < self.until
    }

    /// True once the target has gone without a panic for as long as it rested before.
    pub(crate) fn is_mended(&self, now: Timestamp) -> bool {
        now.duration_since(self.until) >= self.rest
    }

    /// The resolved form of the target during the quarantine. A floor that stands lapses by its own end, because
    /// the load that asked for it may still be there. If the objects cannot even be resolved, `resolved` is `None`,
    /// and the bounds stay as they are.
    pub(crate) fn refuse(&self, resolved: Option<ResolvedTarget>) -> ResolvedTarget {
        let resolved = resolved.unwrap_or(ResolvedTarget {
            mode: ScalingMode::Recommend,
            is_declined: false,
            target: None,
            problems: Vec::new(),
            keeps_floor: true,
            bounds: None,
        });
        if resolved.mode == ScalingMode::Off {
            return resolved;
        }
        let problem = TargetProblem::Quarantined {
            panicked: self.panicked.clone(),
            until: self.until,
        };
        ResolvedTarget {
            keeps_floor: resolved.target.is_some() && resolved.mode == ScalingMode::Floor,
            target: None,
            problems: vec![problem],
            ..resolved
        }
    }

    /// True where the user has written something else since. What changes by itself is left out:
    /// the status, the replicas, and what is written here.
    fn has_changed(&self, observed: &TargetObjects) -> bool {
        let autoscaler = |one: &Option<Arc<Autoscaler>>| {
            let Autoscaler {
                metadata,
                spec,
                status: _,
            } = one.as_deref()?.clone();
            let spec = AutoscalerSpec {
                min_replicas: None,
                ..spec
            };
            Some((users(&metadata), spec))
        };
        let scaled_object = |one: &Option<Arc<ScaledObject>>| {
            let ScaledObject { metadata, mut spec } = one.as_deref()?.clone();
            spec.min_replica_count = None;
            Some((users(&metadata), spec))
        };
        let workload = |one: &Option<Arc<Workload>>| Some(users(&one.as_deref()?.metadata));
        autoscaler(&self.autoscaler) != autoscaler(&observed.autoscaler)
            || scaled_object(&self.scaled_object) != scaled_object(&observed.scaled_object)
            || workload(&self.workload) != workload(&observed.workload)
            || self.ihpa.as_ref() != observed.ihpa.as_ref().map(|ihpa| &ihpa.object.spec)
    }
}

/// The identity of an object and the user's annotations.
fn users(metadata: &Meta) -> (Option<String>, BTreeMap<String, String>) {
    let mut annotations = BTreeMap::clone(&metadata.annotations);
    annotations.retain(|key, _| key != BOUNDS && key != SCALING_STATUS);
    (metadata.uid.clone(), annotations)
}
