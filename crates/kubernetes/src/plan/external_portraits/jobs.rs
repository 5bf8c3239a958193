//! The CronJob of a HorizontalPortrait.

use serde_json::{Value, json};

use super::observed::{Found, Settings};
use crate::horizontal_portrait::{CheckedHorizontalPortrait, HorizontalPortrait};
use crate::kinds::Kind;
use crate::object_ref::ObjectRef;
use crate::plan::{Operation, Purpose, Write};
use crate::portrait_job::{JobError, TEMPLATE_HASH, cron_job};

/// The reason why no job runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum JobProblem {
    #[error("spec.algorithm.{0}")]
    Template(#[from] JobError),
    #[error("jobs are not run: scaling.externalAlgorithms is not on in Evenkeel's configuration")]
    Off,
    #[error(
        "no job runs in the namespace of Evenkeel itself, by whose ServiceAccounts it could write as Evenkeel does"
    )]
    OwnNamespace,
    #[error("there is a CronJob {0} that somebody else has made, and it is left as it is")]
    Conflict(String),
    #[error(
        "the namespace has {0} jobs of external algorithms already, which is the most that one may have"
    )]
    TooMany(usize),
    #[error("its autoscaler does not name it any more, and its job is suspended")]
    NotNamed,
}

impl JobProblem {
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::Template(error) => error.reason(),
            Self::Off => "JobsOff",
            Self::OwnNamespace => "OwnNamespace",
            Self::Conflict(_) => "JobConflict",
            Self::TooMany(_) => "TooManyJobs",
            Self::NotNamed => "NotNamed",
        }
    }
}

/// The room that there is for a job.
pub(super) struct Room<'a> {
    pub(super) settings: &'a Settings,
    /// The jobs that run in the namespace; one more once this one does.
    pub(super) count: &'a mut usize,
    /// False where its autoscaler does not name the HorizontalPortrait any more.
    pub(super) is_asked_for: bool,
}

/// The write that brings the CronJob in line; `None` where it is.
pub(super) fn plan(
    portrait: &CheckedHorizontalPortrait,
    found: &Found,
    room: Room<'_>,
) -> Result<Option<Write>, JobProblem> {
    let object = &portrait.object;
    let Room {
        settings,
        count,
        is_asked_for,
    } = room;
    let own = found
        .cron_job
        .as_ref()
        .filter(|job| belongs_to(job, object));
    let is_refused = if !settings.runs_jobs {
        Some(JobProblem::Off)
    } else if !is_asked_for {
        Some(JobProblem::NotNamed)
    } else {
        None
    };
    if let Some(problem) = is_refused {
        // What runs already is not left to run for nobody.
        return match own.map(suspended) {
            Some(Some(write)) => Ok(Some(write)),
            Some(None) | None => Err(problem),
        };
    }
    if object.metadata.namespace.as_deref() == Some(settings.own_namespace.as_str()) {
        return Err(JobProblem::OwnNamespace);
    }
    let job = cron_job(object)?;
    *count += 1;
    let Some(there) = &found.cron_job else {
        if *count > settings.most_jobs {
            return Err(JobProblem::TooMany(settings.most_jobs));
        }
        return Ok(Some(write(&job, Operation::Create(job.clone()))));
    };
    if own.is_none() {
        let name = there["metadata"]["name"].as_str().unwrap_or_default();
        return Err(JobProblem::Conflict(name.to_owned()));
    }
    let hash = |job: &Value| job["metadata"]["annotations"][TEMPLATE_HASH].clone();
    let is_suspended = there["spec"]["suspend"] == true && job["spec"]["suspend"] != true;
    if hash(there) == hash(&job) && !is_suspended {
        return Ok(None);
    }
    let body = json!({
        "metadata": {
            "resourceVersion": there["metadata"]["resourceVersion"],
            "labels": job["metadata"]["labels"],
            "annotations": job["metadata"]["annotations"],
        },
        "spec": crate::json::merge_patch(&there["spec"], &job["spec"]),
    });
    Ok(Some(write(&job, Operation::Merge(body))))
}

fn belongs_to(job: &Value, portrait: &HorizontalPortrait) -> bool {
    let owners = job["metadata"]["ownerReferences"].as_array();
    let uid = portrait.metadata.uid.as_deref();
    owners.into_iter().flatten().any(|owner| {
        owner["kind"] == Kind::HorizontalPortrait.as_str()
            && owner["uid"].as_str() == uid
            && owner["controller"] == true
    })
}

/// The write that suspends a job, unless it is.
fn suspended(job: &Value) -> Option<Write> {
    let body = json!({
        "metadata": {"resourceVersion": job["metadata"]["resourceVersion"]},
        "spec": {"suspend": true},
    });
    (job["spec"]["suspend"] != true).then(|| write(job, Operation::Merge(body)))
}

fn write(job: &Value, operation: Operation) -> Write {
    let text = |key: &str| job["metadata"][key].as_str().unwrap_or_default();
    let target = ObjectRef::in_namespace(Kind::CronJob, text("namespace"), text("name"));
    Write::new(Purpose::Portrait, target, operation)
}
