use evenkeel_units::Resource;
use serde_json::json;

use super::*;
use crate::scenario::{ScaleBy, Scenario};
use crate::simulation::recorded_cost::recorded_cost;

const STEP: SignedDuration = SignedDuration::from_secs(60);

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_040 + minute * 60).unwrap()
}

fn span() -> RecordSpan {
    RecordSpan {
        from: at(0),
        until: at(20),
        step: STEP,
        learn: STEP * 10,
    }
}

fn amounts(cpu: u64, memory: u64) -> Resources<Amount> {
    let mut amounts = Resources::default();
    amounts[Resource::Cpu] = Amount::new(cpu);
    amounts[Resource::Memory] = Amount::new(memory);
    amounts
}

fn workload(name: &str) -> WorkloadRecord {
    WorkloadRecord {
        kind: "Deployment".to_owned(),
        namespace: "bookshop".to_owned(),
        name: name.to_owned(),
        created: Some(at(-1000)),
        replicas: 2,
        demand: amounts(500, 1 << 28),
        limits: Resources::default(),
        load: (0..=20)
            .map(|minute| Some(f64::from(minute) * 50.0))
            .collect(),
        ready: vec![Some(2.0); 21],
        each: Resources::from_fn(|_| Some(1000.0)),
        annotations: BTreeMap::new(),
    }
}

fn pod(name: &str, workload: Option<&str>, node: &str) -> PodRecord {
    PodRecord {
        namespace: "bookshop".to_owned(),
        name: name.to_owned(),
        workload: workload.map(str::to_owned),
        node: Some(node.to_owned()),
        demand: amounts(500, 1 << 28),
        limits: Resources::default(),
        scheduled: Some(at(-900)),
        started: Some(at(-900) + SignedDuration::from_secs(7)),
        ready: Some(at(-900) + SignedDuration::from_secs(19)),
    }
}

fn hpa(spec: Value) -> AutoscalerRecord {
    AutoscalerRecord {
        namespace: "bookshop".to_owned(),
        name: "catalogue-hpa".to_owned(),
        spec,
        refused_bounds: false,
        had_floors: false,
        annotations: [
            ("evenkeel.dev/scaling", "floor"),
            ("evenkeel.dev/query", "sum(tomes_read)"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into(),
    }
}

fn cpu_metric(percent: i32) -> Value {
    json!({"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": percent}}})
}

fn spec(metrics: &Value) -> Value {
    json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "catalogue"},
        "minReplicas": 2, "maxReplicas": 9, "metrics": metrics,
    })
}

fn record() -> ClusterRecord {
    let mut capacity = amounts(4000, 8 << 30).map(Some);
    capacity[Resource::Disk] = Some(Amount::new(100 << 30));
    (capacity[Resource::NetworkIo], capacity[Resource::DiskIo]) = (None, None);
    let node = NodeRecord {
        name: "worker-alpha".to_owned(),
        capacity,
        pods: 110,
        created: Some(at(-5000)),
        schedulable: true,
        tainted: false,
        control_plane: false,
    };
    let event = EventRecord {
        namespace: "bookshop".to_owned(),
        kind: "Pod".to_owned(),
        name: "catalogue-1".to_owned(),
        reason: "Unhealthy".to_owned(),
        is_warning: true,
        count: 3,
        first: Some(at(15)),
        last: Some(at(16)),
        message: Some("Readiness probe of catalogue failed".to_owned()),
    };
    ClusterRecord {
        span: span(),
        is_anonymized: false,
        nodes: vec![node],
        workloads: vec![workload("catalogue")],
        pods: vec![
            pod("catalogue-1", Some("Deployment/catalogue"), "worker-alpha"),
            pod("log-agent", None, "worker-alpha"),
        ],
        autoscalers: vec![hpa(spec(&json!([cpu_metric(60)])))],
        events: vec![event],
        unread: UnreadParts::default(),
    }
}

fn files(record: &ClusterRecord) -> BTreeMap<String, String> {
    record.files().unwrap().into_iter().collect()
}

