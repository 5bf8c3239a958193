//! The known values of a target's signals at a tick: from the newest round of measurements, and
//! from the target's own queries.

use std::sync::Arc;

use evenkeel_hpa::Readings;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::metric_query::{MetricQuery, MetricSubject};
use evenkeel_metrics::signal::Signal;
use jiff::Timestamp;

use super::input_output::ScalingTickInput;
use super::query_answers::{CachedAnswer, SignalRequest};
use super::samples;
use crate::load::observation::SignalSamples;
use crate::targets::problem::TargetProblem;
use crate::targets::scaling_target::ScalingTarget;
use crate::targets::signal_query::{SignalQuerySource, tells_of_the_past};
use crate::targets::target_objects::TargetObjects;

/// The samples of a target's signals.
#[derive(Debug, Default)]
pub(super) struct SignalAnswers {
    pub(super) samples: Vec<(Signal, SignalSamples)>,
    /// When the answer for each of them was asked for.
    pub(super) asked: Vec<(Signal, Timestamp)>,
    /// The signals that Prometheus is asked for by themselves and has a past of, with the text of each
    /// query.
    pub(super) queries: Vec<(Signal, Arc<str>)>,
    /// The signals that have not been answered for too long.
    pub(super) problems: Vec<TargetProblem>,
}

/// The known values of a target's signals; its own queries are added to `wanted`.
pub(super) fn signal_answers(
    observed: &TargetObjects,
    target: &ScalingTarget,
    tick: &ScalingTickInput<'_>,
    wanted: &mut Vec<SignalRequest>,
) -> SignalAnswers {
    let mut known = SignalAnswers::default();
    for (signal, question) in target.asked() {
        match question {
            SignalQuerySource::Measured => known.of_round(observed, signal, tick),
            SignalQuerySource::Asked(query) => {
                known.of_question(observed, signal, query, tick);
                if let MetricSubject::PromQl(text) = &query.subject
                    && let Signal::PromQl(asked) = signal
                    && tells_of_the_past(observed, asked)
                {
                    let text = Arc::clone(text);
                    known.queries.push((signal.clone(), text));
                }
                wanted.push(SignalRequest::of(query, &observed.pods.members));
            }
        }
    }
    known
}

/// The readings of the HPA's algorithm for a target that no HPA scales. An answer that is older
/// than samples may be counts as missing, with the reason why there is no newer one.
pub(super) fn readings(
    observed: &TargetObjects,
    target: &ScalingTarget,
    tick: &ScalingTickInput<'_>,
) -> Readings {
    let TargetObjects {
        namespace, pods, ..
    } = observed;
    let max_age = tick.settings.max_age;
    let mut readings = tick.sample.map_or_else(samples::unmeasured, |sample| {
        sample.readings(namespace, &pods.members, tick.now, max_age)
    });
    for (signal, question) in target.asked() {
        if let SignalQuerySource::Asked(query) = question {
            let answer = fresh(tick.signals.get(query), tick);
            readings.others.insert(signal.clone(), answer);
        }
    }
    readings
}

/// The answer to a question, unless it is too old.
fn fresh(
    known: Option<&CachedAnswer<MetricsApiReading>>,
    tick: &ScalingTickInput<'_>,
) -> Result<MetricsApiReading, String> {
    let Some(reading) = known else {
        return Err("it has not been queried yet".to_owned());
    };
    let is_fresh = |at: Timestamp| tick.now.duration_since(at) <= tick.settings.max_age;
    let answer = reading.answer.as_ref();
    match answer.filter(|entry| is_fresh(entry.fetched_at)) {
        Some(entry) => Ok(MetricsApiReading::clone(&entry.value)),
        None => Err(reading.error().map_or_else(
            || "there is no recent answer yet".to_owned(),
            ToString::to_string,
        )),
    }
}

impl SignalAnswers {
    fn of_round(&mut self, observed: &TargetObjects, signal: &Signal, tick: &ScalingTickInput<'_>) {
        let Some(sample) = tick.sample else { return };
        let samples = sample.samples(&observed.namespace, &observed.pods.members, signal);
        let Some((samples, asked)) = samples.zip(sample.asked(signal)) else {
            return;
        };
        self.samples.push((signal.clone(), samples));
        self.asked.push((signal.clone(), asked));
    }

    fn of_question(
        &mut self,
        observed: &TargetObjects,
        signal: &Signal,
        query: &MetricQuery,
        tick: &ScalingTickInput<'_>,
    ) {
        let Some(reading) = tick.signals.get(query) else {
            return;
        };
        let answer = reading.answer.as_ref();
        let is_old = |at: Timestamp| tick.now.duration_since(at) > tick.settings.max_age;
        if let Some(error) = reading.error()
            && answer.is_none_or(|entry| is_old(entry.fetched_at))
        {
            self.problems.push(TargetProblem::SignalUnknown {
                signal: Box::new(signal.clone()),
                why: error.to_string(),
            });
        }
        let Some(entry) = answer else { return };
        let Some(samples) = SignalSamples::of(&entry.value, &observed.pods.members) else {
            return;
        };
        self.asked.push((signal.clone(), entry.fetched_at));
        self.samples.push((signal.clone(), samples));
    }
}
