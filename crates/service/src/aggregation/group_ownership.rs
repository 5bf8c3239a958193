//! Checks that Evenkeel may serve an API group: another server that holds the group's APIService
//! would lose its clients.

use evenkeel_certificates::api_service;
use evenkeel_certificates::api_service::Holder;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::{Api, Client};

/// Checks at the start whether another server holds the group of this APIService, which `field` of
/// the configuration has served. If the API server does not answer, the service starts anyway, and
/// `doctor` asks again.
///
/// # Errors
/// Another holds it, by name.
pub async fn claim(
    client: &Client,
    namespace: &str,
    name: &'static str,
    field: &'static str,
) -> anyhow::Result<()> {
    let api: Api<APIService> = Api::all(client.clone());
    match api.get_opt(name).await {
        Ok(Some(found)) => match api_service::holder(&found, namespace) {
            Holder::Own => {}
            Holder::Other(other) => anyhow::bail!(
                "{field}: APIService {name} points to {other}, which serves the whole group: leave \
                 the component out, or delete the APIService once that server is no longer needed"
            ),
        },
        Ok(None) => tracing::warn!(
            api_service = name,
            "an API group is served, but no APIService points to it yet"
        ),
        Err(error) => tracing::warn!(
            api_service = name,
            error = &error as &dyn std::error::Error,
            "the APIService of a group could not be read"
        ),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::fake_api::{FakeApi, FakeApiBehavior};

    const PATH: &str =
        "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.external.metrics.k8s.io";

    #[tokio::test]
    async fn a_group_that_another_holds_is_refused_by_its_name() {
        let api = FakeApi::default();
        let claimed = async || {
            let name = api_service::EXTERNAL_METRICS;
            claim(&api.client(), "keel", name, "server.externalMetrics")
                .await
                .map_err(|e| e.to_string())
        };
        assert_eq!(claimed().await, Ok(()), "nobody holds it");
        let held = |namespace: &str, name: &str| {
            json!({"metadata": {"name": api_service::EXTERNAL_METRICS}, "spec": {
                "service": {"namespace": namespace, "name": name},
                "groupPriorityMinimum": 100, "versionPriority": 100}})
        };
        api.set(PATH, held("keel", "evenkeel"));
        assert_eq!(claimed().await, Ok(()));
        api.set(PATH, held("keda", "keda-operator-metrics-apiserver"));
        let refused = claimed().await.unwrap_err();
        assert!(
            refused.contains("Service keda/keda-operator-metrics-apiserver"),
            "{refused}"
        );
        api.mood(FakeApiBehavior::Refuses(500));
        assert_eq!(claimed().await, Ok(()), "nothing is known");
    }
}
