//! Requests by path and class of status, and how long their answers took. A path's handles are
//! looked up once, when the router is built; a request touches only atomics.

use std::fmt;
use std::time::Duration;

use axum::http::StatusCode;
use evenkeel_units::words;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Unit;

use super::common_metrics::GaugeGuard;
use crate::telemetry::Registry;

/// Upper bounds in seconds. The fastest answers take some 50 us; the API server gives up after a
/// second.
const LATENCY: [f64; 14] = [
    0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0,
];

words! {
    /// The classes of status codes that are told apart.
    enum Class {
        Success = "2xx",
        Refused = "4xx",
        Failed = "5xx",
    }
}

impl Class {
    fn of(status: StatusCode) -> Self {
        if status.is_server_error() {
            Self::Failed
        } else if status.is_client_error() {
            Self::Refused
        } else {
            Self::Success
        }
    }
}

impl EncodeLabelValue for Class {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), fmt::Error> {
        self.as_str().encode(encoder)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PathLabel {
    path: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallerLabel {
    caller: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabel {
    path: &'static str,
    status: Class,
}

#[derive(Debug, Clone)]
pub(super) struct RequestMetrics {
    requests: Family<RequestLabel, Counter>,
    duration: Family<PathLabel, Histogram, fn() -> Histogram>,
    in_flight: Family<PathLabel, Gauge>,
    shed: Family<PathLabel, Counter>,
    cancelled: Family<PathLabel, Counter>,
    panics: Family<PathLabel, Counter>,
    body_room_held: Family<CallerLabel, Gauge>,
    body_room_refused: Family<CallerLabel, Counter>,
    bodies_cut: Family<CallerLabel, Counter>,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            duration: Family::new_with_constructor(|| Histogram::new(LATENCY)),
            in_flight: Family::default(),
            shed: Family::default(),
            cancelled: Family::default(),
            panics: Family::default(),
            body_room_held: Family::default(),
            body_room_refused: Family::default(),
            bodies_cut: Family::default(),
        }
    }
}

impl RequestMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        let Self {
            requests,
            duration,
            in_flight,
            shed,
            cancelled,
            panics,
            body_room_held,
            body_room_refused,
            bodies_cut,
        } = self.clone();
        registry.register("http_requests", "Requests answered", requests);
        registry.register_with_unit(
            "http_request_duration",
            "Time from a request's head to its answer",
            Unit::Seconds,
            duration,
        );
        registry.register(
            "http_requests_in_flight",
            "Requests being answered",
            in_flight,
        );
        registry.register(
            "http_requests_shed",
            "Requests above the concurrency limit; their answer changes nothing",
            shed,
        );
        registry.register(
            "http_requests_cancelled",
            "Requests whose client left before the answer",
            cancelled,
        );
        registry.register("http_panics", "Requests whose handler panicked", panics);
        registry.register_with_unit(
            "http_body_room_held",
            "Memory that request bodies hold of server.bodyBudget",
            Unit::Bytes,
            body_room_held,
        );
        registry.register(
            "http_body_room_refused",
            "Requests refused because other bodies held the memory of server.bodyBudget",
            body_room_refused,
        );
        registry.register(
            "http_bodies_cut",
            "Slow bodies that were dropped because other requests needed their memory",
            bodies_cut,
        );
    }

    pub(super) fn room(&self, caller: &'static str) -> RoomMetrics {
        let label = CallerLabel { caller };
        RoomMetrics {
            held: self.body_room_held.get_or_create_owned(&label),
            refused: self.body_room_refused.get_or_create_owned(&label),
            cut: self.bodies_cut.get_or_create_owned(&label),
        }
    }

    pub(super) fn path(&self, path: &'static str) -> PathMetrics {
        let label = PathLabel { path };
        PathMetrics {
            requests: Class::ALL.map(|status| {
                self.requests
                    .get_or_create_owned(&RequestLabel { path, status })
            }),
            duration: self.duration.get_or_create_owned(&label),
            in_flight: self.in_flight.get_or_create_owned(&label),
            shed: self.shed.get_or_create_owned(&label),
            cancelled: self.cancelled.get_or_create_owned(&label),
            panics: self.panics.get_or_create_owned(&label),
        }
    }
}

#[derive(Debug, Clone)]
pub(in crate::server) struct PathMetrics {
    requests: [Counter; 3],
    duration: Histogram,
    in_flight: Gauge,
    /// Requests over the limit.
    pub shed: Counter,
    /// Requests of clients that left before the answer.
    pub cancelled: Counter,
    pub panics: Counter,
}

/// The handles of the room for one caller's bodies.
#[derive(Debug)]
pub(in crate::server) struct RoomMetrics {
    /// Bytes of it that bodies hold.
    pub held: Gauge,
    /// Bodies for which there was none.
    pub refused: Counter,
    /// Bodies that made way for others.
    pub cut: Counter,
}

impl PathMetrics {
    /// Counts a request as in flight until the guard is dropped.
    pub(crate) fn begin(&self) -> GaugeGuard {
        GaugeGuard::new(self.in_flight.clone())
    }

    pub(crate) fn answered(&self, status: StatusCode, after: Duration) {
        let class = Class::of(status);
        for (counter, counted) in self.requests.iter().zip(Class::ALL) {
            if counted == class {
                counter.inc();
            }
        }
        self.duration.observe(after.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry;

    #[test]
    fn a_request_is_counted_by_path_and_class() {
        let metrics = RequestMetrics::default();
        let mut registry = telemetry::registry();
        metrics.register(&mut registry);
        let path = metrics.path("/mutate");
        let open = path.begin();
        let page = telemetry::encode(&registry).unwrap();
        let in_flight = "evenkeel_http_requests_in_flight{path=\"/mutate\"}";
        assert!(page.contains(&format!("{in_flight} 1\n")), "{page}");
        drop(open);
        path.answered(StatusCode::OK, Duration::from_micros(60));
        path.answered(StatusCode::PAYLOAD_TOO_LARGE, Duration::from_micros(60));
        let page = telemetry::encode(&registry).unwrap();
        for line in [
            "evenkeel_http_requests_in_flight{path=\"/mutate\"} 0\n",
            "evenkeel_http_requests_total{path=\"/mutate\",status=\"2xx\"} 1\n",
            "evenkeel_http_requests_total{path=\"/mutate\",status=\"4xx\"} 1\n",
            "evenkeel_http_requests_total{path=\"/mutate\",status=\"5xx\"} 0\n",
            "evenkeel_http_request_duration_seconds_count{path=\"/mutate\"} 2\n",
        ] {
            assert!(page.contains(line), "{line} in {page}");
        }
    }
}
