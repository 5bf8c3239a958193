//! `forecast replay`: the frontier of floors and of the plain HPA at lower targets.

use std::fmt::Write as _;

use serde_json::Value;

use super::{hills, number};
use crate::{Called, evenkeel, evenkeel_with_input};

/// The last hour and a half of the hills, of which the rise is one.
const LATE: &str = "1772368200";

fn replay(arguments: &[&str], input: &str) -> Called {
    let needed = [
        ["--request", "500m"],
        ["--target", "60%"],
        ["--max", "20"],
        ["--count-from", LATE],
        ["--start-up", "90s"],
    ];
    let unsaid = needed.iter().filter(|pair| !arguments.contains(&pair[0]));
    let unsaid: Vec<&str> = unsaid.flatten().copied().collect();
    evenkeel_with_input(
        &[&["forecast", "replay", "-"], &unsaid[..], arguments].concat(),
        input,
    )
}

fn policies<'a>(series: &'a Value, kind: &str) -> Vec<&'a Value> {
    let policies = series["policies"].as_array().unwrap().iter();
    policies.filter(|one| one["policy"] == kind).collect()
}

#[test]
fn floors_stand_beside_the_plain_hpa_at_lower_targets() {
    let report = replay(&["--model", "s-hpa", "-o", "json"], &hills()).json();
    let [series] = &report["series"].as_array().unwrap()[..] else {
        panic!("{report}")
    };
    assert_eq!(
        (&series["name"], &series["stepSeconds"]),
        (&"-".into(), &15.into())
    );
    assert_eq!(series["countFrom"], "2026-03-01T12:30:00Z");
    let plain = policies(series, "hpa");
    let targets: Vec<f64> = plain.iter().map(|one| number(&one["target"])).collect();
    assert_eq!(targets, [0.6, 0.58, 0.55, 0.53, 0.5, 0.48, 0.45, 0.43, 0.4]);
    let hours: Vec<f64> = plain
        .iter()
        .map(|one| number(&one["replicaHours"]))
        .collect();
    assert!(hours[0] < hours[8], "{hours:?}");
    let floors = policies(series, "evenkeel");
    let risks: Vec<f64> = floors.iter().map(|one| number(&one["risk"])).collect();
    assert_eq!(risks, [0.001, 0.005, 0.01, 0.02, 0.05]);
    // A smooth load is what s-hpa is good at.
    let under = |one: &Value| number(&one["underProvisionedSeconds"]);
    assert!(under(floors[2]) < under(plain[0]), "{series}");
    let ratio = number(&series["atEqualReplicaHours"]["underProvisioned"]);
    assert!(0.0 < ratio && ratio.is_finite(), "{series}");
    assert_eq!(
        report["mean"]["atEqualReplicaHours"],
        series["atEqualReplicaHours"]
    );
    assert!(
        plain
            .iter()
            .chain(&floors)
            .all(|one| one.get("points").is_none())
    );
}

