//! Watches the service as Prometheus and a dashboard user would: metrics, readiness and scaling.
//! Only what the service reports counts: a fault that it has not noticed is no notice.

mod notices;

use std::net::SocketAddr;
use std::time::Duration;

use self::notices::{FIRST_SAMPLE, Notices, is_measured};
use super::events::{DevEvent, DevEventBus};
use evenkeel_http_client::PooledHttpClient;
use evenkeel_sandbox::Timeline;
use evenkeel_sandbox::scrape_timing::Timing;
use evenkeel_service::api;
use evenkeel_service::api::scaling::TargetList;
use evenkeel_service::metrics::exposition::Exposition;

/// The state of a service until its first measurement.
pub(in crate::dev) const STARTING: &str = "starting";

/// The service is asked no less often than this, however slowly the scenario runs.
const SLOWEST: Duration = Duration::from_secs(1);

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeAddresses {
    pub(super) http: SocketAddr,
    pub(super) metrics: SocketAddr,
    pub(super) dashboard: SocketAddr,
}

/// Asks for ever, and tells what has changed.
pub(super) async fn watch(addresses: ProbeAddresses, timeline: Timeline, events: DevEventBus) {
    let client = PooledHttpClient::plain();
    let interval = timeline.clock().period(Timing::default().interval);
    let mut ticks = tokio::time::interval(interval.min(SLOWEST));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut state, mut notices, mut told) = (STARTING, Notices::default(), Vec::new());
    loop {
        ticks.tick().await;
        let (metrics, ready, targets) = tokio::join!(
            text(&client, format!("http://{}/metrics", addresses.metrics)),
            readiness(&client, addresses.http),
            text(
                &client,
                format!("http://{}{}", addresses.dashboard, api::SCALING)
            ),
        );
        let at = timeline.elapsed();
        let metrics = metrics.as_deref().map(Exposition::parse);
        let measures = at >= FIRST_SAMPLE || metrics.as_ref().is_some_and(is_measured);
        let now = if state == STARTING && !measures {
            STARTING
        } else {
            ready
        };
        if std::mem::replace(&mut state, now) != now {
            let state = now.to_owned();
            events.tell(at, DevEvent::ServiceState { state });
        }
        let on = notices.of(metrics.as_ref(), at);
        if on != told {
            events.tell(at, DevEvent::Notices { on: on.clone() });
            told = on;
        }
        let list = targets.and_then(|text| serde_json::from_str::<TargetList>(&text).ok());
        if let Some(TargetList { targets }) = list {
            events.tell(at, DevEvent::Scaling { targets });
        }
    }
}

async fn text(client: &PooledHttpClient, url: String) -> Option<String> {
    let answer = client.get(url, PATIENCE).await.ok()?;
    if !answer.status().is_success() {
        return None;
    }
    answer.text(LARGEST_ANSWER).await.ok()
}

async fn readiness(client: &PooledHttpClient, http: SocketAddr) -> &'static str {
    match client.get(format!("http://{http}/readyz"), PATIENCE).await {
        Ok(answer) if answer.status().is_success() => "ready",
        Ok(_) => "not ready",
        Err(_) => "not answering",
    }
}
