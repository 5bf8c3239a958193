use evenkeel_metrics::pod::PodFacts;
use evenkeel_metrics::signal::{MetricTarget, ResourceName, Signal};
use evenkeel_objects::pod::Pod;
use serde_json::{Value, json};

use super::*;
use crate::{BehaviorSpec, PolicyType, ScalingPolicy, SelectPolicy, request};

fn autoscaler(value: Value) -> Autoscaler {
    serde_json::from_value(value).unwrap()
}

fn behavior(value: &Value) -> Option<Behavior> {
    autoscaler(json!({"spec": {"behavior": value}}))
        .spec
        .behavior
}

fn utilisation(signal: Signal, percent: i32) -> ObservedMetric {
    ObservedMetric {
        signal,
        target: MetricTarget::Utilization(percent),
    }
}

#[test]
fn an_object_of_the_api_server_is_read() {
    let text = include_str!("../../../../tests/fixtures/kubernetes/hpa.json");
    let Autoscaler {
        metadata,
        spec,
        status,
    } = serde_json::from_str(text).unwrap();
    assert_eq!(metadata.annotation("evenkeel.dev/scaling"), Some("floor"));
    assert_eq!(metadata.annotations.len(), 2);
    assert_eq!((spec.min_replicas, spec.max_replicas), (Some(4), 20));
    let target = ScaleTarget {
        api_version: "apps/v1".to_owned(),
        kind: "Deployment".to_owned(),
        name: "web".to_owned(),
    };
    assert_eq!(spec.scale_target_ref, target);
    let found: Vec<_> = spec.metrics.observed().collect();
    let named = found.iter().map(|one| (one.signal.to_string(), one.target));
    let expected = [
        ("cpu", MetricTarget::Utilization(60)),
        ("memory", MetricTarget::AverageValue(1_610_612_736_000)),
        ("cpu/app", MetricTarget::Utilization(70)),
        (
            "pods/http_requests_per_second",
            MetricTarget::AverageValue(100_000),
        ),
        (
            "object/Ingress/web/requests_per_second",
            MetricTarget::Value(2_000_000),
        ),
        (
            "external/queue_length{queue=orders}",
            MetricTarget::AverageValue(30_000),
        ),
    ];
    let expected = expected.map(|(name, target)| (name.to_owned(), target));
    assert_eq!(named.collect::<Vec<_>>(), expected);
    assert_eq!(spec.metrics.others(), 0);
    let Behavior {
        scale_up,
        scale_down,
    } = spec.behavior.unwrap();
    let policies: Vec<_> = scale_up.policies.iter().map(ToString::to_string).collect();
    assert_eq!(policies, ["Pods=2/15s", "Percent=50/60s"]);
    assert_eq!(scale_up.select_policy, SelectPolicy::Min);
    assert_eq!(scale_up.tolerance, "0".parse().ok());
    assert_eq!(scale_down.tolerance, "0.02".parse().ok());
    assert_eq!(scale_down.stabilization_window_seconds, None);
    let expected = AutoscalerStatus {
        current_replicas: Some(5),
        desired_replicas: Some(6),
        scaling_active: Some(true),
    };
    assert_eq!(status, expected);
}

#[test]
fn the_object_that_keda_makes_is_read() {
    let text = include_str!("../../../../tests/fixtures/kubernetes/keda-hpa.json");
    let found: Autoscaler = serde_json::from_str(text).unwrap();
    assert_eq!(found.scaled_object(), Some("orders"));
    let metric = found.spec.metrics.observed().next().unwrap();
    assert_eq!(
        metric.signal.to_string(),
        "external/s0-rabbitmq-orders{scaledobject.keda.sh/name=orders}"
    );
    assert_eq!(metric.target, MetricTarget::AverageValue(20_000));
    assert_eq!(found.status.scaling_active, Some(false));
}

