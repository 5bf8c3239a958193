//! What the metrics of one HPA ask for together: the most of those that can be computed.
//!
//! Only metrics.k8s.io is served here; what wants another API is refused in the words of a cluster
//! that has none.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::autoscaling::v2::{MetricSpec, MetricTarget};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::readings::{PodMetrics, measured, milli, state};
use crate::simulate::hpa::{PodState, Proposal, Settling, Target, Tolerance, propose};

/// kube-controller-manager's own settings.
const SETTLING: Settling = Settling {
    initialization: SignedDuration::from_mins(5),
    readiness: SignedDuration::from_secs(30),
};

/// What there is to compute with.
pub(super) struct Sight<'a> {
    pub(super) namespace: &'a str,
    pub(super) current: i32,
    pub(super) tolerance: Tolerance,
    pub(super) pods: &'a [Arc<Pod>],
    /// The usage, or why there is none.
    pub(super) usage: Result<&'a [PodMetrics], &'a str>,
    pub(super) now: Timestamp,
}

/// One metric's answer.
struct Answer {
    wish: Wish,
    status: Value,
}

/// What a metric asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) replicas: i32,
    /// Its name in the words of conditions and Events.
    pub(super) metric: String,
    /// What it stands at, in a few words.
    pub(super) stands: String,
}

/// Why a metric has none: the condition's reason, and the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invalid {
    pub(super) reason: &'static str,
    pub(super) error: String,
}

/// What all metrics ask for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// The most; the first failure where too many ask for nothing.
    pub(super) wish: Result<Wish, Invalid>,
    /// Every failure, for Events.
    pub(super) failed: Vec<Invalid>,
    /// `status.currentMetrics`.
    pub(super) statuses: Vec<Value>,
}

/// What the metrics ask for; with some that fail, never for fewer replicas.
pub(super) fn ask(metrics: &[MetricSpec], sight: &Sight<'_>) -> Asked {
    let (mut best, mut failed, mut statuses) = (None::<Wish>, Vec::new(), Vec::new());
    for metric in metrics {
        match one(metric, sight) {
            Ok(answer) => {
                statuses.push(answer.status);
                let is_most = |most: &Wish| answer.wish.replicas > most.replicas;
                if best.as_ref().is_none_or(is_most) {
                    best = Some(answer.wish);
                }
            }
            Err(invalid) => failed.push(invalid),
        }
    }
    let wish = match (best, failed.first()) {
        (Some(best), None) => Ok(best),
        (Some(best), Some(_)) if best.replicas >= sight.current => Ok(best),
        (_, Some(first)) => Err(first.clone()),
        (None, None) => Err(Invalid {
            reason: "InvalidMetricSourceType",
            error: "there is no metric".to_owned(),
        }),
    };
    Asked {
        wish,
        failed,
        statuses,
    }
}

fn one(metric: &MetricSpec, sight: &Sight<'_>) -> Result<Answer, Invalid> {
    let away = |reason, name: &str, api: &str| Invalid {
        reason,
        error: format!(
            "unable to get metric {name}: unable to fetch metrics from {api}: the server could \
             not find the requested resource"
        ),
    };
    if let Some(resource) = &metric.resource {
        return of_resource((&resource.name, None), &resource.target, sight);
    }
    if let Some(resource) = &metric.container_resource {
        let names = (resource.name.as_str(), Some(resource.container.as_str()));
        return of_resource(names, &resource.target, sight);
    }
    let custom = "custom metrics API";
    Err(if let Some(pods) = &metric.pods {
        away("FailedGetPodsMetric", &pods.metric.name, custom)
    } else if let Some(object) = &metric.object {
        away("FailedGetObjectMetric", &object.metric.name, custom)
    } else if let Some(external) = &metric.external {
        let name = &external.metric.name;
        away("FailedGetExternalMetric", name, "external metrics API")
    } else {
        Invalid {
            reason: "InvalidMetricSourceType",
            error: format!("unknown metric source type {:?}", metric.type_),
        }
    })
}

