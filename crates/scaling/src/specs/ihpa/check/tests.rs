//! Specs as users write them, and what becomes of them.

use serde_json::{Value, json};

use super::*;
use crate::specs::ihpa::rules::{Criterion, Endpoint, PortraitSource};
use crate::specs::scaling_policy::PredictionModel;
use crate::stability::Action;
use crate::staged_change::{ScaleDownTarget, StepSize};

fn spec(edit: impl FnOnce(&mut Value)) -> Value {
    let mut spec = json!({
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "minReplicas": 1, "maxReplicas": 10,
        "portraitProviders": [
            {"type": "Static", "priority": 1, "static": {"replicas": 2}},
            {"type": "Static", "priority": 2, "static": {"replicas": 3}},
            {"type": "Cron", "priority": 3, "cron": {"crons": [
                {"name": "a", "start": "0 8 * * *", "end": "0 9 * * *", "replicas": 5}]}},
            {"type": "Dynamic", "priority": 3, "dynamic": {"portraitType": "Reactive",
                "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 30}}}],
                "algorithm": {"type": "KubeHPA", "kubeHPA": {"tolerance": 0.05,
                    "behavior": {"scaleUp": {"tolerance": "0.2"}}}}}},
            {"type": "Dynamic", "priority": 3, "dynamic": {"portraitType": "Predictive",
                "algorithm": {"type": "Forecast", "forecast": {"model": "traffic", "risk": "2%",
                    "traffic": ["sum(rate(http[1m]))"]}}}},
            {"type": "Dynamic", "priority": 4, "dynamic": {"portraitType": "Burst",
                "externalGeneratorName": "ours", "metrics": [{"type": "Odd"}],
                "algorithm": {"type": "Ours"}}},
        ],
        "behavior": {
            "scaleUp": {"grayStrategy": {"grayState": "Online", "changeCount": 3,
                "changeIntervalSeconds": 30}},
            "scaleDown": {"disabled": true, "grayStrategy": {"grayState": "Standby", "changePercent": 25,
                "changeIntervalSeconds": 60, "observationSeconds": 600}},
        },
        "stabilityCheckers": [
            {"type": "Metrics", "stabilizationAction": "Rollback", "coolDownSeconds": 60, "metrics": {"metrics": [
                {"name": "p99", "operator": ">=", "type": "PromQL",
                    "promQL": {"query": "p99", "target": {"type": "Value", "value": "500m"}}},
                {"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 90}}},
                {"type": "External", "external": {"metric": {"name": "queue"},
                    "target": {"type": "Value", "value": 100}}}]}},
            {"type": "PodsReady", "stabilizationAction": "Pause"},
            {"type": "ErrorRate", "stabilizationAction": "Pause", "name": "errors",
                "errorRate": {"errors": "a", "requests": "b", "maxPercent": "0.5%"}},
            {"type": "External", "stabilizationAction": "Pause", "external": {"name": "smoke",
                "service": {"name": "smoke", "port": 8080}, "config": {"a": "b"}}},
        ],
    });
    edit(&mut spec);
    spec
}

fn checked(spec: Value) -> Result<IhpaRules, String> {
    check(&serde_json::from_value(spec).unwrap()).map_err(|error| error.to_string())
}

#[test]
fn a_whole_spec_becomes_its_rules() {
    let rules = checked(spec(|_| ())).unwrap();
    let names: Vec<&str> = rules.providers.iter().map(|one| &*one.name).collect();
    assert_eq!(
        names,
        [
            "static",
            "static-2",
            "cron",
            "reactive",
            "predictive",
            "burst"
        ]
    );
    assert!(matches!(&rules.providers[5].source,
        PortraitSource::External { portrait_type } if portrait_type == "Burst"));
    let policy = rules.policy();
    assert_eq!(policy.predict, Some(PredictionModel::Traffic));
    assert_eq!(
        policy.target,
        rules.reactive().map(|one| one.metrics.clone())
    );
    let behavior = policy.behavior.unwrap();
    let milli = [behavior.scale_up.tolerance, behavior.scale_down.tolerance]
        .map(|tolerance| tolerance.unwrap().milli_value());
    assert_eq!(milli, [200, 50]);
    assert_eq!(rules.behavior.up.stages.unwrap().size, StepSize::Count(3));
    let down = rules.behavior.down.stages.unwrap();
    assert_eq!(
        (down.park, down.pace.size),
        (ScaleDownTarget::Standby, StepSize::Percent(25))
    );
    assert!(rules.behavior.down.disabled);
}

#[test]
fn checks_are_named_and_hold_their_bounds_in_thousandths() {
    let rules = checked(spec(|_| ())).unwrap();
    let names: Vec<&str> = rules.checks.iter().map(|one| &*one.checker.name).collect();
    assert_eq!(names, ["metrics-1", "podsready-2", "errors", "smoke"]);
    assert_eq!(rules.checks[0].checker.action, Action::Rollback);
    let bounds = rules.checks[0].criteria.iter().map(|one| match one {
        Criterion::Metric { bound, .. } => {
            (bound.metric.as_str(), bound.operator.as_str(), bound.milli)
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(
        bounds.collect::<Vec<_>>(),
        [
            ("p99", ">=", 500),
            ("cpu", ">", 90_000),
            ("external/queue", ">", 100_000)
        ]
    );
    let Criterion::External(external) = &rules.checks[3].criteria[0] else {
        panic!("{rules:?}");
    };
    let path = "/".to_owned();
    let (name, port) = ("smoke".to_owned(), 8080);
    let ca = None;
    assert_eq!(
        external.endpoint,
        Endpoint::Service {
            name,
            port,
            path,
            ca
        }
    );
}

/// The error of the spec with another value at a place below a provider.
fn provider(place: usize, field: &str, value: Value) -> String {
    checked(spec(|spec| {
        let provider = &mut spec["portraitProviders"][place];
        *provider.pointer_mut(field).unwrap() = value;
    }))
    .unwrap_err()
}

/// The error of the spec with another value at a place.
fn edited(pointer: &str, value: Value) -> String {
    checked(spec(|spec| *spec.pointer_mut(pointer).unwrap() = value)).unwrap_err()
}

fn told(all: &[(String, &str)]) {
    for (error, words) in all {
        assert!(error.contains(words), "{error} has not {words}");
    }
}

#[test]
fn what_is_wrong_with_a_provider_is_named_with_its_place() {
    let odd = json!({"scaleUp": {"selectPolicy": "x"}});
    let no_job = json!({"portraitType": "Burst", "algorithm": {"type": "ExternalJob"}});
    told(&[
        (
            provider(0, "/type", json!("Cron")),
            "spec.portraitProviders[0]: \"Cron\"",
        ),
        (
            provider(2, "/cron/crons/0/end", json!("x")),
            "spec.portraitProviders[2].cron.crons[0].end: ",
        ),
        (
            provider(3, "/dynamic/metrics/0/resource/target", json!({})),
            "spec.portraitProviders[3].dynamic.metrics[0]: accepted",
        ),
        (
            provider(3, "/dynamic/algorithm/kubeHPA/behavior", odd),
            "spec.portraitProviders[3].dynamic.algorithm.kubeHPA.behavior.scaleUp.selectPolicy: \"\\\"x\\\"\" is not accepted",
        ),
        (
            provider(3, "/dynamic/algorithm/kubeHPA/tolerance", json!(["0.1"])),
            "spec.portraitProviders[3].dynamic.algorithm.kubeHPA.tolerance: \"[\\\"0.1\\\"]\" is not accepted",
        ),
        (
            provider(
                3,
                "/dynamic/algorithm/kubeHPA/tolerance",
                json!({"scaleUp": "0.1"}),
            ),
            "kubeHPA.tolerance: \"{\\\"scaleUp\\\":\\\"0.1\\\"}\" is not accepted",
        ),
        (
            provider(3, "/dynamic/algorithm/type", json!("Forecast")),
            "dynamic.algorithm.type: \"Forecast\"",
        ),
        (
            provider(4, "/dynamic/portraitType", json!("reactive")),
            "dynamic.algorithm.type: \"Forecast\"",
        ),
        (
            provider(5, "/dynamic/portraitType", json!("REACTIVE")),
            "spec.portraitProviders[5].dynamic.portraitType: \"reactive\" is listed twice",
        ),
        (
            provider(5, "/dynamic/portraitType", json!("a.b")),
            "dynamic.portraitType: \"a.b\"",
        ),
        (
            provider(4, "/dynamic/algorithm/forecast/model", json!("oracle")),
            "forecast.model: \"oracle\"",
        ),
        (
            provider(4, "/dynamic/algorithm/forecast/traffic", json!([])),
            "forecast.traffic: is missing",
        ),
        (
            provider(5, "/dynamic", no_job),
            "spec.portraitProviders[5].dynamic.algorithm.externalJob: accepted",
        ),
    ]);
}

#[test]
fn what_is_wrong_with_the_rest_is_named_with_its_place() {
    let steps = "/behavior/scaleUp/grayStrategy";
    told(&[
        (
            edited("/minReplicas", json!(11)),
            "spec.minReplicas: 11 to 10 replicas",
        ),
        (
            edited("/scaleTargetRef/kind", json!("DaemonSet")),
            "spec.scaleTargetRef: \"DaemonSet\"",
        ),
        (
            edited("/portraitProviders", json!([])),
            "spec.portraitProviders: there are 0",
        ),
        (
            edited(&format!("{steps}/grayState"), json!("Cutoff")),
            "spec.behavior.scaleUp.grayStrategy.grayState: \"Cutoff\"",
        ),
        (
            edited("/behavior/scaleDown/grayStrategy/changePercent", json!(0)),
            "changePercent: 0 is not",
        ),
        (
            edited(&format!("{steps}/changeIntervalSeconds"), json!(0)),
            "changeIntervalSeconds: 0",
        ),
        (
            edited("/stabilityCheckers/2/name", json!("smoke")),
            "spec.stabilityCheckers[3].name: \"smoke\"",
        ),
        (
            edited("/stabilityCheckers/1/type", json!("Metrics")),
            "spec.stabilityCheckers[1]: \"Metrics\"",
        ),
        (
            edited("/stabilityCheckers/0/metrics/metrics/1/type", json!("Odd")),
            "spec.stabilityCheckers[0].metrics.metrics[1]: accepted",
        ),
        (
            edited("/stabilityCheckers/2/errorRate/maxPercent", json!("0%")),
            "errorRate.maxPercent: \"0%\"",
        ),
        (
            edited("/stabilityCheckers/3/external/service", Value::Null),
            "external: is missing",
        ),
    ]);
}

#[test]
fn what_a_service_that_is_asked_cannot_be_is_named() {
    let service = "/stabilityCheckers/3/external/service";
    let with = |field: &str, value: Value| {
        let mut spec = json!({"name": "smoke", "port": 8080});
        spec[field] = value;
        edited(service, spec)
    };
    told(&[
        (with("name", json!("../pods")), "service.name: \"../pods\""),
        (with("name", json!("a.evil")), "service.name: \"a.evil\""),
        (with("port", json!(0)), "service.port: 0 is not"),
        (with("path", json!("@evil")), "service.path: \"@evil\""),
        (with("caBundle", json!("bm9uZQ==")), "service.caBundle: "),
    ]);
}

#[test]
fn a_forecast_is_of_the_metrics_that_are_reacted_to() {
    let of = |utilization: i32| {
        checked(spec(|spec| {
            spec["portraitProviders"][4]["dynamic"]["metrics"] = json!([{"type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization",
                    "averageUtilization": utilization}}}]);
        }))
    };
    assert!(of(30).is_ok());
    let error = of(50).unwrap_err();
    assert!(
        error.starts_with("spec.portraitProviders[4].dynamic.metrics: differ from those"),
        "{error}"
    );
}
