//! What forecasts of a run know beside the load.

use std::fmt;
use std::sync::Arc;

use super::past;
use evenkeel_core::forecast::{GlobalPeaks, Minutes, Resolution, Series};
use evenkeel_core::scaling::tracker::Learnt;
use evenkeel_core::scaling::trial::TrialPods;

/// Learns from the past of a target's Pods, for a window of so many minutes; `None` where it is too
/// short.
pub type LearnOwn<'a> = &'a (dyn Fn(&Minutes, usize, &TrialPods) -> Option<Learnt> + Sync);

/// What forecasts of a run know beside the load.
#[derive(Clone)]
pub struct Knowledge<'a> {
    /// The weights of `global`.
    pub global: Arc<GlobalPeaks>,
    /// Who learns once, from the past before the judged days.
    pub own: Option<LearnOwn<'a>>,
}

impl Default for Knowledge<'_> {
    /// What is shipped.
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

/// A load as trees are fitted on it: the means of its whole minutes. `None` where there is none.
#[must_use]
pub fn minutes_of(load: &Series) -> Option<Minutes> {
    let end = load.end().checked_add(load.step()).ok()?;
    Some(minutes(&past::means(load, Resolution::Minute.step(), end)?))
}

/// A past of minutes as trees are fitted on it.
pub(super) fn minutes(past: &Series) -> Minutes {
    #[expect(clippy::cast_possible_truncation, reason = "as histories are kept")]
    let narrowed = |value: &Option<f64>| value.map_or(f32::NAN, |value| value as f32);
    Minutes::new(
        past.start().as_second(),
        past.values().iter().map(narrowed).collect(),
    )
}
