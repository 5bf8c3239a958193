//! The APIServices that route requests for an API group to Evenkeel. The cluster has one per group,
//! so the server that holds it serves the whole group.

use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;

pub const EXTERNAL_METRICS: &str = "v1beta1.external.metrics.k8s.io";

pub const METRICS_PROVIDER: &str = "v1alpha1.metrics.evenkeel.dev";

pub const SERVICE: &str = "evenkeel";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// Evenkeel in the namespace that was given.
    Own,
    Other(String),
}

/// The server that `api_service` leads to; `own` is Evenkeel's namespace.
pub fn holder(api_service: &APIService, own: &str) -> Holder {
    let service = api_service.spec.as_ref();
    let service = service.and_then(|spec| spec.service.as_ref());
    let Some(service) = service else {
        return Holder::Other("the API server itself".to_owned());
    };
    let namespace = service.namespace.as_deref().unwrap_or_default();
    let name = service.name.as_deref().unwrap_or_default();
    if namespace == own && name == SERVICE {
        Holder::Own
    } else {
        Holder::Other(format!("Service {namespace}/{name}"))
    }
}

/// Why the API server does not take it for available; `None` where it does.
pub fn unavailable(api_service: &APIService) -> Option<String> {
    let status = api_service.status.as_ref();
    let mut conditions = status.and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.iter_mut().flat_map(|all| all.iter());
    let Some(available) = conditions.find(|one| one.type_ == "Available") else {
        return Some("it has not been tried yet".to_owned());
    };
    if available.status == "True" {
        return None;
    }
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Some(format!(
        "{}: {}",
        text(&available.reason),
        text(&available.message)
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn api_service(value: Value) -> APIService {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn there_is_one_holder() {
        for (service, expected) in [
            (
                json!({"namespace": "keel", "name": "evenkeel"}),
                Holder::Own,
            ),
            (
                json!({"namespace": "keda", "name": "keda-operator-metrics-apiserver"}),
                Holder::Other("Service keda/keda-operator-metrics-apiserver".to_owned()),
            ),
            (
                json!({"namespace": "other", "name": "evenkeel"}),
                Holder::Other("Service other/evenkeel".to_owned()),
            ),
            (
                Value::Null,
                Holder::Other("the API server itself".to_owned()),
            ),
        ] {
            let object = api_service(
                json!({"metadata": {"name": EXTERNAL_METRICS}, "spec": {"service": service,
                "groupPriorityMinimum": 100, "versionPriority": 100}}),
            );
            assert_eq!(holder(&object, "keel"), expected);
        }
    }

    #[test]
    fn what_is_not_available_says_why() {
        for (conditions, expected) in [
            (json!([]), Some("it has not been tried yet")),
            (json!([{"type": "Available", "status": "True"}]), None),
            (
                json!([{"type": "Available", "status": "False", "reason": "FailedDiscoveryCheck",
                    "message": "bad status 401"}]),
                Some("FailedDiscoveryCheck: bad status 401"),
            ),
        ] {
            let object = api_service(json!({"metadata": {}, "status": {"conditions": conditions}}));
            assert_eq!(unavailable(&object).as_deref(), expected);
        }
    }
}
