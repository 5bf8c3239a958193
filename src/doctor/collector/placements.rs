//! The newest placements, by the Events that schedulers write about the Pods that they bind.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;

use super::api_reader::ClusterReader;
use evenkeel_service::cluster::paged_list::for_each_readable;
use evenkeel_service::cluster::read_outcome::ReadOutcome;

/// The reason that stands in an Event about a Pod that was bound.
const BOUND: &str = "Scheduled";

/// When each scheduler last bound a Pod, by its name, as far back as the cluster keeps Events.
pub(super) async fn newest(reader: &ClusterReader<'_>) -> ReadOutcome<BTreeMap<String, Timestamp>> {
    let api: Api<Event> = Api::all(reader.client.clone());
    let params = ListParams::default().fields(&format!("reason={BOUND}"));
    let mut newest = BTreeMap::new();
    let read = for_each_readable(&api, params, |event| note(&event, &mut newest)).await;
    ReadOutcome::of(read, || "list events --all-namespaces".to_owned()).map(|unreadable| {
        reader.left_out.note("events", unreadable);
        newest
    })
}

fn note(event: &Event, newest: &mut BTreeMap<String, Timestamp>) {
    let reporter = event.reporting_component.as_deref();
    let source = event.source.as_ref();
    let reporter = reporter
        .filter(|name| !name.is_empty())
        .or_else(|| source.and_then(|source| source.component.as_deref()));
    let times = [
        event.event_time.as_ref().map(|time| time.0),
        event.last_timestamp.as_ref().map(|time| time.0),
    ];
    if let (Some(scheduler), Some(time)) = (reporter, times.into_iter().flatten().max())
        && event.reason.as_deref() == Some(BOUND)
    {
        let last = newest.entry(scheduler.to_owned()).or_insert(time);
        *last = time.max(*last);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_newest_of_each_scheduler_counts_whichever_form_its_events_have() {
        let event = |of: Value| {
            let base = json!({"metadata": {}, "involvedObject": {}, "reason": "Scheduled"});
            let mut event = base.as_object().unwrap().clone();
            event.extend(of.as_object().unwrap().clone());
            serde_json::from_value::<Event>(event.into()).unwrap()
        };
        let mut newest = BTreeMap::new();
        for of in [
            json!({"reportingComponent": "a", "eventTime": "2026-03-01T12:00:00.5Z"}),
            json!({"reportingComponent": "a", "eventTime": "2026-03-01T11:00:00.5Z"}),
            json!({"reportingComponent": "", "source": {"component": "b"},
                   "lastTimestamp": "2026-03-01T10:00:00Z"}),
            json!({"reportingComponent": "c", "reason": "Killing",
                   "eventTime": "2026-03-01T12:00:00.5Z"}),
            json!({"reportingComponent": "d"}),
        ] {
            note(&event(of), &mut newest);
        }
        let expected = [
            ("a", "2026-03-01T12:00:00.5Z"),
            ("b", "2026-03-01T10:00:00Z"),
        ];
        let expected = expected.map(|(name, time)| (name.to_owned(), time.parse().unwrap()));
        assert_eq!(newest, expected.into());
    }
}
