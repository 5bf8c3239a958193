//! `swish-net`: one network for many loads, on the last 12 values, the load's name and the time
//! (`[IHPA]`). It reads (y_{t−i} − y_t) / s, i from 11 to 0, and answers (y_{t+h} − y_t) / s for 12
//! steps; s is the mean size of the differences plus a fiftieth of the mean size of the values. The
//! network is trained elsewhere, on many loads, so a fit only takes the newest one. Steps beyond the
//! twelfth repeat it.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use evenkeel_units::{count_as_f64, narrowed};
use jiff::Timestamp;

use crate::bounded_forecast::{bound, outlook};
use crate::context::ForecastContext;
use crate::interval_widths::Widths;
use crate::model::Model;
use crate::network::{SWISH_STEPS, SwishInput, SwishLoad};
use crate::not_ready::NotEnoughHistory;
use crate::prediction::Forecast;
use crate::series::{Arrival, Filler, RegularSeries};

/// Share of the mean value in the scale: after a standstill a small change stays small.
const OF_LEVEL: f64 = 0.02;
/// Differences are clamped to this many scales.
const MOST: f64 = 10.0;
/// Least number of values: an interval takes one error.
const NEED: usize = SWISH_STEPS + 1;

/// Twelve values as the network counts them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwishWindow {
    last: f64,
    scale: f64,
    pub values: [f32; SWISH_STEPS],
}

impl SwishWindow {
    /// `values` are the newest, oldest first; `None` if all are 0 or not finite.
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

    /// The size that counts as 1.
    pub const fn scale(&self) -> f64 {
        self.scale
    }

    /// `value` in scales.
    pub fn local(&self, value: f64) -> f32 {
        let local = (value - self.last) / self.scale;
        narrowed(local.clamp(-MOST, MOST)).unwrap_or_default()
    }

    fn value(&self, local: f32) -> f64 {
        self.last + f64::from(local) * self.scale
    }
}

/// With what its intervals are learnt from.
#[derive(Debug, Clone)]
pub(crate) struct SwishModel {
    horizon: NonZeroUsize,
    /// As of the fit; before it, the network of the context.
    network: Option<SwishLoad>,
    /// The newest, oldest first.
    values: VecDeque<f64>,
    filler: Filler,
    widths: Widths,
}

impl SwishModel {
    pub(crate) const NAME: &str = "swish-net";

    /// Learns its errors `horizon` steps ahead, and at the powers of two below that.
    pub(crate) fn towards(horizon: NonZeroUsize) -> Self {
        Self {
            horizon,
            network: None,
            values: VecDeque::with_capacity(SWISH_STEPS),
            filler: Filler::default(),
            widths: Widths::towards(horizon),
        }
    }

    fn network<'a>(&'a self, context: &'a ForecastContext<'_>) -> Option<&'a SwishLoad> {
        self.network.as_ref().or(context.shared.swish.as_ref())
    }

    fn remember(&mut self, value: f64) {
        if self.values.len() == SWISH_STEPS {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    /// The last value, at `second`, and the forecasts after it.
    fn ahead(
        &self,
        context: &ForecastContext<'_>,
        second: Timestamp,
        steps: usize,
    ) -> Option<(f64, Vec<f64>)> {
        let SwishLoad { net, category } = self.network(context)?;
        let values: Vec<f64> = self.values.iter().copied().collect();
        let values: [f64; SWISH_STEPS] = values.try_into().ok()?;
        let last = values[SWISH_STEPS - 1];
        let Some(window) = SwishWindow::of(&values) else {
            return Some((last, vec![last; steps]));
        };
        let answer = net.answer(&SwishInput {
            category: *category,
            second_of_week: context.shared.calendar.second_of_week(second),
            values: window.values,
        });
        let mut means: Vec<f64> = answer.iter().map(|&local| window.value(local)).collect();
        let furthest = means.last().copied().unwrap_or(last);
        means.resize(steps, furthest);
        Some((last, means))
    }

    /// Observes a value of the time `at`, and issues forecasts.
    fn take(&mut self, value: f64, at: Timestamp, context: &ForecastContext<'_>) {
        self.remember(value);
        let ahead = self.ahead(context, at, self.horizon.get());
        let Some((last, mut means)) = ahead else {
            return;
        };
        bound(&mut means, last);
        self.widths.issue(|issued| issued.copy_from_slice(&means));
    }
}

fn before(context: &ForecastContext<'_>, steps: usize) -> Timestamp {
    let steps = i32::try_from(steps).unwrap_or(i32::MAX);
    let span = context.step.checked_mul(steps);
    let time = span.and_then(|span| context.origin.checked_sub(span).ok());
    time.unwrap_or(Timestamp::MIN)
}

impl Model for SwishModel {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn fit(
        &mut self,
        past: &RegularSeries,
        context: &ForecastContext<'_>,
    ) -> Result<(), NotEnoughHistory> {
        let network = context.shared.swish.clone();
        let usable = past.usable();
        self.network = Some(network.ok_or(NotEnoughHistory {
            need: NEED,
            have: 0,
        })?);
        self.values.clear();
        self.filler = Filler::after(&usable);
        let from = usable.values.len().saturating_sub(SWISH_STEPS);
        for &value in &usable.values[from..] {
            self.remember(value);
        }
        Ok(())
    }

    fn observe(&mut self, observation: Option<f64>, context: &ForecastContext<'_>) {
        match self.filler.accept(observation) {
            Arrival::Values(filling, value) => {
                let filled: Vec<f64> = filling.collect();
                for (&value, steps) in filled.iter().zip((1..=filled.len()).rev()) {
                    self.take(value, before(context, steps), context);
                }
                if context.is_judged() {
                    self.widths.score(value);
                }
                self.take(value, context.origin, context);
            }
            Arrival::Restart => {
                self.values.clear();
                self.widths.restart();
            }
            Arrival::Nothing => {}
        }
    }

    fn forecast(
        &self,
        horizon: usize,
        context: &ForecastContext<'_>,
    ) -> Result<Forecast, NotEnoughHistory> {
        let has_network = self.network(context).is_some();
        let not_enough = NotEnoughHistory {
            need: NEED,
            have: if has_network { self.values.len() } else { 0 },
        };
        let missing = self.filler.missing();
        let newest = before(context, missing);
        let ahead = self.ahead(context, newest, missing + horizon);
        let (last, means) = ahead.ok_or(not_enough)?;
        outlook(means, last, missing, &self.widths, context).ok_or(not_enough)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.widths.heap_bytes() + self.values.capacity() * size_of::<f64>()
    }
}
