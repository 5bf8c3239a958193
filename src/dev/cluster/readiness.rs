//! Whether the service is ready, and trusted by the API server.

use std::net::SocketAddr;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::{Api, Client};

use super::StartError;
use crate::clock;
use crate::dev::{Event, Events, Pace};

/// How long the service may take on a busy machine; on a quiet one it takes a second or two.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often it is asked while it starts.
const POLL: Duration = Duration::from_millis(50);
/// How often it is asked later.
const WATCH: Duration = Duration::from_secs(1);

/// Waits until the service is ready and its leader has written the `caBundle`.
pub(super) async fn ready(client: &Client, http: SocketAddr) -> Result<(), StartError> {
    let waiting = async {
        while state(http).await != "ready" || !is_trusted(client).await {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .map_err(|_| StartError::NotReady(format!("not within {PATIENCE:?}")))
}

/// Tells when the state changes.
pub(super) async fn watch(http: SocketAddr, pace: Pace, events: Events) {
    let mut last = "ready";
    loop {
        tokio::time::sleep(WATCH).await;
        let state = state(http).await;
        if std::mem::replace(&mut last, state) != state {
            let state = state.to_owned();
            events.tell(pace.scenario(clock::now()), Event::ServiceState { state });
        }
    }
}

async fn state(http: SocketAddr) -> &'static str {
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(WATCH)
        .tls_certs_only([]);
    let Ok(client) = client.build() else {
        return "unknown";
    };
    match client.get(format!("http://{http}/readyz")).send().await {
        Ok(answer) if answer.status().is_success() => "ready",
        Ok(_) => "not ready",
        Err(_) => "not answering",
    }
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
