//! `forecast plot --url` on the dashboard's own router, with board and traces filled as the scaling
//! loop fills them.

use std::net::SocketAddr;

use evenkeel::api::scaling::{
    Floor, ForecastTrust, LoadForecast, LoadStatus, ObjectName, RefillState, ScalingStatus,
};
use evenkeel::controller::scaling::recent_history::{RecentHistoryKey, RecentTargetHistory};
use evenkeel::dashboard::DashboardScalingState;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::number;
use crate::{Called, evenkeel};

/// Begin of the history, on the grid.
const BEGIN: i64 = 1_772_352_000;
/// Distance of its steps, and of the forecasts, in seconds.
const STEP: i64 = 15;
const HORIZON: i64 = 75;

fn at(step: i64) -> Timestamp {
    Timestamp::from_second(BEGIN + step * STEP).unwrap()
}

fn object(kind: &str, name: &str) -> ObjectName {
    ObjectName {
        kind: kind.into(),
        name: name.into(),
    }
}

/// HPA `shop/web` in mode floor, 500m a Pod at 60 %.
fn web() -> ScalingStatus {
    ScalingStatus {
        namespace: "shop".into(),
        object: object("HorizontalPodAutoscaler", "web"),
        workload: object("Deployment", "web"),
        mode: "floor".into(),
        current: Some(16),
        min: Some(2),
        max: Some(20),
        decided: Some(16),
        limited_by: None,
        reason: "forecast 4.6 cores in 75 s".to_owned(),
        horizon_seconds: Some(HORIZON),
        horizon_parts: None,
        grounds: "forecast".into(),
        refill: RefillState::Done,
        loads: vec![cpu()],
        traffic: None,
        conditions: Vec::new(),
        floor: Some(Floor {
            replicas: 16,
            until: at(200),
        }),
        decisions: [].into(),
    }
}

fn cpu() -> LoadStatus {
    LoadStatus {
        resource: "cpu".into(),
        unit: "millicores".into(),
        now: Some(4300.0),
        at: None,
        measured_at: Some(at(110)),
        estimate: None,
        request: 500.0,
        target: 0.6,
        forecast: Some(LoadForecast {
            at: at(115),
            mean: 4600.0,
            lower80: 4500.0,
            upper80: 4700.0,
            lower95: 4400.0,
            upper95: 4800.0,
            model: "s-hpa".into(),
        }),
        waits_for: None,
        trust: Some(ForecastTrust {
            trusted: true,
            reason: "trusted (error 0.41 of naive)".to_owned(),
            ratio: Some(0.41),
            coverage: Some(0.8),
        }),
        risk: None,
    }
}

/// Deployment `shop/cart` in mode recommend, of which nothing was measured yet.
fn cart() -> ScalingStatus {
    ScalingStatus {
        object: object("Deployment", "cart"),
        workload: object("Deployment", "cart"),
        mode: "recommend".into(),
        loads: Vec::new(),
        floor: None,
        ..web()
    }
}

/// The load in the middle of a step: it rises from 600 to 4,600 millicores within half an hour.
fn load(step: i64) -> f64 {
    let phase = f64::from(i32::try_from(step).unwrap()) / 120.0 * std::f64::consts::PI;
    2600.0 - 2000.0 * phase.cos()
}

/// The status after a tick in the middle of this step: a forecast from the 20th step on.
fn observed(step: i64, replicas: i32) -> ScalingStatus {
    let (due, is_forecast) = (step + HORIZON / STEP, step >= 20);
    let mean = load(due) + 20.0;
    let forecast = cpu().forecast.map(|forecast| LoadForecast {
        at: at(due),
        mean,
        lower80: mean - 60.0,
        upper80: mean + 60.0,
        ..forecast
    });
    let cpu = LoadStatus {
        now: Some(load(step)),
        at: Some(at(step)),
        forecast: forecast.filter(|_| is_forecast),
        ..cpu()
    };
    let until = at(200);
    ScalingStatus {
        current: Some(replicas),
        floor: is_forecast.then_some(Floor { replicas, until }),
        loads: vec![cpu],
        ..web()
    }
}

/// The dashboard of a service with two targets, of which one has 110 steps of history with a gap of
/// four.
fn dashboard() -> DashboardScalingState {
    let scaling = DashboardScalingState::default();
    scaling.board.publish(vec![web().into(), cart().into()]);
    let mut trace = RecentTargetHistory::default();
    for step in (0..110).filter(|step| !(60..64).contains(step)) {
        let replicas = evenkeel_core::units::replicas_ceil(load(step) / 300.0) + 2;
        let tick = at(step) + SignedDuration::from_secs(STEP / 2);
        trace.record(&observed(step, replicas), tick);
    }
    let key = RecentHistoryKey {
        namespace: "shop".into(),
        kind: "HorizontalPodAutoscaler".into(),
        name: "web".into(),
    };
    scaling.traces.lock().insert(key, trace);
    scaling
}

