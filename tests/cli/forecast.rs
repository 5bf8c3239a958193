//! `forecast plot`: a load from a file and from a service, as numbers and as pictures.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::Router;
use axum::extract::Query;
use axum::routing::get;
use serde_json::Value;

use super::{Called, evenkeel, evenkeel_with_input};

const TRACE: &str = "examples/traces/nasa_web.csv";
const TARGETS: &str = include_str!("../fixtures/scaling/targets.json");
const HISTORY: &str = include_str!("../fixtures/scaling/history.json");

/// Hills of two hours in cores, every 15 s, with a hole of 15 samples.
fn hills() -> String {
    let mut text = "time,cores\n".to_owned();
    for index in (0..1440_u32).filter(|index| !(900..915).contains(index)) {
        let phase = f64::from(index) * 15.0 / 7200.0 * std::f64::consts::TAU;
        let load = 2.8 - 2.2 * phase.cos();
        writeln!(text, "{},{load:.3}", 1_772_352_000 + index * 15).unwrap();
    }
    text
}

/// A call on a file, with what each needs where the arguments do not say it.
fn plot(arguments: &[&str], input: &str) -> Called {
    let needed = [
        ["--request", "500m"],
        ["--target", "60%"],
        ["--min", "2"],
        ["--max", "20"],
    ];
    let unsaid = needed.iter().filter(|pair| !arguments.contains(&pair[0]));
    let unsaid: Vec<&str> = unsaid.flatten().copied().collect();
    evenkeel_with_input(
        &[&["forecast", "plot", "-"], &unsaid[..], arguments].concat(),
        input,
    )
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_file_is_run_through_the_services_rules_and_a_plain_hpa() {
    let report = plot(&["--start-up", "90s", "-o", "json"], &hills()).json();
    let under = |side: &str| number(&report["costs"][side]["underProvisionedSeconds"]);
    assert!(
        under("evenkeel") < 0.8 * under("plainHpa"),
        "{}",
        report["costs"]
    );
    let forecast = &report["forecast"];
    assert!(
        number(&forecast["mae"]) < number(&forecast["naiveMae"]),
        "{forecast}"
    );
    assert!(
        forecast["trust"].as_str().unwrap().starts_with("trusted"),
        "{forecast}"
    );
    assert_eq!(
        (&report["unit"], &report["horizonSeconds"]),
        (&"millicores".into(), &105.into())
    );
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), 1440);
    let hole = points
        .iter()
        .filter(|point| point["load"].is_null())
        .count();
    assert_eq!(
        (hole, &report["notes"][0]),
        (15, &"1 gap in the load".into())
    );
    assert_eq!(points[0]["at"], "2026-03-01T08:00:00Z");
    assert!(points.iter().any(|point| number(&point["floor"]) > 2.0));
}

#[test]
fn the_naive_forecast_moves_nothing() {
    let report = plot(&["--model", "naive", "-o", "json"], &hills()).json();
    assert_eq!(report["costs"]["evenkeel"], report["costs"]["plainHpa"]);
    assert!(
        report["forecast"]["trust"]
            .as_str()
            .unwrap()
            .starts_with("not trusted")
    );
}

