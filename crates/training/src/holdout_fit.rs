//! Fits a target's own trees and checks their worth: trees fitted on the older past are compared
//! with `global` on the newest part, which also shows what floors on the better of the two would
//! have come to.

use std::sync::Arc;

use evenkeel_forecast::{
    GlobalPeaks, LEVELS, LoadHighs, Masks, Minutes, OwnPeaks, inputs, own_quantiles,
};
use evenkeel_scaling::counterfactual::{Counterfactual, TrialPods};
use evenkeel_scaling::tracker::LoadPastFit;

use crate::boosting::BoostingError;
use crate::peak_evaluation::pinball;
use crate::peaks::{OwnRow, OwnSettings, fit_own, own_rows, part};

/// One in so many rows is held out; three days at most.
const PART: usize = 3;
const MOST: usize = 3 * 1440;
/// Indexes of the levels that floors are made at.
const JUDGED: [usize; 2] = [2, 3];

/// Mean held-out losses (pinball, at the levels 0.8 and 0.95 together), in parts of the mean load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HeldOut {
    /// First held-out minute.
    from: usize,
    pub(crate) own: f64,
    pub(crate) global: f64,
}

impl HeldOut {
    /// The own trees do no worse than `global`.
    pub(crate) fn pays(&self) -> bool {
        self.own <= self.global
    }
}

/// Fits own trees if they pay; `None` if the past is too short.
///
/// # Errors
/// A refusal by the library.
pub fn learn(
    global: &GlobalPeaks,
    past: &Minutes,
    window: usize,
    pods: &TrialPods,
    settings: &OwnSettings,
) -> Result<Option<LoadPastFit>, BoostingError> {
    let rows = own_rows(global, past, window, settings);
    let Some((older, held_out)) = hold_out(&rows, window, settings)? else {
        return Ok(None);
    };
    let minutes = (past.start()..).step_by(60).zip(past.values());
    let highs = LoadHighs::of(minutes.map(|(second, &load)| (second, load)));
    let (from, unseen) = if held_out.pays() {
        (held_out.from, Some(&older))
    } else {
        (past.values().len().saturating_sub(MOST), None)
    };
    let trial = Counterfactual::over(past, from, pods, |index| {
        if let Ok(place) = rows.binary_search_by_key(&index, |one| one.row.index) {
            let OwnRow { row, rises } = &rows[place];
            return Some(own_quantiles(*rises, unseen, &row.inputs));
        }
        // The load after it is unknown.
        let inputs = inputs(&past.past(index), window, Masks::NONE)?;
        Some(global.quantiles(unseen, &inputs))
    });
    let own = match (held_out.pays(), settings.refits) {
        (false, _) => None,
        (true, false) => Some(older),
        (true, true) => Some(fit_own(&rows, window, settings)?),
    };
    Ok(Some(LoadPastFit {
        own: own.map(Arc::new),
        trial,
        highs,
    }))
}

/// Fits own trees on the older past, and judges them on the newest; `None` if the past is too
/// short.
pub(crate) fn hold_out(
    rows: &[OwnRow],
    window: usize,
    settings: &OwnSettings,
) -> Result<Option<(OwnPeaks, HeldOut)>, BoostingError> {
    if rows.len() < settings.least {
        return Ok(None);
    }
    let (older, newest) = part(rows, (rows.len() / PART).min(MOST), window);
    let (false, Some(first)) = (older.is_empty(), newest.first()) else {
        return Ok(None);
    };
    let own = fit_own(older, window, settings)?;
    let held_out = HeldOut {
        from: first.row.index,
        own: loss(Some(&own), newest),
        global: loss(None, newest),
    };
    Ok(Some((own, held_out)))
}

fn loss(own: Option<&OwnPeaks>, rows: &[OwnRow]) -> f64 {
    let losses = rows.iter().map(|OwnRow { row, rises }| {
        let quantiles = own_quantiles(*rises, own, &row.inputs);
        let largest = row.inputs.last + row.inputs.scale * f64::from(row.rise);
        let at = |level: usize| {
            let over = (largest - quantiles.level(level)) / row.inputs.scale;
            pinball(over, LEVELS[level])
        };
        JUDGED.map(at).iter().sum::<f64>()
    });
    let (sum, count) = losses.fold((0.0, 0_u32), |(sum, count), loss| (sum + loss, count + 1));
    sum / f64::from(count.max(1))
}

#[cfg(test)]
mod tests;
