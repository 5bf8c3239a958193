//! The results learnt from a load's longer past, which is not kept here.

use std::sync::Arc;

use evenkeel_forecast::{LoadHighs, OwnPeaks};

use crate::counterfactual::Counterfactual;

/// The results learnt from the past of a load.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadPastFit {
    /// Trees of its own; `None` where what all targets share does better.
    pub own: Option<Arc<OwnPeaks>>,
    /// The replay of the newest part of the past, with forecasts by a model that had not seen it.
    pub trial: Counterfactual,
    /// The highest loads of the past.
    pub highs: LoadHighs,
}
