//! A model that an annotation names: `auto` until it is fitted on the past in Prometheus, then the model.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::world::{HPA, condition, with_world};
use crate::support::control_plane::wait::{eventually, holds};

/// A wave of two hours with a little noise, in cores.
fn wave(at: Timestamp) -> f64 {
    let seconds = at.as_duration().as_secs_f64();
    3.0 + 1.5 * (seconds / 7200.0 * std::f64::consts::TAU).sin() + 0.05 * (seconds / 7.0).sin()
}

/// The model that a load is forecast by.
fn model(shown: &Value) -> &str {
    shown["loads"][0]["forecast"]["model"]
        .as_str()
        .unwrap_or_default()
}

#[test]
fn a_model_that_is_named_serves_once_it_is_fitted_and_auto_where_its_network_is_missing() {
    with_world(async |world| {
        world.prometheus.handle.set_load(wave);
        let named = |model: &str| json!({"evenkeel.dev/predict": model});
        world.annotate(HPA, named("swish-net")).await;
        let _controllers = world.controllers().await;
        let _service = world.serve(&[]).await;
        let waits = "swish-net waits to be fitted";
        let shown = world
            .until_shown("auto stands in for the network", |shown| {
                shown["loads"][0]["waitsFor"] == waits && !shown["loads"][0]["forecast"].is_null()
            })
            .await;
        assert!(["global", "own"].contains(&model(&shown)), "{shown}");
        world
            .until_autoscaler("the object tells of it", |hpa| {
                condition(hpa, "ForecastTrusted")
                    .is_some_and(|told| told["message"].as_str().unwrap_or("").ends_with(waits))
            })
            .await;
        eventually("the network is missed", async || {
            let metrics = world.metrics().await;
            let failed = r#"scaling_own_fits_total{outcome="NoNetwork"}"#;
            holds(metrics.contains(failed), || metrics)
        })
        .await;
        world.annotate(HPA, named("arima")).await;
        let shown = world
            .until_shown("the model serves", |shown| model(shown) == "arima")
            .await;
        assert_eq!(shown["loads"][0]["waitsFor"], Value::Null, "{shown}");
        assert_eq!(shown["loads"][0]["risk"], Value::Null, "{shown}");
    });
}
