//! The models that are fitted on a series' own past; all policies of the series share them.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_forecast::{GlobalPeaks, Minutes, ModelAssets, ModelSet, NotEnoughHistory};
use evenkeel_sandbox::target_replay::FitFunctions;
use evenkeel_scaling::counterfactual::TrialPods;
use evenkeel_scaling::tracker::{LoadModel, LoadPastFit};
use evenkeel_training::{ModelTrainer, OwnSettings, learn};

/// The fits that the service makes, with the weights that are shipped.
pub(crate) const AS_SHIPPED: FitFunctions<'static> = FitFunctions {
    trees: &learnt_as_shipped,
    model: &fit_model,
};

/// A model that a target names, as the service fits it.
///
/// # Errors
/// [`NotEnoughHistory`] where its past is too short.
pub(crate) fn fit_model(
    past: &Minutes,
    window: usize,
    models: ModelSet,
) -> Result<LoadModel, NotEnoughHistory> {
    let shared = ModelAssets {
        trainer: Some(Arc::new(ModelTrainer::with(NonZeroUsize::MIN))),
        ..ModelAssets::default()
    };
    LoadModel::fitted(models, past, window, &shared)
}

/// The fit on a past with the shipped weights, as the service makes it.
fn learnt_as_shipped(past: &Minutes, window: usize, pods: &TrialPods) -> Option<LoadPastFit> {
    let (global, settings) = (GlobalPeaks::shipped(), OwnSettings::default());
    // Rows of numbers that are finite are not refused.
    learn(&global, past, window, pods, &settings).ok().flatten()
}

#[derive(Debug, Default)]
pub(crate) struct OwnPast {
    /// By window in minutes, and begin and end of the past; `None` if it is too short.
    known: Mutex<HashMap<(usize, i64, usize), Option<LoadPastFit>>>,
    settings: OwnSettings,
}

impl OwnPast {
    /// Learns in half the time: trees are not fitted again on the data that they were judged by.
    pub(crate) fn quick() -> Self {
        let plain = OwnSettings::default();
        Self {
            settings: OwnSettings {
                refits: false,
                ..plain
            },
            ..Self::default()
        }
    }

    /// The fit on `past` up to its end for a window. The first call makes the fit.
    pub(crate) fn learnt(
        &self,
        global: &GlobalPeaks,
        past: &Minutes,
        window: usize,
        pods: &TrialPods,
    ) -> Option<LoadPastFit> {
        // Each fit is complete or missing, even after a panic.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fit = || {
            // Rows of numbers that are finite are not refused.
            let fitted = learn(global, past, window, pods, &self.settings);
            fitted.ok().flatten()
        };
        let key = (window, past.start(), past.values().len());
        known.entry(key).or_insert_with(fit).clone()
    }
}
