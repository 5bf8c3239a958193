//! A seasonal rule, as users write it in one line of PromQL: a second metric of an HPA with the highest load of the
//! coming half hour, as it was one day or one week ago.
//!
//! In PromQL, `sum(max_over_time(load[30m:15s] offset 23h30m)) or vector(0)`, for a week with `6d23h30m`. The sum
//! drops the labels of the load, so that there is one series. The HPA obeys the metric that asks for more replicas.

use std::fmt;

use evenkeel_forecast::RegularSeries;
use evenkeel_units::words;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

/// The part of the past that a rule looks at.
const AHEAD: SignedDuration = SignedDuration::from_mins(30);

words! {
    /// The time after which a load is expected to repeat.
    #[derive(Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Season {
        Yesterday = "yesterday",
        LastWeek = "last-week",
    }
}

/// The highest load of this half hour a season ago, times a factor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeasonalRule {
    pub season: Season,
    /// Multiplies the load.
    pub factor: f64,
}

impl Season {
    const fn length(self) -> SignedDuration {
        match self {
            Self::Yesterday => SignedDuration::from_hours(24),
            Self::LastWeek => SignedDuration::from_hours(7 * 24),
        }
    }

    /// The offset of a window in PromQL that ends [`AHEAD`] after the season.
    const fn offset(self) -> &'static str {
        match self {
            Self::Yesterday => "23h30m",
            Self::LastWeek => "6d23h30m",
        }
    }
}

impl SeasonalRule {
    /// Factors of the rules that are replayed.
    const FACTORS: [f64; 3] = [0.9, 1.0, 1.1];

    /// The rules whose season is no longer than a past.
    pub fn within(past: SignedDuration) -> impl Iterator<Item = Self> {
        let known = Season::ALL
            .into_iter()
            .filter(move |one| one.length() <= past);
        known.flat_map(|season| Self::FACTORS.map(|factor| Self { season, factor }))
    }

    /// The highest `load` at the steps of the half hour that begins a season before `at`, times the factor.
    pub(crate) fn highest(
        self,
        at: SignedDuration,
        step: SignedDuration,
        load: impl Fn(SignedDuration) -> f64,
    ) -> f64 {
        let begin = at - self.season.length();
        let steps = std::iter::successors(Some(SignedDuration::ZERO), |ahead| Some(*ahead + step));
        let loads = steps.take_while(|ahead| *ahead <= AHEAD);
        let loads = loads.map(|ahead| load(begin + ahead));
        loads.fold(0.0, f64::max) * self.factor
    }

    /// True if its load is not multiplied.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.factor.total_cmp(&1.0).is_eq()
    }

    /// The rule in PromQL, over a query for the load of all Pods.
    #[must_use]
    pub fn promql(self, load: &str) -> String {
        let (offset, factor) = (self.season.offset(), self.factor);
        format!("sum(max_over_time(({load})[30m:15s] offset {offset})) * {factor:.1} or vector(0)")
    }

    /// The value of the metric at `now`, in the unit of `load`; 0 without a sample, as `or vector(0)` has it.
    pub(super) fn load_at(self, load: &RegularSeries, now: Timestamp) -> f64 {
        let begin = now.duration_since(load.start()) - self.season.length();
        let step = load.step().as_secs().max(1);
        let index = |at: SignedDuration| usize::try_from(at.as_secs().div_euclid(step)).ok();
        let first = index(begin).unwrap_or(0);
        let last = index(begin + AHEAD);
        let values = last.and_then(|last| {
            let end = last.saturating_add(1).min(load.values().len());
            load.values().get(first..end)
        });
        let values = values.into_iter().flatten().copied().flatten();
        values.fold(0.0, f64::max) * self.factor
    }
}

impl fmt::Display for SeasonalRule {
    /// As in `last week x 1.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let season = self.season.as_str().replace('-', " ");
        write!(f, "{season} x {:.1}", self.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target_replay::GRID;

    /// Rises by 1 a step for two days.
    fn rising() -> RegularSeries {
        let values = (0..2 * 5760_u32).map(|step| Some(f64::from(step)));
        RegularSeries::new(Timestamp::UNIX_EPOCH, GRID, values.collect()).unwrap()
    }

    fn yesterday(load: &RegularSeries, step: i32, factor: f64) -> f64 {
        let rule = SeasonalRule {
            season: Season::Yesterday,
            factor,
        };
        rule.load_at(load, Timestamp::UNIX_EPOCH + GRID * step)
    }

    #[test]
    fn it_is_the_highest_load_of_the_half_hour_that_follows_a_season_ago() {
        let load = rising();
        // Half an hour has 120 steps, a day 5760.
        for (step, factor, expected) in [
            (5760, 1.0, 120.0),
            (6000, 1.0, 360.0),
            (6000, 0.5, 180.0),
            // Of the half hour before the first sample's, the part with samples.
            (5700, 1.0, 60.0),
        ] {
            let told = yesterday(&load, step, factor);
            assert!((told - expected).abs() < 1e-9, "{step} {told}");
        }
    }

    #[test]
    fn in_promql_it_is_what_users_write() {
        let rule = |season| SeasonalRule {
            season,
            factor: 1.1,
        };
        for (season, label, promql) in [
            (
                Season::Yesterday,
                "yesterday x 1.1",
                "sum(max_over_time((a + b)[30m:15s] offset 23h30m)) * 1.1 or vector(0)",
            ),
            (
                Season::LastWeek,
                "last week x 1.1",
                "sum(max_over_time((a + b)[30m:15s] offset 6d23h30m)) * 1.1 or vector(0)",
            ),
        ] {
            assert_eq!(rule(season).to_string(), label);
            assert_eq!(rule(season).promql("a + b"), promql);
        }
    }

    #[test]
    fn without_a_sample_it_asks_for_nothing() {
        let load = rising();
        assert_eq!(yesterday(&load, 100, 1.0).to_bits(), 0);
        let gap = RegularSeries::new(load.start(), GRID, vec![None; 5760]).unwrap();
        assert_eq!(yesterday(&gap, 5760, 1.0).to_bits(), 0);
        // A day after the last sample.
        assert_eq!(yesterday(&load, 4 * 5760, 1.0).to_bits(), 0);
    }
}