#[test]
fn points_are_of_the_judged_time_and_add_up_to_the_costs() {
    let report = replay(&["--points", "-o", "json"], &hills()).json();
    let series = &report["series"][0];
    let policies = series["policies"].as_array().unwrap();
    for policy in policies {
        let points = policy["points"].as_array().unwrap();
        assert_eq!(points[0]["t"], 1_772_368_200);
        let hours: f64 = points
            .iter()
            .map(|point| number(&point["replicas"]) / 240.0)
            .sum();
        let told = number(&policy["replicaHours"]);
        assert!((hours - told).abs() < 1e-6, "{hours} {told}");
    }
    let loads = |index: usize| {
        let points = policies[index]["points"].as_array().unwrap().iter();
        points
            .map(|point| point["load"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(loads(0), loads(13), "all policies have one load");
}

#[test]
fn noise_follows_the_seed_and_a_peak_scales() {
    let call = |more: &[&str]| {
        let base = [
            "--points",
            "--peak",
            "6",
            "--count-from",
            LATE,
            "-o",
            "json",
        ];
        let report = replay(&[&base[..], more].concat(), &hills()).json();
        let points = report["series"][0]["policies"][0]["points"].clone();
        let loads = points.as_array().unwrap().iter();
        loads
            .map(|point| number(&point["load"]))
            .collect::<Vec<_>>()
    };
    let smooth = call(&[]);
    let highest = smooth.iter().copied().fold(0.0, f64::max);
    assert!((highest - 6000.0).abs() < 1e-6, "{highest}");
    let noisy = call(&["--noise", "0.03"]);
    assert_eq!(noisy, call(&["--noise", "0.03", "--seed", "1"]));
    assert_ne!(noisy, call(&["--noise", "0.03", "--seed", "2"]));
    let far = smooth.iter().zip(&noisy);
    let far = far.map(|(smooth, noisy)| (noisy / smooth - 1.0).abs());
    let far = far.fold(0.0, f64::max);
    assert!((0.05..0.2).contains(&far), "{far}");
}

#[test]
fn floors_that_go_down_early_are_told_apart() {
    let early = replay(
        &["--model", "s-hpa", "--scale-down", "early", "-o", "json"],
        &hills(),
    );
    let report = early.json();
    for one in policies(&report["series"][0], "evenkeel") {
        assert_eq!(one["scaleDown"], "early", "{one}");
    }
    for one in policies(&report["series"][0], "hpa") {
        assert!(one.get("scaleDown").is_none(), "{one}");
    }
    replay(&["--scale-down", "never"], &hills())
        .is_refused(2, &["--scale-down", "reactive or early"]);
}

#[test]
fn people_get_tables_and_pictures_of_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (one, other, svg) = (file("one.csv"), file("other.csv"), file("both.svg"));
    std::fs::write(&one, hills()).unwrap();
    let minutes = hills();
    let minutes = minutes.lines().enumerate();
    let minutes = minutes.filter(|(line, _)| *line == 0 || line % 4 == 1);
    let minutes: Vec<&str> = minutes.map(|(_, line)| line).collect();
    std::fs::write(&other, minutes.join("\n")).unwrap();
    let called = evenkeel(&[
        "forecast",
        "replay",
        &one,
        &other,
        "--request",
        "500m",
        "--target",
        "60%",
        "--max",
        "20",
        "--points",
        "-o",
        "table",
        "-o",
        &svg,
    ]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    for part in [
        "one",
        "60 s",
        "geometric mean",
        "worst",
        "HPA 60%: UNDER",
        "FLOORS 1%: UNDER",
        "plain HPA at 40%",
        "floors at risk 0.1%",
        "other: 1 gap in the load",
    ] {
        assert!(called.stdout.contains(part), "{part}: {}", called.stdout);
    }
    let text = std::fs::read_to_string(svg).unwrap();
    for part in [
        "one: what safety costs",
        "other: what safety costs",
        "Replica-hours",
        "plain HPA, by target",
        "other: load and replicas",
        "floor at risk 1%",
        "Pods ready after 60 s",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(replay(&["-o", "svg"], &hills()).stdout.starts_with("<svg "));
}

/// Two days with an hour of 5 cores at noon, and 1 core at other times.
fn noons() -> String {
    let mut text = "time,cores\n".to_owned();
    for index in 0..2 * 288_u32 {
        let load = if (144..156).contains(&(index % 288)) {
            5
        } else {
            1
        };
        writeln!(text, "{},{load}", 1_772_323_200 + index * 300).unwrap();
    }
    text
}

#[test]
fn seasonal_rules_stand_beside_floors_and_a_better_one_is_named() {
    // From eleven o'clock of the second day on; a model that knows no season is no match.
    let from = ["--count-from", "2026-03-02T11:00:00Z", "--model", "naive"];
    let call = |more: &[&str]| replay(&[&from[..], more].concat(), &noons());
    let report = call(&["-o", "json"]).json();
    let series = &report["series"][0];
    let rules = policies(series, "rule");
    let told = rules
        .iter()
        .map(|one| (&one["season"], number(&one["factor"])));
    let yesterday = Value::from("yesterday");
    assert_eq!(
        told.collect::<Vec<_>>(),
        [0.9, 1.0, 1.1].map(|factor| (&yesterday, factor))
    );
    let share = |one: &Value| number(&one["atEqualReplicaHours"]["underProvisioned"]);
    let floors = policies(series, "evenkeel")[2];
    assert!(share(rules[1]) < share(floors), "{series}");
    // The figure of a series is that of its floors alone.
    let shares = policies(series, "evenkeel").into_iter().map(share);
    let mean = (shares.map(f64::ln).sum::<f64>() / 5.0).exp();
    assert!((mean - share(series)).abs() < 1e-9, "{series}");
    let table = call(&["-o", "table"]).stdout;
    for part in [
        "seasonal rule: yesterday x 0.9",
        "-: the seasonal rule yesterday x",
        "does better than floors at risk 1%",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    // A series without a day of past has no rule, and the means say so.
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let two = noons();
    let half = two.lines().enumerate();
    let half = half.filter(|(line, _)| *line == 0 || *line > 300);
    let half: Vec<&str> = half.map(|(_, line)| line).collect();
    let (short, long) = (file("short.csv", half.join("\n")), file("long.csv", two));
    let both = ["--request", "500m", "--target", "60%", "--max", "20"];
    let files = ["forecast", "replay", &long, &short];
    let called = evenkeel(&[&files[..], &both, &from, &["-o", "json"]].concat());
    let mean = &called.json()["mean"];
    assert_eq!(policies(mean, "rule")[0]["series"], 1, "{mean}");
    assert!(policies(mean, "evenkeel")[0].get("series").is_none());
    let picture = call(&["-o", "svg"]).stdout;
    assert!(picture.contains("seasonal rule: yesterday"), "{picture}");
    assert!(!picture.contains("last week"), "{picture}");
}

#[test]
fn what_is_wrong_with_a_call_or_a_file_is_named() {
    let hills = hills();
    let sparse = "time,cores\n0,1\n7200,2\n14400,1\n";
    for (arguments, input, parts) in [
        (
            &["--count-from", "2030-01-01T00:00:00Z"][..],
            hills.as_str(),
            &["-: --count-from", "nothing is left", "2026-03-01T13:59:45Z"][..],
        ),
        (
            &[],
            sparse,
            &["-: its samples are 2h apart", "up to an hour"],
        ),
        (
            &["--peak", "6"],
            "time,c\n0,0\n60,0\n",
            &["--peak", "above 0"],
        ),
        (&["--noise", "2"], &hills, &["--noise", "from 0 to 1"]),
        (
            &["--peak", "6", "--unit", "cores"],
            &hills,
            &["--peak", "--unit"],
        ),
        (&["--unit", "MiB"], &hills, &["cores or millicores"]),
        (&["--start-up", "2h"], &hills, &["up to an hour"]),
        (&["--min", "30"], &hills, &["--min, --max", "30 to 20"]),
        (&[], "60,1\n30,1\n", &["-: line 2", "do not go back"]),
    ] {
        replay(arguments, input).is_refused(2, parts);
    }
    evenkeel(&[
        "forecast",
        "replay",
        "no.csv",
        "--request",
        "1",
        "--target",
        "60%",
        "--max",
        "3",
    ])
    .is_refused(2, &["no.csv"]);
    evenkeel(&["forecast", "replay"]).is_refused(2, &["FILE", "--request", "--target", "--max"]);
}
