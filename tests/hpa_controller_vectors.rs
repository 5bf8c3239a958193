//! How many replicas the HPA of the embedded cluster wants, against Kubernetes' own functions.

#[path = "support/vectors.rs"]
mod vectors;

use std::collections::BTreeMap;

use evenkeel_core::scaling::behavior::{
    BehaviorSpec, PolicyType, RulesSpec, ScalingPolicy, SelectPolicy,
};
use evenkeel_sandbox::simulate::hpa::{
    History, Limits, Measured, NoProposal, PodPhase, PodState, Proposal, Readiness, Settling,
    Target, Tolerance, propose,
};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(rename = "fn")]
    function: String,
    #[serde(rename = "in")]
    given: Value,
    out: Value,
}

fn cases(files: [&str; 2], function: &str) -> Vec<Case> {
    let all = files.into_iter().flat_map(vectors::cases::<Case>);
    let cases: Vec<Case> = all.filter(|case| case.function == function).collect();
    assert!(!cases.is_empty(), "no case of {function}");
    cases
}

fn read<T: DeserializeOwned>(value: &Value, id: &str) -> T {
    serde_json::from_value(value.clone()).expect(id)
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

/// Go's zero time is earlier than anything.
fn at(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

#[derive(Deserialize)]
struct Policy {
    #[serde(rename = "type")]
    kind: String,
    value: i32,
    period_s: i32,
}

#[derive(Deserialize)]
struct Rules {
    stabilization_window_s: Option<i32>,
    select_policy: Option<String>,
    policies: Option<Vec<Policy>>,
}

#[derive(Deserialize)]
struct Both {
    scale_up: Option<Rules>,
    scale_down: Option<Rules>,
}

fn spec(rules: &Rules) -> RulesSpec {
    let policy = |policy: &Policy| ScalingPolicy {
        policy_type: match policy.kind.as_str() {
            "Pods" => PolicyType::Pods,
            _ => PolicyType::Percent,
        },
        value: policy.value,
        period_seconds: policy.period_s,
    };
    let select = |word: &String| match word.as_str() {
        "Max" => SelectPolicy::Max,
        "Min" => SelectPolicy::Min,
        _ => SelectPolicy::Disabled,
    };
    RulesSpec {
        stabilization_window_seconds: rules.stabilization_window_s,
        select_policy: rules.select_policy.as_ref().map(select),
        policies: rules
            .policies
            .as_ref()
            .map(|all| all.iter().map(policy).collect()),
        tolerance: None,
    }
}

#[derive(Deserialize)]
struct Step {
    dt_s: i64,
    metric_desired_replicas: i32,
}

#[derive(Deserialize)]
struct SequenceIn {
    initial_replicas: i32,
    min_replicas: i32,
    max_replicas: i32,
    scale_up_limit_factor: f64,
    downscale_stabilization_window_s: i64,
    behavior: Option<Both>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct StepOut {
    replicas: i32,
    able_to_scale_reason: String,
    scaling_limited_status: String,
    scaling_limited_reason: String,
}

#[derive(Deserialize)]
struct SequenceOut {
    steps: Vec<StepOut>,
}

/// Windows, policies, bounds and their reasons over whole runs, with and without `behavior`.
#[test]
fn runs_are_those_of_kubernetes() {
    for case in cases(["hpa/behavior_upstream", "hpa/behavior_random"], "sequence") {
        let given: SequenceIn = read(&case.given, &case.id);
        let expected: SequenceOut = read(&case.out, &case.id);
        assert!(
            (given.scale_up_limit_factor - 2.0).abs() < 1e-9,
            "{}",
            case.id
        );
        let behavior = given.behavior.as_ref().map(|both| BehaviorSpec {
            scale_up: both.scale_up.as_ref().map(spec),
            scale_down: both.scale_down.as_ref().map(spec),
        });
        let limits = Limits {
            min: given.min_replicas,
            max: given.max_replicas,
            behavior: behavior.map(BehaviorSpec::defaulted),
            downscale_window: SignedDuration::from_secs(given.downscale_stabilization_window_s),
        };
        let (mut history, mut current, mut time) =
            (History::default(), given.initial_replicas, now());
        for (index, (step, expected)) in given.steps.iter().zip(&expected.steps).enumerate() {
            time += SignedDuration::from_secs(step.dt_s);
            if history.recommendations.is_empty() {
                history.recommendations.push((time, current));
            }
            let desired = step.metric_desired_replicas;
            let found = limits.normalize(current, desired, &mut history, time);
            let limited = if found.limited.0 { "True" } else { "False" };
            assert_eq!(
                (found.replicas, found.able.0, limited, found.limited.1.0),
                (
                    expected.replicas,
                    expected.able_to_scale_reason.as_str(),
                    expected.scaling_limited_status.as_str(),
                    expected.scaling_limited_reason.as_str(),
                ),
                "{} step {index}",
                case.id
            );
            if found.replicas != current {
                let behavior = limits.behavior.as_ref();
                history
                    .events
                    .record(behavior, current, found.replicas, time);
                current = found.replicas;
            }
        }
    }
}

#[derive(Deserialize)]
struct Container {
    name: String,
    #[serde(default)]
    restart_always: bool,
    requests_milli: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
struct Pod {
    name: String,
    labels: Option<Value>,
    phase: String,
    deleted: bool,
    ready: Option<String>,
    start_s: Option<i64>,
    ready_transition_s: Option<i64>,
    containers: Vec<Container>,
    init_containers: Vec<Container>,
    #[serde(rename = "pod_level_requests_milli")]
    whole_requests: Option<Value>,
}

#[derive(Deserialize)]
struct Used {
    name: String,
    usage_milli: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
struct Sample {
    pod: String,
    timestamp_s: i64,
    window_s: i64,
    containers: Vec<Used>,
}

#[derive(Deserialize)]
struct ReplicasIn {
    spec_replicas: i32,
    tolerance: Both2,
    cpu_initialization_period_s: i64,
    initial_readiness_delay_s: i64,
    metric: Metric,
    pods: Vec<Pod>,
    samples: Samples,
}

#[derive(Deserialize)]
struct Both2 {
    up: f64,
    down: f64,
}

#[derive(Deserialize)]
struct Metric {
    resource: Option<String>,
    container: Option<String>,
    target: TargetIn,
}

#[derive(Deserialize)]
struct TargetIn {
    utilization_percent: Option<i32>,
    average_value_milli: Option<i64>,
}

#[derive(Deserialize)]
struct Samples {
    fetch_error: Option<Value>,
    resource: Option<Vec<Sample>>,
}

#[derive(Deserialize)]
struct ReplicasOut {
    replicas: Option<i32>,
    utilization_percent: Option<i32>,
    value_milli: Option<i64>,
    error: Option<ErrorOut>,
}

#[derive(Deserialize)]
struct ErrorOut {
    kind: String,
}

fn request(pod: &Pod, resource: &str, container: Option<&str>) -> Result<i64, NoProposal> {
    let sidecars = pod.init_containers.iter().filter(|one| one.restart_always);
    let mut all = pod.containers.iter().chain(sidecars);
    let of = |one: &Container| {
        one.requests_milli
            .get(resource)
            .copied()
            .ok_or_else(|| NoProposal::MissingRequest {
                resource: resource.to_owned(),
                container: one.name.clone(),
                pod: pod.name.clone(),
            })
    };
    match container {
        None => all.map(of).sum(),
        Some(name) => {
            let found = all.find(|one| one.name == name);
            found.map_or_else(
                || {
                    Err(NoProposal::ContainerNotFound {
                        container: name.to_owned(),
                        pod: pod.name.clone(),
                    })
                },
                of,
            )
        }
    }
}

fn state(pod: &Pod, resource: &str, container: Option<&str>) -> PodState {
    let since = pod.ready_transition_s.map_or(Timestamp::MIN, at);
    PodState {
        name: pod.name.clone(),
        phase: match pod.phase.as_str() {
            "Pending" => PodPhase::Pending,
            "Failed" => PodPhase::Failed,
            _ => PodPhase::Running,
        },
        deleted: pod.deleted,
        started: pod.start_s.map(at),
        ready: pod.ready.as_ref().map(|ready| Readiness {
            is_false: ready == "False",
            since,
        }),
        request: request(pod, resource, container),
    }
}

/// A Pod of which a container is not measured is not measured.
fn measured(
    samples: &[Sample],
    resource: &str,
    container: Option<&str>,
) -> BTreeMap<String, Measured> {
    let value = |sample: &Sample| {
        let mut containers = sample.containers.iter();
        match container {
            None if sample.containers.is_empty() => None,
            None => containers
                .map(|one| one.usage_milli.get(resource).copied())
                .sum(),
            Some(name) => containers
                .find(|one| one.name == name)?
                .usage_milli
                .get(resource)
                .copied(),
        }
    };
    let samples = samples.iter().filter_map(|sample| {
        let measured = Measured {
            value: value(sample)?,
            at: at(sample.timestamp_s),
            window: SignedDuration::from_secs(sample.window_s),
        };
        Some((sample.pod.clone(), measured))
    });
    samples.collect()
}

/// What the calculator makes of a case; `None` for what is not its business: requests of whole
/// Pods, and calls that fail.
fn proposed(given: &ReplicasIn, expected: &ReplicasOut) -> Option<Result<Proposal, NoProposal>> {
    let whole = given.pods.iter().any(|pod| pod.whole_requests.is_some());
    let kind = expected.error.as_ref().map(|error| error.kind.as_str());
    let unfetched = matches!(kind, Some("metrics_fetch_failed" | "metrics_empty"));
    if whole || unfetched || given.samples.fetch_error.is_some() {
        return None;
    }
    let metric = &given.metric;
    let resource = metric.resource.as_deref().expect("a resource");
    let container = metric.container.as_deref();
    let selected = given.pods.iter().filter(|pod| pod.labels.is_none());
    let pods: Vec<PodState> = selected
        .map(|pod| state(pod, resource, container))
        .collect();
    let target = match metric.target.utilization_percent {
        Some(percent) => Target::Utilization(percent),
        None => Target::AverageValue(metric.target.average_value_milli.expect("a value")),
    };
    let tolerance = Tolerance {
        up: given.tolerance.up,
        down: given.tolerance.down,
    };
    let settling = Settling {
        initialization: SignedDuration::from_secs(given.cpu_initialization_period_s),
        readiness: SignedDuration::from_secs(given.initial_readiness_delay_s),
    };
    let settling = (resource == "cpu").then_some(settling);
    let samples = given.samples.resource.as_deref().unwrap_or_default();
    let measured = measured(samples, resource, container);
    let with = (&measured, settling, now());
    Some(propose(given.spec_replicas, target, tolerance, &pods, with))
}

const fn kind(error: &NoProposal) -> &'static str {
    match error {
        NoProposal::NoPods => "no_pods",
        NoProposal::NoReadyMetrics => "no_ready_metrics",
        NoProposal::MissingRequest { .. } => "missing_request",
        NoProposal::ContainerNotFound { .. } => "container_not_found",
        NoProposal::NoMatch => "no_matching_metrics",
    }
}

/// Resource metrics of Pods and containers: numbers, and what nothing can be computed from.
#[test]
fn proposals_are_those_of_kubernetes() {
    let mut compared = 0;
    for case in cases(["hpa/replicas_upstream", "hpa/replicas_random"], "replicas") {
        let of = case.given["metric"]["kind"].as_str().expect("a kind");
        if !of.contains("resource") {
            continue;
        }
        let given: ReplicasIn = read(&case.given, &case.id);
        let expected: ReplicasOut = read(&case.out, &case.id);
        let Some(found) = proposed(&given, &expected) else {
            continue;
        };
        match (&found, &expected.error) {
            (Ok(found), None) => {
                let numbers = (found.replicas, found.utilization, found.average);
                let (replicas, average) = (expected.replicas, expected.value_milli);
                let expected = (
                    replicas.expect("a count"),
                    expected.utilization_percent,
                    average.expect("an average"),
                );
                assert_eq!(numbers, expected, "{}", case.id);
            }
            (Err(error), Some(expected)) => assert_eq!(kind(error), expected.kind, "{}", case.id),
            (found, _) => panic!("{}: {found:?}", case.id),
        }
        compared += 1;
    }
    assert!(compared > 500, "{compared} cases were compared");
}