#[test]
fn null_equals_absent() {
    let nulls = autoscaler(json!({
        "metadata": null,
        "spec": {"scaleTargetRef": {"apiVersion": null, "kind": null, "name": null},
            "minReplicas": null, "maxReplicas": null, "metrics": null, "behavior": null},
        "status": {"currentReplicas": null, "desiredReplicas": null, "conditions": null,
            "lastScaleTime": null},
    }));
    assert_eq!(nulls, Autoscaler::default());
    assert_eq!(autoscaler(json!({"spec": null, "status": null})), nulls);
}

#[test]
fn metrics_that_cannot_be_met_are_left_to_the_hpa() {
    let resource = |name: &str, target: Value| json!({"type": "Resource", "resource": {"name": name, "target": target}});
    let share = |percent: i32| json!({"type": "Utilization", "averageUtilization": percent});
    let container = json!({"type": "ContainerResource", "containerResource": {
        "name": "nvidia.com/gpu", "container": "web", "target": share(50)}});
    let external = |target: Value| json!({"type": "External", "external": {"metric": {"name": "queue"}, "target": target}});
    let value = json!({"type": "AverageValue", "averageValue": "1500m"});
    for (metric, expected) in [
        (
            resource("cpu", share(60)),
            Some(utilisation(Signal::CPU, 60)),
        ),
        (
            resource("memory", share(150)),
            Some(utilisation(Signal::MEMORY, 150)),
        ),
        (
            resource("cpu", value),
            Some(ObservedMetric {
                signal: Signal::CPU,
                target: MetricTarget::AverageValue(1500),
            }),
        ),
        (resource("nvidia.com/gpu", share(60)), None),
        (resource("cpu", json!({"type": "Utilization"})), None),
        (resource("cpu", share(0)), None),
        (resource("cpu", json!({"averageValue": "much"})), None),
        (resource("cpu", json!(7)), None),
        (json!({"type": "Resource"}), None),
        (json!("Resource"), None),
        (container, None),
        (external(json!({"averageValue": "0"})), None),
        (external(json!({"value": "-1"})), None),
        (external(json!(null)), None),
        (
            json!({"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"value": "5"}}}),
            None,
        ),
    ] {
        let found = autoscaler(json!({"spec": {"metrics": [null, metric]}}))
            .spec
            .metrics;
        let resources: Vec<_> = found.observed().collect();
        assert_eq!(
            resources,
            expected.into_iter().collect::<Vec<_>>(),
            "{metric}"
        );
        assert_eq!(found.0.len(), 1, "{metric}");
    }
}

#[test]
fn behavior_is_completed_as_kubernetes_does() {
    assert_eq!(behavior(&json!(null)), None);
    assert_eq!(
        behavior(&json!({})),
        Some(BehaviorSpec::default().defaulted())
    );
    let found = behavior(&json!({
        "scaleUp": {
            "stabilizationWindowSeconds": 30, "selectPolicy": "Min", "tolerance": "50m",
            "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}],
        },
        "scaleDown": {"selectPolicy": "Disabled", "tolerance": null},
    }));
    let mut expected = BehaviorSpec::default().defaulted();
    expected.scale_up.stabilization_window_seconds = Some(30);
    expected.scale_up.select_policy = SelectPolicy::Min;
    expected.scale_up.tolerance = "0.05".parse().ok();
    expected.scale_up.policies = vec![ScalingPolicy {
        policy_type: PolicyType::Percent,
        value: 50,
        period_seconds: 60,
    }];
    expected.scale_down.select_policy = SelectPolicy::Disabled;
    assert_eq!(found, Some(expected));
}

#[test]
fn a_rule_that_is_not_understood_allows_no_change() {
    for policy in [
        json!({"type": "Doubling", "value": 1, "periodSeconds": 15}),
        json!({"type": "Pods", "value": "four", "periodSeconds": 15}),
        json!({"type": "Pods", "value": 4}),
        json!(7),
    ] {
        let found = behavior(&json!({"scaleUp": {"policies": [policy]}})).unwrap();
        assert_eq!(found.scale_up.policies.len(), 1, "{policy}");
        assert_eq!(found.scale_up.policies[0].most_from(5), 5, "{policy}");
    }
    let found = behavior(&json!({"scaleUp": {"selectPolicy": "Median"}})).unwrap();
    assert_eq!(found.scale_up.select_policy, SelectPolicy::Disabled);
    let found = behavior(&json!({"scaleUp": {"tolerance": "much"}, "scaleDown": 5})).unwrap();
    assert_eq!(found, BehaviorSpec::default().defaulted());
}

#[test]
fn parts_that_no_rule_reads_or_kubernetes_never_sends_lose_no_object() {
    let odd = autoscaler(json!({
        "metadata": {"name": "web", "finalizers": 5},
        "spec": {"maxReplicas": 5, "behavior": "fast", "metrics": [5]},
        "status": {"currentMetrics": "x", "observedGeneration": "y", "currentReplicas": "3",
            "lastScaleTime": "soon"},
    }));
    assert_eq!((odd.spec.max_replicas, odd.spec.behavior), (5, None));
    assert_eq!(odd.status, AutoscalerStatus::default());
}

#[test]
fn whether_it_scales_is_in_its_conditions() {
    for (status, active) in [
        ("True", Some(true)),
        ("False", Some(false)),
        ("Unknown", None),
    ] {
        let able = json!({"type": "AbleToScale", "status": "True"});
        let condition = json!({"type": "ScalingActive", "status": status});
        let found = autoscaler(json!({"status": {"conditions": [able, null, condition]}}));
        assert_eq!(found.status.scaling_active, active, "{status}");
    }
    let found = autoscaler(json!({"status": {"conditions": []}}));
    assert_eq!(found.status.scaling_active, None);
}

#[test]
fn keda_manages_what_its_scaled_object_controls() {
    for (version, kind, controller, expected) in [
        ("keda.sh/v1alpha1", "ScaledObject", true, Some("web")),
        ("keda.sh/v1", "ScaledObject", true, Some("web")),
        ("keda.sh/v1alpha1", "ScaledObject", false, None),
        ("keda.sh/v1alpha1", "ScaledJob", true, None),
        ("example.com/v1", "ScaledObject", true, None),
    ] {
        let found = autoscaler(json!({"metadata": {"ownerReferences": [{
            "apiVersion": version, "kind": kind, "name": "web", "controller": controller}]}}));
        assert_eq!(
            found.scaled_object(),
            expected,
            "{version} {kind} {controller}"
        );
    }
}

#[test]
fn the_hpa_counts_containers_and_sidecars_and_wants_a_request_of_each() {
    let requests = |cpu: &str, memory: &str| json!({"resources": {"requests": {"cpu": cpu, "memory": memory}}});
    let mut helper = requests("100m", "10");
    helper["restartPolicy"] = json!("Always");
    let only_cpu = json!({"resources": {"requests": {"cpu": "1"}}});
    let limited = json!({"resources": {"limits": {"cpu": "1"}}});
    let (one, large) = (requests("500m", "100"), requests("9", "900"));
    for (case, spec, cpu, memory) in [
        ("one", json!({"containers": [one]}), Some(500), Some(100)),
        (
            "two and a sidecar, no init container",
            json!({"containers": [one, one], "initContainers": [helper, large]}),
            Some(1100),
            Some(210),
        ),
        (
            "one without memory",
            json!({"containers": [one, only_cpu]}),
            Some(1500),
            None,
        ),
        (
            "a sidecar without any",
            json!({"containers": [one], "initContainers": [{"restartPolicy": "Always"}]}),
            None,
            None,
        ),
        ("limits", json!({"containers": [limited]}), None, None),
        (
            "the Pod as a whole, and the larger init container for the rest",
            json!({"containers": [one], "initContainers": [large],
                "resources": {"requests": {"cpu": "2"}}, "overhead": {"cpu": "1"}}),
            Some(3000),
            Some(900),
        ),
    ] {
        let pod: Pod = serde_json::from_value(json!({"spec": spec})).unwrap();
        let facts = PodFacts::from(&pod);
        let of = |resource| request(&facts, &resource, None, true).ok();
        assert_eq!(of(ResourceName::Cpu), cpu, "{case}");
        let memory = memory.map(|bytes: i64| bytes * 1000);
        assert_eq!(of(ResourceName::Memory), memory, "{case}");
    }
}
