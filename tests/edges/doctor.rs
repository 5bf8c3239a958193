//! Each fault that can be planted in an observation of a healthy cluster is found, with a fix that
//! names the right thing; and nothing is found in the healthy one.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use evenkeel::doctor::{CHECKS, DoctorFinding, DoctorObservation, FindingSeverity, check};
use evenkeel_certificates::bundle::Bundle;
use evenkeel_certificates::rotation_plan::Validity;
use evenkeel_certificates::subject_alt_names::Names;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

const HEALTHY: &str = include_str!("../fixtures/doctor/healthy.yaml");
const FAULTS: &str = include_str!("../fixtures/doctor/faults.yaml");
const METRICS: &str = include_str!("../fixtures/doctor/metrics.txt");
const WEBHOOK: &str = include_str!("../../webhook-config/mutating-webhook.yaml");
const CA_BUNDLE: &str = "/webhooks/there/0/webhooks/0/clientConfig/caBundle";
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Something that is wrong with a cluster, and what is to be found.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fault {
    #[serde(rename = "fault")]
    name: String,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    #[serde(default)]
    patch: json_patch::Patch,
    #[serde(default)]
    metrics: BTreeMap<String, String>,
    certificates: Option<Certificates>,
    #[serde(default)]
    foreign_authority: bool,
    found: String,
    severity: Value,
    fix: String,
}

/// The service and address that certificates are made for, and their age.
#[derive(Debug, Clone, Deserialize)]
struct Certificates {
    service: String,
    address: IpAddr,
    /// Before the observation.
    days: i32,
}

fn faults() -> Vec<Fault> {
    serde_saphyr::from_str(FAULTS).unwrap()
}

impl Certificates {
    fn sound() -> Self {
        Self {
            service: "evenkeel".to_owned(),
            address: [10, 96, 0, 11].into(),
            days: 1,
        }
    }

    fn make(&self, observation: &Value) -> Bundle {
        let now: Timestamp = observation["now"].as_str().unwrap().parse().unwrap();
        let names = Names::default()
            .with_service(&self.service, "evenkeel-system")
            .unwrap()
            .with_address(self.address);
        Bundle::generate(now - DAY * self.days, &names, &Validity::default()).unwrap()
    }
}

/// The observation without a fault.
fn healthy() -> Value {
    let mut observation: Value = serde_saphyr::from_str(HEALTHY).unwrap();
    let webhook: Value = serde_saphyr::from_str(WEBHOOK).unwrap();
    observation["webhooks"]["there"] = json!([webhook]);
    for replica in 0..2 {
        observation["replicas"]["there"][replica]["metrics"] = json!({"there": METRICS});
    }
    serve(&mut observation, &Certificates::sound());
    observation
}

/// Certificates that are served, and their authority trusted.
fn serve(observation: &mut Value, certificates: &Certificates) {
    let bundle = certificates.make(observation);
    set(
        observation,
        CA_BUNDLE,
        json!(BASE64.encode(bundle.ca_bundle())),
    );
    observation["certificate"]["there"]["chain"] = json!(bundle.server_certificate());
}

/// Replaces the value at a JSON pointer; its last part may be a new key.
fn set(observation: &mut Value, path: &str, value: Value) {
    let (parent, key) = path.rsplit_once('/').unwrap();
    match observation.pointer_mut(parent) {
        Some(Value::Array(items)) => items[key.parse::<usize>().unwrap()] = value,
        Some(parent) => parent[key.replace("~1", "/")] = value,
        None => panic!("{path}: no such field"),
    }
}

/// The healthy observation with a fault in it.
fn plant(fault: &Fault) -> Value {
    let mut observation = healthy();
    if let Some(certificates) = &fault.certificates {
        serve(&mut observation, certificates);
    }
    if fault.foreign_authority {
        let foreign = Certificates::sound().make(&observation).ca_bundle();
        set(&mut observation, CA_BUNDLE, json!(BASE64.encode(foreign)));
    }
    for (path, value) in &fault.set {
        set(&mut observation, path, value.clone());
    }
    json_patch::patch(&mut observation, &fault.patch).expect(&fault.name);
    for (from, to) in &fault.metrics {
        assert!(METRICS.contains(from), "{}: {from}", fault.name);
        for replica in 0..2 {
            let text = &mut observation["replicas"]["there"][replica]["metrics"]["there"];
            *text = json!(text.as_str().unwrap().replace(from, to));
        }
    }
    observation
}

