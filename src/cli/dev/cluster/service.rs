//! What the service says of itself, asked as Prometheus and a person with the dashboard would ask:
//! its metrics, its readiness and its view of what it scales.
//!
//! Only what it says counts here: a fault that it has not noticed is no notice.

mod notices;
mod scaling;

use std::net::SocketAddr;
use std::time::Duration;

use self::notices::Notices;
use crate::api;
use crate::metrics::exposition::Exposition;
use evenkeel_clock as clock;
use evenkeel_sandbox::scrape::Timing;
use evenkeel_sandbox::{Event, Events, Pace};

/// The service is asked no more often than this, nor less often than the other, however fast the
/// scenario runs.
const INTERVAL: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(1));

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where it answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Addresses {
    /// Probes and metrics.
    pub(super) http: SocketAddr,
    /// The dashboard and its JSON.
    pub(super) dashboard: SocketAddr,
}

/// Asks for ever, and tells what has changed.
pub(super) async fn watch(addresses: Addresses, pace: Pace, events: Events) {
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(PATIENCE)
        .tls_certs_only([]);
    // It fails only without a source of randomness, without which nothing here runs.
    let Ok(client) = client.build() else {
        return;
    };
    let interval = pace.real(Timing::default().interval, INTERVAL.0);
    let mut ticks = tokio::time::interval(interval.min(INTERVAL.1));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut state, mut notices, mut told) = ("ready", Notices::default(), Vec::new());
    loop {
        ticks.tick().await;
        let (metrics, ready, targets) = tokio::join!(
            text(&client, format!("http://{}/metrics", addresses.http)),
            readiness(&client, addresses.http),
            text(
                &client,
                format!("http://{}{}", addresses.dashboard, api::SCALING)
            ),
        );
        let at = pace.scenario(clock::now());
        if std::mem::replace(&mut state, ready) != ready {
            let state = ready.to_owned();
            events.tell(at, Event::ServiceState { state });
        }
        let metrics = metrics.as_deref().map(Exposition::parse);
        let scenario = |real: f64| {
            // An age that is no number or has no end is not told.
            pace.span(Duration::try_from_secs_f64(real).unwrap_or_default())
        };
        let on = notices.of(metrics.as_ref(), &scenario);
        if on != told {
            events.tell(at, Event::Notices { on: on.clone() });
            told = on;
        }
        if let Some(targets) = targets.as_deref().and_then(scaling::read) {
            events.tell(at, Event::Scaling { targets });
        }
    }
}

async fn text(client: &reqwest::Client, url: String) -> Option<String> {
    let answer = client.get(url).send().await.ok()?;
    answer.error_for_status().ok()?.text().await.ok()
}

async fn readiness(client: &reqwest::Client, http: SocketAddr) -> &'static str {
    match client.get(format!("http://{http}/readyz")).send().await {
        Ok(answer) if answer.status().is_success() => "ready",
        Ok(_) => "not ready",
        Err(_) => "not answering",
    }
}
