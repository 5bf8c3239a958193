//! Samples at any times put on the grid of the service, one value each 15 seconds. A step has the
//! mean of its samples. An empty step is interpolated, unless 3 or more samples are missing (by the
//! median distance, or named missing by the file): that is a gap, and stays one.

use evenkeel_forecast::RegularSeries;
use evenkeel_sandbox::target_replay::GRID;
use evenkeel_units::count_as_f64;
use jiff::{SignedDuration, Timestamp};

/// As many missing samples in a row are a gap.
const GAP: i64 = 3;
/// The longest load that is taken: a year of steps.
const MOST: i64 = 366 * 24 * 3600;

/// One sample; `None` where the file says that it is missing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TraceSample {
    pub at: Timestamp,
    pub value: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GridLoad {
    pub load: RegularSeries,
    pub samples: usize,
    /// Median distance of the samples.
    pub step: SignedDuration,
    pub gaps: usize,
}

/// Puts samples in the order of time on the grid.
///
/// # Errors
/// Fewer than two samples with a value, and more than a year of them.
pub(crate) fn on_grid(samples: &[TraceSample]) -> Result<GridLoad, String> {
    let there: Vec<(Timestamp, f64)> = samples
        .iter()
        .filter_map(|sample| Some((sample.at, sample.value?)))
        .collect();
    let (Some(&(first, _)), Some(&(last, _))) = (there.first(), there.last()) else {
        return Err("no sample with a value".to_owned());
    };
    if slot(first) == slot(last) {
        return Err("all samples lie within 15 seconds; accepted: a load over time".to_owned());
    }
    if last.duration_since(first).as_secs() > MOST {
        return Err("more than a year; accepted: up to a year, see --from and --to".to_owned());
    }
    let step = median_step(samples);
    let means = means(&there);
    let mut values = Vec::new();
    let mut gaps = 0;
    for pair in means.windows(2) {
        let ((left, from), (right, to)) = (pair[0], pair[1]);
        let is_gap = missing(right - left, step) >= GAP;
        gaps += usize::from(is_gap);
        values.push(Some(from));
        values.extend((1..right - left).map(|between| {
            let share = share(between, right - left);
            (!is_gap).then_some(from * (1.0 - share) + to * share)
        }));
    }
    values.extend(means.last().map(|&(_, value)| Some(value)));
    let start = Timestamp::from_second(slot(first) * GRID.as_secs());
    let start = start.map_err(|error| error.to_string())?;
    let load = RegularSeries::new(start, GRID, values).map_err(|error| error.to_string())?;
    Ok(GridLoad {
        load,
        samples: there.len(),
        step,
        gaps,
    })
}

/// The step of the grid that holds a time, counted from the epoch.
fn slot(at: Timestamp) -> i64 {
    at.as_second().div_euclid(GRID.as_secs())
}

/// The mean of the samples in each step that has any.
fn means(samples: &[(Timestamp, f64)]) -> Vec<(i64, f64)> {
    let chunks = samples.chunk_by(|a, b| slot(a.0) == slot(b.0));
    let mean = |chunk: &[(Timestamp, f64)]| {
        let sum: f64 = chunk.iter().map(|(_, value)| value).sum();
        Some((slot(chunk.first()?.0), sum / count_as_f64(chunk.len())))
    };
    chunks.filter_map(mean).collect()
}

/// The median distance of the samples, those without a value included.
fn median_step(samples: &[TraceSample]) -> SignedDuration {
    let pairs = samples.windows(2);
    let mut steps: Vec<_> = pairs
        .map(|pair| pair[1].at.duration_since(pair[0].at))
        .filter(SignedDuration::is_positive)
        .collect();
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or(GRID)
}

/// Number of samples missing between two that are `apart` steps of the grid from each other.
fn missing(apart: i64, step: SignedDuration) -> i64 {
    let (step, apart) = (step.as_secs().max(GRID.as_secs()), apart * GRID.as_secs());
    (apart + step / 2) / step - 1
}

/// `part` of `whole`, both less than the steps of a year.
fn share(part: i64, whole: i64) -> f64 {
    let number = |count: i64| f64::from(i32::try_from(count).unwrap_or(i32::MAX));
    number(part) / number(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gridded(samples: &[(i64, Option<f64>)]) -> Result<GridLoad, String> {
        let at = |second| Timestamp::from_second(second).unwrap();
        let samples = samples.iter().map(|&(second, value)| TraceSample {
            at: at(second),
            value,
        });
        on_grid(&samples.collect::<Vec<_>>())
    }

    fn values(samples: &[(i64, Option<f64>)]) -> Vec<Option<f64>> {
        gridded(samples).unwrap().load.values().to_vec()
    }

    #[test]
    fn a_step_is_the_mean_of_its_samples_or_lies_on_the_line() {
        let (a, b, c) = (Some(1.0), Some(3.0), Some(5.0));
        assert_eq!(values(&[(0, a), (5, b), (15, c)]), [Some(2.0), c]);
        assert_eq!(
            values(&[(60, a), (120, c)]),
            [a, Some(2.0), b, Some(4.0), c]
        );
        // Neither the times nor the distances need to be those of the grid.
        let bent = values(&[(7, a), (22, b), (61, c)]);
        assert_eq!((bent[0], bent[1], bent[4]), (a, b, c));
        assert!((bent[2].unwrap() - 11.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn three_missing_samples_are_a_gap_and_two_are_not() {
        let (a, b) = (Some(1.0), Some(2.0));
        let regular = |hole: i64| {
            [
                (0, a),
                (60, a),
                (120, a),
                (120 + 60 * (hole + 1), b),
                (180 + 60 * (hole + 1), b),
            ]
        };
        let holes = |hole| {
            values(&regular(hole))
                .iter()
                .filter(|value| value.is_none())
                .count()
        };
        assert_eq!((holes(2), holes(3)), (0, 4 * 4 - 1));
        let told = gridded(&[(0, a), (60, None), (120, None), (180, None), (240, b)]).unwrap();
        assert_eq!((told.gaps, told.samples, told.step.as_secs()), (1, 2, 60));
    }

    #[test]
    fn what_is_no_load_over_time_is_refused() {
        for (samples, part) in [
            (vec![], "no sample"),
            (vec![(0, None)], "no sample"),
            (vec![(0, Some(1.0)), (14, Some(1.0))], "within 15 seconds"),
            (vec![(0, Some(1.0)), (400 * 86_400, Some(1.0))], "a year"),
        ] {
            let error = gridded(&samples).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
