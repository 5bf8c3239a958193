//! The objects of portraits that others make: the HorizontalPortraits that autoscalers name, the CronJobs of
//! external algorithms, and what these leave, in the status of the HorizontalPortrait.
//!
//! What is made belongs to what it was made for and goes with it: a HorizontalPortrait to its autoscaler, a CronJob to
//! its HorizontalPortrait. An object of the same name that somebody else has made is never changed. A result that is
//! damaged leaves the one before standing until it expires, and a condition says what is wrong.

mod jobs;
mod portraits;
mod results;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::Write;
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

/// The writes that bring all of it in line.
#[must_use]
pub fn plan(observed: &Observed<'_>, settings: &Settings, now: Timestamp) -> Vec<Write> {
    let mut writes = portraits::plan(observed);
    let mut jobs: HashMap<&str, usize> = HashMap::new();
    for portrait in observed.portraits {
        let metadata = &portrait.object.metadata;
        let (Some(namespace), Some(name)) = (&metadata.namespace, &metadata.name) else {
            continue;
        };
        let key = (namespace.clone(), name.clone());
        let is_asked_for = portraits::is_asked_for(portrait, observed.ihpas);
        let Some(found) = observed.found.get(&key) else {
            continue;
        };
        if portrait.object.spec.portrait.external_job().is_none() {
            continue;
        }
        let count = jobs.entry(namespace).or_default();
        let room = jobs::Room {
            settings,
            count,
            is_asked_for,
        };
        let problem = match jobs::plan(portrait, found, room) {
            Ok(write) => {
                writes.extend(write);
                None
            }
            Err(problem) => Some(problem),
        };
        writes.extend(results::plan(portrait, found, problem.as_ref(), now));
    }
    writes
}

#[cfg(test)]
mod tests;
