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
                "CronHPA \"a\": it has no field spec.crons[0].targetSize",
                "it has no field",
            ],
        ),
        (
            "timeZone: Mars, crons: []",
            [
                "spec.timeZone: \"Mars\" is not a time zone",
                "Europe/Berlin",
            ],
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
        &["CronHPA \"a\": spec.holidays: is not known and would be lost"],
    );
    let zone = evenkeel(&[
        "migrate",
        "-f",
        "examples/cron/aliyun.yaml",
        "--time-zone",
        "Mars",
    ]);
    zone.is_refused(2, &["--time-zone: \"Mars\" is not a time zone"]);
}

/// One CronHPA with these windows or runs.
fn cron_hpa(crons: &Value) -> String {
    json!({
        "apiVersion": "autoscaling.evenkeel.dev/v1alpha1",
        "kind": "CronHPA",
        "metadata": {"name": "a"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "crons": crons},
    })
    .to_string()
}

fn next(manifest: &str, after: &str, format: &str) -> super::Called {
    let arguments = ["cron", "next", "-f", "-", "--after", after, "-o", format];
    evenkeel_with_input(&arguments, manifest)
}

/// Zones with windows, a moment, and the first window after it.
const WINDOWS: [(&str, &str, &str, &str, [&str; 2]); 12] = [
    (
        "Europe/Berlin",
        "0 2 * * SUN",
        "0 3 * * SUN",
        "2026-03-28T00:00:00Z",
        ["2026-04-05T00:00:00Z", "2026-04-05T01:00:00Z"],
    ),
    (
        "America/New_York",
        "*/30 1 * * *",
        "45 1 * * *",
        "2026-11-01T05:50:00Z",
        ["2026-11-01T06:00:00Z", "2026-11-01T06:45:00Z"],
    ),
    (
        "Australia/Lord_Howe",
        "0 2 * * *",
        "15 2 * * *",
        "2026-10-03T15:00:00Z",
        ["2026-10-04T15:00:00Z", "2026-10-04T15:15:00Z"],
    ),
    (
        "America/Sao_Paulo",
        "0 0 * * *",
        "0 1 * * *",
        "2018-11-03T12:00:00Z",
        ["2018-11-05T02:00:00Z", "2018-11-05T03:00:00Z"],
    ),
    (
        "Asia/Beirut",
        "30 23 * * *",
        "30 0 * * *",
        "2026-03-28T12:00:00Z",
        ["2026-03-28T21:30:00Z", "2026-03-28T22:00:00Z"],
    ),
    (
        "Africa/Cairo",
        "0 0 * * *",
        "30 1 * * *",
        "2026-04-23T12:00:00Z",
        ["2026-04-23T22:00:00Z", "2026-04-23T22:30:00Z"],
    ),
    (
        "America/Havana",
        "30 0 * * *",
        "30 1 * * *",
        "2026-11-01T00:00:00Z",
        ["2026-11-01T04:30:00Z", "2026-11-01T06:30:00Z"],
    ),
    (
        "Pacific/Apia",
        "0 20 29 12 *",
        "0 6 30 12 *",
        "2011-12-29T12:00:00Z",
        ["2011-12-30T06:00:00Z", "2011-12-30T10:00:00Z"],
    ),
    (
        "Europe/Dublin",
        "0 1 * * *",
        "0 2 * * *",
        "2026-03-28T12:00:00Z",
        ["2026-03-30T00:00:00Z", "2026-03-30T01:00:00Z"],
    ),
    (
        "America/St_Johns",
        "0 0 * * *",
        "30 0 * * *",
        "2010-03-13T12:00:00Z",
        ["2010-03-14T03:30:00Z", "2010-03-14T03:31:00Z"],
    ),
    (
        "Asia/Tehran",
        "0 0 22 3 *",
        "0 1 22 3 *",
        "2021-03-20T00:00:00Z",
        ["2023-03-21T20:30:00Z", "2023-03-21T21:30:00Z"],
    ),
    (
        "Antarctica/Troll",
        "0 2 * * *",
        "30 2 * * *",
        "2026-03-28T12:00:00Z",
        ["2026-03-30T00:00:00Z", "2026-03-30T00:30:00Z"],
    ),
];

#[test]
fn windows_around_changes_of_the_clocks_are_shown_as_the_clock_on_the_wall_has_them() {
    for (zone, start, end, after, expected) in WINDOWS {
        let crons =
            json!([{"name": "w", "start": start, "end": end, "timeZone": zone, "replicas": 3}]);
        let shown = next(&cron_hpa(&crons), after, "json").json();
        let first = &shown["cronHpas"][0]["crons"][0]["next"][0];
        assert_eq!(
            [&first["time"], &first["end"]],
            [&json!(expected[0]), &json!(expected[1])],
            "{zone} {start}"
        );
    }
}

