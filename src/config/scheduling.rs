//! `scheduling`, `admission`, `network` and `disk`: the policy that decisions follow.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::file::File;
use super::profiles::{self, ProfileFile};
use super::value::{Number, Text};
use evenkeel_core::placement::balance::Normalization;
use evenkeel_core::placement::{NoHeadroom, Policy};
use evenkeel_core::units::{Amount, Resource, Resources};

/// `scheduling` as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct SchedulingFile {
    headroom: Number,
    headroom_by_priority_class: BTreeMap<String, Number>,
    profile_threshold: Number,
    no_headroom: NoHeadroomFile,
    relax_after: Text,
    normalization: NormalizationFile,
    random_index: Text,
    profiles: BTreeMap<String, ProfileFile>,
    in_flight_timeout: Text,
}

impl Default for SchedulingFile {
    fn default() -> Self {
        Self {
            headroom: Number(0.8),
            headroom_by_priority_class: BTreeMap::new(),
            profile_threshold: Number(0.15),
            no_headroom: NoHeadroomFile::default(),
            // Autoscalers of nodes do not ask extenders, and would add no node for a Pod that
            // fits by their own arithmetic.
            relax_after: "5m".into(),
            normalization: NormalizationFile::default(),
            random_index: "thesis".into(),
            profiles: BTreeMap::new(),
            in_flight_timeout: "10s".into(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum NoHeadroomFile {
    #[default]
    Reject,
    Relax,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum NormalizationFile {
    #[default]
    Joint,
    PerResource,
}

/// `admission` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct AdmissionFile {
    scheduler_name: Option<String>,
}

/// `network` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct NetworkFile {
    caps_as_demand: bool,
    capacity: Option<Text>,
}

/// `disk` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct DiskFile {
    io_capacity: Option<Text>,
}

/// The policy, and how long a Pod counts on the node that was proposed for it.
pub(crate) fn check(file: &File, check: &mut Checker) -> (Policy, SignedDuration) {
    let SchedulingFile {
        headroom,
        headroom_by_priority_class,
        profile_threshold,
        no_headroom,
        relax_after,
        normalization,
        random_index,
        profiles,
        in_flight_timeout,
    } = &file.scheduling;
    let AdmissionFile { scheduler_name } = &file.admission;
    let NetworkFile { caps_as_demand, .. } = &file.network;
    let by_class = headroom_by_priority_class.iter().map(|(class, share)| {
        let path = format!("scheduling.headroomByPriorityClass.{class}");
        (class.clone(), check.share(&path, *share))
    });
    let policy = Policy {
        headroom_by_priority_class: by_class.collect(),
        headroom: check.share("scheduling.headroom", *headroom),
        profile_threshold: check.share("scheduling.profileThreshold", *profile_threshold),
        no_headroom: match no_headroom {
            NoHeadroomFile::Reject => NoHeadroom::Reject,
            NoHeadroomFile::Relax => NoHeadroom::Relax,
        },
        relax_after: check.duration_or_never("scheduling.relaxAfter", relax_after),
        normalization: match normalization {
            NormalizationFile::Joint => Normalization::Joint,
            NormalizationFile::PerResource => Normalization::PerResource,
        },
        profiles: profiles::table(profiles, random_index, check),
        caps_as_demand: *caps_as_demand,
        default_capacity: default_capacity(file, check),
        scheduler_name: scheduler_name.clone(),
        max_age: check.duration("metrics.maxAge", &file.metrics.max_age),
    };
    let in_flight = check.duration("scheduling.inFlightTimeout", in_flight_timeout);
    (policy, in_flight)
}

fn default_capacity(file: &File, check: &mut Checker) -> Resources<Option<Amount>> {
    let NetworkFile {
        caps_as_demand: _,
        capacity,
    } = &file.network;
    let DiskFile { io_capacity } = &file.disk;
    let mut default = Resources::default();
    for (path, resource, rate) in [
        ("network.capacity", Resource::NetworkIo, capacity),
        ("disk.ioCapacity", Resource::DiskIo, io_capacity),
    ] {
        let rate = check.rate(path, rate.as_ref());
        default[resource] = rate.map(Amount::from);
    }
    default
}
