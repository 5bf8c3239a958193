use std::sync::Arc;

use super::*;
use crate::controller::scaling::board::{
    Named, Refilled, ShownCondition, ShownFloor, ShownForecast, ShownTrust,
};
use jiff::Timestamp;

fn shown() -> Shown {
    let named = |kind: &str| Named {
        kind: kind.into(),
        name: "web".into(),
    };
    Shown {
        namespace: "shop".into(),
        object: named("HorizontalPodAutoscaler"),
        workload: named("Deployment"),
        mode: "floor",
        current: Some(4),
        min: Some(2),
        max: Some(20),
        decided: Some(6),
        limited_by: Some("ScaleUpPolicy"),
        reason: "forecast".to_owned(),
        horizon_seconds: Some(75),
        grounds: "forecast",
        refill: Refilled::Done,
        loads: vec![ShownLoad {
            resource: "cpu".into(),
            now: Some(4100.0),
            measured_at: Some(Timestamp::UNIX_EPOCH),
            request: 1000.0,
            target: 0.8,
            forecast: Some(ShownForecast {
                at: Timestamp::UNIX_EPOCH,
                mean: 7200.0,
                lower80: 6000.0,
                upper80: 8000.0,
                lower95: 5000.0,
                upper95: 9000.0,
                model: "s-hpa",
            }),
            trust: Some(ShownTrust {
                trusted: true,
                reason: "trusted".to_owned(),
                ratio: Some(0.83),
                coverage: None,
            }),
        }],
        conditions: vec![ShownCondition {
            kind: "ForecastTrusted".to_owned(),
            status: "True",
            reason: "Trusted".to_owned(),
            message: String::new(),
            last_transition_time: Timestamp::UNIX_EPOCH,
        }],
        floor: Some(ShownFloor {
            replicas: 5,
            until: Timestamp::UNIX_EPOCH,
        }),
        decisions: [("ScaleUpPolicy", 3)].into(),
    }
}

fn exported(metrics: &Metrics) -> String {
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}

#[test]
fn a_target_shows_while_it_is_there_and_no_longer() {
    let metrics = Metrics::default();
    metrics.board().publish(vec![Arc::new(shown())]);
    let text = exported(&metrics);
    let labels = r#"namespace="shop",kind="HorizontalPodAutoscaler",name="web""#;
    for (series, own, value) in [
        ("load", r#"resource="cpu""#, "4100.0"),
        ("forecast", r#"resource="cpu""#, "7200.0"),
        ("forecast_ratio", r#"resource="cpu""#, "0.83"),
        ("forecast_trusted", r#"resource="cpu""#, "1.0"),
        ("replicas", r#"of="current""#, "4.0"),
        ("replicas", r#"of="decided""#, "6.0"),
        ("replicas", r#"of="floor""#, "5.0"),
        ("grounds", r#"grounds="forecast""#, "1.0"),
        ("grounds", r#"grounds="last-known""#, "0.0"),
        ("condition", r#"condition="ForecastTrusted""#, "1.0"),
        ("decisions_total", r#"limited_by="ScaleUpPolicy""#, "3"),
    ] {
        let line = format!("scaling_target_{series}{{{labels},{own}}} {value}");
        assert!(text.contains(&line), "{line}\n{text}");
    }
    assert!(!text.contains("coverage{"), "it has none");
    metrics.board().publish(Vec::new());
    assert!(!exported(&metrics).contains("shop"));
}

#[test]
fn the_loop_shows_how_it_does() {
    let metrics = Metrics::default();
    metrics.ticked(Duration::from_millis(3), 1000);
    metrics.refill(Ok(()));
    metrics.refill(Err(&MetricsError::Timeout));
    metrics.refilling(true);
    let text = exported(&metrics);
    for line in [
        r#"scaling_tick_duration_seconds_bucket{le="0.005"} 1"#,
        "scaling_memory_bytes 1000",
        r#"scaling_refill_queries_total{outcome="answered"} 1"#,
        r#"scaling_refill_queries_total{outcome="Timeout"} 1"#,
        "scaling_refilling 1",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}