fn of_resource(
    names: (&str, Option<&str>),
    wanted: &MetricTarget,
    sight: &Sight<'_>,
) -> Result<Answer, Invalid> {
    let (resource, container) = names;
    let invalid = |error: String| Invalid {
        reason: match container {
            None => "FailedGetResourceMetric",
            Some(_) => "FailedGetContainerResourceMetric",
        },
        error: format!("failed to get {resource} usage: {error}"),
    };
    let target = target(wanted).map_err(invalid)?;
    let proposal = proposal(names, target, sight).map_err(invalid)?;
    let part = if container.is_some() {
        "container "
    } else {
        ""
    };
    let share = match target {
        Target::Utilization(_) => " utilization (percentage of request)",
        Target::AverageValue(_) => "",
    };
    let mut current = json!({"averageValue": quantity(resource, proposal.average)});
    if let Some(utilization) = proposal.utilization {
        current["averageUtilization"] = utilization.into();
    }
    let status = match container {
        None => json!({"type": "Resource", "resource": {"name": resource, "current": current}}),
        Some(container) => json!({"type": "ContainerResource", "containerResource": {
            "name": resource, "container": container, "current": current}}),
    };
    let stands = match proposal.utilization {
        Some(percent) => format!("{resource} at {percent} % of requests"),
        None => format!(
            "{resource} at {} a Pod",
            quantity(resource, proposal.average)
        ),
    };
    let wish = Wish {
        replicas: proposal.replicas,
        metric: format!("{resource} {part}resource{share}"),
        stands,
    };
    Ok(Answer { wish, status })
}

fn target(wanted: &MetricTarget) -> Result<Target, String> {
    match (wanted.average_utilization, &wanted.average_value) {
        (Some(percent), _) => Ok(Target::Utilization(percent)),
        (None, Some(quantity)) => {
            let value = milli(&quantity.0).filter(|value| *value > 0);
            let value = value.ok_or_else(|| format!("invalid target {:?}", quantity.0))?;
            Ok(Target::AverageValue(value))
        }
        (None, None) => {
            let why = "neither a utilization target nor a value utilization target was set";
            Err(format!("invalid resource metric source: {why}"))
        }
    }
}

fn proposal(
    (resource, container): (&str, Option<&str>),
    target: Target,
    sight: &Sight<'_>,
) -> Result<Proposal, String> {
    let unable = |error: &str| format!("unable to get metrics for resource {resource}: {error}");
    let usage = sight.usage.map_err(unable)?;
    let states = sight.pods.iter();
    let pods: Vec<PodState> = states.map(|pod| state(pod, resource, container)).collect();
    let mut measured = measured(usage, sight.namespace, resource, container);
    measured.retain(|name, _| pods.iter().any(|pod| pod.name == *name));
    if measured.is_empty() && !pods.is_empty() {
        return Err(unable("no metrics returned from resource metrics API"));
    }
    let settling = (resource == "cpu").then_some(SETTLING);
    let proposed = propose(
        sight.current,
        target,
        sight.tolerance,
        &pods,
        (&measured, settling, sight.now),
    );
    proposed.map_err(|error| error.to_string())
}

