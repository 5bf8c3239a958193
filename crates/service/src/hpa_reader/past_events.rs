//! The rescales of an HPA in its Events.

use evenkeel_hpa::explanation::{PastRescale, RescaleHistory};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, Client};

use super::read_error::{required, right};
use crate::cluster::read_outcome::ReadOutcome;

/// The reason of a rescale's Event.
const RESCALED: &str = "SuccessfulRescale";

/// The most by which the clock of a controller may be ahead of the reader's.
const SKEW: SignedDuration = SignedDuration::from_mins(1);

/// Events beyond this number are not looked for; Kubernetes keeps them for an hour.
const MOST: u32 = 500;

/// Reads the rescales of the HPA that has this metadata. Events of an earlier HPA of its name do not count.
pub(super) async fn read(
    client: &Client,
    namespace: &str,
    hpa: &Meta,
    now: Timestamp,
) -> RescaleHistory {
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    let name = hpa.name.as_deref().unwrap_or_default();
    let kind = Kind::HorizontalPodAutoscaler.as_str();
    let fields = format!("regarding.kind={kind},regarding.name={name}");
    let params = ListParams::default().fields(&fields).limit(MOST);
    let read = ReadOutcome::of(api.list(&params).await, || {
        right("list", &Kind::Event.qualified(), namespace)
    });
    match required(read, "the Events") {
        Ok(list) => {
            let mut events = list.map_or_else(Vec::new, |list| list.items);
            events.retain(|event| {
                let of = event.regarding.as_ref().and_then(|of| of.uid.as_deref());
                of.is_none() || of == hpa.uid.as_deref()
            });
            history(events, now)
        }
        Err(error) => RescaleHistory::unreadable(error.to_string()),
    }
}

/// Events dated in the future are ignored: anyone who may create Events chooses their times. One within
/// [`SKEW`] counts as of now.
fn history(events: Vec<Event>, now: Timestamp) -> RescaleHistory {
    let (mut rescales, mut gap) = (Vec::new(), None);
    for event in events {
        let message = event.note.as_deref().unwrap_or_default();
        let times = EventTimes::of(&event);
        let is_rescale = event.reason.as_deref() == Some(RESCALED);
        let known = now.saturating_add(SKEW).unwrap_or(Timestamp::MAX);
        let Some(last) = times.last.filter(|last| is_rescale && *last <= known) else {
            continue;
        };
        let last = last.min(now);
        rescales.extend(PastRescale::parse(message, last));
        if times.count > 1 {
            let first = times.first.filter(|first| *first < last);
            rescales.extend(first.and_then(|first| PastRescale::parse(message, first)));
        }
        if times.count > 2 {
            gap = gap.max(Some(last));
        }
    }
    RescaleHistory::new(rescales, gap)
}

/// The times that an Event stands for; those between the first and the last are not known.
struct EventTimes {
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    count: i32,
}

impl EventTimes {
    fn of(event: &Event) -> Self {
        let series = event.series.as_ref();
        let observed = series.map(|series| series.last_observed_time.0);
        let started = event.event_time.as_ref().map(|time| time.0);
        let first = event.deprecated_first_timestamp.as_ref().map(|time| time.0);
        let last = event.deprecated_last_timestamp.as_ref().map(|time| time.0);
        let count = series.map(|series| series.count).or(event.deprecated_count);
        Self {
            first: first.or(started),
            last: observed.or(last).or(started),
            count: count.unwrap_or(1),
        }
    }
}
