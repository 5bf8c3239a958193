//! The check that trees of a target's own are worth it: on the newest part of the past, which trees
//! fitted on the rest have not seen, they are compared with what all targets share.

use evenkeel_core::forecast::{GlobalPeaks, LEVELS, Minutes, OwnPeaks};

use crate::boosting::BoostingError;
use crate::judged::pinball;
use crate::peaks::{OwnSettings, Row, fit_rows, own_rows, part};

/// The share of the rows that is held out, as one part of so many; a day at most.
const PART: usize = 4;
const MOST: usize = 1440;
/// The places of the levels that floors are made at.
const JUDGED: [usize; 2] = [2, 3];

/// The mean losses on the held-out part (pinball, at the levels 0.8 and 0.95 together), as parts of
/// the mean load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOut {
    pub own: f64,
    pub global: f64,
}

impl HeldOut {
    /// True where the target's own trees do no worse than what all targets share.
    #[must_use]
    pub fn pays(&self) -> bool {
        self.own <= self.global
    }
}

/// Fits trees of a target's own on the older part of its past, and judges them on the newest; `None` where
/// the past is too short.
///
/// # Errors
/// Where the library refuses the rows.
pub fn hold_out(
    global: &GlobalPeaks,
    past: &Minutes,
    window: usize,
    settings: &OwnSettings,
) -> Result<Option<HeldOut>, BoostingError> {
    let rows = own_rows(past, window, settings);
    if rows.len() < settings.least {
        return Ok(None);
    }
    let (older, newest) = part(&rows, (rows.len() / PART).min(MOST), window);
    if older.is_empty() || newest.is_empty() {
        return Ok(None);
    }
    let own = fit_rows(global, older, window, settings)?;
    Ok(Some(HeldOut {
        own: loss(global, Some(&own), newest),
        global: loss(global, None, newest),
    }))
}

/// The mean loss over the rows.
fn loss(global: &GlobalPeaks, own: Option<&OwnPeaks>, rows: &[Row]) -> f64 {
    let losses = rows.iter().map(|row| {
        let quantiles = global.quantiles(own, &row.inputs);
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
