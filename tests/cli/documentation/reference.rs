//! Reference pages that are written by hand: what the code has stands in them, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::super::evenkeel;
use super::links::anchors;
use super::{root, text};

/// The words in backquotes in the first column of a page's tables.
fn named(page: &str) -> BTreeSet<String> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let firsts = rows.filter_map(|line| line.split('|').nth(1));
    let words = firsts.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    words.map(str::to_owned).collect()
}

/// The sources of the program, without tests.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    read(&root().join("src"), &mut found);
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.ends_with("apiserver") && !folder.ends_with("sandbox") {
            read(&folder.join("src"), &mut found);
        }
    }
    found
}

fn read(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "tests" {
                read(&path, found);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && name != "tests.rs"
            && !name.starts_with("fake_")
        {
            let text = fs::read_to_string(&path).unwrap();
            let own = text.split("#[cfg(test)]").next().unwrap_or_default();
            found.push((path.display().to_string(), own.to_owned()));
        }
    }
}

/// The texts in quotes that begin with `prefix`, up to the first character that no name has.
fn quoted(source: &str, prefix: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for part in source.split(&format!("\"{prefix}")).skip(1) {
        let is_of_a_name =
            |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(*c);
        let rest: String = part.chars().take_while(is_of_a_name).collect();
        found.insert(format!("{prefix}{rest}"));
    }
    found
}

/// The paths of all fields of a tree, with those that hold lists and empty maps.
fn fields(prefix: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, inner) in map {
                let path = if prefix.is_empty() {
                    key.clone()
                } else {
                    format!("{prefix}.{key}")
                };
                fields(&path, inner, found);
            }
        }
        _ => {
            found.insert(prefix.to_owned());
        }
    }
}

/// The paths that the page on the configuration names: `.name` in a row stands for a neighbour of the path before it.
fn documented_fields(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let cell = line.split('|').nth(1).unwrap_or_default();
        let mut last = String::new();
        for word in cell.split('`').skip(1).step_by(2) {
            let path = match word.strip_prefix('.') {
                Some(name) => format!(
                    "{}.{name}",
                    last.rsplit_once('.').map_or("", |(before, _)| before)
                ),
                None => word.to_owned(),
            };
            found.insert(path.clone());
            last = path;
        }
    }
    found
}

#[test]
fn every_field_of_the_configuration_has_its_row() {
    let called = evenkeel(&["serve", "--check", "-o", "json"]);
    let mut expected = BTreeSet::new();
    fields("", &called.json(), &mut expected);
    for written_otherwise in ["apiVersion", "kind"] {
        expected.remove(written_otherwise);
    }
    let found = documented_fields(&text("docs/reference/configuration.md"));
    let lacking: Vec<_> = expected.difference(&found).collect();
    let unknown: Vec<_> = found.difference(&expected).collect();
    assert!(lacking.is_empty(), "without a row: {lacking:?}");
    assert!(unknown.is_empty(), "no such field: {unknown:?}");
}

#[test]
fn every_annotation_has_its_row() {
    const OTHERS: [&str; 8] = [
        // Labels, the taint, the readiness gate, roles and what only tests and admission policies name.
        "evenkeel.dev/clean-up",
        "evenkeel.dev/evenkeel",
        "evenkeel.dev/online",
        "evenkeel.dev/overload",
        "evenkeel.dev/overloaded",
        "evenkeel.dev/plaintext-metrics",
        "evenkeel.dev/pod-state",
        "evenkeel.dev/template-hash",
    ];
    let sources = sources();
    let mut expected = BTreeSet::new();
    for (_, source) in &sources {
        expected.extend(quoted(source, "evenkeel.dev/"));
    }
    expected.retain(|name| !OTHERS.contains(&name.as_str()) && name != "evenkeel.dev/");
    let page = text("docs/reference/annotations.md");
    let lacking: Vec<_> = expected
        .iter()
        .filter(|name| !page.contains(&format!("`{name}`")))
        .collect();
    assert!(lacking.is_empty(), "without a row: {lacking:?}");
    let unknown: Vec<_> = named(&page)
        .into_iter()
        .filter(|name| name.starts_with("evenkeel.dev/") && !expected.contains(name))
        .collect();
    assert!(unknown.is_empty(), "no such annotation: {unknown:?}");
}

/// The names of metrics that are registered: the first text after `register(`, and those of the
/// tables in `families!`.
fn registered(source: &str) -> BTreeSet<String> {
    let tables = source.split("families! {\n").skip(1);
    let tables = tables.map(|rest| rest.split("\n}").next().unwrap_or_default());
    let declared = tables.flat_map(|table| table.split(" = ").skip(1));
    let called = source.split(".register(").skip(1);
    declared
        .chain(called.map(str::trim_start))
        .filter_map(|part| Some(part.strip_prefix('"')?.split('"').next()?.to_owned()))
        .collect()
}

