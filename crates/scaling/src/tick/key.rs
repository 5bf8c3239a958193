//! The identity of a target, and a target as the watches show it.

use std::sync::Arc;

use evenkeel_objects::pod_names::WorkloadName;

use crate::status::dashboard::ObjectName;
use crate::targets::owner::Owner;
use crate::targets::reference::TargetRef;
use crate::targets::target_objects::TargetObjects;

/// The identity of a target as long as it lasts, whichever object carries its bounds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TargetKey {
    pub namespace: Arc<str>,
    /// The object that scales it, where it is not the workload itself: by kind and name.
    pub scaler: Option<ObjectName>,
    pub workload: TargetRef,
}

/// A target as the watches show it.
#[derive(Debug, Clone, Copy)]
pub(super) struct WatchedTarget<'a> {
    pub(super) observed: &'a TargetObjects,
    /// Its place among all targets of the tick.
    pub(super) place: usize,
    /// True where it shares its workload with another HPA.
    pub(super) conflict: bool,
}

impl TargetKey {
    /// The workload as Pods' names tell it.
    pub fn workload_name(&self) -> WorkloadName {
        WorkloadName {
            namespace: self.namespace.as_ref().into(),
            workload: format!("{}/{}", self.workload.kind(), self.workload.name()).into(),
        }
    }

    pub fn of(observed: &TargetObjects) -> Self {
        let scaler = Owner::scaler(observed).map(|scaler| ObjectName {
            kind: scaler.kind.as_str().into(),
            name: scaler.metadata.name.as_deref().unwrap_or_default().into(),
        });
        Self {
            namespace: Arc::clone(&observed.namespace),
            scaler,
            workload: observed.target.clone(),
        }
    }
}
