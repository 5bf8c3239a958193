//! The score of forecasts of the largest load.

use super::quantiles::{LEVELS, Quantiles};
use crate::accuracy::HorizonAccuracy;
use crate::trust::ModelTrust;

/// Index of the level by which forecasts are judged.
const JUDGED: usize = 2;
/// Minutes after which a judged forecast has faded to 1/e: half a day.
const MEMORY: u32 = 720;
/// Step of the rival's factor per forecast.
const RATE: f64 = 0.02;

/// A score against the best factor on the last load: what an HPA with a lower target covers at the
/// same level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Score {
    scored: u32,
    /// The rival's multiple of the last load.
    factor: f64,
    /// Mean losses at the judged level: of the forecast and of the rival.
    losses: [f64; 2],
    /// Mean absolute errors of the median and of the last load.
    errors: [f64; 2],
    coverages: [f64; 2],
    trusted: bool,
}

impl Default for Score {
    fn default() -> Self {
        Self {
            scored: 0,
            factor: 1.0,
            losses: [0.0; 2],
            errors: [0.0; 2],
            coverages: [0.0; 2],
            trusted: false,
        }
    }
}

impl Score {
    /// A forecast made at a load of `last`; the `largest` load came.
    pub(super) fn take(&mut self, last: f32, levels: &[f32; LEVELS.len()], largest: f64) {
        self.scored = (self.scored + 1).min(MEMORY);
        let last = f64::from(last);
        let level = |index: usize| f64::from(levels[index]);
        let share = LEVELS[JUDGED];
        let loss = |told: f64| {
            let over = largest - told;
            over * if over > 0.0 { share } else { share - 1.0 }
        };
        let rival = last * self.factor;
        let quantiles = Quantiles::new(std::array::from_fn(level));
        let inside = |(low, high): (f64, f64)| {
            if low <= largest && largest <= high {
                1.0
            } else {
                0.0
            }
        };
        let values = [
            loss(level(JUDGED)),
            loss(rival),
            (largest - level(1)).abs(),
            (largest - last).abs(),
            inside(quantiles.interval80()),
            inside(quantiles.interval95()),
        ];
        let step = if largest > rival { share } else { share - 1.0 };
        self.factor = (self.factor + RATE * step).clamp(0.5, 4.0);
        let means = self
            .losses
            .iter_mut()
            .chain(&mut self.errors)
            .chain(&mut self.coverages);
        for (mean, value) in means.zip(values) {
            *mean += (value - *mean) / f64::from(self.scored);
        }
        self.trusted = self.trust().is_trusted();
    }

    pub(super) fn accuracy(&self) -> HorizonAccuracy {
        HorizonAccuracy {
            scored: self.scored,
            mae: self.errors[0],
            naive_mae: self.errors[1],
            mase: None,
            coverage80: self.coverages[0],
            coverage95: self.coverages[1],
        }
    }

    pub(super) fn trust(&self) -> ModelTrust {
        let [own, rival] = self.losses;
        ModelTrust::judged(
            self.scored,
            (rival > 0.0).then(|| own / rival),
            self.trusted,
        )
    }
}
