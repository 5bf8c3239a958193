//! Networks that correct a forecast from its newest inputs, for `gru` and `arima-gru`. Inputs are
//! divided by the mean absolute value of the window, so that the scale of a load does not matter.
//! Errors count in the unit of the load.

use evenkeel_units::{count_as_f64, narrowed};

use crate::network::{GruNetwork, WindowRows};
use crate::trainer::Trainer;

/// Least scale, as a share of the mean over all rows: after a standstill a small change stays
/// small.
const LEAST_SCALE: f64 = 0.1;
/// Values are clamped to this many scales.
const MOST: f64 = 10.0;

/// The inputs before one origin, and the errors of the forecasts made there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Example {
    pub(crate) recent: Vec<f64>,
    pub(crate) missed: Vec<f64>,
}

/// Networks with averaged answers, and their scale.
#[derive(Debug, Clone, Default)]
pub(crate) struct Corrector {
    /// Empty if nothing moved at all.
    networks: Box<[GruNetwork]>,
    scale: f64,
}

impl Corrector {
    /// `examples` are oldest first; training starts from the networks of `before`. `None` if it
    /// fails.
    pub(crate) fn fitted(
        examples: &[Example],
        before: Option<&Self>,
        trainer: &dyn Trainer,
    ) -> Option<Self> {
        let first = examples.first()?;
        let sizes: f64 = examples.iter().map(|example| size(&example.recent)).sum();
        let scale = sizes / count_as_f64(examples.len());
        let mut this = Self {
            networks: Box::default(),
            scale,
        };
        if scale <= 0.0 || !scale.is_finite() {
            // Constant or not finite: nothing is added.
            return Some(this);
        }
        let mut rows = WindowRows::new(first.recent.len(), first.missed.len());
        for Example { recent, missed } in examples {
            let local = this.local(recent);
            let missed = missed.iter().map(|missed| limited(missed / local));
            let weight = limited(local / scale);
            rows.push(window(recent, local), missed, weight);
        }
        let before = before.map_or(&[][..], |before| &before.networks);
        this.networks = trainer.networks(&rows, before).ok()?.into();
        Some(this)
    }

    fn local(&self, recent: &[f64]) -> f64 {
        size(recent).clamp(LEAST_SCALE * self.scale, f64::MAX)
    }

    /// The correction of each step, given the inputs before the origin.
    pub(crate) fn answer(&self, recent: &[f64]) -> Vec<f64> {
        let local = self.local(recent);
        let window: Vec<f32> = window(recent, local).collect();
        let Some((first, others)) = self.networks.split_first() else {
            return Vec::new();
        };
        let mut sums: Vec<f64> = first.answer(&window).into_iter().map(f64::from).collect();
        for network in others {
            for (sum, answer) in sums.iter_mut().zip(network.answer(&window)) {
                *sum += f64::from(answer);
            }
        }
        let share = local / count_as_f64(self.networks.len());
        sums.iter().map(|sum| sum * share).collect()
    }

    pub(crate) fn counts(&self) -> (usize, usize) {
        let each = self.networks.first();
        let each = each.map_or(0, |network| network.shape().count());
        (self.networks.len(), each)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let each = self.networks.iter();
        each.map(|network| size_of::<GruNetwork>() + network.heap_bytes())
            .sum()
    }
}

fn size(values: &[f64]) -> f64 {
    let each = 1.0 / count_as_f64(values.len().max(1));
    values.iter().map(|value| value.abs() * each).sum()
}

fn window(recent: &[f64], scale: f64) -> impl Iterator<Item = f32> {
    recent.iter().map(move |value| limited(value / scale))
}

fn limited(value: f64) -> f32 {
    narrowed(value.clamp(-MOST, MOST)).unwrap_or_default()
}