#[test]
fn people_get_a_table_and_what_the_file_does_not_say() {
    let called = evenkeel(&[
        "forecast",
        "plot",
        TRACE,
        "--request",
        "200m",
        "--target",
        "80%",
        "--max",
        "30",
        "--to",
        "809100000",
    ]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    for part in [
        "EVENKEEL",
        "PLAIN HPA",
        "replica-hours",
        "under-provisioned",
        "of the last value",
        "1 to 30 replicas, Pods ready after 40 s",
        "by auto (at the end",
        "samples are",
        "taken as a line",
    ] {
        assert!(called.stdout.contains(part), "{part}: {}", called.stdout);
    }
}

#[test]
fn pictures_are_written_by_their_ending_beside_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (svg, png) = (file("load.svg"), file("load.png"));
    let called = plot(
        &[
            "-o",
            &svg,
            "--output",
            &png,
            "-o",
            "json",
            "--time-zone",
            "Europe/Berlin",
        ],
        &hills(),
    );
    assert!(called.json()["points"].is_array());
    let text = std::fs::read_to_string(svg).unwrap();
    for part in [
        "CPU load (cores, all Pods)",
        "80% interval",
        "plain HPA",
        "Time (Europe/Berlin, UTC+01)",
        "10:00",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let bytes = std::fs::read(png).unwrap();
    assert!(
        bytes.starts_with(b"\x89PNG") && bytes.len() > 20_000,
        "{}",
        bytes.len()
    );
}

#[test]
fn what_is_wrong_with_a_call_or_a_file_is_named() {
    let hills = hills();
    let milli = hills
        .replace("time,cores", "time,load")
        .replace(',', ",100");
    for (arguments, input, parts) in [
        (
            &["--resource", "memory"][..],
            hills.as_str(),
            &["--unit", "bytes, MiB or GiB"][..],
        ),
        (&["--unit", "bytes"], &hills, &["cores or millicores"]),
        (
            &["--model", "arima"],
            &hills,
            &["arima", "s-hpa, tes, naive or seasonal-naive"],
        ),
        (&["--target", "0.6"], &hills, &["such as 60%"]),
        (&["-o", "load.pdf"], &hills, &[".svg or .png"]),
        (&["--time-zone", "Mars"], &hills, &["Europe/Berlin"]),
        (
            &["--url", "http://127.0.0.1:1"],
            &hills,
            &["--url", "cannot be used with"],
        ),
        (&["--min", "30"], &hills, &["--min, --max", "30 to 20"]),
        (
            &["--column", "web"],
            &hills,
            &["-: --column \"web\"", "accepted: cores"],
        ),
        (
            &[],
            "time,cores\n0,1\nnoon,1\n",
            &["-: line 3, column \"time\"", "\"noon\"", "RFC 3339"],
        ),
        (&[], "time,cores\n0,1\n", &["within 15 seconds"]),
        (&["--from", "2030-01-01T00:00:00Z"], &hills, &["no sample"]),
        (&[], &milli, &["--unit millicores", "--unit cores"]),
    ] {
        plot(arguments, input).is_refused(2, parts);
    }
    let missing = [
        "forecast",
        "plot",
        "no.csv",
        "--request",
        "1",
        "--target",
        "60%",
        "--max",
        "3",
    ];
    evenkeel(&missing).is_refused(2, &["no.csv", "--url"]);
    evenkeel(&["forecast", "plot", TRACE]).is_refused(2, &["--request", "--target", "--max"]);
}

/// A service that answers with these two bodies, until the test ends.
fn service(targets: &'static str, history: &'static str) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let asked = move |Query(query): Query<Vec<(String, String)>>| async move {
        let expected = [
            ("namespace", "shop"),
            ("kind", "HorizontalPodAutoscaler"),
            ("name", "web"),
            ("resource", "cpu"),
        ];
        let expected: Vec<_> = expected
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        if query == expected {
            history.to_owned()
        } else {
            format!("{query:?}")
        }
    };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let router = Router::new()
                .route("/api/v1/scaling", get(move || async move { targets }))
                .route("/api/v1/scaling/history", get(asked));
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, router).await
        })
    });
    address
}

fn of_service(name: &str, arguments: &[&str], address: SocketAddr) -> Called {
    let url = format!("http://{address}");
    evenkeel(&[&["forecast", "plot", name, "--url", &url], arguments].concat())
}