#[test]
fn every_metric_has_its_row() {
    let page = text("docs/reference/metrics.md");
    let rows = named(&page);
    let mut lacking = Vec::new();
    for (file, source) in sources() {
        for name in registered(&source) {
            // A registry adds a prefix before a name, and the unit and `_total` behind it.
            let is_there = rows.iter().any(|row| {
                [
                    "_total",
                    "_seconds",
                    "_bytes",
                    "_info",
                    "_seconds_total",
                    "_bytes_total",
                    "",
                ]
                .iter()
                .any(|ending| row.ends_with(&format!("{name}{ending}")))
            });
            if !is_there {
                lacking.push(format!("{file}: {name}"));
            }
        }
    }
    assert!(lacking.is_empty(), "without a row:\n{}", lacking.join("\n"));
    let alerts = text("deploy/prometheus/alerts.yaml");
    let used = alerts
        .split(|c: char| !(c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit()))
        .filter(|word| word.starts_with("evenkeel_"));
    let unknown: BTreeSet<_> = used
        .filter(|word| {
            let plain = word.trim_end_matches("_bucket").trim_end_matches("_count");
            !rows.contains(plain) && !rows.contains(plain.trim_end_matches("_sum"))
        })
        .collect();
    assert!(unknown.is_empty(), "in alerts and in no row: {unknown:?}");
}

/// The files that name reasons.
const REASON_FILES: [&str; 26] = [
    "scaling/src/targets/problem.rs",
    "scaling/src/crons/problem.rs",
    "scaling/src/crons/events.rs",
    "scaling/src/status/conditions.rs",
    "scaling/src/status/events.rs",
    "scaling/src/ihpa/conditions.rs",
    "scaling/src/ihpa/events.rs",
    "replica-profile/src/plan/problem.rs",
    "replica-profile/src/plan/events.rs",
    "scaling/src/horizontal_portraits/hours_ahead.rs",
    "scaling/src/horizontal_portraits/jobs.rs",
    "scaling/src/horizontal_portraits/results.rs",
    "tuning/src/plan/events.rs",
    "tuning/src/resize/refusal.rs",
    "placement/src/plan/deletion_cost.rs",
    "placement/src/plan/deletion_cost/rounds.rs",
    "placement/src/plan/overload.rs",
    "placement/src/plan/annotation_warning.rs",
    "tuning/src/resizable_pod/obstacle.rs",
    "disk-io/src/disk_io_limit.rs",
    "api/src/replica_profile/refusal.rs",
    "scaling/src/counterfactual/cost_benefit.rs",
    "scaling/src/limits.rs",
    "forecast/src/trust.rs",
    "tuning/src/decision/resource_decision.rs",
    "agent/limit_events.rs",
];

/// Words in quotes that are names of Kubernetes or of formats, and no reasons of Evenkeel.
fn is_reason_file(path: &str) -> bool {
    REASON_FILES.iter().any(|file| path.ends_with(file))
}

/// Words of these files that are no reasons: actions of Events, phases, states and kinds.
const NO_REASONS: [&str; 27] = [
    "AbleToScale",
    "BringingOnline",
    "CuttingOff",
    "Error",
    "GivingDeletionCosts",
    "Ignore",
    "Infeasible",
    "LeavingAlone",
    "LimitDiskIo",
    "Refusing",
    "Resizing",
    "Rollback",
    "Scale",
    "Scaling",
    "ScalingActive",
    "ScalingLimited",
    "StandingBy",
    "Taint",
    "Wait",
    "Deferred",
    "InProgress",
    "GrayProgressing",
    "PortraitsAvailable",
    "Stable",
    "Watch",
    "Cron",
    "Apply",
];

#[test]
fn every_reason_stands_in_the_reference() {
    let pages = text("docs/reference/conditions.md") + &text("docs/reference/events.md");
    let mut lacking = BTreeSet::new();
    let mut seen = 0;
    let sources = sources();
    for file in REASON_FILES {
        assert!(
            sources.iter().any(|(path, _)| path.ends_with(file)),
            "{file}"
        );
    }
    for (file, source) in sources {
        if !is_reason_file(&file) {
            continue;
        }
        for word in source.split('"').skip(1).step_by(2) {
            let is_one_word = word.starts_with(|c: char| c.is_ascii_uppercase())
                && word.len() > 3
                && word.chars().all(|c| c.is_ascii_alphanumeric());
            if !is_one_word || NO_REASONS.contains(&word) {
                continue;
            }
            seen += 1;
            if !pages.contains(&format!("`{word}`")) {
                lacking.insert(format!("{file}: {word}"));
            }
        }
    }
    assert!(seen > 100, "{seen}");
    assert!(lacking.is_empty(), "{lacking:#?}");
}

#[test]
fn every_alert_has_its_place_in_troubleshooting() {
    let there = anchors(&text("docs/troubleshooting.md"));
    let alerts = text("deploy/prometheus/alerts.yaml");
    let rules: Value = serde_saphyr::from_str(&alerts).unwrap();
    let rules = rules["groups"][0]["rules"].as_array().unwrap();
    assert!(rules.len() > 20, "{}", rules.len());
    for rule in rules {
        let anchor = rule["alert"].as_str().unwrap().to_ascii_lowercase();
        assert!(there.contains(&anchor), "{anchor}");
        let link = rule["annotations"]["runbook_url"].as_str().unwrap();
        assert!(
            link.ends_with(&format!("/docs/troubleshooting.md#{anchor}")),
            "{link}"
        );
    }
}

#[test]
fn every_check_of_doctor_has_its_place_in_troubleshooting() {
    let there = anchors(&text("docs/troubleshooting.md"));
    let listed = evenkeel(&["doctor", "--list", "-o", "json"]).json();
    let checks = listed["checks"].as_array().unwrap();
    assert!(checks.len() > 40, "{listed}");
    for check in checks {
        let id = check["id"].as_str().unwrap();
        assert!(there.contains(id), "{id}");
        let link = check["link"].as_str().unwrap();
        let place = format!("/docs/troubleshooting.md#{id}");
        assert!(link.ends_with(&place), "{link}");
    }
}
