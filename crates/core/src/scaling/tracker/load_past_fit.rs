//! What a load's longer past teaches, which is not kept here.

use std::sync::Arc;

use crate::forecast::{DailyHighs, OwnPeaks};
use crate::scaling::counterfactual::Counterfactual;

/// What the past of a load taught.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LoadPastFit {
    /// Trees of its own; `None` where what all targets share does better.
    pub own: Option<Arc<OwnPeaks>>,
    /// What the newest part of the past would have been, forecast by what had not seen it.
    pub trial: Counterfactual,
    /// How high the load was on each day.
    pub highs: DailyHighs,
}