#[test]
fn a_running_service_tells_what_was_and_the_plain_hpa_is_simulated() {
    let address = service(TARGETS, HISTORY);
    let folder = tempfile::tempdir().unwrap();
    let png: PathBuf = folder.path().join("web.png");
    let report = of_service(
        "shop/web",
        &["-o", "json", "-o", png.to_str().unwrap()],
        address,
    )
    .json();
    assert!(std::fs::metadata(png).unwrap().len() > 20_000);
    let history: Value = serde_json::from_str(HISTORY).unwrap();
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), history["points"].as_array().unwrap().len());
    for (point, told) in points.iter().zip(history["points"].as_array().unwrap()) {
        let fields = ["load", "forecast", "lower80", "upper80", "current", "floor"];
        for (field, column) in fields.into_iter().zip(1..) {
            assert_eq!(point[field], told[column], "{field} {told}");
        }
        assert!((2.0..=20.0).contains(&number(&point["plainHpa"])));
    }
    let bounds =
        ["min", "max", "horizonSeconds", "startUpSeconds", "model"].map(|field| &report[field]);
    assert_eq!(
        bounds,
        [
            &2.into(),
            &20.into(),
            &75.into(),
            &60.into(),
            &Value::from("s-hpa")
        ]
    );
    let replicas = |field: &str| {
        points
            .iter()
            .filter_map(|point| point[field].as_f64())
            .sum::<f64>()
    };
    assert!(
        replicas("plainHpa") < replicas("current"),
        "the load rises, and a plain HPA follows"
    );
    assert_eq!(report["forecast"]["trust"], "trusted (0.41 of naive)");
    // Of the 121 steps 25 have no forecast, 4 are a gap and as many lie one horizon behind it.
    assert_eq!(report["forecast"]["scored"], 121 - 25 - 4 - 4);
}

#[test]
fn steps_that_are_not_told_are_gaps() {
    let rows = r#"{"step":15,"points":[[1772352000,600.0,null,null,null,3,null],
        [1772352015,900.0,880.0,800.0,950.0,3,4],[1772352045,null,890.0,810.0,960.0,null,4]]}"#;
    let report = of_service("shop/web", &["-o", "json"], service(TARGETS, rows)).json();
    let points = report["points"].as_array().unwrap();
    let of = |field: &str| {
        points
            .iter()
            .map(|point| point[field].clone())
            .collect::<Vec<_>>()
    };
    let none = Value::Null;
    assert_eq!(
        of("load"),
        [600.0.into(), 900.0.into(), none.clone(), none.clone()]
    );
    assert_eq!(
        of("upper80"),
        [none.clone(), 950.0.into(), none.clone(), 960.0.into()]
    );
    assert_eq!(of("floor"), [none.clone(), 4.into(), none, 4.into()]);
    assert_eq!(points[1]["at"], "2026-03-01T08:00:15Z");
}

#[test]
fn a_service_that_cannot_tell_is_named_with_the_way_to_it() {
    let address = service(TARGETS, HISTORY);
    of_service("shop/db", &[], address).is_refused(
        2,
        &["shop/db is no target", "shop/web (HorizontalPodAutoscaler)"],
    );
    of_service("web", &[], address).is_refused(2, &["NAMESPACE/NAME"]);
    of_service("shop/web", &["--kind", "Deployment"], address).is_refused(2, &["no target"]);
    let by_memory = of_service(
        "shop/web",
        &["--resource", "memory"],
        service(TARGETS, HISTORY),
    );
    by_memory.is_refused(1, &["history", "not understood"]);
    let rows = r#"{"step":60,"points":[]}"#;
    of_service("shop/web", &[], service(TARGETS, rows)).is_refused(1, &["60 s", "15 s"]);
    let rows = r#"{"step":15,"points":[]}"#;
    of_service("shop/web", &[], service(TARGETS, rows)).is_refused(1, &["no history yet"]);
    of_service("shop/web", &[], service("[]", HISTORY)).is_refused(1, &["not understood"]);
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    of_service("shop/web", &[], closed).is_refused(
        1,
        &[
            "does not answer",
            "kubectl -n evenkeel-system port-forward deploy/evenkeel 8081",
        ],
    );
}
