//! Accuracy of `global` on an unseen series, against what an HPA with a lower target covers: the
//! last load times a factor.

use evenkeel_forecast::{GlobalPeaks, LEVELS, Masks, Minutes};

use crate::peaks::row;

/// Index of the judged level.
const JUDGED: usize = 2;

/// Accuracy of forecasts of the largest load of windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeakEvaluation {
    pub forecasts: usize,
    /// Pinball loss at the 80 % quantile over that of the best factor on the last load, chosen in
    /// hindsight; below 1 is better. `None` if that factor made no error.
    pub ratio: Option<f64>,
    /// Shares of largest loads below each of [`LEVELS`].
    pub below: [f64; LEVELS.len()],
}

/// For windows of `window` minutes from the minute `from` on; `None` if there is nothing to judge.
pub fn judge(
    global: &GlobalPeaks,
    series: &Minutes,
    from: usize,
    window: usize,
) -> Option<PeakEvaluation> {
    let minutes = from..series.values().len();
    let rows = minutes.filter_map(|minute| row(series, minute, window, Masks::NONE));
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return None;
    }
    let largest = rows
        .iter()
        .map(|row| row.inputs.last + row.inputs.scale * f64::from(row.rise));
    let largest: Vec<f64> = largest.collect();
    let quantiles = rows.iter().map(|row| global.quantiles(None, &row.inputs));
    let quantiles: Vec<_> = quantiles.collect();
    let loss = |told: &dyn Fn(usize) -> f64| -> f64 {
        let losses = largest.iter().enumerate().map(|(place, largest)| {
            let over = (largest - told(place)) / rows[place].inputs.scale;
            pinball(over, LEVELS[JUDGED])
        });
        losses.sum()
    };
    // The loss is convex in the factor, and its best one is a weighted quantile of the ratios.
    let factor = best_factor(&rows, &largest);
    let own = loss(&|place| quantiles[place].level(JUDGED));
    let rival = loss(&|place| rows[place].inputs.last * factor);
    let count = rows.len();
    let below = std::array::from_fn(|level| {
        let pairs = largest.iter().zip(&quantiles);
        let held = pairs.filter(|(largest, quantiles)| **largest <= quantiles.level(level));
        share(held.count(), count)
    });
    Some(PeakEvaluation {
        forecasts: count,
        ratio: (rival > 0.0).then(|| own / rival),
        below,
    })
}

/// Quantile loss at a level for a value that lies `over` above it.
pub(crate) fn pinball(over: f64, level: f64) -> f64 {
    over * (level - if over < 0.0 { 1.0 } else { 0.0 })
}

/// On the last load, of the least loss.
fn best_factor(rows: &[crate::peaks::PeakTrainingRow], largest: &[f64]) -> f64 {
    let ratios = rows
        .iter()
        .zip(largest)
        .filter(|(row, _)| row.inputs.last > 0.0);
    let weighted = ratios.map(|(row, largest)| {
        let weight = row.inputs.last / row.inputs.scale;
        (largest / row.inputs.last, weight)
    });
    let mut weighted: Vec<(f64, f64)> = weighted.collect();
    weighted.sort_by(|one, other| one.0.total_cmp(&other.0));
    let wanted = LEVELS[JUDGED] * weighted.iter().map(|(_, weight)| weight).sum::<f64>();
    let mut passed = 0.0;
    let reached = weighted.iter().find(|(_, weight)| {
        passed += weight;
        passed >= wanted
    });
    reached.map_or(1.0, |&(ratio, _)| ratio)
}

fn share(part: usize, whole: usize) -> f64 {
    evenkeel_units::count_as_f64(part) / evenkeel_units::count_as_f64(whole.max(1))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::{GlobalSettings, fit_global, synthetic};

    /// Twice the load in ten minutes of each hour, from `begin` on.
    fn hourly(begin: usize) -> Minutes {
        let load = |minute: usize| {
            let busy = (minute + 60 - begin) % 60 < 10;
            let unrest = if minute % 7 < 3 { 0.02 } else { 0.0 };
            if busy { 2.0 + unrest } else { 1.0 + unrest }
        };
        Minutes::new(0, (0..3000).map(load).collect())
    }

    #[test]
    fn what_was_learnt_beats_the_best_factor_where_the_load_repeats_itself() {
        let mut settings = GlobalSettings::with(NonZeroUsize::MIN);
        (settings.rows_of_series, settings.boosting.trees) = (2000, 20);
        let learnt = [0, 20, 40].map(hourly);
        let global = fit_global(&learnt, &settings).unwrap();
        let judged = judge(&global, &hourly(30), 0, 5).unwrap();
        assert!(judged.ratio.is_some_and(|ratio| ratio < 0.9), "{judged:?}");
        assert!(judged.below.is_sorted(), "{judged:?}");
    }

    #[test]
    fn the_same_rows_give_the_same_weights_on_any_number_of_threads() {
        let series = [synthetic(1, 0)];
        let weights = |threads| {
            let mut settings = GlobalSettings::with(NonZeroUsize::new(threads).unwrap());
            (settings.rows_of_series, settings.boosting.trees) = (1000, 5);
            fit_global(&series, &settings).unwrap().encode()
        };
        assert_eq!(weights(1), weights(3));
    }

    #[test]
    fn nothing_is_judged_where_nothing_came() {
        let global = GlobalPeaks::shipped();
        assert_eq!(judge(&global, &Minutes::new(0, vec![1.0; 10]), 0, 3), None);
    }
}