/// Serves a router until the test ends.
fn serve(router: axum::Router) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await
        })
    });
    address
}

fn plot(name: &str, arguments: &[&str], address: SocketAddr) -> Called {
    let url = format!("http://{address}");
    evenkeel(&[&["forecast", "plot", name, "--url", &url], arguments].concat())
}

#[test]
fn a_running_service_tells_its_past_and_the_plain_hpa_is_simulated() {
    let scaling = dashboard();
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("web.svg");
    let address = serve(scaling.routes());
    let drawn = ["-o", "json", "-o", svg.to_str().unwrap()];
    let report = plot("shop/web", &drawn, address).json();
    assert!(std::fs::read_to_string(svg).unwrap().contains("plain HPA"));
    let fields = ["min", "max", "horizonSeconds", "startUpSeconds", "model"];
    assert_eq!(
        fields.map(|field| report[field].clone()),
        [
            2.into(),
            20.into(),
            75.into(),
            60.into(),
            Value::from("s-hpa")
        ]
    );
    assert_eq!(report["forecast"]["trust"], "trusted (error 0.41 of naive)");
    let points = report["points"].as_array().unwrap();
    // Five more steps have a forecast and nothing else yet.
    assert_eq!(points.len(), 115);
    let point = &points[100];
    assert_eq!(point["at"], at(100).to_string());
    assert!((number(&point["load"]) - load(100)).abs() < 1.0, "{point}");
    assert!((number(&point["forecast"]) - load(100) - 20.0).abs() < 1.0);
    assert!(number(&point["lower80"]) < number(&point["upper80"]));
    assert_eq!(point["current"], point["floor"]);
    let replicas = |field: &str| -> f64 {
        let points = points.iter().take(110);
        points.filter_map(|point| point[field].as_f64()).sum()
    };
    assert!(
        replicas("plainHpa") < replicas("current"),
        "two Pods fewer, and behind a load that rises"
    );
    // There are 110 steps: 25 have no forecast, 4 are a gap and 4 lie one horizon behind it. The
    // forecast is made with the load of one step later than the gap's end.
    let scored = number(&report["forecast"]["scored"]);
    assert!((110.0 - 25.0 - 4.0 - 4.0 - 4.0..=110.0 - 25.0 - 4.0 - 4.0).contains(&scored));
}

#[test]
fn steps_that_the_service_leaves_out_are_gaps() {
    let report = plot("shop/web", &["-o", "json"], serve(dashboard().routes())).json();
    let points = report["points"].as_array().unwrap();
    let gap = |field: &str| {
        let gap = points.iter().take(110).enumerate();
        let gap = gap.filter(|(_, point)| point[field].is_null());
        gap.map(|(index, _)| index).collect::<Vec<_>>()
    };
    assert_eq!(gap("load"), [60, 61, 62, 63]);
    assert_eq!(gap("current"), [60, 61, 62, 63]);
    // A forecast that was not made is missing one horizon later.
    assert_eq!(gap("forecast")[25..], [65, 66, 67, 68]);
    assert_eq!(points[1]["at"], at(1).to_string());
}

#[test]
fn a_target_that_cannot_be_drawn_is_named_with_the_way_to_one() {
    let address = serve(dashboard().routes());
    plot("shop/db", &[], address).is_refused(
        2,
        &[
            "has no target shop/db",
            "shop/web (HorizontalPodAutoscaler)",
        ],
    );
    plot("web", &[], address).is_refused(2, &["NAMESPACE/NAME"]);
    plot("shop/web", &["--kind", "Deployment"], address).is_refused(2, &["no target"]);
    plot("shop/web", &["--resource", "memory"], address)
        .is_refused(1, &["NoSuchTarget", "scales by memory"]);
    plot("shop/cart", &[], address).is_refused(1, &["NoSuchTarget"]);
}

#[test]
fn an_address_that_is_no_service_is_named_with_the_way_to_one() {
    let nowhere = serve(axum::Router::new());
    plot("shop/web", &[], nowhere).is_refused(1, &["/api/v1/scaling answers 404"]);
    let other = axum::Router::new().fallback(async || "[]");
    plot("shop/web", &[], serve(other)).is_refused(1, &["cannot be read"]);
    evenkeel(&["forecast", "plot", "shop/web", "--url", "localhost"])
        .is_refused(2, &["--url", "http://127.0.0.1:8081"]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    plot("shop/web", &[], closed).is_refused(
        1,
        &[
            "does not answer",
            "kubectl -n evenkeel-system port-forward deploy/evenkeel 8081",
        ],
    );
}
