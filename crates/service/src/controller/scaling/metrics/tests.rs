use super::*;
use crate::api::scaling::sample;

fn exported(metrics: &ScalingMetrics) -> String {
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}

#[test]
fn a_target_shows_while_it_is_there_and_no_longer() {
    let metrics = ScalingMetrics::default();
    metrics.board().publish(vec![Arc::new(ScalingStatus {
        decisions: [("ScaleUpPolicy", 3)].into(),
        ..sample::status()
    })]);
    let text = exported(&metrics);
    let labels = r#"namespace="shop",kind="HorizontalPodAutoscaler",name="web""#;
    for (series, own, value) in [
        ("load", r#"resource="cpu""#, "4100.0"),
        ("forecast", r#"resource="cpu""#, "7200.0"),
        ("forecast_ratio", r#"resource="cpu""#, "0.83"),
        ("forecast_trusted", r#"resource="cpu""#, "1.0"),
        ("risk_asked", r#"resource="cpu""#, "0.01"),
        ("risk_achieved", r#"resource="cpu""#, "0.013"),
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

/// The harm: the same series twice on a page, of which Prometheus takes one and complains.
#[test]
fn loads_of_one_name_are_one_series() {
    let metrics = ScalingMetrics::default();
    let mut status = sample::status();
    status.loads.push(status.loads[0].clone());
    metrics.board().publish(vec![status.into()]);
    let text = exported(&metrics);
    let series = text
        .lines()
        .filter(|line| line.starts_with("scaling_target_load{"));
    assert_eq!(series.count(), 1, "{text}");
}

#[test]
fn the_loop_shows_how_it_does() {
    let metrics = ScalingMetrics::default();
    metrics.ticked(Duration::from_millis(3), 1000, 2);
    metrics.refill(Ok(()));
    metrics.refill(Err(&MetricsError::Timeout));
    metrics.fits().ended(FitOutcome::GlobalIsBetter);
    metrics.fits().took(Duration::from_millis(300));
    let running = [metrics.refilling(), metrics.refilling()];
    let text = exported(&metrics);
    for line in [
        r#"scaling_tick_duration_seconds_bucket{le="0.005"} 1"#,
        "scaling_memory_bytes 1000",
        r#"scaling_refill_queries_total{outcome="answered"} 1"#,
        r#"scaling_refill_queries_total{outcome="Timeout"} 1"#,
        "scaling_refilling 2",
        r#"scaling_own_fits_total{outcome="GlobalIsBetter"} 1"#,
        r#"scaling_own_fit_duration_seconds_bucket{le="0.4"} 1"#,
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    drop(running);
    assert!(exported(&metrics).contains("scaling_refilling 0"));
}
