//! What a tick has learned for the stability checks of a target: values of metrics as the HPA's algorithm comes to
//! them, and the words of others; and whom it wants asked.

use jiff::{SignedDuration, Timestamp};

use super::tick::Tick;
use crate::external_checks::{self, AboutChange, WantedCheck};
use evenkeel_core::scaling::hpa::MetricSpec;
use evenkeel_core::scaling::signal::{Signal, Target};
use evenkeel_core::scaling::stability::Reading;
use evenkeel_core::scaling::{Check, Evidence};
use evenkeel_kubernetes::plan::scaling::{
    HpaInput, Observed, Question, Subject, TargetCheck, TargetPortraits,
};

/// The checks of a target with what was learned for each; none while no change is under way.
pub(super) fn learned(
    observed: &Observed,
    portraits: &TargetPortraits,
    measured: Option<&HpaInput>,
    tick: &Tick<'_>,
) -> Vec<Check> {
    let learning = Learning {
        observed,
        portraits,
        measured,
        tick,
    };
    portraits
        .checks
        .iter()
        .map(|check| learning.check(check))
        .collect()
}

/// The external checks of a target that are to be asked.
pub(super) fn wanted(
    observed: &Observed,
    portraits: &TargetPortraits,
) -> impl Iterator<Item = WantedCheck> {
    let change = portraits.change_asked(&observed.target).map(AboutChange);
    portraits.questions().map(move |question| WantedCheck {
        question: question.clone(),
        purpose: change.clone(),
    })
}

struct Learning<'a> {
    observed: &'a Observed,
    portraits: &'a TargetPortraits,
    measured: Option<&'a HpaInput>,
    tick: &'a Tick<'a>,
}

impl Learning<'_> {
    fn check(&self, check: &TargetCheck) -> Check {
        let subjects = check.subjects.iter();
        Check {
            checker: check.checker.clone(),
            evidence: subjects.map(|subject| self.evidence(subject)).collect(),
        }
    }

    fn evidence(&self, subject: &Subject) -> Evidence {
        match subject {
            Subject::Metric {
                metric,
                bound,
                question,
            } => Evidence::Metric {
                bound: bound.clone(),
                reading: self.value(metric, question),
            },
            Subject::Errors {
                rate,
                errors,
                requests,
                questions: [of_errors, of_requests],
            } => Evidence::Errors {
                rate: *rate,
                errors: self.errors(errors, of_errors),
                requests: self.value(&whole(requests), of_requests),
            },
            Subject::Ready(ready) => Evidence::Ready(*ready),
            Subject::External(question) => {
                let stepped = self.portraits.change.and_then(|change| change.stepped);
                external_checks::evidence(self.tick.checks.get(question), stepped)
            }
            Subject::Refused(why) => Evidence::Refused(why.to_string()),
        }
    }

    /// The errors, of which there are none where there is nothing in the answer: until the first one, there is no series of
    /// them.
    fn errors(&self, errors: &Signal, question: &Question) -> Option<Reading> {
        if let Question::Asked(query) = question
            && let Some(at) = self.tick.signals.get(query)?.empty_at()
        {
            return Some(Reading {
                milli: 0,
                since: self.begins(at, question),
                at,
            });
        }
        self.value(&whole(errors), question)
    }

    /// The value of a metric, with the times that it speaks of: no answer tells of a time after it was asked for.
    fn value(&self, metric: &MetricSpec, question: &Question) -> Option<Reading> {
        let MetricSpec::Known(signal, _) = metric else {
            return None;
        };
        let asked = self.asked(signal, question)?;
        let current = self.portraits.counts.total();
        let measured = self.measured?;
        let value = measured.value(&self.observed.target, metric, current, self.tick.now)?;
        Some(Reading {
            milli: value.milli,
            since: self.begins(value.since.min(asked), question),
            at: value.until.min(asked),
        })
    }

    /// The begin of what a value speaks of, as far as its answer tells that it begins at `at`.
    fn begins(&self, at: Timestamp, question: &Question) -> Timestamp {
        let look_back = match question {
            Question::Measured => SignedDuration::ZERO,
            Question::Asked(query) => {
                let reading = self.tick.signals.get(query);
                reading.map_or(SignedDuration::ZERO, |reading| reading.look_back)
            }
        };
        at.checked_sub(look_back).unwrap_or(Timestamp::MIN)
    }

    fn asked(&self, signal: &Signal, question: &Question) -> Option<Timestamp> {
        match question {
            Question::Measured => self.tick.sample?.asked(signal),
            Question::Asked(query) => {
                let answer = self.tick.signals.get(query)?.answer.as_ref()?;
                Some(answer.fetched_at)
            }
        }
    }
}

/// A value that is compared as it is.
fn whole(signal: &Signal) -> MetricSpec {
    MetricSpec::new(signal.clone(), Target::Value(1000))
}
