//! The trainer of models in `evenkeel-forecast`: trees by `hessboost`, and networks.

use std::num::NonZeroUsize;

use evenkeel_forecast::{GruNetwork, Trainer, TrainingError, TreeRow, Trees, WindowRows};

use crate::boosting::{BoostingSettings, Rows, fit};
use crate::networks::{NetworkSettings, fit_networks};

/// The quantile with the least absolute error.
const MEDIAN: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelTrainer {
    trees: BoostingSettings,
    networks: NetworkSettings,
}

impl ModelTrainer {
    /// Threads change the time, not the result. Settings were chosen on the training parts of
    /// recorded loads alone; `docs/project/sources.md` has the alternatives and their results.
    pub const fn with(threads: NonZeroUsize) -> Self {
        Self {
            trees: BoostingSettings {
                trees: 150,
                leaves: 15,
                rate: 0.05,
                leaf_weight: 10.0,
                bins: 128,
                shares: [0.7, 0.5],
                threads,
            },
            networks: NetworkSettings::with(threads),
        }
    }
}

impl Trainer for ModelTrainer {
    fn medians(&self, rows: &[TreeRow]) -> Result<Trees, TrainingError> {
        let mut given = Rows::new(rows.first().map_or(0, |row| row.inputs.len()));
        for TreeRow { inputs, label } in rows {
            given.push(inputs, *label, 0.0);
        }
        fit(&given, MEDIAN, &self.trees).map_err(|error| TrainingError(error.to_string()))
    }

    fn networks(
        &self,
        rows: &WindowRows,
        before: &[GruNetwork],
    ) -> Result<Vec<GruNetwork>, TrainingError> {
        fit_networks(rows, before, &self.networks).map_err(|error| TrainingError(error.to_string()))
    }
}

#[cfg(test)]
mod tests;
