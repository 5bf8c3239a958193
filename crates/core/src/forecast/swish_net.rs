//! `swish-net`: one network for many loads, on the last 12 values, the load's name and the time (`[IHPA]`).
//!
//! (y_{t−i} − y_t) / s are read, i from 11 to 0, and (y_{t+h} − y_t) / s answered for 12 steps; s is the mean size of the
//! differences, and a fiftieth of the mean size of the values. The network comes from a file: nothing is estimated here.
//! The model has no memory of its own, but reads the history. Steps beyond the twelfth stay as that.

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::context::Context;
use super::model::Model;
use super::network::{SWISH_STEPS, SwishInput, SwishNet};
use super::not_ready::NotEnoughHistory;
use super::outlook::{bound, outlook};
use super::prediction::Forecast;
use super::widths::Widths;
use crate::units::{count_as_f64, narrowed};

/// The share of the mean size of the values in the scale: where nothing moved for a while, a small change is small.
const OF_LEVEL: f64 = 0.02;
/// A difference beyond this many scales reads as one of so many.
const MOST: f64 = 10.0;

/// The network of a load.
#[derive(Debug, Clone)]
pub struct SwishLoad {
    pub net: Arc<SwishNet>,
    /// The number of the load among those that the network knows by name.
    pub category: Option<usize>,
}

/// Twelve values as the network counts them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwishWindow {
    last: f64,
    scale: f64,
    /// What the network reads.
    pub values: [f32; SWISH_STEPS],
}

impl SwishWindow {
    /// `values` are the newest, the last one at the end; `None` where all are 0 or they are too large to tell.
    #[must_use]
    pub fn of(values: &[f64; SWISH_STEPS]) -> Option<Self> {
        let last = values[SWISH_STEPS - 1];
        let each = 1.0 / count_as_f64(SWISH_STEPS);
        let mean =
            |size: &dyn Fn(f64) -> f64| values.iter().map(|&value| each * size(value).abs()).sum();
        let (differences, level): (f64, f64) = (mean(&|value| value - last), mean(&|value| value));
        let scale = differences + OF_LEVEL * level;
        if scale <= 0.0 || !scale.is_finite() {
            return None;
        }
        let mut this = Self {
            last,
            scale,
            values: [0.0; SWISH_STEPS],
        };
        this.values = values.map(|value| this.local(value));
        Some(this)
    }

    /// The size that counts as one.
    #[must_use]
    pub const fn scale(&self) -> f64 {
        self.scale
    }

    /// A value as the network counts it.
    #[must_use]
    pub fn local(&self, value: f64) -> f32 {
        let local = (value - self.last) / self.scale;
        narrowed(local.clamp(-MOST, MOST)).unwrap_or_default()
    }

    fn value(&self, local: f32) -> f64 {
        self.last + f64::from(local) * self.scale
    }
}

/// `swish-net`, with what its intervals are learnt from.
#[derive(Debug, Clone)]
pub(super) struct SwishModel {
    widths: Widths,
}

impl SwishModel {
    /// The name of the model.
    pub(super) const NAME: &str = "swish-net";

    /// Learns its errors `horizon` steps ahead, and below that of powers of two.
    pub(super) fn towards(horizon: NonZeroUsize) -> Self {
        Self {
            widths: Widths::towards(horizon),
        }
    }
}

/// The newest values in the history; fewer where some are not known.
fn known(context: &Context<'_>) -> Vec<f64> {
    let back = |steps: usize| {
        let span = context.step.checked_mul(i32::try_from(steps).ok()?)?;
        let time = context.origin.checked_sub(span).ok()?;
        context.history.at(time)
    };
    let mut values: Vec<f64> = (0..SWISH_STEPS).map_while(back).collect();
    values.reverse();
    values
}

/// The last value, and the forecasts of so many steps after it.
fn ahead(context: &Context<'_>, steps: usize) -> Option<(f64, Vec<f64>)> {
    let SwishLoad { net, category } = context.shared.swish.as_ref()?;
    let values: [f64; SWISH_STEPS] = known(context).try_into().ok()?;
    let last = values[SWISH_STEPS - 1];
    let Some(window) = SwishWindow::of(&values) else {
        return Some((last, vec![last; steps]));
    };
    let answer = net.answer(&SwishInput {
        category: *category,
        second_of_week: context.shared.calendar.second_of_week(context.origin),
        values: window.values,
    });
    let mut means: Vec<f64> = answer.iter().map(|&local| window.value(local)).collect();
    let furthest = means.last().copied().unwrap_or(last);
    means.resize(steps, furthest);
    Some((last, means))
}

impl Model for SwishModel {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn observe(&mut self, observation: Option<f64>, context: &Context<'_>) {
        if let Some(value) = observation.filter(|_| context.is_judged()) {
            self.widths.score(value);
        }
        let mut is_known = true;
        self.widths
            .issue(|means| match ahead(context, means.len()) {
                Some((last, found)) => {
                    means.copy_from_slice(&found);
                    bound(means, last);
                }
                None => is_known = false,
            });
        if !is_known {
            self.widths.restart();
        }
    }

    fn forecast(
        &self,
        horizon: usize,
        context: &Context<'_>,
    ) -> Result<Forecast, NotEnoughHistory> {
        let has_network = context.shared.swish.is_some();
        let not_enough = NotEnoughHistory {
            need: SWISH_STEPS + 1, // an interval takes one error
            have: if has_network { known(context).len() } else { 0 },
        };
        let (last, means) = ahead(context, horizon).ok_or(not_enough)?;
        outlook(means, last, 0, &self.widths, context).ok_or(not_enough)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.widths.heap_bytes()
    }
}
