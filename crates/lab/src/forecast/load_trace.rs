//! A load without gaps to be learnt from and judged on, with the name that it has in tables.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use evenkeel_forecast::HOURS_AHEAD_STEP;
use evenkeel_forecast::backtest::BacktestLoad;
use jiff::Timestamp;

use super::csv_load;
use super::csv_load::CsvSelection;
use super::grid::TraceSample;
use evenkeel_terminal::output::CliFailure;

pub(super) struct LoadTrace {
    /// The name of the file without `.csv`.
    pub(super) name: String,
    pub(super) recorded: BacktestLoad,
}

/// The load in a file, to be judged up to `horizon`, from the value column of this name.
pub(super) fn read(
    path: &Path,
    column: Option<&str>,
    horizon: NonZeroUsize,
) -> Result<LoadTrace, CliFailure> {
    LoadTrace::of_samples(path, &samples(path, column)?, horizon)
}

/// The same with the highest value of each ten minutes in place of all of them.
pub(super) fn read_highs(
    path: &Path,
    column: Option<&str>,
    horizon: NonZeroUsize,
) -> Result<LoadTrace, CliFailure> {
    LoadTrace::of_samples(path, &highs(&samples(path, column)?), horizon)
}

fn samples(path: &Path, column: Option<&str>) -> Result<Vec<TraceSample>, CliFailure> {
    let wanted = CsvSelection {
        column,
        from: None,
        to: None,
    };
    csv_load::read(path, &wanted)
}

/// The highest sample in each ten minutes; ten minutes without any sample are missing.
fn highs(samples: &[TraceSample]) -> Vec<TraceSample> {
    let step = HOURS_AHEAD_STEP.as_secs();
    let mut highest: BTreeMap<i64, Option<f64>> = BTreeMap::new();
    for sample in samples {
        let high = highest
            .entry(sample.at.as_second().div_euclid(step))
            .or_default();
        *high = high.take().into_iter().chain(sample.value).reduce(f64::max);
    }
    let (first, last) = (highest.keys().next(), highest.keys().next_back());
    let steps = first
        .zip(last)
        .map_or(0..0, |(first, last)| *first..last + 1);
    let high = |index: i64| {
        let at = Timestamp::from_second(index * step).ok()?;
        let value = highest.get(&index).copied().flatten();
        Some(TraceSample { at, value })
    };
    steps.filter_map(high).collect()
}

impl LoadTrace {
    fn of_samples(
        path: &Path,
        samples: &[TraceSample],
        horizon: NonZeroUsize,
    ) -> Result<Self, CliFailure> {
        Self::new(path, samples, horizon)
            .map_err(|error| CliFailure::call(format_args!("{}: {error}", path.display())))
    }

    /// The samples of the file `path`, to be judged up to `horizon`.
    fn new(path: &Path, samples: &[TraceSample], horizon: NonZeroUsize) -> Result<Self, String> {
        let values = samples.iter().map(|&TraceSample { at, value }| {
            let missing = || {
                format!("the value at {at} is missing; accepted: a value at each step of the grid")
            };
            Ok((at, value.ok_or_else(missing)?))
        });
        let values: Vec<_> = values.collect::<Result<_, String>>()?;
        let recorded = BacktestLoad::new(&values, horizon).map_err(|error| error.to_string())?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = match &*name {
            "-" => "stdin",
            name => name.strip_suffix(".csv").unwrap_or(name),
        };
        Ok(Self {
            name: name.to_owned(),
            recorded,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highs_are_of_ten_minutes_and_missing_ones_stay_missing() {
        let sample = |minute: i64, value| TraceSample {
            at: Timestamp::from_second(60 * minute).unwrap(),
            value,
        };
        let samples = [
            sample(10, Some(1.0)),
            sample(15, Some(3.0)),
            sample(19, None),
            sample(20, Some(2.0)),
            sample(45, Some(5.0)),
        ];
        let expected = [
            sample(10, Some(3.0)),
            sample(20, Some(2.0)),
            sample(30, None),
            sample(40, Some(5.0)),
        ];
        assert_eq!(highs(&samples), expected);
        assert_eq!(highs(&[]), []);
    }
}
