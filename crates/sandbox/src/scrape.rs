//! How late and how smooth a metrics backend sees the load. As with real exporters, work is counted
//! continuously, counters are read at each scrape, and a rate is the growth between the oldest and
//! the newest reading within the window. Memory and disk are gauges: their value at the newest
//! scrape. Each source has its own scrape times, so measurements differ in age. A new source is
//! measured once it was read twice, over a window as short as its life.

use std::collections::{BTreeMap, VecDeque};

use evenkeel_units::{Resource, Resources};
use jiff::SignedDuration;

use crate::load::UsageAmounts;
use crate::scrape_timing::Timing;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScrapedSample {
    /// Last reading of its counters.
    pub at: SignedDuration,
    /// Span of the rates; shorter than the window for a new source.
    pub window: SignedDuration,
    /// Rates over the window that ends then, and gauges of that moment.
    pub used: UsageAmounts,
}

#[derive(Debug, Clone, Copy)]
struct CounterReading {
    at: SignedDuration,
    counted: UsageAmounts,
    gauges: UsageAmounts,
}

#[derive(Debug, Clone)]
struct ScrapeTargetState {
    /// The last round of observations that named it.
    round: u64,
    next: SignedDuration,
    since: SignedDuration,
    current: UsageAmounts,
    counted: UsageAmounts,
    readings: VecDeque<CounterReading>,
}

#[derive(Debug)]
pub struct Scraper<K> {
    timing: Timing,
    round: u64,
    series: BTreeMap<K, ScrapeTargetState>,
}

/// A source that is scraped from a moment on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exporter {
    pub used: UsageAmounts,
    /// Delay of its scrapes after each interval, constant per source.
    pub phase: SignedDuration,
}

impl<K: Ord + Clone> Scraper<K> {
    pub const fn new(timing: Timing) -> Self {
        Self {
            timing,
            round: 0,
            series: BTreeMap::new(),
        }
    }

    /// Use from `at` on; sources that are not named are dropped.
    pub fn observe(&mut self, at: SignedDuration, usage: impl IntoIterator<Item = (K, Exporter)>) {
        let Timing { interval, window } = self.timing;
        self.round += 1;
        let mut named = 0;
        for (key, Exporter { used, phase }) in usage {
            let series = self.series.entry(key);
            let series = series.or_insert_with(|| {
                ScrapeTargetState::new(at, used, next_scrape(at, phase, interval))
            });
            named += usize::from(series.round != self.round);
            series.round = self.round;
            series.advance(at, used);
            if at >= series.next {
                series.read(at, window);
                // On a grid, so that late observations do not add up.
                let after = at.saturating_add(SignedDuration::from_nanos(1));
                series.next = next_scrape(after, phase, interval);
            }
        }
        // Rarely is anything dropped.
        if named < self.series.len() {
            let round = self.round;
            self.series.retain(|_, series| series.round == round);
        }
    }

    /// Splits `to` off from `from`, which included it so far.
    pub fn part(&mut self, from: &K, to: K) {
        if let Some(series) = self.series.get(from) {
            let series = series.clone();
            self.series.insert(to, series);
        }
    }

    /// `None` unless it was read twice within the window.
    pub fn sample(&self, key: &K) -> Option<ScrapedSample> {
        self.series.get(key)?.sample()
    }

    /// Samples of sources that were read twice within the window.
    pub fn samples(&self) -> impl Iterator<Item = (&K, ScrapedSample)> {
        let sampled = |(key, series): (_, &ScrapeTargetState)| Some((key, series.sample()?));
        self.series
            .iter()
            .filter_map(move |(key, series)| sampled((key, series)))
    }
}

fn next_scrape(
    at: SignedDuration,
    phase: SignedDuration,
    interval: SignedDuration,
) -> SignedDuration {
    let interval = interval.as_nanos().max(1);
    let passed = at.saturating_sub(phase).as_nanos();
    let wait = (interval - passed.rem_euclid(interval)).rem_euclid(interval);
    at.saturating_add(SignedDuration::from_nanos_i128(wait))
}

impl ScrapeTargetState {
    const fn new(at: SignedDuration, current: UsageAmounts, next: SignedDuration) -> Self {
        Self {
            round: 0,
            next,
            since: at,
            current,
            counted: Resources::new([0.0; 5]),
            readings: VecDeque::new(),
        }
    }

    fn advance(&mut self, at: SignedDuration, current: UsageAmounts) {
        let passed = at.saturating_sub(self.since).as_secs_f64();
        self.counted =
            Resources::from_fn(|resource| self.counted[resource] + self.current[resource] * passed);
        (self.since, self.current) = (at, current);
    }

    fn read(&mut self, at: SignedDuration, window: SignedDuration) {
        self.readings.push_back(CounterReading {
            at,
            counted: self.counted,
            gauges: self.current,
        });
        let oldest = at.saturating_sub(window);
        while self.readings.front().is_some_and(|first| first.at < oldest) {
            self.readings.pop_front();
        }
    }

    fn sample(&self) -> Option<ScrapedSample> {
        let (first, last) = (self.readings.front()?, self.readings.back()?);
        let window = last.at.saturating_sub(first.at);
        let span = window.as_secs_f64();
        (span > 0.0).then(|| ScrapedSample {
            at: last.at,
            window,
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

    fn used(value: f64) -> Exporter {
        Exporter {
            used: Resources::from_fn(|_| value),
            phase: SignedDuration::ZERO,
        }
    }

    #[test]
    fn each_thing_is_scraped_at_its_own_moments_and_first_over_a_short_window() {
        let second = SignedDuration::from_secs;
        let mut scraper = Scraper::new(Timing::default());
        let mut seen = Vec::new();
        for at in 0..=120 {
            let old = Exporter {
                phase: second(4),
                ..used(1.0)
            };
            let new = (at >= 50).then_some(("new", used(1.0)));
            scraper.observe(second(at), [("old", old)].into_iter().chain(new));
            let samples = scraper.samples();
            let of =
                samples.map(|(name, sample)| (*name, sample.at.as_secs(), sample.window.as_secs()));
            let now: Vec<_> = of.collect();
            if seen.last() != Some(&now) {
                seen.push(now);
            }
        }
        let told = |new: Option<(i64, i64)>, old, window| {
            let new = new.map(|(at, window)| ("new", at, window));
            new.into_iter()
                .chain([("old", old, window)])
                .collect::<Vec<_>>()
        };
        assert_eq!(seen[0], []);
        assert_eq!(
            seen[1..=3],
            [told(None, 19, 15), told(None, 34, 30), told(None, 49, 45)]
        );
        assert_eq!(seen[4], told(None, 64, 60));
        assert_eq!(seen[5], told(Some((75, 15)), 64, 60));
        assert_eq!(seen[6], told(Some((75, 15)), 79, 60));
        assert_eq!(seen.last(), Some(&told(Some((120, 60)), 109, 60)));
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
