//! Response times while replicas come and go. A replica is a server with one queue (M/M/1): a
//! request takes `1 / perReplica`, and `1 / (1 - ρ)` times as long at a utilisation of ρ. Requests
//! beyond all replicas' capacity wait for room. A model and no measurement: it ranks ways of
//! scaling, and says little of milliseconds.

use serde::Serialize;

/// Above this utilisation the formula no longer describes the queue.
const BUSIEST: f64 = 0.98;

#[derive(Debug, Clone, Copy)]
pub(super) struct ServedStep {
    pub seconds: f64,
    /// Arriving requests per second.
    pub offered: f64,
    pub ready: i32,
    /// Most that one replica serves per second.
    pub per_replica: f64,
}

impl ServedStep {
    /// Requests beyond the capacity of the ready replicas.
    pub(super) fn unserved(&self) -> f64 {
        let capacity = f64::from(self.ready) * self.per_replica;
        (self.offered - capacity).max(0.0) * self.seconds
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Responses {
    /// Over all requests.
    pub mean_seconds: f64,
    /// Over the requests of the worst step.
    pub worst_seconds: f64,
    pub requests: f64,
}

impl Responses {
    /// `steps` are consecutive.
    pub(super) fn of(steps: impl IntoIterator<Item = ServedStep>) -> Self {
        let (mut waiting, mut weighted, mut all) = (0.0_f64, 0.0, Self::default());
        for step in steps {
            // Requests do not wait for ever: without a replica, they wait for the first one.
            let capacity = (f64::from(step.ready) * step.per_replica).max(step.per_replica);
            let utilisation = (step.offered / capacity).min(BUSIEST);
            let response = 1.0 / step.per_replica / (1.0 - utilisation) + waiting / capacity;
            let requests = step.offered * step.seconds;
            waiting = (waiting + requests - capacity * step.seconds).max(0.0);
            weighted += response * requests;
            all.requests += requests;
            all.worst_seconds = all.worst_seconds.max(response);
        }
        if all.requests > 0.0 {
            all.mean_seconds = weighted / all.requests;
        }
        all
    }

    /// Response times of several workloads together.
    pub(super) fn with(self, other: Self) -> Self {
        let requests = self.requests + other.requests;
        let weighted = self.mean_seconds * self.requests + other.mean_seconds * other.requests;
        Self {
            mean_seconds: if requests > 0.0 {
                weighted / requests
            } else {
                0.0
            },
            worst_seconds: self.worst_seconds.max(other.worst_seconds),
            requests,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(offered: f64, ready: i32) -> ServedStep {
        ServedStep {
            seconds: 10.0,
            offered,
            ready,
            per_replica: 5.0,
        }
    }

    #[test]
    fn half_busy_replicas_take_twice_the_time_of_idle_ones() {
        let idle = Responses::of([step(1e-9, 2)]).mean_seconds;
        let half = Responses::of([step(5.0, 2)]).mean_seconds;
        assert!((idle - 0.2).abs() < 1e-6 && (half - 0.4).abs() < 1e-9);
    }

    #[test]
    fn what_is_beyond_all_ready_replicas_is_unserved() {
        let unserved = [step(10.0, 1), step(5.0, 2), step(5.0, 0)].map(|step| step.unserved());
        assert!((unserved[0] - 50.0).abs() < 1e-9 && unserved[1].abs() < 1e-9);
        assert!((unserved[2] - 50.0).abs() < 1e-9);
    }

    #[test]
    fn what_cannot_be_served_waits_and_is_served_later() {
        // 100 arrive and 50 are served; the next wait for 50 at 10 a second, at half of their
        // capacity.
        let late = Responses::of([step(10.0, 1), step(5.0, 2), step(5.0, 2)]);
        assert!((late.worst_seconds - 0.2 / 0.02).abs() < 1e-9);
        let second = 0.4 + 5.0;
        let mean = (100.0 * 10.0 + 50.0 * second + 50.0 * 0.4) / 200.0;
        // After the second step none waits: 50 left, 50 arrived, 100 served.
        assert!((late.mean_seconds - mean).abs() < 1e-9, "{late:?}");
        assert!((late.requests - 200.0).abs() < 1e-9);
    }
}