fn diagnose(observation: Value) -> Vec<DoctorFinding> {
    let observation: DoctorObservation =
        serde_json::from_value(observation).expect("the fixture has the observation's form");
    check(&observation)
}

#[test]
fn nothing_is_wrong_with_a_healthy_cluster() {
    let found = diagnose(healthy());
    let not_ok: Vec<_> = found
        .iter()
        .filter(|finding| finding.severity != FindingSeverity::Ok)
        .collect();
    assert!(not_ok.is_empty(), "{not_ok:#?}");
    assert!(found.len() > 25, "{}", found.len());
}

#[test]
fn every_planted_fault_is_found_with_its_fix() {
    for fault in faults() {
        let found = diagnose(plant(&fault));
        let of_check: Vec<_> = found
            .iter()
            .filter(|finding| finding.id == fault.found)
            .collect();
        let matches = |finding: &&&DoctorFinding| {
            json!(finding.severity) == fault.severity
                && finding
                    .fix
                    .as_deref()
                    .unwrap_or_default()
                    .contains(&fault.fix)
        };
        assert!(
            of_check.iter().any(|finding| matches(&finding)),
            "{}: no {} that names {:?}: {of_check:#?}",
            fault.name,
            fault.severity,
            fault.fix
        );
    }
}

/// The severity of the finding about notices, by the first replica's last lines on choices.
fn notices(in_a_row: &str, untold: &str, told: &str) -> FindingSeverity {
    let mut observation = healthy();
    for (path, of) in [(0, [in_a_row, untold, "-1.0"]), (1, ["0", "-1.0", told])] {
        let text = &mut observation["replicas"]["there"][path]["metrics"]["there"];
        let [in_a_row, untold, told] = of;
        let mut page = text.as_str().unwrap().to_owned();
        for (name, end, value) in [
            ("choices_in_a_row", "untold", in_a_row),
            ("seconds_since_last_choice", "untold", untold),
            ("seconds_since_last_choice", "told", told),
        ] {
            let line = format!("evenkeel_extender_{name}{{end=\"{end}\"}} ");
            let (before, after) = page.split_once(&line).unwrap();
            let rest = after.split_once('\n').unwrap().1;
            page = format!("{before}{line}{value}\n{rest}");
        }
        *text = json!(page);
    }
    let found = diagnose(observation);
    let of_check = found.iter().find(|found| found.id == "extender-notices");
    of_check.unwrap().severity
}

#[test]
fn notices_are_missed_once_several_pods_are_bound_without_and_no_replica_gets_one() {
    assert_eq!(notices("5", "3.0", "-1.0"), FindingSeverity::Warning);
    assert_eq!(notices("5", "3.0", "900.0"), FindingSeverity::Warning);
    assert_eq!(notices("4", "3.0", "900.0"), FindingSeverity::Ok, "a few");
    assert_eq!(
        notices("5", "3.0", "10.0"),
        FindingSeverity::Ok,
        "the other is told"
    );
    assert_eq!(
        notices("5", "900.0", "10.0"),
        FindingSeverity::Ok,
        "long past"
    );
}

#[test]
fn what_is_not_ok_always_has_a_fix() {
    for fault in faults() {
        for finding in diagnose(plant(&fault)) {
            let is_ok = finding.severity == FindingSeverity::Ok;
            assert_eq!(finding.fix.is_none(), is_ok, "{}: {finding:#?}", fault.name);
        }
    }
}

/// No check is without a fault that it finds.
#[test]
fn every_check_has_its_fault() {
    let planted: Vec<String> = faults().into_iter().map(|fault| fault.found).collect();
    for finding in diagnose(healthy()) {
        assert!(planted.iter().any(|id| *id == finding.id), "{}", finding.id);
    }
}

