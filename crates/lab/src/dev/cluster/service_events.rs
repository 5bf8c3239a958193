//! The Event objects that the service writes, as `kubectl get events` shows them.

use futures::StreamExt as _;
use k8s_openapi::api::events::v1;
use kube::runtime::watcher::{Config, Event as Change};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use tracing::debug;

use super::events::{DevEvent, DevEventBus};
use evenkeel_sandbox::Timeline;

const REPORTER: &str = "evenkeel.dev/";

/// Tells each that comes from now on, for ever.
pub(super) async fn watch(client: Client, timeline: Timeline, events: DevEventBus) {
    let api: Api<v1::Event> = Api::all(client);
    let mut changes = std::pin::pin!(watcher(api, Config::default()).default_backoff());
    let mut told = std::collections::HashSet::new();
    while let Some(change) = changes.next().await {
        match change {
            // Once more after an interruption.
            Ok(Change::Apply(event) | Change::InitApply(event)) => {
                if told.insert(event.metadata.uid.clone())
                    && let Some(said) = said(event)
                {
                    events.tell(timeline.elapsed(), said);
                }
            }
            Ok(Change::Delete(event)) => {
                told.remove(&event.metadata.uid);
            }
            Ok(Change::Init | Change::InitDone) => {}
            Err(error) => debug!(%error, "the watch of Events was interrupted"),
        }
    }
}

fn said(event: v1::Event) -> Option<DevEvent> {
    let reporter = event.reporting_controller.unwrap_or_default();
    if !reporter.starts_with(REPORTER) {
        return None;
    }
    let regarding = event.regarding.unwrap_or_default();
    let part = |part: Option<String>| part.unwrap_or_default();
    let (kind, name) = (part(regarding.kind), part(regarding.name));
    let regarding = match regarding.namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    };
    Some(DevEvent::ServiceEvent {
        regarding,
        reason: part(event.reason),
        note: part(event.note),
        warning: event.type_.as_deref() == Some("Warning"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_of_the_service_are_told_and_no_others() {
        let event = |reporter: &str| -> v1::Event {
            serde_json::from_value(json!({
                "metadata": {"name": "a"}, "eventTime": null, "reportingController": reporter,
                "reason": "FloorRaised", "note": "floor 2 -> 4", "type": "Normal",
                "regarding": {"kind": "HorizontalPodAutoscaler", "namespace": "shop", "name": "web"},
            }))
            .unwrap()
        };
        assert!(said(event("kubelet")).is_none());
        let Some(DevEvent::ServiceEvent {
            regarding, warning, ..
        }) = said(event("evenkeel.dev/evenkeel"))
        else {
            panic!("it is one of the service")
        };
        assert_eq!(regarding, "HorizontalPodAutoscaler shop/web");
        assert!(!warning);
    }
}
