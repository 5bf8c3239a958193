//! Waits until the service is ready, and trusted by the API server.

use std::net::SocketAddr;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::{Api, Client};

use super::StartError;
/// How long the service may take on a busy machine; on a quiet one it takes a second or two.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often it is asked while it starts.
const POLL: Duration = Duration::from_millis(50);
/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(1);

/// Waits until the service is ready and the signer has written the `caBundle`.
pub(super) async fn ready(client: &Client, http: SocketAddr) -> Result<(), StartError> {
    let waiting = async {
        while !is_ready(http).await || !is_trusted(client).await {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .map_err(|_| StartError::NotReady(format!("not within {PATIENCE:?}")))
}

async fn is_ready(http: SocketAddr) -> bool {
    let client = evenkeel_http_client::PooledHttpClient::plain();
    let answer = client.get(format!("http://{http}/readyz"), ANSWER).await;
    answer.is_ok_and(|answer| answer.status().is_success())
}

async fn is_trusted(client: &Client) -> bool {
    let api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let Ok(Some(configuration)) = api.get_opt("evenkeel").await else {
        return false;
    };
    let webhooks = configuration.webhooks.unwrap_or_default();
    let trusted = |bundle: &k8s_openapi::ByteString| !bundle.0.is_empty();
    webhooks.iter().all(|webhook| {
        webhook
            .client_config
            .ca_bundle
            .as_ref()
            .is_some_and(trusted)
    })
}