/// The list of checks is complete, and each of them is found by a planted fault: the page about findings goes by it.
#[test]
fn all_findings_are_of_a_listed_check_and_link_to_its_place_on_the_page() {
    let listed: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
    let mut found = BTreeSet::new();
    for fault in faults() {
        for finding in diagnose(plant(&fault)) {
            assert!(listed.contains(&finding.id), "{}", finding.id);
            let is_ok = finding.severity == FindingSeverity::Ok;
            let link = (!is_ok).then(|| evenkeel::doctor::link(finding.id));
            assert_eq!(finding.link, link, "{finding:?}");
            if !is_ok {
                found.insert(finding.id);
            }
        }
    }
    for check in CHECKS {
        let is_anchor = |letter: char| letter.is_ascii_lowercase() || letter == '-';
        assert!(check.id.chars().all(is_anchor), "{}", check.id);
        assert!(!check.subject.is_empty(), "{}", check.id);
        // That Evenkeel is in another namespace leaves no other finding, and has a test of its own.
        assert!(
            found.contains(check.id) || check.id == "namespace",
            "{}",
            check.id
        );
    }
    let once: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(once.len(), listed.len(), "each check is listed once");
}

/// A value that is not accepted is found on every kind of object that an annotation is read of.
#[test]
fn a_mistyped_value_is_found_on_every_kind_with_the_word_that_was_meant() {
    for at in 0..healthy()["objects"].as_array().unwrap().len() {
        let mut observation = healthy();
        let kind = observation["objects"][at]["kind"].clone();
        let annotations = json!({"evenkeel.dev/scaling": "flor"});
        observation["objects"][at]["objects"]["there"][0]["metadata"]["annotations"] = annotations;
        let found = diagnose(observation);
        let mut of_check = found.iter().filter(|finding| finding.id == "annotations");
        let finding = of_check.find(|finding| finding.severity == FindingSeverity::Warning);
        let finding = finding.unwrap_or_else(|| panic!("{kind}: {found:#?}"));
        // Nothing reads the mode of a CronHPA or a CronJob.
        let is_read = kind != "CronHPA" && kind != "CronJob";
        let expected = if is_read {
            "did you mean \"floor\"?"
        } else {
            "has no effect there"
        };
        assert!(finding.what.contains(expected), "{kind}: {}", finding.what);
    }
}

#[test]
fn the_checks_are_listed_without_a_cluster() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["doctor", "--list", "-o", "json"])
        .env_clear()
        .output()
        .unwrap();
    assert!(output.status.success());
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let listed = listed["checks"].as_array().unwrap();
    assert_eq!(listed.len(), CHECKS.len());
    for (entry, check) in listed.iter().zip(CHECKS) {
        assert_eq!(entry["id"], check.id);
        assert_eq!(entry["link"], evenkeel::doctor::link(check.id));
    }
}

/// The fields of an observation that a user may have no right to.
const READS: [&str; 33] = [
    "server",
    "configuration",
    "deployment",
    "replicas",
    "outside",
    "lease",
    "webhooks",
    "webhookService",
    "extenderService",
    "endpoints",
    "certificate",
    "keyAnnotations",
    "placed",
    "networkPolicies",
    "writeGuard",
    "writeRules",
    "cleanUp",
    "cleanUpGuard",
    "recordGuard",
    "rights",
    "customKinds",
    "nodes",
    "namespaces",
    "unbound",
    "schedulers",
    "secondScheduler",
    "apiService",
    "trial",
    "objects/0/objects",
    "objects/5/objects",
    "nodeAutoscalers",
    "replicas/there/0/metrics",
    "replicas/there/1/metrics",
];

