//! The workloads that the service scales, from its `/api/v1/scaling`, trimmed to what a
//! view shows. A field that is not there is not known.

use serde::Deserialize;

use crate::cli::dev::cluster::events::{Target, Trust};

#[derive(Deserialize)]
struct Answer {
    targets: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    namespace: String,
    workload: Named,
    mode: Option<String>,
    current: Option<u32>,
    decided: Option<u32>,
    step: Option<String>,
    reason: Option<String>,
    min: Option<u32>,
    #[serde(default)]
    loads: Vec<Load>,
    floor: Option<Floor>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Load {
    resource: String,
    now: Option<f64>,
    forecast: Option<Forecast>,
    trust: Option<Judged>,
}

#[derive(Deserialize)]
struct Forecast {
    mean: f64,
    model: Option<String>,
}

#[derive(Deserialize)]
struct Judged {
    trusted: bool,
    ratio: Option<f64>,
}

#[derive(Deserialize)]
struct Floor {
    replicas: u32,
}

/// The targets of an answer; `None` where it is not one.
pub(super) fn read(text: &str) -> Option<Vec<Target>> {
    let answer: Answer = serde_json::from_str(text).ok()?;
    Some(answer.targets.into_iter().map(target).collect())
}

fn target(item: Item) -> Target {
    // The view has room for one resource: cpu is what nearly every target is scaled by.
    let load = item
        .loads
        .into_iter()
        .min_by_key(|load| load.resource != "cpu");
    let now = load.as_ref().and_then(|load| load.now);
    let trust = load.as_ref().and_then(|load| load.trust.as_ref());
    let trust = trust.map(|trust| Trust {
        trusted: trust.trusted,
        ratio: trust.ratio,
    });
    let forecast = load.and_then(|load| load.forecast);
    Target {
        namespace: item.namespace,
        workload: item.workload.name,
        mode: item.mode,
        current: item.current,
        wanted: item.decided,
        step: item.step,
        reason: item.reason,
        min: item.min,
        floor: item.floor.map(|floor| floor.replicas),
        load: now.map(cores),
        forecast: forecast.as_ref().map(|forecast| cores(forecast.mean)),
        model: forecast.and_then(|forecast| forecast.model),
        trust,
    }
}

/// Loads are in millicores.
fn cores(load: f64) -> f64 {
    load / 1000.0
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_view_shows_is_read_and_the_rest_left() {
        let answer = json!({"targets": [{
            "namespace": "shop",
            "object": {"kind": "HorizontalPodAutoscaler", "name": "web"},
            "workload": {"kind": "Deployment", "name": "web"},
            "mode": "floor", "current": 4, "min": 2, "max": 14, "decided": 6,
            "limitedBy": null, "reason": "forecast", "horizonSeconds": 75, "step": "forecast",
            "loads": [
                {"resource": "memory", "now": 1.0},
                {"resource": "cpu", "now": 1200.0,
                 "forecast": {"at": "2026-01-01T00:00:00Z", "mean": 1810.0, "model": "s-hpa"},
                 "trust": {"trusted": true, "reason": null, "ratio": 0.83, "coverage": 0.9}},
            ],
            "conditions": [], "floor": {"replicas": 6, "until": "2026-01-01T00:10:00Z"},
        }, {"namespace": "shop", "workload": {"name": "api"}}]});
        let targets = read(&answer.to_string()).unwrap();
        assert_eq!(
            (targets[0].load, targets[0].forecast),
            (Some(1.2), Some(1.81))
        );
        assert_eq!(targets[0].step.as_deref(), Some("forecast"));
        assert_eq!(targets[0].model.as_deref(), Some("s-hpa"));
        assert_eq!(targets[0].trust.map(|trust| trust.trusted), Some(true));
        assert_eq!((targets[0].floor, targets[0].wanted), (Some(6), Some(6)));
        assert_eq!(targets[1].load, None);
        assert_eq!(read("no JSON"), None);
    }
}
