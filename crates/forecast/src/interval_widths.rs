//! Widths of intervals, learnt from the errors that the model makes at each horizon. A horizon has
//! a scale (the mean absolute error, older errors fading) and per level a multiplier, which grows
//! by a step when an error falls outside and shrinks when it falls inside, in the proportion that
//! keeps it constant where the level is met: quantile tracking, as in online conformal prediction
//! (`[Conformal]`). This needs no distribution and three numbers a horizon.

use std::num::NonZeroUsize;

use evenkeel_units::{count_as_f64, narrowed};

use super::prediction::{ForecastStep, Interval};

/// After this many errors an error's weight has faded to 1/e.
const MEMORY: u32 = 60;
/// Step of a multiplier per error, in scales.
const RATE: f64 = 0.1;
/// Bounds, so that no run of luck or of outliers makes the interval useless.
const LEAST: f64 = 0.25;
const MOST: f64 = 20.0;

/// Small: there are tens of thousands.
#[derive(Debug, Clone, Copy)]
struct Width {
    ahead: u32,
    scored: u32,
    scale: f32,
    multiplier80: f32,
    multiplier95: f32,
}

impl Width {
    /// Multipliers of the mean absolute error of normal errors.
    const fn normal(ahead: u32) -> Self {
        Self {
            ahead,
            scored: 0,
            scale: 0.0,
            multiplier80: 1.606,
            multiplier95: 2.456,
        }
    }

    fn score(&mut self, error: f64) {
        let error = error.abs().min(f64::from(f32::MAX));
        let scale = f64::from(self.scale);
        if scale > 0.0 {
            let relative = error / scale;
            moved(&mut self.multiplier80, relative, 0.80);
            moved(&mut self.multiplier95, relative, 0.95);
        }
        self.scored = self.scored.saturating_add(1).min(MEMORY);
        self.scale = finite(scale + (error - scale) / f64::from(self.scored));
    }

    /// Half widths at 80 % and at 95 %.
    fn halves(&self, stretch: f64) -> [f64; 2] {
        let outer = self.multiplier95.max(self.multiplier80);
        let half = |multiplier: f32| f64::from(multiplier) * f64::from(self.scale) * stretch;
        [half(self.multiplier80), half(outer)]
    }
}

fn moved(multiplier: &mut f32, relative: f64, level: f64) {
    let before = f64::from(*multiplier);
    let outside = if relative > before { 1.0 } else { 0.0 };
    *multiplier = finite((before + RATE * (outside - (1.0 - level))).clamp(LEAST, MOST));
}

fn finite(value: f64) -> f32 {
    narrowed(value).unwrap_or(f32::MAX)
}

/// The pending forecasts and learnt widths of some horizons.
#[derive(Debug, Clone)]
pub(crate) struct Widths {
    by_horizon: Box<[Width]>,
    /// Per horizon a ring of as many means as it is steps long, one after the other.
    issued: Box<[f32]>,
    /// Steps issued in a row.
    rows: usize,
}

impl Widths {
    /// Learns `horizon` and the powers of two below it; between these the nearer one is stretched.
    pub(crate) fn towards(horizon: NonZeroUsize) -> Self {
        let powers = std::iter::successors(Some(1), |power: &usize| power.checked_mul(2));
        let below = powers.take_while(|&power| power < horizon.get());
        let horizons = below.chain([horizon.get()]);
        let ahead = horizons.map(|ahead| u32::try_from(ahead).unwrap_or(u32::MAX));
        let by_horizon: Box<[Width]> = ahead.map(Width::normal).collect();
        let issued = by_horizon.iter().map(|width| steps(width.ahead)).sum();
        Self {
            by_horizon,
            issued: vec![0.0; issued].into(),
            rows: 0,
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.by_horizon) + size_of_val(&*self.issued)
    }

    /// An error is known at every horizon.
    pub(crate) fn is_known(&self) -> bool {
        self.by_horizon.iter().all(|width| width.scored > 0)
    }

    /// Forgets the pending forecasts, but not the widths.
    pub(crate) const fn restart(&mut self) {
        self.rows = 0;
    }

    pub(crate) fn score(&mut self, actual: f64) {
        let mut start = 0;
        for width in &mut self.by_horizon {
            let ahead = steps(width.ahead);
            if self.rows >= ahead {
                let issued = self.issued[start + self.rows % ahead];
                width.score(actual - f64::from(issued));
            }
            start += ahead;
        }
    }

    /// Keeps the means that `fill` writes for the next steps.
    pub(crate) fn issue(&mut self, fill: impl FnOnce(&mut [f64])) {
        let longest = self.by_horizon.last().map_or(0, |width| steps(width.ahead));
        let mut means = vec![0.0; longest];
        fill(&mut means);
        let mut start = 0;
        for width in &self.by_horizon {
            let ahead = steps(width.ahead);
            self.issued[start + self.rows % ahead] = finite(means[ahead - 1]);
            start += ahead;
        }
        self.rows += 1;
    }

    /// `mean` with intervals; `None` before the first error. A horizon without a known error takes
    /// the longest known one below it, grown as a random walk.
    pub(crate) fn step(&self, mean: f64, ahead: usize) -> Option<ForecastStep> {
        let below = |width: &&Width| width.scored > 0 && steps(width.ahead) <= ahead.max(1);
        let width = self.by_horizon.iter().rev().find(below)?;
        let stretch = (count_as_f64(ahead) / f64::from(width.ahead)).sqrt();
        let [interval80, interval95] = width.halves(stretch).map(|half| Interval {
            lower: (mean - half).max(0.0),
            upper: (mean + half).min(f64::MAX),
        });
        Some(ForecastStep {
            mean,
            interval80,
            interval95,
        })
    }
}

fn steps(ahead: u32) -> usize {
    usize::try_from(ahead).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform from 0 to 1, the same in every run.
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
        let mut widths = Widths::towards(NonZeroUsize::MIN);
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
        let mut widths = Widths::towards(NonZeroUsize::new(4).unwrap());
        assert_eq!(widths.step(5.0, 1), None);
        widths.issue(|means| means.fill(50.0));
        widths.score(51.0);
        let upper = |ahead| widths.step(50.0, ahead).unwrap().interval80.upper - 50.0;
        assert!((upper(4) - 2.0 * upper(1)).abs() < 1e-12);
        assert!((upper(16) - 4.0 * upper(1)).abs() < 1e-12);
    }
    #[test]
    fn horizons_between_powers_of_two_stretch_the_nearer_one() {
        let mut widths = Widths::towards(NonZeroUsize::new(6).unwrap());
        let horizons: Vec<_> = widths.by_horizon.iter().map(|width| width.ahead).collect();
        assert_eq!((horizons, widths.issued.len()), (vec![1, 2, 4, 6], 13));
        for now in 0..40 {
            widths.score(f64::from(now));
            widths.issue(|means| means.fill(f64::from(now)));
        }
        let half = |ahead| widths.step(100.0, ahead).unwrap().interval80.upper - 100.0;
        for (ahead, scale) in [(1, 1.0), (2, 2.0), (3, 2.0 * 1.5_f64.sqrt()), (6, 6.0)] {
            let multiplier = half(ahead) / scale;
            assert!((0.9..1.7).contains(&multiplier), "{ahead}: {multiplier}");
        }
    }
}
