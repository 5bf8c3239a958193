//! Tests of the values that a tick learns for stability checks.

use evenkeel_metrics::metric_query::MetricSubject;

use super::*;
use crate::ihpa::portray;
use crate::recommend::merged_portraits::CheckInput;
use crate::specs::ihpa::CheckedIhpa;
use crate::stability::CheckReading as Told;
use crate::status::memory::PlanMemory;
use crate::targets::hpa_input::HpaInput;
use crate::targets::portraits::CheckSubject;
use crate::targets::resolve::resolve;
use crate::targets::signal_query::SignalQuerySource;
use crate::tick::checks;

/// The error of an empty answer.
const EMPTY: &str = "the query returns 0 series";

type Answer = CachedAnswer<MetricsApiReading>;

/// A Deployment with an IHPA that checks the share of failed requests.
fn checked() -> TargetObjects {
    let ihpa = json!({
        "metadata": {"name": "a", "namespace": "shop", "uid": "i", "resourceVersion": "1"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
            "minReplicas": 1, "maxReplicas": 10,
            "portraitProviders": [
                {"type": "Static", "priority": 1, "static": {"replicas": 4}}],
            "stabilityCheckers": [{"type": "ErrorRate", "name": "errors",
                "stabilizationAction": "Rollback",
                "errorRate": {"errors": "sum(errors)", "requests": "sum(requests)",
                    "maxPercent": "1%"}}]},
        "status": {"gray": {"grayPercent": 50, "lastUpdateTime": second(0).to_string(),
            "from": {"onlineReplicas": 1}, "toReplicas": 4, "onlineReplicas": 2,
            "phase": "Stepping"}},
    });
    let ihpa = serde_json::from_value(ihpa).unwrap();
    TargetObjects {
        autoscaler: None,
        ihpa: Some(Arc::new(CheckedIhpa::new(Arc::new(ihpa), None))),
        ..observed("a", "direct")
    }
}

/// The readings of the errors and of all requests at 60 s, from these answers to the two queries.
fn learned(errors: Answer, requests: Answer) -> (Option<Told>, Option<Told>) {
    let (observed, now) = (checked(), second(60));
    let mut resolved = resolve(&observed, false, &settings(), None, now);
    portray(&observed, &mut resolved, &mut PlanMemory::default(), now);
    let target = resolved.target.unwrap();
    let portraits = target.portraits.as_deref().unwrap();
    let CheckSubject::Errors { questions, .. } = &portraits.checks[0].subjects[0] else {
        panic!("{:?}", portraits.checks);
    };
    let [
        SignalQuerySource::Asked(of_errors),
        SignalQuerySource::Asked(of_requests),
    ] = questions
    else {
        panic!("{questions:?}");
    };
    assert!(matches!(of_errors.subject, MetricSubject::PromQl(_)));
    let answers = [(of_errors.clone(), errors), (of_requests.clone(), requests)];
    let signals: SignalReadings = answers.into_iter().collect();
    let around = Around::default();
    let tick = ScalingTickInput {
        settings: settings(),
        signals: &signals,
        serves: false,
        ..around.tick(now)
    };
    let readings = crate::tick::signal_answers::readings(&observed, &target, &tick);
    let told = crate::targets::hpa_input::LastStatus::default();
    let measured = HpaInput::new(&observed, readings, told);
    let checks = checks::learned(&observed, portraits, Some(&measured), &tick);
    match &checks[0].evidence[0] {
        CheckInput::Errors {
            errors, requests, ..
        } => (*errors, *requests),
        other => panic!("{other:?}"),
    }
}

/// An answer of so much at a second.
fn answer(value: i64, at: i64) -> Answer {
    let timestamp = second(at);
    let sample = ValueSample { timestamp, value };
    Answer {
        answer: Some(CachedValue {
            value: Arc::new(MetricsApiReading::Series(vec![sample])),
            fetched_at: timestamp,
        }),
        failed: None,
        look_back: SignedDuration::from_secs(20),
    }
}

fn failed(error: &'static str, at: i64) -> Answer {
    Answer {
        answer: None,
        failed: Some(FailedQuery {
            error: Arc::new(error),
            attempted_at: second(at),
            is_empty: error == EMPTY,
        }),
        look_back: SignedDuration::from_secs(20),
    }
}

fn told(milli: i64, at: i64) -> Told {
    let (since, at) = (second(at - 20), second(at));
    Told { milli, since, at }
}

/// The harm: where no request has failed yet there is no series of those that do, and the check never knew.
#[test]
fn an_answer_without_a_series_is_no_error_and_no_answer_is_not_known() {
    let empty = || failed(EMPTY, 55);
    assert_eq!(
        learned(answer(2000, 50), answer(9000, 51)),
        (Some(told(2000, 50)), Some(told(9000, 51)))
    );
    assert_eq!(
        learned(empty(), answer(9000, 51)),
        (Some(told(0, 55)), Some(told(9000, 51)))
    );
    let gone = Answer {
        failed: empty().failed,
        ..answer(2000, 30)
    };
    assert_eq!(learned(gone, empty()), (Some(told(0, 55)), None));
    let down = Answer {
        failed: failed("no answer within the timeout", 55).failed,
        ..answer(2000, 30)
    };
    assert_eq!(
        learned(down, answer(9000, 51)),
        (Some(told(2000, 30)), Some(told(9000, 51)))
    );
    let down = failed("no answer within the timeout", 55);
    assert_eq!(
        learned(down, answer(9000, 51)),
        (None, Some(told(9000, 51)))
    );
}
