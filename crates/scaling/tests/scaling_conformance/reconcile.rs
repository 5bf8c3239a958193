//! Whole reconciliations, from the JSON of an HPA to its status, Events and what is remembered.

#[path = "reconcile/given.rs"]
mod given;
#[path = "reconcile/outcome.rs"]
mod outcome;

use evenkeel_hpa as hpa;
use evenkeel_hpa::explanation::{HpaDecisionInput, RescaleHistory, explain};
use evenkeel_hpa::{
    AfterWrite, HpaMemory, HpaOutcome, ObservedTarget, ReconcileStep, Rescale, ScaleWriteError,
    TargetScale,
};
use evenkeel_label_selector::Selector;
use evenkeel_metrics::pod::PodFacts;

use self::given::{ReconcileIn, WriteError};
use self::outcome::ReconcileOut;
use crate::cases::now;

pub(crate) fn check(given: &ReconcileIn, expected: &ReconcileOut) -> ReconcileOut {
    let (controller, hpa) = (given.controller(), given.autoscaler());
    let readings = given.metrics.readings(&hpa);
    let scale = given.scale.as_ref();
    let selector = scale.map_or("", |scale| scale.selector.as_str());
    let parsed = Selector::parse(selector);
    let selected = parsed
        .as_ref()
        .map_or(Vec::new(), |parsed| given.selected(parsed));
    let pods: Vec<PodFacts> = selected.iter().map(|pod| pod.read()).collect();
    let error = parsed.err().map(|error| error.to_string());
    let autoscalers = given.autoscalers(&hpa, &selected);
    let scale_error = given.scale_error();
    let observed = ObservedTarget {
        scale: match (&scale_error, scale) {
            (Some(error), _) => Err(error),
            (None, None) => panic!("a case without a scale"),
            (None, Some(scale)) => Ok(TargetScale {
                spec_replicas: scale.spec_replicas,
                status_replicas: scale.status_replicas,
                selector,
                pods: error.as_deref().map_or(Ok(&pods), Err),
                autoscalers: &autoscalers,
            }),
        },
        readings: &readings,
    };
    let mut memory = given.remembered.memory();
    let input = HpaDecisionInput {
        controller: &controller,
        hpa: &hpa,
        observed,
        memory: &memory.clone(),
        now: now(),
    };
    let step = hpa::reconcile(&controller, &hpa, &observed, &mut memory, now());
    assert_explained(&input, &step);
    let (outcome, updates) = match step {
        ReconcileStep::Done(outcome) => (outcome, Vec::new()),
        ReconcileStep::Rescale(rescale) => {
            let target = &hpa.spec.scale_target.name;
            write(
                rescale,
                target,
                given.update_scale_error.as_ref(),
                &mut memory,
            )
        }
    };
    ReconcileOut::new(&outcome, updates, &memory, expected)
}

/// The explanation comes to the count that is decided.
fn assert_explained(input: &HpaDecisionInput<'_>, step: &ReconcileStep<'_>) {
    let explained = explain(input, &RescaleHistory::default());
    let spec_replicas = input.observed.scale.map(|scale| scale.spec_replicas);
    match step {
        ReconcileStep::Rescale(rescale) => {
            assert_eq!(explained.decided_replicas, Some(rescale.to()));
            assert_eq!(explained.reason, rescale.reason());
        }
        ReconcileStep::Done(outcome) if explained.decided_replicas.is_none() => {
            assert!(outcome.error.is_some(), "{explained:?}");
        }
        ReconcileStep::Done(outcome) => {
            assert_eq!(explained.decided_replicas, spec_replicas.ok());
            let desired = outcome.status.desired_replicas;
            assert_eq!(explained.decided_replicas, Some(desired));
        }
    }
    assert!(!explained.summary.is_empty());
}

/// Writes the scale as often as it takes; the counts that were written come back too.
fn write(
    mut rescale: Rescale<'_>,
    target: &str,
    error: Option<&WriteError>,
    memory: &mut HpaMemory,
) -> (HpaOutcome, Vec<i32>) {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let fails = |error: &&WriteError| error.times.is_none_or(|times| attempts <= times);
        let written = error.filter(fails).map_or(Ok(()), |error| {
            let message = &error.message;
            Err(match error.kind.as_str() {
                // The words of the API server that the cases were recorded with.
                "conflict" => ScaleWriteError::Conflict(format!(
                    "Operation cannot be fulfilled on replicationcontrollers {target:?}: {message}"
                )),
                _ => ScaleWriteError::Failed(message.clone()),
            })
        });
        let updates = if written.is_ok() {
            vec![rescale.to()]
        } else {
            Vec::new()
        };
        match rescale.after_write(written, memory) {
            AfterWrite::Done(outcome) => return (outcome, updates),
            AfterWrite::Retry(again) => rescale = again,
        }
    }
}
