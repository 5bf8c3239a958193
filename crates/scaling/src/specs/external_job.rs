//! The job in the spec of a portrait, checked for what makes it run.

use evenkeel_api::portrait_spec::{ExternalJobAlgorithm, JobTemplate, PortraitSpec};
use evenkeel_objects::raw_json;
use evenkeel_objects::raw_json::TooMuch;
use serde_json::Value;

/// A job that is not run, with its place below `externalJob`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("externalJob{path}: accepted: {accepted}")]
pub struct JobError {
    /// The place, empty or beginning with a dot.
    pub path: String,
    pub accepted: &'static str,
}

impl JobError {
    /// The kind of error, for conditions, Events and metrics.
    pub const fn reason(&self) -> &'static str {
        "ExternalJob"
    }

    fn at(path: impl Into<String>, accepted: &'static str) -> Self {
        Self {
            path: path.into(),
            accepted,
        }
    }
}

/// The template of the job of a portrait, and the spec of a CronJob in it, looked through for what makes it run; the
/// rest is for the API server to check.
///
/// # Errors
/// The first thing in it that is not accepted.
pub(crate) fn check(spec: &PortraitSpec) -> Result<(&JobTemplate, Value), JobError> {
    let Some(ExternalJobAlgorithm { job, result_source }) = spec.external_job() else {
        return Err(JobError::at("", "a job and where it leaves its result"));
    };
    if result_source
        .as_ref()
        .is_some_and(|source| source.kind != "ConfigMap")
    {
        return Err(JobError::at(".resultSource.type", "ConfigMap"));
    }
    let template = match (job.kind.as_str(), &job.cron_job) {
        ("CronJob", Some(cron_job)) => &cron_job.template,
        _ => return Err(JobError::at(".job", "type CronJob with cronJob")),
    };
    let path = ".job.cronJob.template.spec";
    let spec = template.spec.value();
    let spec = spec.map_err(|TooMuch| JobError::at(path, raw_json::ACCEPTED))?;
    if !spec["schedule"].is_string() {
        let path = format!("{path}.schedule");
        return Err(JobError::at(path, "the schedule of a CronJob"));
    }
    let pod = "jobTemplate.spec.template.spec";
    let containers = &spec["jobTemplate"]["spec"]["template"]["spec"]["containers"];
    let containers = containers.as_array().map_or(&[][..], Vec::as_slice);
    let is_complete = |one: &Value| one["name"].is_string() && one["image"].is_string();
    if containers.is_empty() || !containers.iter().all(is_complete) {
        let path = format!("{path}.{pod}.containers");
        let accepted = "at least one container, each with a name and an image";
        return Err(JobError::at(path, accepted));
    }
    Ok((template, spec))
}
