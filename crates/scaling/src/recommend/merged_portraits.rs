//! A target with a count that several providers propose: the input of a tick beside the loads, and the
//! result.
//!
//! The reaction to the load and its forecast are two of the providers. Their outcomes are known only within
//! the tick, after the loads. The same applies to the stability checks, which judge the step that follows.

use std::sync::Arc;

use evenkeel_api::replica_counts::ReplicaCounts;
use jiff::Timestamp;

use super::decision_basis::DecisionBasis;
use crate::merge::recommendation::{Ask, Provider, Recommendation};
use crate::merge::{BoundedReplicas, MergedRecommendations};
use crate::stability::{
    CheckDecision, CheckReading, CheckResult, CheckVerdict, Checker, ErrorRate,
    ExternalCheckAnswer, Freshness, MetricBound, PausedChange, PodsReady,
};
use crate::staged_change::{ReplicaProgress, StagedBehavior, StagedChange, StepResult};

/// A provider by its name and its priority, without what it comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRef {
    /// Its name is unique among the providers of one target.
    pub by: Provider,
    /// Of those that have a value, the highest holds.
    pub priority: i32,
}

impl ProviderRef {
    /// The provider of a portrait of this name.
    pub fn of_portrait(name: &Arc<str>, priority: i32) -> Self {
        let by = Provider::Other(Arc::clone(name));
        Self { by, priority }
    }

    /// Its request, with the end of the request.
    pub fn recommend(&self, (ask, until): (Ask, Option<Timestamp>)) -> Recommendation {
        Recommendation {
            by: self.by.clone(),
            priority: self.priority,
            ask,
            until,
        }
    }
}

/// The input of a tick for a target with portraits, beside its loads.
#[derive(Debug, Clone, Copy)]
pub struct PortraitInput<'a> {
    /// The providers that are known without the loads: one count, the calendar, what others have computed.
    pub given: &'a [Recommendation],
    /// The one that reacts to the load as it is now, where there is one.
    pub reactive: Option<&'a ProviderRef>,
    /// The one that forecasts it.
    pub predictive: Option<&'a ProviderRef>,
    /// The user's rules for changes of the count.
    pub behavior: &'a StagedBehavior,
    /// The counts that are written in the cluster at present.
    pub counts: ReplicaCounts,
    /// The progress towards them; `None` if they are the Pods that exist.
    pub reached: Option<ReplicaProgress>,
    /// The change that is under way.
    pub change: Option<&'a StagedChange>,
    /// The stability checks, with what was last learned for each.
    pub checks: &'a [StabilityCheck],
    /// The changes that failed checks hold, at most one in each direction.
    pub holds: &'a [PausedChange],
    /// The moment in the user's request to go on with what is held.
    pub resume: Option<Timestamp>,
    /// The count that the last decider reported.
    pub told: Option<i32>,
    /// `metadata.generation` of what is scaled, where it has one.
    pub generation: Option<i64>,
    /// True for a count of 0 that the user has set by hand, which switches scaling off as it does an HPA.
    pub rests_at_zero: bool,
}

/// A stability check, with what was last learned for it.
#[derive(Debug, Clone, PartialEq)]
pub struct StabilityCheck {
    pub checker: Checker,
    pub evidence: Vec<CheckInput>,
}

/// One thing that a check looks at.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckInput {
    /// A value against a bound.
    Metric {
        bound: MetricBound,
        reading: Option<CheckReading>,
    },
    /// The share of requests that fail.
    Errors {
        rate: ErrorRate,
        errors: Option<CheckReading>,
        requests: Option<CheckReading>,
    },
    /// The readiness of the Pods that are to be online.
    Ready(PodsReady),
    /// The newest answer of an external check on the last step, and the reason why there is no newer one.
    External {
        answer: Option<ExternalCheckAnswer>,
        failure: Option<String>,
    },
    /// Something that may not or cannot be asked for, and why in words.
    Refused(String),
}

/// The Pods of a change at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PodsNow {
    pub(crate) ready: i32,
    pub(crate) online: i32,
}

/// The outcomes of all providers at one tick, and the count that follows.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedPortraits {
    /// Every provider with its outcome.
    pub provided: Vec<Recommendation>,
    /// The one that holds, and those that were not heard.
    pub merged: MergedRecommendations,
    /// The count that the target is to have in the end.
    pub target: BoundedReplicas,
    /// The counts that it is to have now, and the change that is under way.
    pub staged: StepResult,
    /// The stability checks with their verdicts; none while nothing is under way.
    pub checked: Vec<CheckResult>,
    /// The decision that follows from them.
    pub decided: CheckDecision,
    /// The extent of what the provider that holds knows.
    pub(crate) grounds: DecisionBasis,
    /// The words of the provider that holds.
    pub(crate) because: String,
    /// True for a count of 0 that the user has set.
    pub(crate) rests_at_zero: bool,
}

impl StabilityCheck {
    /// The check with its verdict on a change that made its last step at `stepped`.
    pub(crate) fn judge(
        &self,
        pods: PodsNow,
        stepped: Option<Timestamp>,
        freshness: &Freshness,
    ) -> CheckResult {
        let evidence = self.evidence.iter();
        let verdicts = evidence.map(|one| one.judge(pods, stepped, freshness));
        CheckResult {
            checker: self.checker.clone(),
            verdict: CheckVerdict::of_all(verdicts),
        }
    }
}

impl CheckInput {
    fn judge(
        &self,
        pods: PodsNow,
        stepped: Option<Timestamp>,
        freshness: &Freshness,
    ) -> CheckVerdict {
        match self {
            Self::Metric { bound, reading } => bound.judge(*reading, freshness),
            Self::Errors {
                rate,
                errors,
                requests,
            } => rate.judge(*errors, *requests, freshness),
            Self::Ready(ready) => ready.judge(pods.ready, pods.online, stepped, freshness.now),
            Self::External { answer, failure } => {
                ExternalCheckAnswer::judge(answer.as_ref(), failure.as_deref(), freshness)
            }
            Self::Refused(why) => CheckVerdict::Unknown(why.clone()),
        }
    }
}
