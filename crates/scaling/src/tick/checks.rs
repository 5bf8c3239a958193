//! The input of a tick to a target's stability checks: metric values as the HPA's algorithm
//! computes them, and the answers of external checks. It also lists the external checks to ask.

use evenkeel_hpa::MetricSpec;
use evenkeel_metrics::signal::{MetricTarget, Signal};
use jiff::{SignedDuration, Timestamp};

use super::input_output::ScalingTickInput;
use super::query_answers::{CachedAnswer, CheckRequest};
use crate::external_checks::StepCheckAnswer;
use crate::recommend::merged_portraits::{CheckInput, StabilityCheck};
use crate::stability::{CheckReading, ExternalCheckAnswer};
use crate::targets::hpa_input::HpaInput;
use crate::targets::portraits::{CheckSubject, TargetCheck, TargetPortraits};
use crate::targets::signal_query::SignalQuerySource;
use crate::targets::target_objects::TargetObjects;

/// The checks of a target with what was learned for each; none while no change is under way.
pub(super) fn learned(
    observed: &TargetObjects,
    portraits: &TargetPortraits,
    measured: Option<&HpaInput>,
    tick: &ScalingTickInput<'_>,
) -> Vec<StabilityCheck> {
    let learning = CheckInputs {
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
    observed: &TargetObjects,
    portraits: &TargetPortraits,
) -> impl Iterator<Item = CheckRequest> {
    let change = portraits.change_asked(&observed.target);
    portraits.questions().map(move |question| CheckRequest {
        question: question.clone(),
        purpose: change.clone(),
    })
}

struct CheckInputs<'a> {
    observed: &'a TargetObjects,
    portraits: &'a TargetPortraits,
    measured: Option<&'a HpaInput>,
    tick: &'a ScalingTickInput<'a>,
}

impl CheckInputs<'_> {
    fn check(&self, check: &TargetCheck) -> StabilityCheck {
        let subjects = check.subjects.iter();
        StabilityCheck {
            checker: check.checker.clone(),
            evidence: subjects.map(|subject| self.evidence(subject)).collect(),
        }
    }

    fn evidence(&self, subject: &CheckSubject) -> CheckInput {
        match subject {
            CheckSubject::Metric {
                metric,
                bound,
                question,
            } => CheckInput::Metric {
                bound: bound.clone(),
                reading: self.value(metric, question),
            },
            CheckSubject::Errors {
                rate,
                errors,
                requests,
                questions: [of_errors, of_requests],
            } => CheckInput::Errors {
                rate: *rate,
                errors: self.errors(errors, of_errors),
                requests: self.value(&whole(requests), of_requests),
            },
            CheckSubject::Ready(ready) => CheckInput::Ready(*ready),
            CheckSubject::External(question) => {
                let stepped = self.portraits.change.and_then(|change| change.stepped);
                external_evidence(self.tick.checks.get(question), stepped)
            }
            CheckSubject::Refused(why) => CheckInput::Refused(why.to_string()),
        }
    }

    /// The errors, of which there are none where there is nothing in the answer: until the first one, there is no series of
    /// them.
    fn errors(&self, errors: &Signal, question: &SignalQuerySource) -> Option<CheckReading> {
        if let SignalQuerySource::Asked(query) = question
            && let Some(at) = self.tick.signals.get(query)?.empty_at()
        {
            return Some(CheckReading {
                milli: 0,
                since: self.begins(at, question),
                at,
            });
        }
        self.value(&whole(errors), question)
    }

    /// The value of a metric, with the times that it speaks of: no answer tells of a time after it was asked for.
    fn value(&self, metric: &MetricSpec, question: &SignalQuerySource) -> Option<CheckReading> {
        let MetricSpec::Known(signal, _) = metric else {
            return None;
        };
        let asked = self.asked(signal, question)?;
        let current = self.portraits.counts.total();
        let measured = self.measured?;
        let value = measured.value(&self.observed.target, metric, current, self.tick.now)?;
        Some(CheckReading {
            milli: value.milli,
            since: self.begins(value.since.min(asked), question),
            at: value.until.min(asked),
        })
    }

    /// The begin of what a value speaks of, as far as its answer tells that it begins at `at`.
    fn begins(&self, at: Timestamp, question: &SignalQuerySource) -> Timestamp {
        let look_back = match question {
            SignalQuerySource::Measured => SignedDuration::ZERO,
            SignalQuerySource::Asked(query) => {
                let reading = self.tick.signals.get(query);
                reading.map_or(SignedDuration::ZERO, |reading| reading.look_back)
            }
        };
        at.checked_sub(look_back).unwrap_or(Timestamp::MIN)
    }

    fn asked(&self, signal: &Signal, question: &SignalQuerySource) -> Option<Timestamp> {
        match question {
            SignalQuerySource::Measured => self.tick.sample?.asked(signal),
            SignalQuerySource::Asked(query) => {
                let answer = self.tick.signals.get(query)?.answer.as_ref()?;
                Some(answer.fetched_at)
            }
        }
    }
}

/// A value that is compared as it is.
fn whole(signal: &Signal) -> MetricSpec {
    MetricSpec::new(signal.clone(), MetricTarget::Value(1000))
}

/// The newest word on the step that was made at `stepped`. One on another step says nothing of it, even where it was
/// asked for after it: that step had not been told of yet.
fn external_evidence(
    known: Option<&CachedAnswer<StepCheckAnswer>>,
    stepped: Option<Timestamp>,
) -> CheckInput {
    let answer = known.and_then(|known| known.answer.as_ref());
    let answer = answer.filter(|entry| entry.value.stepped == stepped);
    let error = known.and_then(CachedAnswer::error);
    CheckInput::External {
        answer: answer.map(|entry| ExternalCheckAnswer {
            passes: entry.value.answer.passes,
            message: entry.value.answer.message.clone(),
            at: entry.fetched_at,
        }),
        failure: error.map(ToString::to_string),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::external_checks::CheckAnswer;
    use crate::tick::query_answers::{CachedValue, FailedQuery};

    #[test]
    fn a_word_on_another_step_says_nothing_of_the_last() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let known = CachedAnswer {
            answer: Some(CachedValue {
                value: Arc::new(StepCheckAnswer {
                    answer: CheckAnswer {
                        passes: true,
                        message: "well".to_owned(),
                    },
                    stepped: Some(at(10)),
                }),
                fetched_at: at(25),
            }),
            failed: Some(FailedQuery {
                error: Arc::new("HTTP 503"),
                attempted_at: at(40),
                is_empty: false,
            }),
            look_back: SignedDuration::ZERO,
        };
        let failure = Some("HTTP 503".to_owned());
        let answer = ExternalCheckAnswer {
            passes: true,
            message: "well".to_owned(),
            at: at(25),
        };
        for (stepped, answer) in [
            (Some(at(10)), Some(answer)),
            (Some(at(20)), None),
            (None, None),
        ] {
            let failure = failure.clone();
            let expected = CheckInput::External { answer, failure };
            assert_eq!(external_evidence(Some(&known), stepped), expected);
        }
        let nothing = CheckInput::External {
            answer: None,
            failure: None,
        };
        assert_eq!(external_evidence(None, None), nothing);
    }
}
