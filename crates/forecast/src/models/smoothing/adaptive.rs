//! `s-hpa`: smoothing over the last 60 samples with an α that falls as the last five stray from the
//! mean of the window (`[DS-HPA]` (9) and (10)). Each change of α restarts the smoothing on the
//! window, so that one factor smooths all of it. While α stands at a bound, as in a steady trend,
//! an observation costs one update.

use std::collections::VecDeque;

use evenkeel_units::count_as_f64;

use super::brown::{Alpha, BrownSmoothing, Coefficients, START, Variant, mean_of_start};
use crate::point_model::PointModel;

/// Newest observations that `[DS-HPA]` (10) compares with the window.
const RECENT: usize = 5;
/// Variation relative to the mean that rounding alone explains.
const ROUNDING: f64 = 1e-12;

/// α by `[DS-HPA]` (10), with the figures behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptiveAlpha {
    /// μ of the window.
    pub mean: f64,
    /// σ by `[DS-HPA]` (9): population standard deviation of the window.
    pub deviation: f64,
    /// X̂: mean of the last 5 observations.
    pub recent: f64,
    /// α by `[DS-HPA]` (10) before clamping, possibly far below 0; `None` where the window does not
    /// vary.
    pub raw: Option<f64>,
}

impl AdaptiveAlpha {
    /// For a window, oldest first; an empty one gives [`Alpha::EVEN`].
    pub fn of(window: &[f64]) -> Self {
        Self::of_parts(window, &[])
    }

    /// One pass each over both parts in order, so that the cut of the ring changes no bit.
    fn of_parts(older: &[f64], newer: &[f64]) -> Self {
        let values = || older.iter().chain(newer);
        let size = older.len() + newer.len();
        let count = count_as_f64(size.max(1));
        let mean = values().sum::<f64>() / count;
        let squares: f64 = values().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = (squares / count).sqrt();
        let last = values().skip(size.saturating_sub(RECENT));
        let recent = last.sum::<f64>() / count_as_f64(size.clamp(1, RECENT));
        let varies = deviation > ROUNDING * mean.abs();
        Self {
            mean,
            deviation,
            recent,
            raw: varies.then(|| 1.0 - (recent - mean).abs() / deviation),
        }
    }

    /// Clamped to 0.05 to 0.95, and 0.5 where the window does not vary.
    pub fn alpha(&self) -> Alpha {
        self.raw.map_or(Alpha::EVEN, Alpha::clamped)
    }
}

/// The parabola of a window smoothed from its start by its own α; `None` below three observations.
pub fn window_forecast(window: &[f64], variant: Variant) -> Option<Coefficients> {
    let brown = restarted(window, &[], AdaptiveAlpha::of(window).alpha())?;
    Some(brown.coefficients(variant))
}

fn restarted(older: &[f64], newer: &[f64], alpha: Alpha) -> Option<BrownSmoothing> {
    let mut values = older.iter().chain(newer).copied();
    let first = [values.next()?, values.next()?, values.next()?];
    let mut brown = BrownSmoothing::new(alpha, mean_of_start(&first));
    for value in first.into_iter().chain(values) {
        brown.observe(value);
    }
    Some(brown)
}

/// [`window_forecast`], updated one observation at a time.
#[derive(Debug, Clone)]
pub struct SHpa {
    window: VecDeque<f64>,
    smoothing: Option<(Alpha, BrownSmoothing)>,
    variant: Variant,
}

impl SHpa {
    /// Observations in the window.
    pub const WINDOW: usize = 60;
    /// Observations for a forecast (`[DS-HPA]` 2.3, step 2).
    pub const NEED: usize = 20;

    pub fn new(variant: Variant) -> Self {
        Self {
            window: VecDeque::with_capacity(Self::WINDOW),
            smoothing: None,
            variant,
        }
    }

    /// `None` before the first forecast is possible.
    pub fn alpha(&self) -> Option<Alpha> {
        self.smoothing.map(|(alpha, _)| alpha)
    }
}

impl Default for SHpa {
    fn default() -> Self {
        Self::new(Variant::Brown)
    }
}

impl PointModel for SHpa {
    const NAME: &'static str = "s-hpa";

    fn need(&self) -> usize {
        Self::NEED - 1 // with its interval, which takes one error, a forecast needs one more
    }

    fn observe(&mut self, value: f64) {
        if self.window.len() == Self::WINDOW {
            self.window.pop_front();
        }
        self.window.push_back(value);
        if self.window.len() < START {
            return;
        }
        let (older, newer) = self.window.as_slices();
        let alpha = AdaptiveAlpha::of_parts(older, newer).alpha();
        match &mut self.smoothing {
            Some((current, brown)) if *current == alpha => brown.observe(value),
            stale => *stale = restarted(older, newer, alpha).map(|brown| (alpha, brown)),
        }
    }

    fn restart(&mut self) {
        self.window.clear();
        self.smoothing = None;
    }

    fn predict(&self, means: &mut [f64]) {
        if let Some((_, brown)) = &self.smoothing {
            brown.coefficients(self.variant).fill(means);
        }
    }

    fn heap_bytes(&self) -> usize {
        self.window.capacity() * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(i: u32) -> f64 {
        50.0 + 30.0 * (f64::from(i) * 0.7).sin() + f64::from(i % 7)
    }

    #[test]
    fn a_factor_that_changes_restarts_on_the_window() {
        let mut model = SHpa::default();
        let mut values = Vec::new();
        for i in 0..200 {
            model.observe(wave(i));
            values.push(wave(i));
            let window = &values[values.len().saturating_sub(SHpa::WINDOW)..];
            let alpha = AdaptiveAlpha::of(window).alpha();
            if values.len() < SHpa::NEED || alpha == Alpha::LEAST || alpha == Alpha::MOST {
                continue;
            }
            assert_eq!(model.alpha().unwrap(), alpha);
            let mut means = [0.0; 3];
            model.predict(&mut means);
            let expected = window_forecast(window, Variant::Brown).unwrap();
            for (mean, ahead) in means.iter().zip([1.0, 2.0, 3.0]) {
                assert!((mean - expected.at(ahead)).abs() < 1e-9, "{i}");
            }
        }
    }

    #[test]
    fn a_steady_trend_keeps_its_smoothing() {
        let mut model = SHpa::default();
        (0..100).for_each(|i| model.observe(f64::from(i)));
        assert_eq!(model.alpha(), Some(Alpha::LEAST));
        let mut means = [0.0; 1];
        model.predict(&mut means);
        assert!(means[0] > 90.0, "{means:?}");
    }

    #[test]
    fn a_window_that_does_not_vary_has_the_even_factor() {
        for constant in [0.0, 0.1, 1e9] {
            let alpha = AdaptiveAlpha::of(&[constant; SHpa::WINDOW]);
            assert_eq!(
                (alpha.raw, alpha.alpha()),
                (None, Alpha::EVEN),
                "{constant}"
            );
        }
        assert_eq!(AdaptiveAlpha::of(&[]).alpha(), Alpha::EVEN);
    }
}
