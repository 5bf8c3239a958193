//! The CronJobs of HorizontalPortraits.
//!
//! Jobs that run already count first, so that a new job with an earlier name cannot displace them. If a namespace
//! has more jobs than it may have, the last are suspended. A job that has not been looked up yet counts as one
//! that runs.

use std::collections::{BTreeMap, HashMap};

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::{Purpose, Write, WriteOperation};
use serde_json::{Value, json};

use super::cron_job::{TEMPLATE_HASH, cron_job, job_name};
use super::portrait_objects::{
    ExternalPortraitObjects, FoundJob, NamespacedName, Settings, key_of,
};
use super::portrait_writes;
use super::portrait_writes::Authorship;
use crate::specs::external_job::JobError;
use crate::specs::horizontal_portrait::HorizontalPortrait;

/// The reason why no job runs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobProblem {
    #[error("spec.algorithm.{0}")]
    Template(#[from] JobError),
    #[error("jobs are not run: scaling.externalAlgorithms is off in Evenkeel's configuration")]
    Off,
    #[error(
        "jobs do not run in Evenkeel's own namespace, because they could use its ServiceAccounts"
    )]
    OwnNamespace,
    #[error("a CronJob {0} exists that Evenkeel did not create, and it stays as it is")]
    Conflict(String),
    #[error(
        "the namespace already has {0} jobs of external algorithms, the most that \
         scaling.externalJobsPerNamespace allows"
    )]
    TooMany(usize),
    #[error("its autoscaler no longer names it, so its job is suspended")]
    NotNamed,
}

impl JobProblem {
    /// The kind of problem, for conditions.
    pub const fn reason(&self) -> &'static str {
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

/// The writes that the jobs need, and the problems with jobs.
#[derive(Debug, Default)]
pub struct JobPlan {
    pub writes: Vec<Write>,
    /// Why no job runs, by the HorizontalPortrait.
    pub problems: HashMap<NamespacedName, JobProblem>,
}

/// A HorizontalPortrait with a job that may run, and the CronJob found for it; `None` before the first look-up.
struct JobCandidate<'a> {
    portrait: &'a HorizontalPortrait,
    key: NamespacedName,
    found: Option<&'a Option<FoundJob>>,
}

impl JobCandidate<'_> {
    /// The CronJob, where it is its own.
    fn own(&self) -> Option<&FoundJob> {
        let job = self.found?.as_ref()?;
        job.belongs_to(self.portrait).then_some(job)
    }

    /// True for what counts before all others: what runs, or may run for all that is known.
    fn runs(&self) -> bool {
        self.found.is_none() || self.own().is_some_and(|job| !job.is_suspended())
    }
}

/// The writes that bring CronJobs in line, and why some do not run.
pub fn jobs(observed: &ExternalPortraitObjects<'_>, settings: &Settings) -> JobPlan {
    let mut plan = JobPlan {
        writes: outside(observed, Purpose::Portrait),
        ..JobPlan::default()
    };
    let mut by_namespace: BTreeMap<String, Vec<JobCandidate<'_>>> = BTreeMap::new();
    for checked in observed.portraits {
        let portrait = &checked.object;
        let Some(key) = key_of(portrait) else {
            continue;
        };
        if portrait.spec.portrait.external_job().is_none() {
            continue;
        }
        let is_refused = if !settings.runs_jobs {
            Some(JobProblem::Off)
        } else if key.0 == settings.own_namespace {
            Some(JobProblem::OwnNamespace)
        } else {
            match portrait_writes::authorship(checked, observed.ihpas) {
                Authorship::Confirmed => None,
                // Its job stays as it is until both say the same.
                Authorship::Differs => continue,
                Authorship::NotNamed => Some(JobProblem::NotNamed),
            }
        };
        let candidate = JobCandidate {
            portrait,
            found: observed.jobs.get(&key),
            key,
        };
        if let Some(problem) = is_refused {
            plan.refuse(&candidate, problem);
        } else {
            let all = by_namespace.entry(candidate.key.0.clone());
            all.or_default().push(candidate);
        }
    }
    for mut candidates in by_namespace.into_values() {
        candidates.sort_by_key(|one| !one.runs());
        plan.namespace(&candidates, settings.most_jobs);
    }
    plan
}

