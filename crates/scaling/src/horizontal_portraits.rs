//! The HorizontalPortraits that autoscalers name, the CronJobs of external algorithms, and their results in the
//! status of the HorizontalPortrait; and the load of the next hours in the status of one with Evenkeel's own models.
//!
//! A HorizontalPortrait belongs to its autoscaler and goes with it, and a CronJob to its HorizontalPortrait.
//! Evenkeel never changes an object of the same name from another author. If a result is damaged, the one before
//! stands until it expires, and a condition says what is wrong.

mod cron_job;
mod hours_ahead;
mod hours_ahead_agenda;
mod jobs;
mod namespace_portraits;
mod portrait_objects;
mod portrait_status;
mod portrait_writes;
mod results;

pub use self::cron_job::{TEMPLATE_HASH, job_name};
pub use self::hours_ahead::{
    HoursAheadFit, HoursAheadPlan, HoursAheadProblem, forecast_workload, hours_ahead_status,
    plan_hours_ahead,
};
pub use self::hours_ahead_agenda::HoursAheadAgenda;
pub use self::jobs::{JobPlan, JobProblem, jobs, restore};
pub use self::namespace_portraits::{vouch, vouched};
pub use self::portrait_objects::{
    ExternalPortraitObjects, FoundJob, FoundResult, NamespacedName, Settings, key_of, result_name,
};
pub use self::portrait_writes::portraits;
pub use self::results::result;

#[cfg(test)]
mod tests;