#[test]
fn a_window_that_applies_once_is_shown_while_it_is_open() {
    let crons = json!([{"name": "sale", "start": "0 8 * * *", "end": "0 18 * * *", "replicas": 3, "runOnce": true}]);
    let shown = next(&cron_hpa(&crons), "2026-11-22T12:00:00Z", "table");
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(!shown.stdout.contains("never"), "{}", shown.stdout);
    for part in [
        "2026-11-22 08:00:00 UTC, open now",
        "2026-11-22 18:00:00 UTC",
    ] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    let shown = next(&cron_hpa(&crons), "2026-11-22T12:00:00Z", "json").json();
    let all = &shown["cronHpas"][0]["crons"][0]["next"];
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
    assert_eq!(all[0]["open"], true);
}

#[test]
fn schedules_of_robfig_are_read_and_windows_that_never_close_are_refused() {
    let crons = json!([
        {"name": "a", "schedule": "5/15 * * * *", "target": 3},
        {"name": "b", "schedule": "0/30 8 * * mon", "target": 3},
        {"name": "c", "schedule": "@midnight", "target": 3},
    ]);
    let shown = next(&cron_hpa(&crons), "2026-11-22T12:00:00Z", "json").json();
    let first: Vec<&Value> = (0..3)
        .map(|place| &shown["cronHpas"][0]["crons"][place]["next"][0]["time"])
        .collect();
    assert_eq!(
        first,
        [
            "2026-11-22T12:05:00Z",
            "2026-11-23T08:00:00Z",
            "2026-11-23T00:00:00Z"
        ]
    );
    for (cron, told) in [
        (
            json!({"start": "0 8 * * *", "end": "0 8 * * *", "replicas": 3}),
            "spec.crons[0].end: the window never closes",
        ),
        (
            json!({"schedule": "@every 5m", "target": 3}),
            "does not have",
        ),
    ] {
        next(&cron_hpa(&json!([cron])), "2026-11-22T12:00:00Z", "json").is_refused(2, &[told]);
    }
}

#[test]
fn what_cannot_be_converted_is_listed_and_the_rest_is_converted() {
    let scaled = |name: &str, metadata: Value, spec: Value| {
        let mut object = json!({
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"scaleTargetRef": {"name": name}, "triggers": [{"type": "cron", "metadata": {
                "timezone": "UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "5"}}]},
        });
        let both = [("metadata", metadata), ("spec", spec)];
        for (part, fields) in both {
            for (field, value) in fields.as_object().unwrap() {
                object[part][field] = value.clone();
            }
        }
        object
    };
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        scaled("first", json!({}), json!({})),
        scaled("lost", json!({}), json!({"holidays": "de"})),
        scaled("paused", json!({"annotations": {"autoscaling.keda.sh/paused-replicas": "0"}}), json!({})),
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop"}},
        scaled("plain", json!({}), json!({"triggers": [{"type": "cpu", "metadata": {"value": "60"}}]})),
    ]});
    let job =
        json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": {"name": "job"}});
    let again = scaled("first", json!({}), json!({}));
    let newest = scaled("last", json!({}), json!({}));
    let input = format!("{list}\n---\n{job}\n---\n{again}\n---\n{newest}\n");
    let called = evenkeel_with_input(&["migrate", "-f", "-"], &input);
    called.is_refused(
        1,
        &[
            "3 of 6 objects not converted:",
            "ScaledObject \"shop/lost\": spec.holidays: is not known and would be lost",
            "ScaledJob \"job\": kind: a ScaledJob starts Jobs",
            "ScaledObject \"shop/first\": CronHPA \"shop/first\" is also the name of another",
            "warning: Service \"shop/web\" is skipped: this kind is not converted",
            "warning: ScaledObject \"shop/plain\" is skipped: it has no trigger of type cron",
        ],
    );
    let converted: Vec<Value> = serde_saphyr::from_multiple(&called.stdout).unwrap();
    let names: Vec<&Value> = converted
        .iter()
        .map(|one| &one["metadata"]["name"])
        .collect();
    assert_eq!(names, ["first", "paused", "last"]);
    let suspended: Vec<&Value> = converted
        .iter()
        .map(|one| &one["spec"]["suspend"])
        .collect();
    assert_eq!(suspended, [&Value::Null, &json!(true), &Value::Null]);
    let shown = evenkeel_with_input(&["cron", "next", "-f", "-"], &called.stdout);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
}