#[test]
fn a_missing_right_of_the_user_is_told_and_is_no_error() {
    let needs = json!({"unseen": {"needs": "get things"}});
    // The Pods of kube-scheduler only make advice more exact, what is outside is asked only where
    // there is no replica, and one replica can speak for both.
    let silent = [
        "schedulers",
        "outside",
        "replicas/there/0/metrics",
        "replicas/there/1/metrics",
    ];
    for field in READS {
        let pointer = format!("/{field}");
        let mut observation = healthy();
        *observation.pointer_mut(&pointer).expect(field) = needs.clone();
        let found = diagnose(observation);
        let errors: Vec<_> = found
            .iter()
            .filter(|finding| finding.severity == FindingSeverity::Error)
            .collect();
        assert!(errors.is_empty(), "{field}: {errors:#?}");
        let told = found.iter().any(|finding| {
            finding.severity == FindingSeverity::Warning
                && finding.what.contains("needs get things")
                && finding
                    .fix
                    .as_deref()
                    .is_some_and(|fix| fix.contains("kubectl auth can-i get things"))
        });
        assert_eq!(told, !silent.contains(&field), "{field}: {found:#?}");
    }
}

#[test]
fn an_api_server_without_some_kinds_is_no_reason_to_panic() {
    for field in READS {
        let pointer = format!("/{field}");
        let mut observation = healthy();
        *observation.pointer_mut(&pointer).expect(field) = json!("absent");
        let found = diagnose(observation);
        assert!(found.len() > 20, "{field}: {found:#?}");
    }
}

/// No Pod runs it, and hand-written endpoints lead the Services to it.
#[test]
fn what_runs_outside_of_the_cluster_is_no_fault() {
    let mut observation = healthy();
    set(&mut observation, "/deployment", json!("absent"));
    set(&mut observation, "/replicas/there", json!([]));
    set(&mut observation, "/outside", json!({"there": METRICS}));
    let found = diagnose(observation.clone());
    let told: Vec<&str> = found
        .iter()
        .filter(|finding| finding.severity != FindingSeverity::Ok)
        .map(|finding| finding.id)
        .collect();
    assert_eq!(told, ["deployment", "write-guard", "rights"], "{found:#?}");

    // Endpoints that are Pods belong to a Deployment, which is missing then.
    for slice in observation["endpoints"]["there"].as_array_mut().unwrap() {
        for endpoint in slice["endpoints"].as_array_mut().unwrap() {
            endpoint["targetRef"] = json!({"kind": "Pod", "name": "evenkeel-a"});
        }
    }
    let found = diagnose(observation);
    let deployment = found.iter().find(|finding| finding.id == "deployment");
    assert_eq!(deployment.unwrap().severity, FindingSeverity::Error);
}

#[test]
fn a_wrong_namespace_is_told_once() {
    let mut observation = healthy();
    observation["namespace"] = json!("default");
    for field in ["deployment", "configuration", "lease"] {
        observation[field] = json!("absent");
    }
    let found = diagnose(observation.clone());
    let [finding] = &found[..] else {
        panic!("{found:#?}")
    };
    assert_eq!(finding.severity, FindingSeverity::Error);
    assert!(finding.what.contains("default") && finding.what.contains("evenkeel-system"));
    let fix = finding.fix.as_deref();
    assert_eq!(fix, Some("evenkeel doctor -n evenkeel-system"));
    // An object that cannot be read may exist.
    observation["deployment"] = json!({"unseen": {"needs": "get things"}});
    assert!(diagnose(observation).len() > 20);
}

/// The exit code of the program and what it said on standard error.
fn run(kubeconfig: &std::path::Path) -> (Option<i32>, String) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["doctor", "--kubeconfig"])
        .arg(kubeconfig)
        .env_clear()
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), errors)
}

#[test]
fn without_a_cluster_the_places_that_were_looked_at_are_named() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .arg("doctor")
        .env_clear()
        .env("HOME", tempfile::tempdir().unwrap().path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    for part in ["~/.kube/config", "--kubeconfig FILE"] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    for part in ["incluster", "in-cluster", "infer"] {
        assert!(!errors.contains(part), "{part}: {errors}");
    }
}

#[test]
fn a_wrong_call_differs_from_a_cluster_that_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let (code, errors) = run(&missing);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("missing cannot be read"), "{errors}");

    // The port was free a moment ago, so no server answers there.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let away = folder.path().join("away");
    let kubeconfig = json!({
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    });
    std::fs::write(&away, kubeconfig.to_string()).unwrap();
    let (code, errors) = run(&away);
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.contains("the API server cannot be reached"),
        "{errors}"
    );
}
