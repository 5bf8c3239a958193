//! `cron next`, `crds` and `migrate`: schedules through changes of the clocks, the definitions that are
//! installed, and the manifests of other products.

use serde_json::{Value, json};

use super::{evenkeel, evenkeel_with_input};

const OFFICE: &str = "examples/cron/office-hours.yaml";

#[test]
fn the_next_runs_are_shown_in_the_zone_of_the_cron() {
    let called = evenkeel(&[
        "cron",
        "next",
        "-f",
        OFFICE,
        "--after",
        "2026-10-24T00:00:00Z",
    ]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    for line in [
        "CronHPA shop/office-hours, for HorizontalPodAutoscaler web",
        "Mon 2026-10-26 08:00:00 CET",
        "Mon 2026-10-26 18:00:00 CET",
    ] {
        assert!(called.stdout.contains(line), "{line}: {}", called.stdout);
    }
    let arguments = [
        "cron",
        "next",
        "-f",
        OFFICE,
        "--after",
        "2026-10-24T00:00:00Z",
        "-o",
        "json",
    ];
    let shown = evenkeel(&arguments).json();
    let crons = shown["cronHpas"][0]["crons"].as_array().unwrap();
    assert_eq!(crons.len(), 3, "{shown}");
    for cron in crons {
        let expected = if cron["name"] == "sale" { 1 } else { 5 };
        assert_eq!(cron["next"].as_array().unwrap().len(), expected, "{cron}");
    }
    // The clocks go back on the 25th: 03:30 in summer is 01:30 UTC, and in winter 02:30.
    let nightly = crons.iter().find(|cron| cron["name"] == "nightly").unwrap();
    let times: Vec<&Value> = (0..3)
        .map(|place| &nightly["next"][place]["time"])
        .collect();
    assert_eq!(
        times,
        [
            &json!("2026-10-24T00:30:00Z"),
            &json!("2026-10-25T00:30:00Z"),
            &json!("2026-10-26T01:30:00Z"),
        ]
    );
}

#[test]
fn a_manifest_that_is_wrong_is_refused_with_its_place() {
    let manifest = |spec: &str| {
        format!(
            "{{apiVersion: autoscaling.evenkeel.dev/v1alpha1, kind: CronHPA, metadata: {{name: a}}, \
             spec: {{scaleTargetRef: {{kind: Deployment, name: web}}, {spec}}}}}"
        )
    };
    for (spec, parts) in [
        (
            "crons: [{schedule: '61 * * * *', target: 1}]",
            [
                "-: CronHPA \"a\": spec.crons[0].schedule: \"61 * * * *\"",
                "accepted: five fields",
            ],
        ),
        (
            "crons: [{schedule: '1 * * * *', targetSize: 1}]",
            [
                "CronHPA \"a\": spec.crons[0].targetSize",
                "is no field of it",
            ],
        ),
        (
            "timeZone: Mars, crons: []",
            ["spec.timeZone: \"Mars\" is no time zone", "Europe/Berlin"],
        ),
    ] {
        let called = evenkeel_with_input(&["cron", "next", "-f", "-"], &manifest(spec));
        called.is_refused(2, &parts);
    }
    let other = evenkeel(&["cron", "next", "-f", "examples/cron/aliyun.yaml"]);
    other.is_refused(2, &["holds no CronHPA", "evenkeel migrate"]);
}

#[test]
fn the_definitions_that_are_printed_are_those_that_are_installed() {
    let printed = evenkeel(&["crds"]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let parse = |text: &str| -> Vec<Value> { serde_saphyr::from_multiple(text).unwrap() };
    let installed = std::fs::read_to_string("deploy/base/custom-resources.yaml").unwrap();
    assert_eq!(
        parse(&printed.stdout),
        parse(&installed),
        "run: evenkeel crds > deploy/base/custom-resources.yaml"
    );
}

#[test]
fn manifests_of_other_products_become_ones_whose_runs_can_be_shown() {
    for (file, crons) in [("volcengine", 1), ("aliyun", 3), ("keda", 1)] {
        let path = format!("examples/cron/{file}.yaml");
        let converted = evenkeel(&["migrate", "-f", &path, "--time-zone", "Asia/Shanghai"]);
        assert_eq!(converted.code, 0, "{file}: {}", converted.stderr);
        assert!(
            converted.stdout.starts_with("# "),
            "{file}: {}",
            converted.stdout
        );
        let shown = evenkeel_with_input(
            &["cron", "next", "-f", "-", "-o", "json"],
            &converted.stdout,
        );
        let found = shown.json()["cronHpas"][0]["crons"]
            .as_array()
            .unwrap()
            .len();
        assert_eq!(found, crons, "{file}");
        let json = evenkeel(&["migrate", "-f", &path, "-o", "json"]).json();
        assert_eq!(json[0]["manifest"]["kind"], "CronHPA", "{file}");
        assert!(!json[0]["notes"].as_array().unwrap().is_empty(), "{file}");
    }
    for file in ["cron", "reactive", "predictive"] {
        let path = format!("examples/ihpa/kapacity-{file}.yaml");
        let json = evenkeel(&["migrate", "-f", &path, "-o", "json"]).json();
        let manifest = &json[0]["manifest"];
        assert_eq!(
            manifest["kind"], "IntelligentHorizontalPodAutoscaler",
            "{file}"
        );
        assert_eq!(
            manifest["apiVersion"], "autoscaling.evenkeel.dev/v1alpha1",
            "{file}"
        );
        assert!(!json[0]["notes"].as_array().unwrap().is_empty(), "{file}");
    }
    let nothing = evenkeel(&["migrate", "-f", OFFICE]);
    nothing.is_refused(
        2,
        &["holds nothing to convert", "vke.volcengine.com", "keda.sh"],
    );
    let lost = "{apiVersion: vke.volcengine.com/v1alpha1, kind: CronHPA, metadata: {name: a}, \
                spec: {crons: [], holidays: de}}";
    let lost = evenkeel_with_input(&["migrate", "-f", "-"], lost);
    lost.is_refused(
        2,
        &["CronHPA \"a\": spec.holidays: is not known here and would be lost"],
    );
    let zone = evenkeel(&[
        "migrate",
        "-f",
        "examples/cron/aliyun.yaml",
        "--time-zone",
        "Mars",
    ]);
    zone.is_refused(2, &["--time-zone: \"Mars\" is no time zone"]);
}
