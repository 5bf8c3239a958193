//! Trees of a series' own, which all policies of the series share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_core::forecast::{GlobalPeaks, Minutes, OwnPeaks};
use evenkeel_training::{OwnSettings, fit_own};

/// The trees of one series, by the minutes of their window; `None` where its past is too short for any.
#[derive(Debug, Default)]
pub(super) struct OwnTrees(Mutex<HashMap<usize, Option<Arc<OwnPeaks>>>>);

impl OwnTrees {
    /// The trees for a window, fitted on the past at the first call.
    pub(super) fn get(
        &self,
        global: &GlobalPeaks,
        past: &Minutes,
        window: usize,
    ) -> Option<Arc<OwnPeaks>> {
        // Each fit is whole or not there, whoever panicked.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fit = || {
            // Rows of numbers that are finite are not refused.
            let fitted = fit_own(global, past, window, &OwnSettings::default());
            fitted.ok().flatten().map(Arc::new)
        };
        known.entry(window).or_insert_with(fit).clone()
    }
}
