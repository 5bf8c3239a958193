//! Requests per second as a metrics adapter reports them: late, and as means over a window. Each
//! Pod counts the requests that it serves, and an ingress those that arrive for a workload, served
//! or not. Counters are read on a grid; a rate is between the first and the last reading of the
//! window.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_objects::pod_name::PodName;
use jiff::SignedDuration;

use crate::scrape_timing::Timing;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestCounterKey {
    Served(PodName),
    /// Arriving for a workload, by namespace and name.
    Arriving(String, String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestRate {
    /// Time of the last reading.
    pub at: SignedDuration,
    pub per_second: f64,
}

#[derive(Debug)]
struct Counter {
    since: SignedDuration,
    current: f64,
    total: f64,
    readings: VecDeque<(SignedDuration, f64)>,
}

#[derive(Debug)]
pub(super) struct RequestCounters {
    timing: Timing,
    next: SignedDuration,
    counters: BTreeMap<RequestCounterKey, Counter>,
}

impl RequestCounters {
    pub(super) const fn new(timing: Timing) -> Self {
        Self {
            timing,
            next: SignedDuration::ZERO,
            counters: BTreeMap::new(),
        }
    }

    /// Rates from `at` on; counters without a rate are dropped.
    pub(super) fn observe(
        &mut self,
        at: SignedDuration,
        rates: impl IntoIterator<Item = (RequestCounterKey, f64)>,
    ) {
        let mut before = std::mem::take(&mut self.counters);
        for (of, current) in rates {
            let mut counter = before.remove(&of).unwrap_or(Counter {
                since: at,
                current,
                total: 0.0,
                readings: VecDeque::new(),
            });
            counter.total += counter.current * at.saturating_sub(counter.since).as_secs_f64();
            (counter.since, counter.current) = (at, current);
            self.counters.insert(of, counter);
        }
        if at < self.next {
            return;
        }
        for counter in self.counters.values_mut() {
            counter.readings.push_back((at, counter.total));
            let oldest = at.saturating_sub(self.timing.window);
            while counter.readings.front().is_some_and(|(at, _)| *at < oldest) {
                counter.readings.pop_front();
            }
        }
        while self.next <= at {
            self.next = self.next.saturating_add(self.timing.interval);
        }
    }

    /// Rates of all that was read twice within the window.
    pub(super) fn rates(&self) -> impl Iterator<Item = (&RequestCounterKey, RequestRate)> {
        self.counters.iter().filter_map(|(of, counter)| {
            let ((first, begin), (at, end)) =
                (*counter.readings.front()?, *counter.readings.back()?);
            let span = at.saturating_sub(first).as_secs_f64();
            let rate = || RequestRate {
                at,
                per_second: (end - begin) / span,
            };
            (span > 0.0).then(|| (of, rate()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_is_seen_late_and_what_is_gone_is_not_told() {
        let web = RequestCounterKey::Arriving("shop".to_owned(), "web".to_owned());
        let mut requests = RequestCounters::new(Timing::default());
        let mut seen = Vec::new();
        for second in 0..=120 {
            let rate = if second < 30 { 0.0 } else { 100.0 };
            requests.observe(SignedDuration::from_secs(second), [(web.clone(), rate)]);
            if second % 30 == 0 {
                let rate = requests.rates().next();
                seen.push((second, rate.map(|(_, rate)| rate.per_second.round())));
            }
        }
        let expected = [
            (0, None),
            (30, Some(0.0)),
            (60, Some(50.0)),
            (90, Some(100.0)),
            (120, Some(100.0)),
        ];
        assert_eq!(seen, expected);
        requests.observe(SignedDuration::from_secs(121), []);
        assert_eq!(requests.rates().count(), 0);
    }
}
