//! What a tick has learned for the stability checks of a target: values of metrics as the HPA's algorithm comes to
//! them.

use jiff::Timestamp;

use super::tick::Tick;
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
                errors: self.value(&whole(errors), of_errors),
                requests: self.value(&whole(requests), of_requests),
            },
            Subject::Ready(ready) => Evidence::Ready(*ready),
            Subject::Refused(why) => Evidence::Refused(why.to_string()),
        }
    }

    /// The value of a metric, as of the moment at which it was asked for.
    fn value(&self, metric: &MetricSpec, question: &Question) -> Option<Reading> {
        let MetricSpec::Known(signal, _) = metric else {
            return None;
        };
        let at = self.asked(signal, question)?;
        let current = self.portraits.counts.total();
        let measured = self.measured?;
        let milli = measured.value(&self.observed.target, metric, current, self.tick.now)?;
        Some(Reading { milli, at })
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
