//! The likeliest parameters of each form of smoothing, and the form of the least AICc.

use evenkeel_units::count_as_f64;

use crate::minimizer::minimise;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errors {
    Even,
    Proportional,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trend {
    None,
    Slope,
    Damped,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EtsState {
    pub(super) level: f64,
    /// Per step.
    pub(super) slope: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Smoothing {
    pub(super) alpha: f64,
    pub(super) beta: f64,
    pub(super) phi: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EtsEstimate {
    pub(super) errors: Errors,
    pub(super) trend: Trend,
    pub(super) smoothing: Smoothing,
    pub(super) first: EtsState,
    pub(super) aicc: f64,
}

/// Bounds of α and of β / α; at them a filter stands still or follows blindly.
const SHARE: [f64; 2] = [1e-4, 0.9999];
/// Bounds of φ: below, the slope hardly lasts; above, it is hardly damped.
const DAMPING: [f64; 2] = [0.8, 0.98];
/// Starting values of the search for α.
const STARTS: [f64; 3] = [0.1, 0.5, 0.9];
/// Values for the first guess of level and slope.
const FIRST: usize = 10;

impl Smoothing {
    /// Returns the error of the forecast, and the forecast.
    pub(super) fn observe(&self, state: &mut EtsState, value: f64) -> (f64, f64) {
        let slope = self.phi * state.slope;
        let told = state.level + slope;
        let error = value - told;
        state.level = told + self.alpha * error;
        state.slope = slope + self.beta * error;
        (error, told)
    }
}

/// `None` of values that are not finite.
pub(super) fn select(values: &[f64]) -> Option<EtsEstimate> {
    let (first, last) = (*values.first()?, values.iter().copied());
    if last.clone().all(|value| value.to_bits() == first.to_bits()) {
        return Some(flat(first));
    }
    let is_positive = last.fold(f64::INFINITY, f64::min) > 0.0;
    let errors = [Errors::Even, Errors::Proportional].into_iter();
    let possible = errors.filter(|errors| *errors == Errors::Even || is_positive);
    let forms = possible.flat_map(|errors| {
        let trends = [Trend::None, Trend::Slope, Trend::Damped];
        trends.map(|trend| SmoothingForm::new(errors, trend, values))
    });
    let estimates = forms.map(|form| form.estimate());
    let finite = estimates.filter(|estimate| estimate.aicc.is_finite());
    finite.min_by(|a, b| a.aicc.total_cmp(&b.aicc))
}

/// For a load that does not vary.
const fn flat(level: f64) -> EtsEstimate {
    EtsEstimate {
        errors: Errors::Even,
        trend: Trend::None,
        smoothing: Smoothing {
            alpha: 1.0,
            beta: 0.0,
            phi: 0.0,
        },
        first: EtsState { level, slope: 0.0 },
        aicc: f64::NEG_INFINITY,
    }
}

struct SmoothingForm<'a> {
    errors: Errors,
    trend: Trend,
    values: &'a [f64],
    /// By a line through the first values.
    guess: EtsState,
    /// The size of changes, which scales the search for first states.
    unit: f64,
}

impl<'a> SmoothingForm<'a> {
    fn new(errors: Errors, trend: Trend, values: &'a [f64]) -> Self {
        let first = &values[..FIRST.min(values.len())];
        let n = count_as_f64(first.len());
        let mean = first.iter().sum::<f64>() / n;
        let middle = (n - 1.0) / 2.0;
        let place = |index: usize| count_as_f64(index) - middle;
        let along = first.iter().enumerate();
        let rise = along
            .map(|(index, value)| place(index) * value)
            .sum::<f64>();
        let slope = match trend {
            Trend::None => 0.0,
            Trend::Slope | Trend::Damped => rise / (n * (n * n - 1.0) / 12.0),
        };
        let changes = values.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        Self {
            errors,
            trend,
            values,
            guess: EtsState {
                level: mean - slope * (middle + 1.0),
                slope,
            },
            unit: changes.sum::<f64>() / count_as_f64(values.len() - 1),
        }
    }

    /// Parameters and first state at a point of the optimiser.
    fn at(&self, free: &[f64]) -> (Smoothing, EtsState) {
        let alpha = between(free[0], SHARE);
        let mut first = self.guess;
        first.level += free[1] * self.unit;
        let mut smoothing = Smoothing {
            alpha,
            beta: 0.0,
            phi: 0.0,
        };
        if let [_, _, beta, slope, ref damping @ ..] = *free {
            smoothing.beta = alpha * between(beta, SHARE);
            smoothing.phi = damping.first().map_or(1.0, |free| between(*free, DAMPING));
            first.slope += slope * self.unit;
        }
        (smoothing, first)
    }

    /// −2 ln L without the terms that all forms share.
    fn cost(&self, free: &[f64]) -> f64 {
        let (smoothing, mut state) = self.at(free);
        let (mut squares, mut sizes) = (0.0, 0.0);
        for &value in self.values {
            let (error, told) = smoothing.observe(&mut state, value);
            match self.errors {
                Errors::Even => squares += error * error,
                Errors::Proportional if told > 0.0 => {
                    squares += (error / told) * (error / told);
                    sizes += told.ln();
                }
                Errors::Proportional => return f64::INFINITY,
            }
        }
        let cost = count_as_f64(self.values.len()) * squares.ln() + 2.0 * sizes;
        // A perfect fit is as likely as can be.
        if cost.is_nan() { f64::INFINITY } else { cost }
    }

    fn estimate(&self) -> EtsEstimate {
        let n = count_as_f64(self.values.len());
        let size = match self.trend {
            Trend::None => 2,
            Trend::Slope => 4,
            Trend::Damped => 5,
        };
        let start = |alpha: f64| {
            let mut start = vec![0.0; size];
            start[0] = free(alpha, SHARE);
            if let Some(beta) = start.get_mut(2) {
                *beta = free(0.1, SHARE);
            }
            start
        };
        let starts = STARTS.into_iter().map(start);
        let least = starts.min_by(|a, b| self.cost(a).total_cmp(&self.cost(b)));
        let cost = |free: &[f64]| self.cost(free) / n;
        let (place, _) = minimise(cost, &least.unwrap_or_default());
        let (smoothing, first) = self.at(&place);
        // The variance is an estimated parameter too.
        let k = count_as_f64(size + 1);
        EtsEstimate {
            errors: self.errors,
            trend: self.trend,
            smoothing,
            first,
            aicc: self.cost(&place) + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0),
        }
    }
}

/// Maps a free number into the bounds.
fn between(free: f64, [least, most]: [f64; 2]) -> f64 {
    least + (most - least) / (1.0 + (-free).exp())
}

/// The inverse.
fn free(value: f64, [least, most]: [f64; 2]) -> f64 {
    ((value - least) / (most - value)).ln()
}
