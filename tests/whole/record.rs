//! `evenkeel forecast record` of a Prometheus on loopback: the file that it writes, that other commands read it,
//! and how it fails.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::process::{Command, Output};

use serde_json::Value;

use crate::support::metrics_stand_in;
use crate::support::metrics_stand_in::{Reply, StandIn};

/// The end of what is recorded, and the same for a flag.
const END: i64 = 1_773_532_800;
const TO: &str = "2026-03-15T00:00:00Z";
/// The first moment that the stand-in remembers: three days before.
const BEGIN: i64 = END - 3 * 86_400;

/// A field of a form, in seconds.
fn field(form: &str, name: &str) -> f64 {
    let mut fields = form.split('&').filter_map(|field| field.split_once('='));
    let (_, value) = fields.find(|(known, _)| *known == name).unwrap();
    let milliseconds = value.strip_suffix("ms");
    milliseconds.map_or_else(
        || value.parse().unwrap(),
        |value| value.parse::<f64>().unwrap() / 1000.0,
    )
}

/// Requests that rise and fall each day, in the range that is asked for; with `gap`, without those of one hour.
fn requests(form: &str) -> String {
    let (start, end, step) = (
        field(form, "start"),
        field(form, "end"),
        field(form, "step"),
    );
    let gap = (END - 7200)..(END - 3600);
    let mut values = Vec::new();
    let mut at = start;
    while at <= end {
        let second = evenkeel_units::i64_ceil(at);
        if second >= BEGIN && !(form.contains("gap") && gap.contains(&second)) {
            let day = std::f64::consts::TAU * at / 86_400.0;
            values.push(serde_json::json!([
                at,
                (100.0 + 50.0 * day.sin()).to_string()
            ]));
        }
        at += step;
    }
    let series = if values.is_empty() {
        vec![]
    } else {
        vec![serde_json::json!({"metric": {}, "values": values})]
    };
    serde_json::json!({"status": "success", "data": {"resultType": "matrix", "result": series}})
        .to_string()
}

async fn prometheus() -> StandIn {
    metrics_stand_in::start(|form| {
        if form.contains("absent") {
            let none = r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
            return Reply::Answer(200, none.to_owned());
        }
        if form.contains("wrong") {
            let error = r#"{"status":"error","errorType":"bad_data","error":"1:7: parse error"}"#;
            return Reply::Answer(400, error.to_owned());
        }
        Reply::Answer(200, requests(form))
    })
    .await
}

async fn called(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(arguments).env_clear();
    let output = tokio::task::spawn_blocking(move || command.output());
    output.await.unwrap().unwrap()
}

async fn record(prometheus: &str, arguments: &[&str]) -> Output {
    let call = ["forecast", "record", "--prometheus", prometheus, "--to", TO];
    called(&[&call[..], arguments].concat()).await
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_prometheus_remembers_is_a_file_that_other_commands_read() {
    let prometheus = prometheus().await;
    let url = prometheus.url.to_string();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.csv");
    let file = path.to_str().unwrap();
    let columns = [
        "--column",
        "rps=requests",
        "--column",
        "cpu=requests_with_gap",
        "--step",
        "5m",
        "-o",
        file,
    ];
    let done = record(&url, &columns).await;
    assert!(done.status.success(), "{}", text(&done.stderr));
    let written = std::fs::read_to_string(&path).unwrap();
    let rows: Vec<Vec<&str>> = written
        .lines()
        .map(|line| line.split(',').collect())
        .collect();
    assert_eq!(rows[0], ["time", "rps", "cpu"]);
    // Three days, though fourteen were asked for, and an hour of nothing.
    assert_eq!(rows.len(), 1 + 3 * 288);
    assert_eq!(rows[1][0], "2026-03-12T00:02:30Z");
    assert_eq!(
        rows.iter()
            .filter(|row| row[2].is_empty() && !row[1].is_empty())
            .count(),
        12
    );

    let backtest = [
        "forecast", "backtest", file, "--column", "rps", "--models", "naive", "-o", "json",
    ];
    let judged = called(&backtest).await;
    assert!(judged.status.success(), "{}", text(&judged.stderr));
    let judged: Value = serde_json::from_slice(&judged.stdout).unwrap();
    let mae = judged["results"][0]["mae"].as_f64().unwrap();
    assert!(mae > 0.0 && mae < 2.0, "{mae}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_recorded_is_said_and_nothing_is_written() {
    let prometheus = prometheus().await;
    let url = prometheus.url.to_string();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.csv");
    let output = ["-o", path.to_str().unwrap()];
    let cases: [(&[&str], i32, &[&str]); 6] = [
        (&["wrong("], 2, &["\"load\"", "parse error"]),
        (&["absent"], 1, &["no value", "\"load\"", "14 days"]),
        (
            &["--column", "a=x", "--column", "a=y"],
            2,
            &["--column a", "twice"],
        ),
        (&["--column", "nothing"], 2, &["NAME=PROMQL"]),
        (
            &["x", "--days", "400", "--step", "15s"],
            2,
            &["--step", "1050000"],
        ),
        (&[], 2, &["PROMQL"]),
    ];
    for (arguments, code, parts) in cases {
        let failed = record(&url, &[arguments, &output].concat()).await;
        let message = text(&failed.stderr);
        assert_eq!(failed.status.code(), Some(code), "{message}");
        for part in parts {
            assert!(message.contains(part), "{part:?} in {message}");
        }
    }
    let nobody = record("http://127.0.0.1:1", &["x"]).await;
    assert_eq!(nobody.status.code(), Some(1));
    assert!(text(&nobody.stderr).contains("port-forward"));
    assert!(!path.exists());
}
