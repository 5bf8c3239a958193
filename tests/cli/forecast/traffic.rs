//! `train --traffic` and `forecast replicas`: the replicas that traffic needs.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::number;
use crate::{Called, evenkeel, evenkeel_with_input};

const RECORDED: &str = "tests/fixtures/traffic/synthetic_a.csv";
/// Up to the second Saturday.
const ROWS: usize = 13 * 144;

/// A model, with what its training printed.
struct Trained {
    folder: tempfile::TempDir,
    report: Value,
}

impl Trained {
    fn model(&self) -> PathBuf {
        self.folder.path().join("shop.traffic")
    }

    fn loads(&self) -> PathBuf {
        self.folder.path().join("shop.csv")
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn train(file: &Path, model: &Path, more: &[&str]) -> Called {
    let needed = [
        "train",
        text(file),
        "-o",
        text(model),
        "--utilisation",
        "cpu_util_pct",
        "-o",
        "json",
    ];
    let traffic: &[&str] = if more.contains(&"--traffic") {
        &[]
    } else {
        &["--traffic", "http_rps,rpc_rps"]
    };
    evenkeel(&[&needed, traffic, more].concat())
}

/// A model of the recorded law, trained once for all tests.
fn trained() -> &'static Trained {
    static TRAINED: OnceLock<Trained> = OnceLock::new();
    TRAINED.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let recorded = std::fs::read_to_string(RECORDED).unwrap();
        let days: Vec<&str> = recorded.lines().take(ROWS + 1).collect();
        let mut trained = Trained {
            folder,
            report: Value::Null,
        };
        std::fs::write(trained.loads(), days.join("\n")).unwrap();
        trained.report = train(&trained.loads(), &trained.model(), &[]).json();
        trained
    })
}

fn replicas(arguments: &[&str]) -> Called {
    let model = trained().model();
    let needed = ["forecast", "replicas", text(&model), "--target", "60"];
    let most: &[&str] = if arguments.contains(&"--max") {
        &[]
    } else {
        &["--max", "60"]
    };
    evenkeel(&[&needed, most, arguments].concat())
}

#[test]
fn a_model_says_how_well_it_told_the_day_that_was_held_out() {
    let report = &trained().report;
    assert_eq!(
        (&report["samples"], &report["leftOut"]),
        (&ROWS.into(), &0.into())
    );
    let model = &report["model"];
    assert_eq!(model["learntFrom"], "2024-01-01T00:00:00Z");
    assert_eq!(model["learntTo"], "2024-01-13T23:50:00Z");
    assert_eq!(
        (&model["version"], &model["trees"]),
        (&2.into(), &200.into())
    );
    let day = &model["heldOutDay"];
    assert_eq!(day["samples"], 144);
    assert!(number(&day["explained"]) > 0.8, "{day}");
    assert!(number(&day["meanAbsoluteError"]) < 2.0, "{day}");
    let coefficients = &model["linear"]["coefficients"];
    let value = |place: usize| number(&coefficients[place]["value"]);
    assert_eq!(coefficients[0]["traffic"], "http_rps");
    assert!((1.5..2.5).contains(&(value(1) / value(0))), "{model}");
}

#[test]
fn traffic_in_a_file_is_turned_into_the_replicas_that_it_needs() {
    let recorded = std::fs::read_to_string(RECORDED).unwrap();
    let oracle = recorded.lines().skip(1).take(ROWS).map(|line| {
        let (_, last) = line.rsplit_once(',').unwrap();
        last.parse::<i64>().unwrap()
    });
    let oracle: Vec<i64> = oracle.collect();
    let report = replicas(&[text(&trained().loads()), "--min", "3", "-o", "json"]).json();
    let found = report["replicas"].as_array().unwrap();
    assert_eq!(found.len(), oracle.len());
    let right = found
        .iter()
        .zip(&oracle)
        .filter(|(one, oracle)| one["replicas"] == **oracle);
    assert!(right.count() * 100 > ROWS * 90);
    for one in found {
        assert!(number(&one["utilisation"]) <= 60.0, "{one}");
        assert!(one["limitedBy"].is_null(), "{one}");
    }
    assert_eq!(report["traffic"], json!(["http_rps", "rpc_rps"]));
}

#[test]
fn people_get_a_table_and_bounds_are_named() {
    let traffic = "timestamp,rpc_rps,http_rps\n1704700800,130,900\n1704701400,,900\n";
    let model = trained().model();
    let call = |bounds: [&str; 2], format: &str| {
        let call = ["forecast", "replicas", text(&model), "-", "--target", "60"];
        let bounds = ["--min", bounds[0], "--max", bounds[1], "-o", format];
        evenkeel_with_input(&[&call[..], &bounds[..]].concat(), traffic)
    };
    let table = call(["1", "60"], "table");
    assert_eq!(table.code, 0, "{}", table.stderr);
    for part in [
        "cpu_util_pct = ",
        "× http_rps",
        "held out",
        "2024-01-08T08:00:00Z   900.00     130.00 ",
        "2024-01-08T08:10:00Z   900.00     -         -",
    ] {
        assert!(table.stdout.contains(part), "{part}: {}", table.stdout);
    }
    for (bounds, limit, extrapolated) in [
        (["1", "60"], Value::Null, json!([])),
        (["1", "5"], "max".into(), json!(["http_rps"])),
        (["40", "60"], "min".into(), json!(["rpc_rps"])),
    ] {
        let report = call(bounds, "json").json();
        assert_eq!(report["replicas"][0]["limitedBy"], limit, "{report}");
        assert_eq!(report["replicas"][0]["extrapolated"], extrapolated);
        assert!(report["replicas"][1]["replicas"].is_null(), "{report}");
    }
}