/// The writes that suspend every job, since nothing of Evenkeel's is to be left at work.
pub fn restore(observed: &ExternalPortraitObjects<'_>) -> Vec<Write> {
    let checked = observed.portraits.iter().map(|one| &*one.object);
    let own = checked.filter_map(|portrait| suspend(observed, portrait, Purpose::Restore));
    own.chain(outside(observed, Purpose::Restore)).collect()
}

/// The writes that suspend jobs in namespaces that have not opted in.
fn outside(observed: &ExternalPortraitObjects<'_>, purpose: Purpose) -> Vec<Write> {
    let outlines = observed.outlines.iter();
    let writes = outlines.filter_map(|portrait| suspend(observed, portrait, purpose));
    writes.collect()
}

fn suspend(
    observed: &ExternalPortraitObjects<'_>,
    portrait: &HorizontalPortrait,
    purpose: Purpose,
) -> Option<Write> {
    let job = observed.jobs.get(&key_of(portrait)?)?.as_ref()?;
    suspended(job, portrait, purpose)
}

impl JobPlan {
    /// Records the problem, and suspends the job if it runs already.
    fn refuse(&mut self, candidate: &JobCandidate<'_>, problem: JobProblem) {
        let own = candidate.own();
        let write = own.and_then(|job| suspended(job, candidate.portrait, Purpose::Portrait));
        self.writes.extend(write);
        self.problems.insert(candidate.key.clone(), problem);
    }

    /// The jobs of one namespace, in the order in which they may run.
    fn namespace(&mut self, candidates: &[JobCandidate<'_>], most: usize) {
        let mut count = 0;
        for candidate in candidates {
            let Some(found) = candidate.found else {
                count += 1;
                continue;
            };
            let job = match cron_job(candidate.portrait) {
                Ok(job) => job,
                Err(error) => {
                    // The CronJob of the spec before still runs.
                    count += usize::from(candidate.runs());
                    self.problems.insert(candidate.key.clone(), error.into());
                    continue;
                }
            };
            if found.is_some() && candidate.own().is_none() {
                let name = job_name(&candidate.key.1);
                self.refuse(candidate, JobProblem::Conflict(name));
                continue;
            }
            if count >= most {
                self.refuse(candidate, JobProblem::TooMany(most));
                continue;
            }
            count += 1;
            self.writes.extend(match candidate.own() {
                None => Some(write(candidate.portrait, WriteOperation::Create(job))),
                Some(there) => follow(candidate.portrait, there, &job),
            });
        }
    }
}

/// The write that brings a CronJob in line with what it is made from; `None` where it is.
fn follow(portrait: &HorizontalPortrait, there: &FoundJob, job: &Value) -> Option<Write> {
    let hash = job["metadata"]["annotations"][TEMPLATE_HASH].as_str();
    let is_held = there.is_suspended() && job["spec"]["suspend"] != true;
    if there.hash() == hash && !is_held {
        return None;
    }
    let mut patch = at_version(there);
    for (key, text) in job["metadata"]["annotations"].as_object()? {
        let text = text.as_str().map(str::to_owned);
        patch.annotate(key, false, text);
    }
    patch.change(
        &["metadata", "labels"],
        true,
        job["metadata"]["labels"].clone(),
    );
    patch.change(&["spec"], true, job["spec"].clone());
    Some(write(portrait, WriteOperation::Conditional(patch)))
}

/// The write that suspends a job, unless it is, or is not that of the HorizontalPortrait.
fn suspended(job: &FoundJob, portrait: &HorizontalPortrait, purpose: Purpose) -> Option<Write> {
    let mut patch = at_version(job);
    patch.change(&["spec", "suspend"], true, json!(true));
    let write = Write {
        purpose,
        ..write(portrait, WriteOperation::Conditional(patch))
    };
    (!job.is_suspended() && job.belongs_to(portrait)).then_some(write)
}

fn at_version(job: &FoundJob) -> ConditionalPatch {
    let mut patch = ConditionalPatch::of(&job.metadata);
    let version = json!(job.metadata.resource_version);
    patch.expect(&["metadata", "resourceVersion"], version);
    patch
}

fn write(portrait: &HorizontalPortrait, operation: WriteOperation) -> Write {
    let (namespace, name) = key_of(portrait).unwrap_or_default();
    let target = ObjectRef::in_namespace(Kind::CronJob, namespace, job_name(&name));
    Write::new(Purpose::Portrait, target, operation)
}
