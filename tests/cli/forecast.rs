//! `forecast plot`: a load from a file, as numbers and as pictures; `forecast
//! backtest`, `forecast replay` and `forecast replicas` in modules of their own.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

mod backtest;
mod networks;
mod replay;
mod traffic;

use std::fmt::Write as _;

use serde_json::Value;

use super::{Called, evenkeel, evenkeel_with_input};

const TRACE: &str = "examples/traces/nasa_web.csv";

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
    // A load without any noise is what s-hpa is good at.
    let smooth = ["--model", "s-hpa", "--start-up", "90s", "-o", "json"];
    let report = plot(&smooth, &hills()).json();
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
        (&"millicores".into(), &150.into())
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
        "is interpolated",
    ] {
        assert!(called.stdout.contains(part), "{part}: {}", called.stdout);
    }
}

#[test]
fn a_picture_is_written_beside_the_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("load.svg").to_str().unwrap().to_owned();
    let zone = ["--time-zone", "Europe/Berlin"];
    let called = plot(&[&["-o", &svg, "-o", "json"], &zone[..]].concat(), &hills());
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
            &["arima", "backtest", "s-hpa, tes, naive, seasonal-naive"],
        ),
        (
            &["--model", "holt"],
            &hills,
            &["holt", "s-hpa, tes, naive, seasonal-naive"],
        ),
        (&["--target", "0.6"], &hills, &["such as 60%"]),
        (&["-o", "load.pdf"], &hills, &["ends in .svg"]),
        (
            &["-o", "load.png"],
            &hills,
            &["PNG is not supported", ".svg"],
        ),
        (&["--time-zone", "Mars"], &hills, &["Europe/Berlin"]),
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
}

#[test]
fn a_file_and_arguments_that_are_missing_are_named() {
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
    evenkeel(&missing).is_refused(2, &["no.csv"]);
    evenkeel(&["forecast", "plot", TRACE]).is_refused(2, &["--request", "--target", "--max"]);
}