#[test]
fn traffic_of_one_time_is_enough() {
    let at = ["--at", "2024-01-10T20:00:00Z", "-o", "json"];
    let count = |traffic: &str| {
        let report = replicas(&[&["--traffic", traffic], &at[..]].concat()).json();
        number(&report["replicas"][0]["replicas"])
    };
    let (some, twice) = (
        count("http_rps=500,rpc_rps=100"),
        count("rpc_rps=200,http_rps=1000"),
    );
    assert!(1.8 * some < twice && twice < 2.2 * some, "{some} {twice}");
}

#[test]
fn files_that_are_no_model_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let good = std::fs::read(trained().model()).unwrap();
    let mut damaged = good.clone();
    damaged[good.len() / 2] ^= 1;
    let mut newer = good.clone();
    newer[8] = 9;
    for (name, bytes, part) in [
        ("damaged", damaged, "checksum"),
        ("short", good[..40].to_vec(), "checksum"),
        (
            "foreign",
            b"time,value\n".to_vec(),
            "not a model of the kind traffic",
        ),
        (
            "newer",
            newer,
            "version 9, and this program reads version 2",
        ),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let call = [
            "forecast",
            "replicas",
            text(&path),
            "-",
            "--target",
            "60",
            "--max",
            "9",
        ];
        evenkeel(&call).is_refused(2, &[name, part]);
    }
    let none = [
        "forecast",
        "replicas",
        "none.traffic",
        "-",
        "--target",
        "60",
        "--max",
        "9",
    ];
    evenkeel(&none).is_refused(2, &["none.traffic"]);
}

#[test]
fn what_is_wrong_with_a_call_is_named() {
    let at = ["--at", "2024-01-10T20:00:00Z"];
    for (arguments, parts) in [
        (
            &["--traffic", "http_rps=1,db=2"][..],
            &["\"db\"", "http_rps, rpc_rps"][..],
        ),
        (&["--traffic", "http_rps=1"], &["\"rpc_rps\" once"]),
        (
            &["--traffic", "http_rps=1,rpc_rps=1,http_rps=2"],
            &["\"http_rps\" once"],
        ),
        (&["--traffic", "http_rps=-1"], &["at least 0"]),
        (
            &[
                "--traffic",
                "http_rps=1,rpc_rps=1",
                "--min",
                "9",
                "--max",
                "3",
            ],
            &["--min, --max"],
        ),
    ] {
        replicas(&[arguments, &at].concat()).is_refused(2, parts);
    }
    replicas(&[]).is_refused(2, &["FILE"]);
    replicas(&["--traffic", "http_rps=1,rpc_rps=1"]).is_refused(2, &["--at"]);
    replicas(&["examples/traces/nasa_web.csv"]).is_refused(2, &["no column \"http_rps\""]);
    let model = trained().model();
    let zero = [
        "forecast",
        "replicas",
        text(&model),
        "-",
        "--target",
        "60%",
        "--max",
        "9",
    ];
    evenkeel(&zero).is_refused(2, &["--target", "such as 60"]);
}

#[test]
fn no_model_is_written_where_traffic_does_not_explain_the_utilisation() {
    let (loads, folder) = (trained().loads(), tempfile::tempdir().unwrap());
    let model = folder.path().join("none.traffic");
    for (more, code, parts) in [
        // Memory is not what drives the cpu.
        (
            &["--traffic", "mem_util_pct"][..],
            1,
            &["shop.csv", "explain", "No model is written"][..],
        ),
        (&["--traffic", "http_rps,http_rps"], 2, &["named twice"]),
        (
            &["--traffic", "db_rps"],
            2,
            &["no column \"db_rps\"", "http_rps, rpc_rps"],
        ),
        (&["--replicas", "pods"], 2, &["no column \"pods\""]),
        (&["--global"], 2, &["--global", "cannot be used with"]),
        (&["--seed", "2"], 2, &["--seed", "cannot be used with"]),
        (&[RECORDED], 2, &["one file, and 2 are given"]),
    ] {
        train(&loads, &model, more).is_refused(code, parts);
        assert!(!model.exists(), "{more:?}");
    }
    let bare = ["train", text(&loads), "-o", text(&model)];
    evenkeel(&bare).is_refused(2, &["--global", "--traffic"]);
    evenkeel(&[&bare[..], &["--traffic", "http_rps"]].concat()).is_refused(2, &["--utilisation"]);
    let day: Vec<String> = std::fs::read_to_string(&loads)
        .unwrap()
        .lines()
        .take(145)
        .map(str::to_owned)
        .collect();
    let short = folder.path().join("short.csv");
    std::fs::write(&short, day.join("\n")).unwrap();
    train(&short, &model, &[]).is_refused(1, &["too few: 0 before the newest day"]);
}
