//! A trainer that fits networks once and keeps them, to write networks into files and read them
//! back.

use std::sync::OnceLock;

use evenkeel_forecast::{GruNetwork, Trainer, TrainingError, TreeRow, Trees, WindowRows};

use crate::trainer::ModelTrainer;

/// Fits networks on the first rows, and answers every request with them.
#[derive(Debug)]
pub struct TrainedOnce {
    trainer: ModelTrainer,
    /// Starting weights; empty without any.
    before: Vec<GruNetwork>,
    fitted: OnceLock<Result<Vec<GruNetwork>, TrainingError>>,
}

impl TrainedOnce {
    pub const fn after(before: Vec<GruNetwork>, trainer: ModelTrainer) -> Self {
        Self {
            trainer,
            before,
            fitted: OnceLock::new(),
        }
    }

    pub fn with(networks: Vec<GruNetwork>, trainer: ModelTrainer) -> Self {
        let this = Self::after(Vec::new(), trainer);
        this.fitted.get_or_init(|| Ok(networks));
        this
    }

    /// # Errors
    /// [`TrainingError`]: no model has asked for networks, or the fit failed.
    pub fn fitted(&self) -> Result<&[GruNetwork], TrainingError> {
        match self.fitted.get() {
            Some(Ok(networks)) => Ok(networks),
            Some(Err(error)) => Err(error.clone()),
            None => Err(TrainingError(
                "the load does not change, so there is nothing to learn".to_owned(),
            )),
        }
    }
}

impl Trainer for TrainedOnce {
    fn medians(&self, rows: &[TreeRow]) -> Result<Trees, TrainingError> {
        self.trainer.medians(rows)
    }

    fn networks(
        &self,
        rows: &WindowRows,
        _: &[GruNetwork],
    ) -> Result<Vec<GruNetwork>, TrainingError> {
        let fit = || self.trainer.networks(rows, &self.before);
        self.fitted.get_or_init(fit).clone()
    }
}
