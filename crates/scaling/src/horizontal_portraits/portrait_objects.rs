//! The input of the plan of external portraits, and its settings.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_api::portrait_data::ResultData;
use evenkeel_objects::json::null_is_default;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use serde::Deserialize;

use super::cron_job::TEMPLATE_HASH;
use crate::specs::horizontal_portrait::{CheckedHorizontalPortrait, HorizontalPortrait};
use crate::specs::ihpa::CheckedIhpa;

/// The namespace and the name of an object.
pub type NamespacedName = (String, String);

/// A CronJob, as far as it is compared.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct FoundJob {
    #[serde(deserialize_with = "null_is_default")]
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    spec: FoundSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct FoundSpec {
    #[serde(deserialize_with = "null_is_default")]
    suspend: bool,
}

/// A ConfigMap in which a job leaves its result; of all other data nothing is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FoundResult {
    #[serde(deserialize_with = "null_is_default")]
    pub data: ResultData,
}

/// The limits on jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The namespace in which Evenkeel runs. No job runs there, because it could use the ServiceAccounts of Evenkeel.
    pub own_namespace: String,
    /// True where jobs are run at all.
    pub runs_jobs: bool,
    /// The most jobs in one namespace, beside what its ResourceQuota allows.
    pub most_jobs: usize,
}

/// The objects that the plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct ExternalPortraitObjects<'a> {
    /// The autoscalers of namespaces that have opted in.
    pub ihpas: &'a [Arc<CheckedIhpa>],
    /// The HorizontalPortraits of these namespaces.
    pub portraits: &'a [Arc<CheckedHorizontalPortrait>],
    /// The outlines of those of all other namespaces.
    pub outlines: &'a [Arc<HorizontalPortrait>],
    /// The last look-up for each HorizontalPortrait that has a job: the CronJob of the job's name, or `None` if there
    /// is none. A HorizontalPortrait that has not been looked up yet has no entry.
    pub jobs: &'a HashMap<NamespacedName, Option<FoundJob>>,
}

/// The namespace and the name of the ConfigMap in which the job of a HorizontalPortrait leaves its result.
pub fn result_name(portrait: &str) -> String {
    format!("{portrait}-result")
}

/// The namespace and the name of a HorizontalPortrait.
pub fn key_of(portrait: &HorizontalPortrait) -> Option<NamespacedName> {
    let Meta {
        namespace, name, ..
    } = &portrait.metadata;
    Some((namespace.clone()?, name.clone()?))
}

impl FoundJob {
    pub(super) const fn is_suspended(&self) -> bool {
        self.spec.suspend
    }

    /// The hash of what it was made from.
    pub(super) fn hash(&self) -> Option<&str> {
        self.metadata.annotation(TEMPLATE_HASH)
    }

    /// True for the job of a HorizontalPortrait, false for a CronJob of the same name by another author.
    pub(super) fn belongs_to(&self, portrait: &HorizontalPortrait) -> bool {
        self.metadata.controller().is_some_and(|owner| {
            Kind::HorizontalPortrait.is(&owner.api_version, &owner.kind)
                && portrait.metadata.uid.as_deref() == Some(owner.uid.as_str())
                && portrait.metadata.namespace == self.metadata.namespace
        })
    }
}
