//! Turns a model's means into a forecast: bounded, and with intervals.

use super::context::ForecastContext;
use super::interval_widths::Widths;
use super::prediction::Forecast;

/// Steps after `context.origin`; `None` before an interval is known. `means` begin after the newest
/// value, which was `last` and came `missing` steps before the origin.
pub(crate) fn outlook(
    mut means: Vec<f64>,
    last: f64,
    missing: usize,
    widths: &Widths,
    context: &ForecastContext<'_>,
) -> Option<Forecast> {
    let unbounded = unbounded(&means[missing..], last);
    let clamped = bound(&mut means[missing..], last);
    let ahead = means.into_iter().zip(1..).skip(missing);
    let steps = ahead.map(|(mean, ahead)| widths.step(mean, ahead));
    Some(Forecast {
        origin: context.origin,
        step: context.step,
        steps: steps.collect::<Option<_>>()?,
        clamped,
        unbounded,
    })
}

/// Replaces means below zero by 0 and those that are not finite by the last observation. Returns
/// the number replaced.
pub(crate) fn bound(means: &mut [f64], last: f64) -> usize {
    let mut clamped = 0;
    for mean in means {
        let possible = if mean.is_finite() { *mean } else { last }.max(0.0);
        clamped += usize::from(possible.to_bits() != (*mean + 0.0).to_bits());
        *mean = possible;
    }
    clamped
}

/// The means if one is below zero, with the last observation for those not finite; else empty.
fn unbounded(means: &[f64], last: f64) -> Box<[f64]> {
    if means.iter().all(|mean| *mean >= 0.0 || !mean.is_finite()) {
        return Box::default();
    }
    let finite = |mean: &f64| if mean.is_finite() { *mean } else { last };
    means.iter().map(finite).collect()
}
