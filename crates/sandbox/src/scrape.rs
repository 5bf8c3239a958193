//! How late and how smooth a metrics backend sees the load.
//!
//! As with real exporters, work is counted up continuously, counters are read at each scrape, and
//! a rate is the growth between the oldest and the newest reading within the window. Memory and
//! disk are gauges: their value at the newest scrape.

use std::collections::{BTreeMap, VecDeque};

use jiff::SignedDuration;

use crate::load::Used;
use evenkeel_core::units::{Resource, Resources};

/// When counters are read, and over which span rates are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub interval: SignedDuration,
    /// The span of a rate.
    pub window: SignedDuration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            interval: SignedDuration::from_secs(15),
            window: SignedDuration::from_secs(60),
        }
    }
}

/// The newest measurement of one thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When its counters were last read.
    pub at: SignedDuration,
    /// Rates over the window that ends then, and gauges of that moment.
    pub used: Used,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    at: SignedDuration,
    counted: Used,
    gauges: Used,
}

#[derive(Debug)]
struct Series {
    since: SignedDuration,
    current: Used,
    counted: Used,
    readings: VecDeque<Reading>,
}

/// Counters and their readings, by what they belong to.
#[derive(Debug)]
pub struct Scraper<K> {
    timing: Timing,
    next: SignedDuration,
    series: BTreeMap<K, Series>,
}

impl<K: Ord + Clone> Scraper<K> {
    /// A scraper that has read nothing; the first scrape comes with the first observation.
    #[must_use]
    pub const fn new(timing: Timing) -> Self {
        Self {
            timing,
            next: SignedDuration::ZERO,
            series: BTreeMap::new(),
        }
    }

    /// Takes what everything uses from `at` on; what is not named any more is gone.
    pub fn observe(&mut self, at: SignedDuration, used: impl IntoIterator<Item = (K, Used)>) {
        let mut before = std::mem::take(&mut self.series);
        for (key, current) in used {
            let mut series = before.remove(&key).unwrap_or_else(|| Series {
                since: at,
                current,
                counted: Used::default(),
                readings: VecDeque::new(),
            });
            series.advance(at, current);
            self.series.insert(key, series);
        }
        if at >= self.next {
            for series in self.series.values_mut() {
                series.read(at, self.timing.window);
            }
            // On a grid, so that observations that come a little late do not add up.
            while self.next <= at {
                self.next = self.next.saturating_add(self.timing.interval);
            }
        }
    }

    /// The measurements of all things that were read twice within the window.
    pub fn samples(&self) -> impl Iterator<Item = (&K, Sample)> {
        let sampled = |(key, series): (_, &Series)| Some((key, series.sample()?));
        self.series
            .iter()
            .filter_map(move |(key, series)| sampled((key, series)))
    }
}

impl Series {
    fn advance(&mut self, at: SignedDuration, current: Used) {
        let passed = at.saturating_sub(self.since).as_secs_f64();
        self.counted =
            Resources::from_fn(|resource| self.counted[resource] + self.current[resource] * passed);
        (self.since, self.current) = (at, current);
    }

    fn read(&mut self, at: SignedDuration, window: SignedDuration) {
        self.readings.push_back(Reading {
            at,
            counted: self.counted,
            gauges: self.current,
        });
        let oldest = at.saturating_sub(window);
        while self.readings.front().is_some_and(|first| first.at < oldest) {
            self.readings.pop_front();
        }
    }

    fn sample(&self) -> Option<Sample> {
        let (first, last) = (self.readings.front()?, self.readings.back()?);
        let span = last.at.saturating_sub(first.at).as_secs_f64();
        (span > 0.0).then(|| Sample {
            at: last.at,
            used: Resources::from_fn(|resource| match resource {
                Resource::Memory | Resource::Disk => last.gauges[resource],
                Resource::Cpu | Resource::NetworkIo | Resource::DiskIo => {
                    (last.counted[resource] - first.counted[resource]) / span
                }
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(value: f64) -> Used {
        Resources::from_fn(|_| value)
    }

    #[test]
    fn a_step_is_seen_late_by_rates_and_at_the_next_scrape_by_gauges() {
        let mut scraper = Scraper::new(Timing::default());
        let mut seen = Vec::new();
        for second in 0..=120 {
            let now = used(if second < 30 { 0.0 } else { 100.0 });
            scraper.observe(SignedDuration::from_secs(second), [("pod", now)]);
            if second % 15 == 0 {
                let sample = scraper.samples().next().map(|(_, sample)| sample);
                let of = |resource| sample.map(|sample| sample.used[resource].round());
                seen.push((second, of(Resource::Cpu), of(Resource::Memory)));
            }
        }
        assert_eq!(
            seen,
            [
                (0, None, None),
                (15, Some(0.0), Some(0.0)),
                (30, Some(0.0), Some(100.0)),
                (45, Some(33.0), Some(100.0)),
                (60, Some(50.0), Some(100.0)),
                (75, Some(75.0), Some(100.0)),
                (90, Some(100.0), Some(100.0)),
                (105, Some(100.0), Some(100.0)),
                (120, Some(100.0), Some(100.0)),
            ]
        );
    }

    #[test]
    fn what_is_gone_is_not_reported() {
        let mut scraper = Scraper::new(Timing::default());
        for second in [0, 20] {
            let at = SignedDuration::from_secs(second);
            scraper.observe(at, [("a", used(1.0)), ("b", used(1.0))]);
        }
        assert_eq!(scraper.samples().count(), 2);
        scraper.observe(SignedDuration::from_secs(21), [("a", used(1.0))]);
        assert_eq!(scraper.samples().count(), 1);
    }
}
