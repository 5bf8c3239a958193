//! The input of one round of a profile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenkeel_api::replica_profile::{CheckedReplicaProfile, ReplicaProfileStatus};
use evenkeel_metrics::pod::PodFacts;
use evenkeel_objects::disruption_budget::DisruptionBudget;
use evenkeel_objects::plan::status_writer::StatusWriter;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::workload::Workload;
use evenkeel_scaling::targets::scalers::Scalers;
use evenkeel_scaling::targets::settings::Settings;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::CpuMemory;
use jiff::Timestamp;

use super::resource_restores::GiveBacks;

/// A profile with everything that belongs to it.
#[derive(Debug, Clone)]
pub struct ProfileObjects {
    pub profile: Arc<CheckedReplicaProfile>,
    /// `None` where there is no such workload.
    pub workload: Option<Arc<Workload>>,
    /// The Pods of the workload that have the readiness gate.
    pub gated: Vec<Arc<Pod>>,
    /// Those that have none.
    pub ungated: Vec<Arc<PodFacts>>,
    /// True while Pods of several versions of the workload are there.
    pub is_rolling: bool,
    /// The measured use of Pods on standby, by their UIDs.
    pub used: BTreeMap<String, CpuMemory<Amount>>,
    /// The PodDisruptionBudgets of the namespace.
    pub budgets: Vec<Arc<DisruptionBudget>>,
    /// The other objects that may scale the workload.
    pub scalers: Scalers,
}

/// The inputs that the plans of all profiles share.
#[derive(Debug, Clone, Copy)]
pub struct ProfileContext<'a> {
    /// The settings of scaling, by which other targets are judged and profiles are followed or not.
    pub settings: &'a Settings,
    /// This replica's name in Events.
    pub reporter: &'a str,
    pub now: Timestamp,
}

/// The memory of a profile from one round to the next. Its Pods need nothing of it.
#[derive(Debug, Default)]
pub struct ProfileMemory {
    pub(super) written: StatusWriter<ReplicaProfileStatus>,
    /// The keys of the Events so far, so that no Event is repeated.
    pub(super) told: BTreeSet<String>,
    pub(super) give_backs: GiveBacks,
    /// Since when a scale-in waits for limits.
    pub(super) waits_since: Option<Timestamp>,
}
