//! Whether the group of external metrics is Evenkeel's to serve: its APIService is one for the cluster,
//! and another that holds it would lose its HPAs.

use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::{Api, Client};

use evenkeel_kubernetes::api_service::{self, Holder};

/// Looks at the start whether another holds the group. An API server that cannot be asked does not keep
/// the service from starting: `doctor` asks again.
///
/// # Errors
/// Another holds it, by name.
pub async fn claim(client: &Client, namespace: &str) -> anyhow::Result<()> {
    let api: Api<APIService> = Api::all(client.clone());
    match api.get_opt(api_service::NAME).await {
        Ok(Some(found)) => match api_service::holder(&found, namespace) {
            Holder::Own => {}
            Holder::Other(other) => anyhow::bail!(
                "server.externalMetrics: APIService {} leads to {other}, which serves all external \
                 metrics of the cluster: leave the component external-metrics out, or delete the \
                 APIService once no HPA needs that server",
                api_service::NAME
            ),
        },
        Ok(None) => tracing::warn!(
            api_service = api_service::NAME,
            "external metrics are served, and nobody is led to them yet"
        ),
        Err(error) => tracing::warn!(
            api_service = api_service::NAME,
            error = &error as &dyn std::error::Error,
            "it is not known who holds the external metrics of the cluster"
        ),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::controller::fake_api::{FakeApi, Mood};

    const PATH: &str =
        "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.external.metrics.k8s.io";

    #[tokio::test]
    async fn a_group_that_another_holds_is_refused_by_its_name() {
        let api = FakeApi::default();
        let claimed = async || {
            claim(&api.client(), "keel")
                .await
                .map_err(|e| e.to_string())
        };
        assert_eq!(claimed().await, Ok(()), "nobody holds it");
        let held = |namespace: &str, name: &str| {
            json!({"metadata": {"name": api_service::NAME}, "spec": {
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
        api.mood(Mood::Refuses(500));
        assert_eq!(claimed().await, Ok(()), "nothing is known");
    }
}
