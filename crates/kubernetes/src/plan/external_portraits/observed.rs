//! What the plan of external portraits is made on, and what is allowed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use crate::horizontal_portrait::CheckedHorizontalPortrait;
use crate::ihpa::CheckedIhpa;

/// What stands in the cluster for one HorizontalPortrait beside itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The CronJob of the name that its job has.
    pub cron_job: Option<Value>,
    /// The data of the ConfigMap in which its job leaves the result.
    pub result: Option<BTreeMap<String, String>>,
}

/// What is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The namespace in which Evenkeel runs: no job of anybody's runs by the ServiceAccounts there.
    pub own_namespace: String,
    /// True where jobs are run at all.
    pub runs_jobs: bool,
    /// The most jobs in one namespace, beside what its ResourceQuota allows.
    pub most_jobs: usize,
}

/// What the plan is made on, of namespaces that have opted in.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    pub ihpas: &'a [Arc<CheckedIhpa>],
    pub portraits: &'a [Arc<CheckedHorizontalPortrait>],
    /// What was found for those that have a job, by namespace and name; one that could not be asked for is
    /// absent, and is left as it is.
    pub found: &'a HashMap<(String, String), Found>,
}

/// The namespace and the name of the ConfigMap in which the job of a HorizontalPortrait leaves its result.
#[must_use]
pub fn result_name(portrait: &str) -> String {
    format!("{portrait}-result")
}
