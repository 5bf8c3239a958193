//! Asks the service why each Pod went to its node, as `evenkeel explain` does, for the placement's
//! event.

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_http_client::Uri;
use evenkeel_objects::pod_name::PodName;
use evenkeel_sandbox::events as sandbox;
use jiff::SignedDuration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::events::{DevEvent, DevEventBus};
use evenkeel_service::api;
use evenkeel_service::api::explain::PodExplanation;
use evenkeel_terminal::service_api::ServiceApi;

/// Time limit for the reasons of a placement; then the event goes on without them.
const PATIENCE: Duration = Duration::from_secs(1);

/// Passes the scheduler's events to `events`, in order, with reasons from the service at
/// `dashboard`.
pub(super) fn asked(
    dashboard: SocketAddr,
    events: DevEventBus,
    tasks: &mut JoinSet<()>,
) -> sandbox::SandboxEventSink {
    let (sender, mut waiting) = mpsc::unbounded_channel::<(SignedDuration, DevEvent)>();
    tasks.spawn(async move {
        let url = format!("http://{dashboard}").parse::<Uri>();
        let url = url.expect("an address with a port makes a URL");
        let service = ServiceApi::new(&url).expect("a plain client needs nothing");
        while let Some((at, mut event)) = waiting.recv().await {
            if let DevEvent::PodPlaced { pod, node, why, .. } = &mut event
                && let Some(reason) = reason(&service, pod, node).await
            {
                *why = reason;
            }
            events.tell(at, event);
        }
    });
    sandbox::SandboxEventSink::new(move |at, event: sandbox::SandboxEvent| {
        // The task ends with the cluster, and so does the interest in its events.
        let _ = sender.send((at, event.into()));
    })
}

async fn reason(service: &ServiceApi<'_>, pod: &PodName, node: &str) -> Option<String> {
    let fields = [("namespace", pod.namespace()), ("pod", pod.name())];
    let asked = service.get::<PodExplanation>(api::EXPLAIN, &fields);
    let explained = tokio::time::timeout(PATIENCE, asked).await.ok()?;
    explained.ok()?.reason(node)
}
