//! Targets of scaling as the view shows them, from the service's answer at `/api/v1/scaling`.

use crate::api::scaling::{LoadStatus, TargetList, TargetStatus};
use crate::cli::dev::cluster::events::{Target, Trust};
use evenkeel_core::units::Resource;

/// The targets of an answer; `None` where it is not one.
pub(super) fn read(text: &str) -> Option<Vec<Target>> {
    let list: TargetList = serde_json::from_str(text).ok()?;
    Some(list.targets.iter().map(|status| target(status)).collect())
}

fn target(status: &TargetStatus) -> Target {
    let count = |replicas: i32| u32::try_from(replicas).ok();
    let load = shown_load(&status.loads);
    let forecast = load.and_then(|load| load.forecast.as_ref());
    let trust = load.and_then(|load| load.trust.as_ref());
    Target {
        namespace: status.namespace.to_string(),
        workload: status.workload.name.to_string(),
        mode: Some(status.mode.to_string()),
        current: status.current.and_then(count),
        wanted: status.decided.and_then(count),
        grounds: Some(status.grounds.to_string()),
        reason: Some(status.reason.clone()),
        min: status.min.and_then(count),
        floor: status.floor.and_then(|floor| count(floor.replicas)),
        load: load.and_then(|load| load.now).map(cores),
        forecast: forecast.map(|forecast| cores(forecast.mean)),
        model: forecast.map(|forecast| forecast.model.to_string()),
        trust: trust.map(|trust| Trust {
            trusted: trust.trusted,
            ratio: trust.ratio,
        }),
    }
}

/// The one load that the view has room for: that of cpu, else the first.
fn shown_load(loads: &[LoadStatus]) -> Option<&LoadStatus> {
    let cpu = |load: &&LoadStatus| load.resource == Resource::Cpu.as_str();
    loads.iter().find(cpu).or_else(|| loads.first())
}

/// Loads are in millicores.
fn cores(load: f64) -> f64 {
    load / 1000.0
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::http::Request;
    use tower::ServiceExt as _;

    use super::*;
    use crate::api;
    use crate::dashboard::Scaling;

    /// Body of the real server's answer with this target on the board.
    async fn answered(target: TargetStatus) -> String {
        let scaling = Scaling::default();
        scaling.board.publish(vec![target.into()]);
        let request = Request::get(api::SCALING).body(Body::empty()).unwrap();
        let answer = scaling.routes().oneshot(request).await.unwrap();
        let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        String::from_utf8(body.into()).unwrap()
    }

    #[tokio::test]
    async fn the_view_shows_the_servers_answer() {
        let answer = answered(api::scaling::sample::status()).await;
        let expected = Target {
            namespace: "shop".to_owned(),
            workload: "web".to_owned(),
            mode: Some("floor".to_owned()),
            current: Some(4),
            wanted: Some(6),
            grounds: Some("forecast".to_owned()),
            reason: Some("forecast 7.2 cores".to_owned()),
            min: Some(2),
            floor: Some(5),
            load: Some(4.1),
            forecast: Some(7.2),
            model: Some("s-hpa".to_owned()),
            trust: Some(Trust {
                trusted: true,
                ratio: Some(0.83),
            }),
        };
        assert_eq!(read(&answer), Some(vec![expected]));
        assert_eq!(read("no JSON"), None);
    }

    #[tokio::test]
    async fn a_target_without_a_decision_is_shown_without_figures() {
        let bare = TargetStatus {
            decided: None,
            loads: Vec::new(),
            floor: None,
            ..api::scaling::sample::status()
        };
        let shown = read(&answered(bare).await).unwrap().remove(0);
        assert_eq!((shown.load, shown.wanted, shown.floor), (None, None, None));
        assert_eq!(shown.trust, None);
    }
}
