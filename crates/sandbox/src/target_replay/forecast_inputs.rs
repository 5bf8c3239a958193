//! The inputs of a run's forecasts besides the load.

use std::fmt;
use std::sync::Arc;

use evenkeel_forecast::{
    GlobalPeaks, Minutes, ModelSet, NotEnoughHistory, RegularSeries, Resolution,
};
use evenkeel_scaling::counterfactual::TrialPods;
use evenkeel_scaling::tracker::{LoadModel, LoadPastFit};

use super::coarse_history;

/// Learns from the past of a target's Pods, for a window in minutes; `None` if it is too short.
pub type LearnOwn<'a> = &'a (dyn Fn(&Minutes, usize, &TrialPods) -> Option<LoadPastFit> + Sync);

/// Fits the model of a target on its past, for a window in minutes.
pub type FitModel<'a> =
    &'a (dyn Fn(&Minutes, usize, ModelSet) -> Result<LoadModel, NotEnoughHistory> + Sync);

/// Made by the service in the background.
#[derive(Clone, Copy)]
pub struct FitFunctions<'a> {
    pub trees: LearnOwn<'a>,
    pub model: FitModel<'a>,
}

impl FitFunctions<'static> {
    pub const NONE: Self = Self {
        trees: &|_, _, _| None,
        model: &|_, _, _| Err(NotEnoughHistory { need: 1, have: 0 }),
    };
}

#[derive(Clone)]
pub struct Knowledge<'a> {
    pub global: Arc<GlobalPeaks>,
    /// Without it, floors rest on the load itself.
    pub own: Option<DailyFit<'a>>,
}

/// Due when the service's are (`LoadTracker::fits_due`).
#[derive(Clone, Copy)]
pub struct DailyFit<'a> {
    /// By [`evenkeel_scaling::tracker::fit_times::daily_hour`].
    pub hour: i64,
    pub fits: FitFunctions<'a>,
}

impl Default for Knowledge<'_> {
    /// Shipped weights, and no fits.
    fn default() -> Self {
        Self {
            global: GlobalPeaks::shipped(),
            own: None,
        }
    }
}

impl fmt::Debug for Knowledge<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = if self.own.is_some() { "fitted" } else { "none" };
        write!(f, "Knowledge {{ global: {:?}, own: {own} }}", self.global)
    }
}

/// Means of whole minutes, for fits of trees; `None` without any.
#[must_use]
pub fn minutes_of(load: &RegularSeries) -> Option<Minutes> {
    let end = load.end().checked_add(load.step()).ok()?;
    Some(minutes(&coarse_history::means(
        load,
        Resolution::Minute.step(),
        end,
    )?))
}

/// For fits of trees.
fn minutes(past: &RegularSeries) -> Minutes {
    Minutes::new(past.start().as_second(), narrowed(past))
}

/// As the service gets it from a database, with short gaps interpolated.
pub(super) fn bridged(past: &RegularSeries) -> Minutes {
    Minutes::bridged(past.start().as_second(), narrowed(past))
}

fn narrowed(past: &RegularSeries) -> Vec<f32> {
    #[expect(clippy::cast_possible_truncation, reason = "as histories are kept")]
    let narrowed = |value: &Option<f64>| value.map_or(f32::NAN, |value| value as f32);
    past.values().iter().map(narrowed).collect()
}
