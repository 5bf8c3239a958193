//! Requests by path and class of status, and how long their answers took. A path's handles are
//! looked up once, when the router is built; a request touches only atomics.

use std::time::Duration;

use axum::http::StatusCode;
use evenkeel_units::words;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::common_metrics::GaugeGuard;
use crate::telemetry::metric_families::families;

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

families! {
    pub(super) struct RequestMetrics {
        requests: Counter[path, status] = "http_requests", "Requests answered";
        duration: Histogram(LATENCY)[path] = "http_request_duration" in Seconds,
            "Time from a request's head to its answer";
        in_flight: Gauge[path] = "http_requests_in_flight", "Requests being answered";
        shed: Counter[path] = "http_requests_shed",
            "Requests above the concurrency limit; their answer changes nothing";
        cancelled: Counter[path] = "http_requests_cancelled",
            "Requests whose client left before the answer";
        panics: Counter[path] = "http_panics", "Requests whose handler panicked";
        body_room_held: Gauge[caller] = "http_body_room_held" in Bytes,
            "Memory that request bodies hold of server.bodyBudget";
        body_room_refused: Counter[caller] = "http_body_room_refused",
            "Requests refused because other bodies held the memory of server.bodyBudget";
        bodies_cut: Counter[caller] = "http_bodies_cut",
            "Slow bodies that were dropped because other requests needed their memory";
    }
}

impl RequestMetrics {
    pub(super) fn room(&self, caller: &'static str) -> RoomMetrics {
        RoomMetrics {
            held: self.body_room_held(caller),
            refused: self.body_room_refused(caller),
            cut: self.bodies_cut(caller),
        }
    }

    pub(super) fn path(&self, path: &'static str) -> PathMetrics {
        PathMetrics {
            requests: Class::ALL.map(|status| self.requests(path, status.as_str())),
            duration: self.duration(path),
            in_flight: self.in_flight(path),
            shed: self.shed(path),
            cancelled: self.cancelled(path),
            panics: self.panics(path),
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
