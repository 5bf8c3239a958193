//! Manifests of Kapacity, with the fields that its documentation shows.

use serde_json::{Value, json};

use super::{has_note, migrated, refused};

fn kapacity(kind: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "autoscaling.kapacitystack.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    })
}

fn ihpa(providers: &Value) -> Value {
    let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
    let spec = json!({"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 10,
        "portraitProviders": providers});
    kapacity("IntelligentHorizontalPodAutoscaler", &spec)
}

fn job() -> Value {
    json!({"type": "CronJob", "cronJob": {"template": {"spec": {
        "schedule": "0/30 * * * *",
        "jobTemplate": {"spec": {"template": {"spec": {
            "containers": [{"name": "algorithm", "args": ["--re-history-len=24H"],
                "volumeMounts": [{"name": "model", "mountPath": "/opt/model", "readOnly": true}]}],
            "volumes": [{"name": "model", "configMap": {"name": "example-model"}}],
            "restartPolicy": "OnFailure",
        }}}},
    }}}})
}

fn predictive() -> Value {
    json!({"type": "Dynamic", "priority": 1, "dynamic": {
        "portraitType": "Predictive",
        "metrics": [
            {"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "AverageValue", "averageValue": "1m"}}},
            {"type": "Pods", "pods": {"metric": {"name": "kube_pod_status_ready"}, "target": {"type": "NA"}}},
            {"name": "qps", "type": "Object", "object": {
                "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"},
                "metric": {"name": "requests_rate"}, "target": {"type": "NA"}}},
        ],
        "algorithm": {"type": "ExternalJob",
            "externalJob": {"job": job(), "resultSource": {"type": "ConfigMap"}}},
    }})
}

#[test]
fn windows_that_kapacity_opens_at_other_hours_are_refused() {
    let windows = |start: &str, end: &str| {
        json!({
            "apiVersion": "autoscaling.kapacitystack.io/v1alpha1",
            "kind": "IntelligentHorizontalPodAutoscaler",
            "metadata": {"name": "web"},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
                "minReplicas": 1, "maxReplicas": 10,
                "portraitProviders": [{"type": "Cron", "priority": 1, "cron": {"crons": [
                    {"name": "a", "start": start, "end": end, "replicas": 5}]}}],
            },
        })
    };
    migrated(&windows("0 8 * * 1-5", "0 18 * * 1-5"), None);
    migrated(&windows("@daily", "0 6 * * *"), None);
    for (start, end, told) in [
        (
            "0 8 28,29,30,31 * *",
            "0 20 1 * *",
            "crons[0].start: start is at",
        ),
        (
            "0 8 * * *",
            "0 18,20 * * *",
            "Kapacity keeps this window open until the last end",
        ),
        (
            "0 8,18 * * *",
            "0 18,20 * * *",
            "crons[0].start: start is at",
        ),
        ("0 8 * * *", "0 8 * * *", "never closes"),
        ("0 0 8 * * *", "0 18 * * *", "Kapacity reads five fields"),
    ] {
        let error = refused(&windows(start, end));
        assert!(error.contains(told), "{start} to {end}: {error}");
    }
}

#[test]
fn what_means_the_same_is_taken_over_as_it_is() {
    let window =
        json!({"name": "cron-1", "start": "0 * * * *", "end": "10 * * * *", "replicas": 5});
    let mut document = ihpa(&json!([
        {"type": "Static", "priority": 1, "static": {"replicas": 1}},
        {"type": "Cron", "priority": 2, "cron": {"crons": [window]}},
        {"type": "Dynamic", "priority": 1, "dynamic": {"portraitType": "Reactive",
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 30}}}],
            "algorithm": {"type": "KubeHPA"}}},
    ]));
    document["spec"]["paused"] = json!(true);
    document["spec"]["scaleMode"] = json!("Preview");
    document["spec"]["behavior"] = json!({"scaleUp": {"disabled": true}, "scaleDown": {"grayStrategy": {
        "grayState": "Cutoff", "changeIntervalSeconds": 30, "changePercent": 50, "observationSeconds": 60}}});
    let found = migrated(&document, None);
    let mut expected = document.clone();
    expected["apiVersion"] = json!("autoscaling.evenkeel.dev/v1alpha1");
    assert_eq!(found.manifest, expected);
    assert!(has_note(&found, "the larger count applies"));
}

#[test]
fn a_job_is_given_the_image_that_a_controller_filled_in() {
    let document = ihpa(&json!([predictive()]));
    let found = migrated(&document, None);
    let mut expected = document["spec"].clone();
    let container = "/portraitProviders/0/dynamic/algorithm/externalJob/job/cronJob/template/spec/jobTemplate/spec/\
                     template/spec/containers/0";
    let container = expected.pointer_mut(container).unwrap();
    container["image"] = json!("ghcr.io/traas-stack/kapacity-algorithm-horizontal-predictive");
    assert_eq!(found.manifest["spec"], expected);
    for told in [
        "set the version",
        "name one that may read the HorizontalPortrait",
        "what it mounts must exist there",
        "algorithm type Forecast",
    ] {
        assert!(has_note(&found, told), "{told}: {:#?}", found.notes);
    }
}

