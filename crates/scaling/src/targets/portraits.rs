//! The portraits of a target as a tick reads them, and the stability checks with the questions that they ask.

use std::sync::Arc;

use evenkeel_api::cron_hpa::spec::ScaledRef;
use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_hpa::MetricSpec;
use evenkeel_metrics::signal::Signal;
use jiff::Timestamp;

use super::reference::TargetRef;
use super::signal_query::SignalQuerySource;
use crate::external_checks::{ChangeAsked, CheckQuestion};
use crate::merge::recommendation::Recommendation;
use crate::recommend::merged_portraits::{PortraitInput, ProviderRef, StabilityCheck};
use crate::stability::{Checker, ErrorRate, MetricBound, PausedChange, PodsReady};
use crate::staged_change::{ReplicaProgress, StagedBehavior, StagedChange};

/// The portraits of a target, with what is under way.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetPortraits {
    /// The recommendations of the providers that need no loads.
    pub given: Vec<Recommendation>,
    pub reactive: Option<ProviderRef>,
    pub predictive: Option<ProviderRef>,
    pub behavior: StagedBehavior,
    /// The counts that are written in the cluster at present.
    pub counts: ReplicaCounts,
    /// The progress of the IHPA's own ReplicaProfile with these counts, if it sets the count.
    pub reached: Option<ReplicaProgress>,
    /// The part that a ReplicaProfile of the IHPA's has in it.
    pub profile: ProfileRole,
    /// The change that is under way.
    pub change: Option<StagedChange>,
    /// The changes that failed checks hold.
    pub holds: Vec<PausedChange>,
    /// The moment in the user's request to go on.
    pub resume: Option<Timestamp>,
    pub checks: Vec<TargetCheck>,
    /// The count that was last told of.
    pub told: Option<i32>,
    pub generation: Option<i64>,
    /// True for a count of 0 that the user has set.
    pub rests_at_zero: bool,
}

/// The part that an IHPA's own ReplicaProfile has in setting the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileRole {
    /// It says how many Pods do what, and sets the count: Pods wait out of traffic before they are deleted.
    SetsCount,
    /// The count is set without it.
    None,
    /// The same, and this installation does not follow ReplicaProfiles.
    NotFollowed,
}

/// A stability check, with what it asks.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetCheck {
    pub checker: Checker,
    pub subjects: Vec<CheckSubject>,
}

/// One thing that a check looks at.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckSubject {
    /// A metric against a bound.
    Metric {
        metric: Box<MetricSpec>,
        bound: MetricBound,
        question: SignalQuerySource,
    },
    /// The share of requests that fail, by two queries.
    Errors {
        rate: ErrorRate,
        errors: Box<Signal>,
        requests: Box<Signal>,
        questions: [SignalQuerySource; 2],
    },
    /// The readiness of the Pods.
    Ready(PodsReady),
    /// An endpoint outside of Evenkeel, which is asked.
    External(CheckQuestion),
    /// A question that may not or cannot be asked, with the reason in words.
    Refused(Arc<str>),
}

impl CheckSubject {
    /// The signals that it reads, each with its question.
    fn asked(&self) -> impl Iterator<Item = (&Signal, &SignalQuerySource)> {
        let asked = match self {
            Self::Metric {
                metric, question, ..
            } => match &**metric {
                MetricSpec::Known(signal, _) => [Some((signal, question)), None],
                MetricSpec::Unknown(_) => [None, None],
            },
            Self::Errors {
                errors,
                requests,
                questions: [of_errors, of_requests],
                ..
            } => [
                Some((&**errors, of_errors)),
                Some((&**requests, of_requests)),
            ],
            Self::Ready(_) | Self::External(_) | Self::Refused(_) => [None, None],
        };
        asked.into_iter().flatten()
    }
}

impl TargetPortraits {
    /// True while a change is under way, or held: only then a check has something to say.
    pub(crate) const fn are_checked(&self) -> bool {
        self.change.is_some() || !self.holds.is_empty()
    }

    /// The signals that its checks read at present, each with its question.
    pub(crate) fn asked(&self) -> impl Iterator<Item = (&Signal, &SignalQuerySource)> {
        let checks = self.checks.iter().filter(|_| self.are_checked());
        checks.flat_map(|check| check.subjects.iter().flat_map(CheckSubject::asked))
    }

    /// The questions that its checks have for others at present.
    pub fn questions(&self) -> impl Iterator<Item = &CheckQuestion> {
        let checks = self.checks.iter().filter(|_| self.are_checked());
        let subjects = checks.flat_map(|check| &check.subjects);
        subjects.filter_map(|subject| match subject {
            CheckSubject::External(question) => Some(question),
            _ => None,
        })
    }

    /// The change of `target` that they are asked about; `None` while there is none. A held change that no provider
    /// wants at present goes from the current counts to the same counts.
    pub(crate) fn change_asked(&self, target: &TargetRef) -> Option<ChangeAsked> {
        let asked = |direction, from| ChangeAsked {
            target: ScaledRef {
                api_version: Some(target.object().api_resource().api_version),
                kind: target.kind().to_owned(),
                name: target.name().to_owned(),
            },
            direction,
            from,
            to: self.counts.online,
            online: self.counts.online,
            stepped: None,
        };
        match (&self.change, self.holds.first()) {
            (Some(change), _) => Some(ChangeAsked {
                to: change.to,
                online: change.online,
                stepped: change.stepped,
                ..asked(change.direction(), change.begun)
            }),
            (None, Some(hold)) => Some(asked(hold.direction, self.counts)),
            (None, None) => None,
        }
    }

    /// The input of a tick from them; `checks` are the checks of these portraits with their results.
    pub fn input<'a>(&'a self, checks: &'a [StabilityCheck]) -> PortraitInput<'a> {
        PortraitInput {
            given: &self.given,
            reactive: self.reactive.as_ref(),
            predictive: self.predictive.as_ref(),
            behavior: &self.behavior,
            counts: self.counts,
            reached: self.reached,
            change: self.change.as_ref(),
            checks,
            holds: &self.holds,
            resume: self.resume,
            told: self.told,
            generation: self.generation,
            rests_at_zero: self.rests_at_zero,
        }
    }
}
