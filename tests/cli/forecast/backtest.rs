//! `forecast backtest`: the figures as JSON, tables and a picture, and what is refused.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;

use super::super::{command, evenkeel, evenkeel_with_input};
use super::number;

const TRACES: &str = "tests/fixtures/traces";

fn trace(name: &str) -> String {
    format!("{TRACES}/{name}.csv")
}

/// The first values of a load: enough for a model that takes long to fit.
fn beginning(name: &str) -> String {
    let all = std::fs::read_to_string(trace(name)).unwrap();
    let lines: Vec<&str> = all.lines().take(500).collect();
    lines.join("\n")
}

#[test]
fn figures_are_those_of_an_independent_program() {
    let names = [
        "alibaba2018_cluster_cpu_5m",
        "nab_ec2_netin_a2eb1cd9_5m",
        "nab_elb_requests_8c0756_5m",
    ];
    let files = names.map(trace);
    let models = ["--models", "naive,seasonal-naive", "-o", "json"];
    let files = files.each_ref().map(String::as_str);
    let report = evenkeel(&[&["forecast", "backtest"], &files[..], &models].concat()).json();
    let expected = std::fs::read_to_string(format!("{TRACES}/expected.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_str(&expected).unwrap();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 3 * 2 * 2);
    for row in results {
        let same = |one: &&Value| {
            let fields = ["series", "model", "horizon"];
            fields.iter().all(|field| one[field] == row[field])
        };
        let expected = expected.iter().find(same).unwrap();
        for figure in ["mae", "rmse", "mape", "smape", "mase"] {
            let (found, expected) = (number(&row[figure]), number(&expected[figure]));
            let close = (found - expected).abs() <= 0.6e-6 + 1e-9 * expected;
            assert!(close, "{row}: {figure}, not {expected}");
        }
        for figure in ["coverage80", "coverage95", "fit_seconds", "predict_seconds"] {
            assert!(number(&row[figure]) >= 0.0, "{row}");
        }
    }
    assert_eq!(report["partial"], false);
    let naive = &report["mean"][0];
    assert_eq!(
        (&naive["model"], &naive["series"]),
        (&"naive".into(), &3.into())
    );
    assert!((number(&naive["mae_vs_naive_geomean"]) - 1.0).abs() < 1e-12);
}

#[test]
fn models_that_are_estimated_tell_what_they_found() {
    let load = beginning("nab_ec2_netin_a2eb1cd9_5m");
    let models = ["--models", "arima,ets", "--horizon", "1"];
    let call = [&["forecast", "backtest", "-"], &models[..]].concat();
    let called = evenkeel_with_input(&call, &load);
    assert_eq!(called.code, 0, "{}", called.stderr);
    for part in [
        "stdin",
        "/NAIVE",
        "MEAN OVER SERIES",
        "arima on stdin, last estimate: ARIMA(",
        "Ljung-Box",
        "last estimate: ETS(",
    ] {
        assert!(
            called.stdout.contains(part),
            "{part:?} in {}",
            called.stdout
        );
    }
}

#[test]
fn trees_and_the_blend_beat_the_last_value_and_tell_what_they_are_of() {
    let load = beginning("nab_ec2_cpu_5f5533_5m");
    let models = ["--models", "gbdt,auto", "--horizon", "1", "-o", "json"];
    let call = [&["forecast", "backtest", "-"], &models[..]].concat();
    let report = evenkeel_with_input(&call, &load).json();
    let means = report["mean"].as_array().unwrap();
    assert_eq!(means.len(), 2, "{means:?}");
    for mean in means {
        assert!(number(&mean["mae_vs_naive_worst"]) < 1.0, "{mean}");
        assert!((0.7..0.9).contains(&number(&mean["coverage80"])), "{mean}");
        assert!((0.9..1.0).contains(&number(&mean["coverage95"])), "{mean}");
    }
    let found = report["found"].as_array().unwrap();
    let form = |model: &str| {
        let mut of_model = found.iter().filter(|one| one["model"] == model);
        of_model.next().unwrap()["form"].as_str().unwrap()
    };
    assert!(form("gbdt").contains("trees for steps 1, of"), "{found:?}");
    for part in ["at step 1: naive", "seasonal-naive", "arima", "ets", "gbdt"] {
        assert!(form("auto").contains(part), "{part:?} in {found:?}");
    }
}

#[test]
fn a_picture_has_a_panel_for_each_model_and_horizon() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("load.svg");
    let [one, other] = ["alibaba2018_cluster_cpu_5m", "alibaba2018_cluster_mem_5m"].map(trace);
    let svg = picture.to_str().unwrap();
    let called = evenkeel(&[
        "forecast", "backtest", &one, "--models", "tes", "--show", "6h", "-o", svg,
    ]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    assert_eq!(called.stdout, "", "no numbers were asked for");
    let drawn = std::fs::read_to_string(&picture).unwrap();
    for part in [
        "tes, 1 step ahead: MAE",
        "tes, 12 steps ahead: MAE",
        "80% interval",
        "The last 73 values of 519",
    ] {
        assert!(drawn.contains(part), "{part:?} in {drawn}");
    }
    let both = evenkeel(&[
        "forecast", "backtest", &one, &other, "--models", "naive", "-o", svg,
    ]);
    assert_eq!(both.code, 0, "{}", both.stderr);
    assert!(
        folder
            .path()
            .join("load-alibaba2018_cluster_mem_5m.svg")
            .exists()
    );
}

#[test]
fn a_model_without_history_enough_is_left_out_with_the_reason() {
    let lines = (0..300_u32).map(|index| format!("{},{}", index * 300, index % 7));
    let text = lines.collect::<Vec<_>>().join("\n");
    let called = evenkeel_with_input(
        &[
            "forecast",
            "backtest",
            "-",
            "--models",
            "naive,seasonal-naive",
            "-o",
            "json",
        ],
        &text,
    );
    let report = called.json();
    assert_eq!(report["results"].as_array().unwrap().len(), 2);
    let absent = &report["absent"][0];
    assert_eq!(
        (&absent["series"], &absent["model"]),
        (&"stdin".into(), &"seasonal-naive".into())
    );
    assert!(
        absent["reason"].as_str().unwrap().contains("ready in"),
        "{absent}"
    );
}

#[test]
fn hours_ahead_are_judged_on_the_highest_value_of_each_ten_minutes() {
    let load = trace("alibaba2018_cluster_cpu_5m");
    let call = ["forecast", "backtest", &load, "--models", "naive,arima"];
    let times = ["--horizon", "6h,1h", "-o", "json"];
    let report = evenkeel(&[&call[..], &times].concat()).json();
    let means = report["mean"].as_array().unwrap();
    let of_arima = means.iter().filter(|mean| mean["model"] == "arima");
    let horizons: Vec<_> = of_arima
        .clone()
        .map(|mean| number(&mean["horizon"]))
        .collect();
    assert_eq!(horizons, [6.0, 36.0]);
    for mean in of_arima {
        assert!(number(&mean["mae_vs_naive_worst"]) < 0.98, "{mean}");
        assert!((0.7..0.95).contains(&number(&mean["coverage80"])), "{mean}");
    }
}

#[test]
fn what_no_backtest_can_be_made_of_is_refused() {
    let refused = |arguments: &[&str], input: &str, parts: &[&str]| {
        let called =
            evenkeel_with_input(&[&["forecast", "backtest", "-"], arguments].concat(), input);
        called.is_refused(2, parts);
    };
    let line = |range: std::ops::Range<u32>| -> String {
        let lines = range.map(|index| format!("{},1\n", index * 60));
        lines.collect::<Vec<_>>().concat()
    };
    refused(
        &[],
        &line(0..20),
        &["20 values", "horizon 12 needs at least 37"],
    );
    let hole = line(0..50) + &line(51..100);
    refused(
        &[],
        &hole,
        &["1970-01-01T00:51:00Z", "1970-01-01T00:50:00Z", "1m apart"],
    );
    let missing = line(0..50) + "3000,\n" + &line(51..100);
    refused(&[], &missing, &["1970-01-01T00:50:00Z is missing"]);
    refused(
        &["--models", "holt"],
        "",
        &["holt", "gbdt, gru, arima-gru or swish-net"],
    );
    refused(
        &["--models", "tes,tes"],
        "",
        &["--models tes is given twice"],
    );
    refused(&["--horizon", "0"], "", &["from 1 to 288"]);
    for wrong in ["25h", "15m", "0h", "-1h"] {
        let horizon = format!("--horizon={wrong}");
        refused(&[&horizon], "", &["a time from 10m to 24h"]);
    }
    refused(
        &["--horizon", "1h,12"],
        "",
        &["mixes steps and times", "1,12 or 1h,6h,24h"],
    );
    refused(
        &["--models", "tes,naive,s-hpa", "-o", "x.svg"],
        "",
        &["3 models at 2 horizons", "up to 4"],
    );
}

#[test]
fn an_interrupted_backtest_leaves_what_it_has() {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let end = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let files = ["nasa_aug95_rps_1m", "crane_input12_1m"].map(trace);
    let arguments = ["--models", "naive,arima", "--horizon", "1", "-o", "json"];
    let child = command(&["forecast", "backtest", &files[0], &files[1]])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(end)
        .spawn()
        .unwrap();
    // The bar on the terminal says how far it is.
    let (mut terminal, mut shown) = (File::from(terminal), String::new());
    while !shown.contains("arima on nasa_aug95_rps_1m") {
        let mut buffer = [0; 4096];
        let read = terminal.read(&mut buffer).unwrap();
        shown += &String::from_utf8_lossy(&buffer[..read]);
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(report["partial"], true);
    let first = &report["results"][0];
    let told = (&first["model"], &first["partial"], &first["forecasts"]);
    assert_eq!(told, (&"naive".into(), &false.into(), &6048.into()));
    let means = report["mean"].as_array().unwrap();
    assert_eq!(means.len(), 1, "only of what was finished: {means:?}");
}
