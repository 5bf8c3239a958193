//! What scaling is planned from, and the plan: the objects of one target side by side, as the
//! watches hold them, what holds for it, and the writes that its decisions ask for.
//!
//! Which object has the say, and whether there is a target at all, is found in [`targets`]; whose
//! the bounds are in [`bounds`]; what is told in [`status`] and in Events.

pub mod bounds;
mod events;
mod memory;
pub mod owner;
mod problem;
pub mod status;
pub mod targets;
mod writes;

pub use memory::Memory;
pub use problem::Problem;
pub use targets::{Resolved, Settings, conflicts, resolve};
pub use writes::{Context, plan};

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::autoscaler::Autoscaler;
use crate::namespace_policy::NamespacePolicy;
use crate::scaled_object::ScaledObject;
use crate::workload::Workload;
use evenkeel_core::placement::usage::PodName;
use evenkeel_core::units::{Amount, Resources};

/// What may be a target: an autoscaler or an annotated workload, with what belongs to it.
#[derive(Debug, Clone)]
pub struct Observed {
    /// The namespace of all of its objects.
    pub namespace: Arc<str>,
    /// What that namespace says; the default, which opts out, where it is not known.
    pub namespace_policy: Arc<NamespacePolicy>,
    /// The HPA; `None` for a workload without one.
    pub autoscaler: Option<Arc<Autoscaler>>,
    /// The KEDA ScaledObject that manages the HPA, or that has lost its HPA.
    pub scaled_object: Option<Arc<ScaledObject>>,
    /// What is scaled, where it is a Deployment or a StatefulSet that exists.
    pub workload: Option<Arc<Workload>>,
    /// What is scaled, by name.
    pub reference: Reference,
    /// Its Pods.
    pub pods: Pods,
}

/// What is scaled, in the target's namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    /// For example `Deployment`.
    pub kind: Box<str>,
    /// Its name.
    pub name: Box<str>,
}

/// The Pods of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pods {
    /// Those that have not ended, in no order.
    pub members: Vec<Member>,
    /// How long Pods took from their creation until they were ready for the first time, the 50
    /// seen last.
    pub start_to_ready: Vec<SignedDuration>,
}

/// One Pod of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name, by which it is measured.
    pub name: Arc<PodName>,
    /// Its requests of cpu and memory as the HPA counts them.
    pub requests: Resources<Option<Amount>>,
    /// Whether its condition `Ready` is true.
    pub ready: bool,
    /// Since when all of its containers run; `None` until they do.
    pub running_since: Option<Timestamp>,
    /// Whether it is being deleted.
    pub terminating: bool,
}

#[cfg(test)]
mod tests;