fn replayed(record: &ClusterRecord) -> Scenario {
    let files = files(record);
    let traces = |path: &std::path::Path| {
        let text = files.get(path.to_str().unwrap()).cloned();
        text.ok_or_else(|| "missing".to_owned())
    };
    Scenario::read(&files[SCENARIO], &traces).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_record_is_a_scenario_of_the_part_after_learning() {
    let scenario = replayed(&record());
    let minute = SignedDuration::from_mins;
    assert_eq!(scenario.past, minute(10));
    assert_eq!(scenario.trace_offset, minute(10));
    assert_eq!(scenario.simulation.duration, minute(10));
    let node = &scenario.nodes[0];
    // Without what the Pod of no workload requests.
    assert_eq!(node.capacity[Resource::Cpu], Amount::new(3500));
    assert_eq!(node.pods, 109);
    let web = &scenario.workloads[0];
    let scale = web.scale.unwrap();
    assert_eq!((scale.min, scale.max), (2, 9));
    assert!(matches!(scale.by, ScaleBy::Cpu(share) if (share.get() - 0.6).abs() < 1e-9));
    assert_eq!(web.startup.start, SignedDuration::from_secs(7));
    assert_eq!(web.startup.warm_up, SignedDuration::from_secs(12));
    let traffic = web.traffic.as_ref().unwrap();
    // Millicores of minute 15, and one request takes 100 of them.
    let offered = traffic.peak * traffic.trace.share(scenario.trace_offset + minute(5));
    let cpu = offered * web.usage.per_request[Resource::Cpu].as_f64();
    assert!((cpu - 750.0).abs() < 1e-6, "{cpu}");
    assert!(web.changes.is_empty());
}

#[test]
fn without_an_hpa_the_recorded_counts_are_replayed() {
    let mut record = record();
    record.autoscalers.clear();
    let ready = &mut record.workloads[0].ready;
    ready[3] = Some(7.0);
    ready[10] = None;
    ready[11] = Some(4.0);
    ready[12..].fill(Some(5.0));
    let web = replayed(&record).workloads.remove(0);
    let minute = SignedDuration::from_mins;
    assert_eq!(web.replicas, 2);
    assert_eq!(web.changes, [(minute(1), 4), (minute(2), 5)]);
}

#[test]
fn counts_of_the_first_half_minute_are_those_that_workloads_begin_with() {
    let mut record = record();
    record.autoscalers.clear();
    record.span = RecordSpan {
        until: at(5),
        step: STEP / 4,
        learn: SignedDuration::ZERO,
        ..record.span
    };
    let ready = &mut record.workloads[0].ready;
    ready[1..].fill(Some(10.0));
    let web = replayed(&record).workloads.remove(0);
    assert_eq!((web.replicas, web.changes), (10, Vec::new()));
}

#[test]
fn a_record_begins_with_its_first_value() {
    let mut record = record();
    record.workloads[0].load[..13].fill(None);
    record.workloads[0].ready[..12].fill(None);
    record.skip_empty_begin();
    let RecordSpan {
        from, until, learn, ..
    } = record.span;
    assert_eq!((from, until, learn), (at(12), at(20), SignedDuration::ZERO));
    let web = &record.workloads[0];
    assert_eq!((web.load.len(), web.ready.len()), (9, 9));
    assert_eq!((web.load[0], web.ready[0]), (None, Some(2.0)));
    assert_eq!(record.span.points(), 9);
    // Two minutes before the first workload.
    record.workloads[0].created = Some(at(14));
    record.skip_empty_begin();
    assert_eq!(record.span.begin(), at(14));
    let early = record.span;
    record.skip_empty_begin();
    assert_eq!(record.span, early);
}

#[test]
fn an_hpa_is_replayed_by_its_cpu_and_the_rest_is_named() {
    let request = Amount::new(500);
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "rps"},
        "target": {"type": "AverageValue", "averageValue": "5"}}});
    let amount = json!({"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "AverageValue", "averageValue": "250m"}}});
    for (metrics, request, percent, left_out) in [
        (json!([cpu_metric(70)]), request, Some(70), 0),
        (json!([cpu_metric(70), pods]), request, Some(70), 1),
        (json!([amount]), request, Some(50), 0),
        (json!([pods]), request, None, 1),
        (json!([cpu_metric(150)]), request, None, 1),
        (json!([cpu_metric(70)]), Amount::ZERO, None, 1),
    ] {
        let read = read_scale(&spec(&metrics), request).unwrap();
        let found = read.scale.map(|scale| match scale.by {
            ScaleBy::Cpu(share) => evenkeel_units::i64_nearest(share.get() * 100.0),
            ScaleBy::Requests(_) => panic!("{metrics}"),
        });
        assert_eq!(found, percent, "{metrics}");
        assert_eq!(read.left_out.len(), left_out, "{metrics}");
    }
    let mut wrong = spec(&json!([cpu_metric(70)]));
    wrong["minReplicas"] = 10.into();
    assert!(
        read_scale(&wrong, request)
            .unwrap_err()
            .contains("minReplicas 10")
    );
}

#[test]
fn what_is_missing_is_in_the_record_and_in_the_scenario() {
    let mut record = record();
    record.workloads.push(WorkloadRecord {
        kind: "StatefulSet".to_owned(),
        load: vec![None; 21],
        ..workload("ledger")
    });
    record.unread = UnreadParts {
        other_namespaces: true,
        kinds: vec![("events".to_owned(), 403)],
        resources: vec!["disk I/O"],
        namespaces: vec!["hidden".to_owned()],
        refused_workloads: 4,
        deleted_workloads: 3,
        counts_by_series: 1,
        begins_late: true,
        dropped_events: 2,
    };
    record.workloads[0].load[12..17].fill(None);
    record.workloads[0].ready[2..8].fill(None);
    record.autoscalers[0].refused_bounds = true;
    let files = files(&record);
    let manifest = RecordManifest::read(&files[RECORD]).unwrap();
    for part in [
        "image pulls are unknown",
        "oldest in this record is from",
        "bookshop/ledger: no series",
        "StatefulSets that are replayed as Deployments: 1",
        "Only one namespace was recorded",
        "list of events with status 403",
        "no series of disk I/O",
        "the namespace hidden",
        "refused or did not answer: 4",
        "no longer exist: 3",
        "announce no network capacity: 10Gbps is assumed: 1",
        "without a controller: 1",
        "no series from before",
        "bookshop/catalogue: 5 of 21 values (up to 5m in a row) of its cpu are missing",
        "bookshop/catalogue: 6 of 21 values (up to 6m in a row) of its ready Pods are missing",
        "evenkeel.dev/bounds of its HPA was not written by Evenkeel",
    ] {
        let found = manifest.missing.iter().any(|gap| gap.contains(part));
        assert!(found, "{part}: {:#?}", manifest.missing);
    }
    let assumed = replayed(&record).simulation.background.assumed;
    assert_eq!(assumed, manifest.missing);
}

#[test]
fn no_name_is_left_in_an_anonymized_record_and_each_is_replaced_alike() {
    let mut record = record();
    let selector = json!({"matchLabels": {"queue": "first-editions"}});
    let external = json!({"type": "External", "external": {
        "metric": {"name": "tomes_waiting", "selector": selector},
        "target": {"type": "AverageValue", "averageValue": "30"}}});
    record.autoscalers = vec![hpa(spec(&json!([cpu_metric(60), external])))];
    record.events[0].reason = "TomeBurnt".to_owned();
    record.unread.namespaces = vec!["bookshop".to_owned()];
    let names = [
        "bookshop",
        "catalogue",
        "worker-alpha",
        "log-agent",
        "tomes",
        "editions",
        "Tome",
        "queue",
    ];
    let plain: String = files(&record).into_values().collect();
    for name in names {
        assert!(plain.contains(name), "{name} is in the record as it is");
    }
    let anonymized = record.anonymized();
    let files = files(&anonymized);
    let all: String = files
        .iter()
        .flat_map(|(name, text)| [name.as_str(), text])
        .collect();
    for name in names {
        assert!(!all.contains(name), "{name} is left");
    }
    let scenario = replayed(&anonymized);
    let web = &scenario.workloads[0];
    assert!(web.scale.is_some(), "the HPA still finds its workload");
    assert_eq!(web.scale_annotations.len(), 1);
    let pods: Vec<PodRecord> = serde_json::from_str(&files["pods.json"]).unwrap();
    assert_eq!(pods[0].workload, Some(format!("Deployment/{}", web.name)));
    assert_eq!(pods[0].node.as_ref(), Some(&scenario.nodes[0].name));
    let events: Value = serde_json::from_str(&files["events.json"]).unwrap();
    assert_eq!(events[0]["name"], pods[0].name);
}

#[test]
fn what_cannot_be_replayed_is_no_record() {
    let mut without_load = record();
    without_load.workloads[0].load.fill(None);
    let mut without_nodes = record();
    without_nodes.nodes[0].schedulable = false;
    for (record, part) in [
        (without_load, "no cpu series"),
        (without_nodes, "no node that is Ready"),
    ] {
        let error = record.files().unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn another_format_or_version_is_refused_with_what_is_accepted() {
    let text = files(&record()).remove(RECORD).unwrap();
    assert_eq!(RecordManifest::read(&text).unwrap().span(), span());
    for (from, to, part) in [
        (
            "\"version\": 1",
            "\"version\": 2",
            "version 2 is not accepted; accepted: 1",
        ),
        (
            "evenkeel-record",
            "other",
            "format \"other\" is not accepted",
        ),
        (
            "\"learnSeconds\": 600",
            "\"learnSeconds\": 6000",
            "not in order",
        ),
        ("{", "[", "expected"),
    ] {
        let wrong = text.replacen(from, to, 1);
        assert_ne!(wrong, text);
        let error = RecordManifest::read(&wrong).unwrap_err();
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// 500 to 1000 millicores on two Pods of 500 at 60 %: 10 % above is 660, from minute 13.2 on.
#[test]
fn recorded_counts_cost_what_they_came_to() {
    let record = record();
    let (scenario, files) = (replayed(&record), files(&record));
    let counts: RecordedCounts = serde_json::from_str(&files[REPLICAS]).unwrap();
    let cost = recorded_cost(&scenario, &counts, span());
    assert_eq!(cost.changes, 0);
    let (under, hours) = (cost.cost.under_provisioned_seconds, cost.cost.replica_hours);
    assert!((400.0..=420.0).contains(&under), "{under}");
    assert!((hours - 2.0 * 10.0 / 60.0).abs() < 0.02, "{hours}");
    assert!(cost.cost.overloaded_seconds < 16.0);
}
