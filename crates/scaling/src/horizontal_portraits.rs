//! The HorizontalPortraits that autoscalers name, the CronJobs of external algorithms, and their results in the
//! status of the HorizontalPortrait.
//!
//! A HorizontalPortrait belongs to its autoscaler and goes with it, and a CronJob to its HorizontalPortrait.
//! Evenkeel never changes an object of the same name from another author. If a result is damaged, the one before
//! stands until it expires, and a condition says what is wrong.

mod cron_job;
pub mod jobs;
mod namespace_portraits;
mod portrait_objects;
mod portrait_writes;
mod results;

use std::collections::BTreeMap;

use evenkeel_objects::plan::{Purpose, Write};
use jiff::Timestamp;

use crate::specs::horizontal_portrait::CheckedHorizontalPortrait;

pub use self::cron_job::{TEMPLATE_HASH, job_name};
pub use self::jobs::{JobPlan, JobProblem};
pub use self::portrait_objects::{
    ExternalPortraitObjects, FoundJob, FoundResult, NamespacedName, Settings, key_of, result_name,
};

/// The writes that bring the HorizontalPortraits in line that autoscalers name.
pub fn portraits(observed: &ExternalPortraitObjects<'_>) -> Vec<Write> {
    portrait_writes::plan(observed)
}

/// The writes that bring CronJobs in line, and why some do not run.
pub fn jobs(observed: &ExternalPortraitObjects<'_>, settings: &Settings) -> JobPlan {
    jobs::plan(observed, settings)
}

/// The portraits that have a job, by namespace, as the annotation `evenkeel.dev/portrait-jobs` has them.
pub fn vouched(
    observed: &ExternalPortraitObjects<'_>,
    settings: &Settings,
) -> BTreeMap<String, String> {
    namespace_portraits::of(observed, settings)
}

/// The writes of that annotation, where another was told `before`.
pub fn vouch(before: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> Vec<Write> {
    namespace_portraits::writes(before, found)
}

/// The writes that suspend every job, since nothing of Evenkeel's is to be left at work.
pub fn restore(observed: &ExternalPortraitObjects<'_>) -> Vec<Write> {
    jobs::suspend_all(observed, Purpose::Restore)
}

/// The write that tells what came of the job of a HorizontalPortrait: what was found of its result, or the problem for which it
/// does not run. One result is read at a time, since each may be of a megabyte.
pub fn result(
    portrait: &CheckedHorizontalPortrait,
    found: Result<Option<&FoundResult>, &JobProblem>,
    now: Timestamp,
) -> Option<Write> {
    results::plan(portrait, found, now)
}

#[cfg(test)]
mod tests;
