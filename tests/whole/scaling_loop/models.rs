//! A model that an annotation names: `auto` until it is fitted on the past in Prometheus, then the model. And the
//! load of the next hours, which a portrait asks for.

use evenkeel_quantity::Quantity;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::ihpa::{PORTRAITS, install_kinds};
use super::world::{HPA, condition, with_world};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::create;

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
        let file = ("scaling.swishNet", "/var/lib/evenkeel/missing.safetensors");
        let _service = world.serve(&[file]).await;
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

#[test]
fn a_portrait_shows_the_load_of_the_next_hours_by_the_models_of_its_workload() {
    with_world(async |world| {
        world.prometheus.handle.set_load(wave);
        install_kinds(world).await;
        for (name, workload) in [("web-ahead", "web"), ("none-ahead", "none")] {
            let portrait = json!({"apiVersion": "autoscaling.evenkeel.dev/v1alpha1",
                "kind": "HorizontalPortrait", "metadata": {"name": name}, "spec": {"portraitType": "Predictive",
                "scaleTargetRef": {"kind": "Deployment", "name": workload}, "algorithm": {"type": "Forecast"}}});
            create(world.client, PORTRAITS, &portrait).await;
        }
        let _controllers = world.controllers().await;
        let _service = world.serve(&[("scaling.fitShare", "1")]).await;
        let ahead = world
            .until(
                &format!("{PORTRAITS}/web-ahead"),
                "the hours ahead",
                |portrait| {
                    portrait["status"]["hoursAhead"]["metrics"][0]["points"]
                        .as_array()
                        .is_some_and(|points| points.len() >= 36)
                },
            )
            .await;
        let status = &ahead["status"];
        let metric = &status["hoursAhead"]["metrics"][0];
        assert_eq!(
            (&metric["name"], &metric["model"]),
            (&json!("cpu"), &json!("auto"))
        );
        for point in metric["points"].as_array().expect("points") {
            let [lower, value, upper] = ["lower", "value", "upper"].map(|field| {
                let text = point[field].as_str().unwrap_or_default();
                text.parse::<Quantity>().expect("a quantity")
            });
            assert!(lower <= value && value <= upper, "{point}");
            assert!(
                point["replicas"].as_i64() <= point["upperReplicas"].as_i64(),
                "{point}"
            );
        }
        assert_eq!(status["conditions"][0]["reason"], "Forecast", "{status}");
        world
            .until(&format!("{PORTRAITS}/none-ahead"), "a reason", |portrait| {
                portrait["status"]["conditions"][0]["reason"] == "NoTarget"
            })
            .await;
        let calendar = world.calendar().await;
        let portraits = calendar["portraits"].as_array().expect("portraits");
        let hours = |name: &str| {
            let mut found = portraits.iter().filter(|one| one["name"] == name);
            let hours = found.next().and_then(|one| one["hours"].as_array());
            hours.map_or(0, Vec::len)
        };
        assert!(
            hours("web-ahead") >= 5 && hours("none-ahead") == 0,
            "{calendar}"
        );
    });
}
