use std::collections::BTreeMap;

use clap::Parser as _;
use evenkeel_sandbox::recording::{
    AutoscalerRecord, ClusterRecord, NodeRecord, RecordSpan, UnreadParts, WorkloadRecord,
};
use evenkeel_units::{Amount, Resources};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::*;

#[derive(clap::Parser)]
struct Call {
    #[command(flatten)]
    replay: ReplayArgs,
}

fn record() -> ClusterRecord {
    let from = Timestamp::from_second(1_700_000_040).unwrap();
    let minute = SignedDuration::from_mins;
    let capacity = Resources::from_fn(|_| Some(Amount::new(1 << 40)));
    let demand = Resources::from_fn(|_| Amount::new(500));
    let spec = json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "maxReplicas": 9, "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 60}}}],
    });
    ClusterRecord {
        span: RecordSpan {
            from,
            until: from + minute(10),
            step: minute(1),
            learn: SignedDuration::ZERO,
        },
        is_anonymized: false,
        nodes: vec![NodeRecord {
            name: "a".to_owned(),
            capacity,
            pods: 110,
            created: None,
            schedulable: true,
            tainted: false,
            control_plane: false,
        }],
        workloads: vec![WorkloadRecord {
            kind: "Deployment".to_owned(),
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            created: None,
            replicas: 2,
            demand,
            limits: Resources::default(),
            load: vec![Some(700.0); 11],
            ready: vec![Some(2.0); 11],
            each: Resources::default(),
            annotations: BTreeMap::new(),
        }],
        pods: Vec::new(),
        autoscalers: vec![AutoscalerRecord {
            refused_bounds: false,
            had_floors: false,
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            spec,
            annotations: BTreeMap::new(),
        }],
        events: Vec::new(),
        unread: UnreadParts::default(),
    }
}

pub(crate) fn bytes(change: impl FnOnce(&mut Vec<(String, String)>)) -> Vec<u8> {
    let mut files = record().files().unwrap();
    change(&mut files);
    archive::write(&files, Timestamp::UNIX_EPOCH).unwrap()
}

/// Loads files that are written to a folder under these names.
pub(crate) fn load(
    files: &[(&str, &[u8])],
    arguments: &[&str],
    scenario: bool,
) -> Result<ReplayInput, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let arguments = arguments.iter().map(|argument| {
        let name = argument.strip_prefix('@');
        name.map_or_else(|| (*argument).to_owned(), path)
    });
    let call = Call::parse_from(["replay".to_owned()].into_iter().chain(arguments));
    let scenario = scenario.then(|| folder.path().join("scenario.yaml"));
    let loaded = call.replay.load(scenario.as_deref());
    loaded.map_err(|failure| failure.to_string())
}

fn edited(name: &str, metric: &str, percent: u32) -> String {
    format!(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n\
         metadata: {{name: web, namespace: shop}}\n\
         spec:\n  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}\n  \
         minReplicas: 3\n  maxReplicas: 30\n  metrics:\n  - {{type: Resource, resource: {{name: {metric}, \
         target: {{type: Utilization, averageUtilization: {percent}}}}}}}\n"
    )
}

#[test]
fn a_record_is_read_by_the_reader_of_scenarios() {
    let record = bytes(|_| ());
    let input = load(&[("r.tar", &record)], &["--replay", "@r.tar"], false).unwrap();
    assert_eq!(
        input.scenario.simulation.duration,
        SignedDuration::from_mins(10)
    );
    assert!(input.unedited.is_none() && input.missing().len() > 5);
    let counts = &input.record.unwrap().counts["shop/web"];
    assert_eq!(counts.len(), 11);
}

#[test]
fn an_edited_hpa_stands_beside_the_recorded_one() {
    let (record, hpa) = (bytes(|_| ()), edited("web", "cpu", 45));
    let files: [(&str, &[u8]); 2] = [("r.tar", &record), ("hpa.yaml", hpa.as_bytes())];
    let input = load(&files, &["--replay", "@r.tar", "--hpa", "@hpa.yaml"], false).unwrap();
    let bounds = |scenario: &Scenario| {
        let scale = scenario.workloads[0].scale.unwrap();
        (scale.min, scale.max)
    };
    assert_eq!(bounds(&input.scenario), (3, 30));
    assert_eq!(bounds(input.recorded()), (1, 9));
}

#[test]
fn what_cannot_be_replayed_is_refused_with_what_and_what_is_accepted() {
    let whole = bytes(|_| ());
    let version =
        bytes(|files| files[0].1 = files[0].1.replace("\"version\": 1", "\"version\": 9"));
    let counts = bytes(|files| files[2].1 = "[]".to_owned());
    let scenario = bytes(|files| files[1].1 = files[1].1.replace("nodes:", "notes:"));
    let trace = bytes(|files| files.truncate(7));
    for (bytes, parts) in [
        (&whole[..whole.len() / 2], &["r.tar: ", "cut short"][..]),
        (&whole[..100], &["r.tar: ", "cut short"]),
        (&version, &["record.json", "version 9", "accepted: 1"]),
        (&counts, &["replicas.json"]),
        (&scenario, &["scenario.yaml", "notes"]),
        (&trace, &["scenario.yaml", "traces/1.csv", "no such file"]),
        (&[0x1f, 0x8b, 8, 0], &["compressed", "gunzip"]),
        (
            b"neither",
            &["not a record of `evenkeel record`", "SimKube"],
        ),
    ] {
        let error = load(&[("r.tar", bytes)], &["--replay", "@r.tar"], false).unwrap_err();
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    let error = load(&[("r.tar", &whole)], &["--replay", "@r.tar"], true).unwrap_err();
    assert!(error.contains("without --scenario"), "{error}");
}

#[test]
fn an_hpa_that_cannot_be_replayed_is_refused() {
    let record = bytes(|_| ());
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n".to_owned();
    for (manifest, part) in [
        (
            edited("other", "cpu", 45),
            "shop/other is not in the record; accepted: shop/web",
        ),
        (edited("web", "memory", 45), "no target of cpu"),
        (
            edited("web", "cpu", 45).replace("minReplicas: 3", "minReplicas: 31"),
            "minReplicas 31",
        ),
        (deployment, "holds no HPA"),
        ("a: [".to_owned(), "not YAML"),
    ] {
        let files: [(&str, &[u8]); 2] = [("r.tar", &record), ("hpa.yaml", manifest.as_bytes())];
        let error = load(&files, &["--replay", "@r.tar", "--hpa", "@hpa.yaml"], false).unwrap_err();
        assert!(
            error.contains(part) && error.contains("hpa.yaml"),
            "{part}: {error}"
        );
    }
}
