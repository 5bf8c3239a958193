//! A load without gaps to be learnt from and judged on, with the name that it has in tables.

use std::num::NonZeroUsize;
use std::path::Path;

use evenkeel_forecast::backtest::BacktestLoad;

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
    let wanted = CsvSelection {
        column,
        from: None,
        to: None,
    };
    let samples = csv_load::read(path, &wanted)?;
    LoadTrace::new(path, &samples, horizon)
        .map_err(|error| CliFailure::call(format_args!("{}: {error}", path.display())))
}

impl LoadTrace {
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
