//! How wide a forecast is, learnt from the errors that the model makes at each horizon.
//!
//! For every horizon a scale (the mean absolute error, older errors fading) and for each level a
//! multiplier of it. A multiplier grows by a step when an error falls outside and shrinks when it
//! falls inside, in such a proportion that it stands still where the level is met: quantile
//! tracking, as in online conformal prediction (Angelopoulos, Candès and Tibshirani 2023). It
//! needs no distribution, four numbers a horizon, and covers what it says in the long run.

use super::{Interval, Step};
use crate::units::count_as_f64;

/// After this many errors an error's weight has faded to 1/e.
const MEMORY: u32 = 60;
/// How far one error moves a multiplier, in scales.
const RATE: f64 = 0.1;
/// Multipliers stay where no run of luck or of outliers can make the interval useless.
const LEAST: f64 = 0.25;
const MOST: f64 = 20.0;

/// The width of one horizon.
#[derive(Debug, Clone, Copy)]
struct Width {
    scored: u32,
    scale: f64,
    multiplier80: f64,
    multiplier95: f64,
}

impl Width {
    /// Multipliers of a mean absolute error as they are for normal errors.
    const NORMAL: Self = Self {
        scored: 0,
        scale: 0.0,
        multiplier80: 1.606,
        multiplier95: 2.456,
    };

    fn score(&mut self, error: f64) {
        let error = error.abs().min(f64::MAX);
        if self.scale > 0.0 {
            let relative = error / self.scale;
            moved(&mut self.multiplier80, relative, 0.80);
            moved(&mut self.multiplier95, relative, 0.95);
        }
        self.scored = self.scored.saturating_add(1).min(MEMORY);
        self.scale += (error - self.scale) / f64::from(self.scored);
    }

    /// Half the width at 80 % and at 95 %.
    fn halves(&self, stretch: f64) -> [f64; 2] {
        let outer = self.multiplier95.max(self.multiplier80);
        [self.multiplier80, outer].map(|multiplier| multiplier * self.scale * stretch)
    }
}

fn moved(multiplier: &mut f64, relative: f64, level: f64) {
    let outside = if relative > *multiplier { 1.0 } else { 0.0 };
    *multiplier = (*multiplier + RATE * (outside - (1.0 - level))).clamp(LEAST, MOST);
}

/// The forecasts that still wait for their observation, and the widths learnt so far.
#[derive(Debug, Clone)]
pub(super) struct Widths {
    by_horizon: Box<[Width]>,
    /// One row of means a step, one row for each horizon, overwritten in turn.
    issued: Box<[f64]>,
    rows: usize,
    next: usize,
}

impl Widths {
    /// Widths for `horizons` steps; at least one.
    pub(super) fn new(horizons: usize) -> Self {
        let horizons = horizons.max(1);
        Self {
            by_horizon: vec![Width::NORMAL; horizons].into(),
            issued: vec![0.0; horizons * horizons].into(),
            rows: 0,
            next: 0,
        }
    }

    /// Forgets what was issued, but not how wrong the model has been.
    pub(super) fn restart(&mut self) {
        self.rows = 0;
    }

    /// Compares what was forecast for now with what came.
    pub(super) fn score(&mut self, actual: f64) {
        let horizons = self.by_horizon.len();
        for (before, width) in self.by_horizon.iter_mut().take(self.rows).enumerate() {
            let row = (self.next + horizons - 1 - before) % horizons;
            width.score(actual - self.issued[row * horizons + before]);
        }
    }

    /// Keeps the means that `fill` writes, for the steps after now.
    pub(super) fn issue(&mut self, fill: impl FnOnce(&mut [f64])) {
        let horizons = self.by_horizon.len();
        fill(&mut self.issued[self.next * horizons..][..horizons]);
        self.next = (self.next + 1) % horizons;
        self.rows = (self.rows + 1).min(horizons);
    }

    /// `mean` with the intervals of `ahead` steps; `None` before the first error. A horizon of
    /// which no error is known yet takes that of the longest known, which grows as a random walk's.
    pub(super) fn step(&self, mean: f64, ahead: usize) -> Option<Step> {
        let nearest = self.by_horizon.iter().take(ahead.max(1)).enumerate();
        let (index, width) = nearest.rev().find(|(_, width)| width.scored > 0)?;
        let stretch = (count_as_f64(ahead) / count_as_f64(index + 1)).sqrt();
        let [interval80, interval95] = width.halves(stretch).map(|half| Interval {
            lower: (mean - half).max(0.0),
            upper: (mean + half).min(f64::MAX),
        });
        Some(Step {
            mean,
            interval80,
            interval95,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Even numbers from 0 to 1 in an order without pattern, the same in every run.
    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            f64::from(u32::try_from(state >> 33).unwrap()) / f64::from(1_u32 << 31)
        }
    }

    fn coverage(mut error: impl FnMut(f64) -> f64) -> [f64; 2] {
        let mut widths = Widths::new(1);
        let (mut next, mut inside) = (noise(7), [0_u32; 2]);
        widths.issue(|means| means.fill(1e6));
        for _ in 0..4000 {
            let actual = 1e6 + error(next());
            if let Some(step) = widths.step(1e6, 1) {
                inside[0] += u32::from(step.interval80.contains(actual));
                inside[1] += u32::from(step.interval95.contains(actual));
            }
            widths.score(actual);
            widths.issue(|means| means.fill(1e6));
        }
        inside.map(|count| f64::from(count) / 4000.0)
    }

    #[test]
    fn intervals_cover_what_they_say_whatever_the_distribution() {
        let even = coverage(|u| u - 0.5);
        let heavy = coverage(|u| (u - 0.5).signum() / (1.001 - u.max(1.0 - u)));
        let skewed = coverage(|u| -u.max(1e-9).ln());
        let offset = coverage(|u| 1.0 + u);
        for [inner, outer] in [even, heavy, skewed, offset] {
            assert!((0.76..=0.84).contains(&inner), "{inner} at 80 %");
            assert!((0.92..=0.98).contains(&outer), "{outer} at 95 %");
        }
    }

    #[test]
    fn a_horizon_without_errors_widens_the_longest_that_has_some() {
        let mut widths = Widths::new(4);
        assert_eq!(widths.step(5.0, 1), None);
        widths.issue(|means| means.fill(50.0));
        widths.score(51.0);
        let upper = |ahead| widths.step(50.0, ahead).unwrap().interval80.upper - 50.0;
        assert!((upper(4) - 2.0 * upper(1)).abs() < 1e-12);
        assert!((upper(16) - 4.0 * upper(1)).abs() < 1e-12);
    }
}