/// Thousandths as a quantity: whole bytes of anything but cpu.
fn quantity(resource: &str, milli: i64) -> String {
    match resource {
        "cpu" => format!("{milli}m"),
        _ => (milli / 1000).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(count: usize) -> Vec<Arc<Pod>> {
        let pod = |index: usize| {
            let pod = json!({"metadata": {"name": format!("p{index}"), "namespace": "n"},
                "spec": {"containers": [{"name": "app",
                    "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}}}]},
                "status": {"phase": "Running", "startTime": "1970-01-01T00:00:00Z",
                    "conditions": [{"type": "Ready", "status": "True",
                        "lastTransitionTime": "1970-01-01T00:00:00Z"}]}});
            Arc::new(serde_json::from_value(pod).unwrap())
        };
        (0..count).map(pod).collect()
    }

    fn usage(pods: usize, cpu: &str, memory: &str) -> Vec<PodMetrics> {
        let of = |index: usize| {
            json!({"metadata": {"name": format!("p{index}"), "namespace": "n"},
                "timestamp": "1970-01-01T01:00:00Z", "window": "60s",
                "containers": [{"name": "app", "usage": {"cpu": cpu, "memory": memory}}]})
        };
        serde_json::from_value((0..pods).map(of).collect()).unwrap()
    }

    fn metrics(value: Value) -> Vec<MetricSpec> {
        serde_json::from_value(value).unwrap()
    }

    fn asked(metrics: &[MetricSpec], usage: Result<&[PodMetrics], &str>) -> Asked {
        ask(
            metrics,
            &Sight {
                namespace: "n",
                current: 4,
                tolerance: Tolerance { up: 0.1, down: 0.1 },
                pods: &pods(4),
                usage,
                now: Timestamp::UNIX_EPOCH + SignedDuration::from_mins(60),
            },
        )
    }

    fn cpu() -> Value {
        json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50}}})
    }

    fn memory() -> Value {
        json!({"type": "Resource", "resource": {"name": "memory",
            "target": {"type": "AverageValue", "averageValue": "50Mi"}}})
    }

    #[test]
    fn the_metric_that_asks_for_most_decides() {
        let usage = usage(4, "60m", "100Mi");
        let found = asked(&metrics(json!([cpu(), memory()])), Ok(&usage));
        let wish = found.wish.unwrap();
        assert_eq!(
            (wish.replicas, wish.metric.as_str()),
            (8, "memory resource")
        );
        assert_eq!(wish.stands, "memory at 104857600 a Pod");
        assert_eq!(
            found.statuses[0]["resource"]["current"]["averageUtilization"],
            60
        );
        let current = &found.statuses[1]["resource"]["current"];
        assert_eq!(current["averageValue"], "104857600");
    }

    #[test]
    fn what_cannot_be_computed_holds_up_scaling_down_only() {
        let pods_metric = json!({"type": "Pods", "pods": {"metric": {"name": "rps"},
            "target": {"type": "AverageValue", "averageValue": "10"}}});
        let both = metrics(json!([pods_metric, cpu()]));
        let up = asked(&both, Ok(&usage(4, "100m", "1Mi")));
        assert_eq!(up.wish.unwrap().replicas, 8);
        assert_eq!(up.failed[0].reason, "FailedGetPodsMetric");
        let down = asked(&both, Ok(&usage(4, "10m", "1Mi")));
        assert_eq!(down.wish.unwrap_err().reason, "FailedGetPodsMetric");
    }

    #[test]
    fn reasons_are_those_of_kubernetes() {
        let external = json!({"type": "External", "external": {"metric": {"name": "q"},
            "target": {"type": "Value", "value": "1"}}});
        let object = json!({"type": "Object", "object": {"metric": {"name": "q"},
            "describedObject": {"kind": "Service", "name": "s"},
            "target": {"type": "Value", "value": "1"}}});
        for (metric, reason) in [
            (external, "FailedGetExternalMetric"),
            (object, "FailedGetObjectMetric"),
            (json!({"type": "Moon"}), "InvalidMetricSourceType"),
            (cpu(), "FailedGetResourceMetric"),
        ] {
            let found = asked(&metrics(json!([metric])), Err("away"));
            assert_eq!(found.wish.unwrap_err().reason, reason);
        }
        let none = asked(&metrics(json!([cpu()])), Ok(&[]));
        let error = none.wish.unwrap_err().error;
        assert!(
            error.contains("no metrics returned from resource metrics API"),
            "{error}"
        );
    }
}