#[test]
fn settings_that_are_fixed_here_are_told_where_they_differ() {
    let with = |settings: Value| {
        migrated(
            &ihpa(
                &json!([{"type": "Dynamic", "priority": 1, "dynamic": {"portraitType": "Reactive",
                "algorithm": {"type": "KubeHPA", "kubeHPA": settings}}}]),
            ),
            None,
        )
    };
    let same =
        with(json!({"syncPeriod": "15s", "tolerance": "0.1", "cpuInitializationPeriod": "5m0s"}));
    assert!(!has_note(&same, "is left out"), "{:?}", same.notes);
    let algorithm = "/spec/portraitProviders/0/dynamic/algorithm";
    assert_eq!(
        same.manifest.pointer(algorithm),
        Some(&json!({"type": "KubeHPA", "kubeHPA": {"tolerance": "0.1"}}))
    );
    let other = with(json!({"syncPeriod": "30s"}));
    assert!(
        has_note(&other, "kubeHPA.syncPeriod \"30s\" is left out: it is 15s"),
        "{:?}",
        other.notes
    );
    assert_eq!(
        other.manifest.pointer(algorithm),
        Some(&json!({"type": "KubeHPA"}))
    );
}

#[test]
fn checks_of_metrics_are_made_and_external_ones_are_left_out_with_a_word() {
    let mut document = ihpa(&json!([{"type": "Static", "priority": 1, "static": {"replicas": 1}}]));
    document["spec"]["stabilityCheckers"] = json!([
        {"type": "External", "stabilizationAction": "Pause", "external": {"name": "ours"}},
        {"type": "Metrics", "stabilizationAction": "Rollback", "coolDownSeconds": 60, "metrics": {"metrics": [
            {"name": "cpu", "operator": ">", "type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 90}}}]}},
    ]);
    let found = migrated(&document, None);
    let checkers = &document["spec"]["stabilityCheckers"];
    assert_eq!(
        found.manifest["spec"]["stabilityCheckers"],
        json!([checkers[1]])
    );
    assert!(has_note(
        &found,
        "spec.stabilityCheckers[0] of type External is left out"
    ));
    assert!(has_note(&found, "Evenkeel runs the stability checks"));
}

#[test]
fn what_cannot_be_carried_over_is_refused_with_its_place() {
    let good = json!([{"type": "Static", "priority": 1, "static": {"replicas": 1}}]);
    let mut document = ihpa(&good);
    document["spec"]["holidays"] = json!("de");
    assert!(refused(&document).starts_with("spec.holidays: is not known"));
    let mut document = ihpa(&good);
    document["spec"]["behavior"] = json!({"replicaProfile": {"podSorter": {"type": "External"}}});
    assert!(
        refused(&document).starts_with("spec.behavior.replicaProfile.podSorter.type: External")
    );
    let mut document = ihpa(&good);
    document["spec"]["maxReplicas"] = json!(0);
    assert!(refused(&document).contains("spec.minReplicas: 1 to 0"));
    let burst = json!([{"type": "Dynamic", "priority": 1, "dynamic": {"portraitType": "Burst",
        "algorithm": {"type": "KubeHPA"}}}]);
    assert!(refused(&ihpa(&burst)).contains("dynamic.algorithm.type: \"KubeHPA\""));
}

#[test]
fn a_horizontal_portrait_keeps_what_its_maker_reads() {
    let mut spec = predictive()["dynamic"].clone();
    spec["scaleTargetRef"] = json!({"kind": "StatefulSet", "name": "web"});
    spec["externalGeneratorName"] = json!("ours");
    let found = migrated(&kapacity("HorizontalPortrait", &spec), None);
    assert_eq!(found.manifest["kind"], "HorizontalPortrait");
    assert_eq!(found.manifest["spec"]["metrics"], spec["metrics"]);
    let reactive = json!({"scaleTargetRef": {"kind": "StatefulSet", "name": "web"},
        "portraitType": "Reactive", "algorithm": {"type": "KubeHPA"}});
    let found = migrated(&kapacity("HorizontalPortrait", &reactive), None);
    assert!(has_note(&found, "it is not read"));
}

#[test]
fn a_replica_profile_and_its_behaviour_in_an_autoscaler_are_taken_over() {
    let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
    let behavior = json!({"podSorter": {"type": "WorkloadDefault"},
        "podTrafficController": {"type": "ReadinessGate"}});
    let spec = json!({"scaleTargetRef": target, "onlineReplicas": 3, "cutoffReplicas": 1,
        "standbyReplicas": 1, "paused": false, "allowedScalingDirection": "Both", "behavior": behavior});
    let document = kapacity("ReplicaProfile", &spec);
    let found = migrated(&document, None);
    let mut expected = document.clone();
    expected["apiVersion"] = json!("autoscaling.evenkeel.dev/v1alpha1");
    assert_eq!(found.manifest, expected);
    assert!(
        has_note(&found, "inject-pod-readiness-gate"),
        "{:?}",
        found.notes
    );

    let mut document = ihpa(&json!([{"type": "Static", "priority": 1, "static": {"replicas": 1}}]));
    document["spec"]["behavior"] = json!({"replicaProfile": behavior});
    let found = migrated(&document, None);
    assert_eq!(found.manifest["spec"], document["spec"]);
}

#[test]
fn what_a_replica_profile_leaves_to_others_is_refused_with_its_place() {
    let external = json!({"podSorter": {"type": "External", "external": {"name": "ours"}}});
    let spec =
        json!({"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "behavior": external});
    let error = refused(&kapacity("ReplicaProfile", &spec));
    assert!(
        error.contains("spec.behavior.podSorter.type: External is not implemented"),
        "{error}"
    );
    let mut document = ihpa(&json!([{"type": "Static", "priority": 1, "static": {"replicas": 1}}]));
    document["spec"]["behavior"] = json!({"replicaProfile": external});
    let error = refused(&document);
    assert!(
        error.contains("spec.behavior.replicaProfile.podSorter.type"),
        "{error}"
    );
    let spec =
        json!({"scaleTargetRef": {"kind": "DaemonSet", "name": "web"}, "onlineReplicas": -1});
    let error = refused(&kapacity("ReplicaProfile", &spec));
    assert!(error.contains("-1 replicas"), "{error}");
}
