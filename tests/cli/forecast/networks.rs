//! `train --gru`, and `forecast backtest` with the file that it wrote.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;

use super::number;
use crate::{Called, evenkeel};

/// The first values of a recorded load in a file.
fn load(folder: &Path, name: &str, values: usize) -> PathBuf {
    let recorded = "tests/fixtures/traces/nab_ec2_netin_a2eb1cd9_5m.csv";
    let recorded = std::fs::read_to_string(recorded).unwrap();
    let lines: Vec<&str> = recorded.lines().take(values + 1).collect();
    let path = folder.join(name);
    std::fs::write(&path, lines.join("\n")).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn train(load: &Path, model: &Path, more: &[&str]) -> Called {
    let needed = [
        "train",
        "--gru",
        text(load),
        "-o",
        text(model),
        "-o",
        "json",
    ];
    evenkeel(&[&needed, more].concat())
}

fn backtest(load: &Path, model: &Path, more: &[&str]) -> Called {
    let needed = [
        "forecast",
        "backtest",
        text(load),
        "--model-file",
        text(model),
        "-o",
        "json",
    ];
    evenkeel(&[&needed, more].concat())
}

fn refused(called: &Called, parts: &[&str]) {
    assert_ne!(called.code, 0, "{}", called.stdout);
    for part in parts {
        assert!(
            called.stderr.contains(part),
            "{part:?} in {}",
            called.stderr
        );
    }
}

/// Networks of 300 values, trained once for all tests.
struct Trained {
    folder: tempfile::TempDir,
    report: Value,
}

impl Trained {
    fn model(&self) -> PathBuf {
        self.folder.path().join("load.safetensors")
    }

    fn load(&self) -> PathBuf {
        self.folder.path().join("load.csv")
    }
}

fn trained() -> &'static Trained {
    static TRAINED: OnceLock<Trained> = OnceLock::new();
    TRAINED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let mut trained = Trained {
            report: Value::Null,
            folder,
        };
        let load = load(trained.folder.path(), "load.csv", 300);
        trained.report = train(&load, &trained.model(), &[]).json();
        trained
    })
}

#[test]
fn networks_forecast_as_they_did_when_they_were_judged() {
    let trained = trained();
    let report = &trained.report;
    assert_eq!(
        (&report["kind"], &report["series"], &report["horizon"]),
        (&"gru".into(), &"load".into(), &12.into())
    );
    let models = ["--models", "gru"];
    let tested = backtest(&trained.load(), &trained.model(), &models).json();
    let accuracy = report["accuracy"].as_array().unwrap();
    assert_eq!(accuracy.len(), 2, "{accuracy:?}");
    for (one, row) in accuracy.iter().zip(tested["results"].as_array().unwrap()) {
        let (told, found) = (number(&one["mae"]), number(&row["mae"]));
        assert!((told - found).abs() < 1e-9 * found, "{one} and {row}");
        assert!(
            number(&one["mae"]) < 1.1 * number(&one["naiveMae"]),
            "{one}"
        );
    }
    let bytes = std::fs::read(trained.model()).unwrap();
    assert!(bytes[8..].starts_with(b"{\"__metadata__\":{\"evenkeel\":"));
}

#[test]
fn training_goes_on_from_a_file_of_the_same_kind_and_grid() {
    let trained = trained();
    let next = trained.folder.path().join("next.safetensors");
    let resume = trained.model();
    let called = train(&trained.load(), &next, &["--resume", text(&resume)]);
    assert_eq!(called.json()["networks"], trained.report["networks"]);
    assert_ne!(
        std::fs::read(next).unwrap(),
        std::fs::read(&resume).unwrap()
    );
    let never = trained.folder.path().join("never.safetensors");
    let fewer = train(
        &trained.load(),
        &never,
        &["--resume", text(&resume), "--steps", "3"],
    );
    refused(
        &fewer,
        &["the networks forecast 12 steps, and --steps is 3"],
    );
    let load = trained.load();
    let files = [text(&load), "-o", text(&never), "--resume", text(&resume)];
    let arima = evenkeel(&[&["train", "--arima-gru"], &files[..]].concat());
    refused(&arima, &["networks of the kind gru; accepted: arima-gru"]);
    assert!(!never.exists());
}

#[test]
fn files_that_are_no_such_model_or_know_too_much_are_refused() {
    let trained = trained();
    let folder = trained.folder.path();
    let (models, other) = (["--models", "gru"], folder.join("other.safetensors"));
    std::fs::write(&other, "time,value\n").unwrap();
    let foreign = backtest(&trained.load(), &other, &models);
    refused(
        &foreign,
        &["other.safetensors: the file is not a model that `evenkeel train` wrote"],
    );
    let mut bytes = std::fs::read(trained.model()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&other, bytes).unwrap();
    let damaged = backtest(&trained.load(), &other, &models);
    refused(&damaged, &["the model is damaged: its checksum is wrong"]);
    let unnamed = backtest(&trained.load(), &trained.model(), &["--models", "naive"]);
    refused(
        &unnamed,
        &["holds a model of the kind gru, which --models does not name"],
    );
    let far = backtest(
        &trained.load(),
        &trained.model(),
        &["--models", "gru", "--horizon", "20"],
    );
    refused(&far, &["networks that forecast 12 steps; 20 are needed"]);
    let shorter = folder.join("shorter");
    std::fs::create_dir_all(&shorter).unwrap();
    let known = backtest(&load(&shorter, "load.csv", 250), &trained.model(), &models);
    refused(
        &known,
        &[
            "the model has learnt load up to",
            "is to be judged on it from",
        ],
    );
}

#[test]
fn one_network_for_many_loads_forecasts_those_that_it_knows_and_others() {
    let folder = tempfile::tempdir().unwrap();
    let [one, two, other] = [("one.csv", 180), ("two.csv", 240), ("other.csv", 200)]
        .map(|(name, values)| load(folder.path(), name, values));
    let net = folder.path().join("many.safetensors");
    let files = [text(&one), text(&two), "-o", text(&net), "-o", "json"];
    let report = evenkeel(&[&["train", "--swish-net"], &files[..]].concat()).json();
    let loads = report["loads"].as_array().unwrap();
    assert_eq!((&loads[0]["name"], loads.len()), (&"one".into(), 2));
    assert!(std::fs::metadata(&net).unwrap().len() < 1 << 20);
    let models = ["--models", "swish-net"];
    let tested = backtest(&one, &net, &models).json();
    let (told, found) = (
        &loads[0]["accuracy"][0]["mae"],
        &tested["results"][0]["mae"],
    );
    assert!(
        (number(told) - number(found)).abs() < 1e-9 * number(found),
        "{tested}"
    );
    let unknown = backtest(&other, &net, &models).json();
    assert!(number(&unknown["results"][1]["mae"]) > 0.0, "{unknown}");
    let lacking = evenkeel(&["forecast", "backtest", text(&one), "--models", "swish-net"]);
    refused(
        &lacking,
        &["swish-net is not trained here; accepted with --model-file"],
    );
    let twice = [
        "train",
        "--swish-net",
        text(&one),
        text(&one),
        "-o",
        text(&net),
    ];
    refused(&evenkeel(&twice), &["two loads have the name one"]);
    let resumed = [
        "train",
        "--gru",
        text(&one),
        "--resume",
        text(&net),
        "-o",
        text(&net),
    ];
    refused(
        &evenkeel(&resumed),
        &["the model has the kind swish-net; accepted: gru, arima-gru"],
    );
}
