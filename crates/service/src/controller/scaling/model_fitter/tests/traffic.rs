//! Models of traffic: what comes of which past.

use evenkeel_metrics::signal::{PromQl, PromQlMetric};
use evenkeel_scaling::tick::{TrafficTold, TrafficWork};

use super::*;

/// Queries for the traffic of a Deployment, and its cpu.
fn work_of_deployment(name: &str, queries: &[&str]) -> TrafficWork {
    let signal = |(number, query): (u8, &&str)| {
        let (metric, query) = (PromQlMetric::Traffic(number), (*query).into());
        Signal::PromQl(PromQl { metric, query })
    };
    let signals: Vec<_> = (1..).zip(queries).map(signal).collect();
    let kinds = signals.iter().zip(queries);
    let kinds = kinds.map(|(signal, query)| (signal.label(), FitPast::Query((*query).into())));
    TrafficWork {
        key: deployment(name),
        end: end(),
        kinds: kinds.collect(),
        of: ("cpu".to_owned(), FitPast::Workloads(Signal::CPU)),
        signals: (signals, Signal::CPU),
    }
}

const DAY: i64 = 86_400;

/// The time of day of a time, in days.
fn part_of_day(at: Timestamp) -> f64 {
    let seconds = at.as_second().rem_euclid(DAY);
    f64::from(i32::try_from(seconds).unwrap()) / 86_400.0
}

/// The requests per second at a time: high at noon, and never twice the same.
fn requests(at: Timestamp) -> f64 {
    let wave = (part_of_day(at) * std::f64::consts::TAU).cos();
    let seconds = f64::from(i32::try_from(at.as_second()).unwrap());
    200.0 - 150.0 * wave + 30.0 * (seconds / 7919.0).sin()
}

/// Traffic that comes and goes with nothing that the Pods do.
fn others(at: Timestamp) -> f64 {
    let seconds = f64::from(i32::try_from(at.as_second()).unwrap());
    100.0 + 80.0 * (seconds / 5003.0).sin()
}

/// The Pods at a time: as many as the requests need.
pub(super) fn pods(at: Timestamp) -> f64 {
    (requests(at) / 40.0).ceil()
}

/// A job of two hours a day, on each Pod.
fn has_job(at: Timestamp) -> bool {
    (0.125..0.21).contains(&part_of_day(at))
}

/// The usage of all Pods together, or another kind of traffic, by name and time.
pub(super) fn load(name: &str, at: Timestamp) -> Option<f64> {
    let ago = end().duration_since(at).as_hours();
    let each = 50.0 + 10.0 * requests(at) / pods(at) + 300.0 * f64::from(u8::from(has_job(at)));
    match name {
        "served" => Some(each * pods(at)),
        "young" => (ago < 30).then(|| each * pods(at)),
        "steady" => Some(400.0 * pods(at)),
        "requests" => Some(requests(at)),
        "others" => Some(others(at)),
        // Something else moves it as much.
        "partly" => Some((each + 4.0 * others(at)) * pods(at)),
        _ => None,
    }
}

async fn told(workload: &str, queries: &[&str]) -> (TrafficTold, String) {
    let metrics = ScalingMetrics::default();
    let fits = ModelFitter::new(
        Arc::new(Fake::default()),
        Arc::default(),
        resources(),
        metrics.clone(),
    );
    let work = work_of_deployment(workload, queries);
    let told = fits.fit_traffic(&work, &mut BackfillPace::default()).await;
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    (told, text)
}

#[tokio::test(start_paused = true)]
async fn a_model_sees_the_job_of_the_day_that_its_linear_part_does_not() {
    let (told, metrics) = told("served", &["requests", "others"]).await;
    let TrafficTold::Accepted(accepted) = told else {
        panic!("{told:?}");
    };
    let held_out = accepted.model.held_out;
    assert!(held_out.explained > 0.9, "{held_out:?}");
    assert!(held_out.error * 4.0 < held_out.linear_error, "{held_out:?}");
    assert_eq!(
        accepted.model.components,
        ["promql/traffic-1", "promql/traffic-2"]
    );
    assert!(
        (accepted.means[0] - 200.0).abs() < 10.0,
        "{:?}",
        accepted.means
    );
    assert!(
        metrics.contains(r#"traffic_fits_total{outcome="Accepted"} 1"#),
        "{metrics}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_traffic_does_not_explain_is_refused_with_the_figures() {
    for (workload, queries, reason, why) in [
        ("served", &["others"][..], "NoTraffic", "does not rise"),
        ("partly", &["requests"], "Unexplained", " % of the variance"),
        ("steady", &["requests"], "Steady", "hardly changes"),
    ] {
        let (told, metrics) = told(workload, queries).await;
        let TrafficTold::Refused(refusal) = told else {
            panic!("{told:?}");
        };
        assert_eq!(refusal.reason, reason, "{refusal:?}");
        assert!(refusal.why.contains(why), "{refusal:?}");
        assert!(metrics.contains(r#"outcome="Refused"} 1"#), "{metrics}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_past_that_is_short_is_told_apart_from_one_that_cannot_be_had() {
    for (workload, queries, reason) in [
        ("young", &["requests"][..], "TooShort"),
        ("served", &["nothing"], "TooShort"),
        ("served", &["requests", "slow"], "NoPast"),
    ] {
        let (told, metrics) = told(workload, queries).await;
        let refusal = match told {
            TrafficTold::TooShort(refusal) if reason == "TooShort" => refusal,
            TrafficTold::Failed(refusal) if reason == "NoPast" => refusal,
            told => panic!("{told:?}"),
        };
        assert_eq!(refusal.reason, reason, "{refusal:?}");
        assert!(
            metrics.contains(&format!(r#"outcome="{reason}"}} 1"#)),
            "{metrics}"
        );
    }
}
