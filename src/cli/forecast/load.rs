//! A load without gaps to be learnt from and judged on, with the name that it has in tables.

use std::num::NonZeroUsize;
use std::path::Path;

use super::file::{self, Selection};
use super::grid::Sample;
use crate::cli::output::Failure;
use evenkeel_core::forecast::backtest::Recorded;

pub(super) struct Load {
    /// The name of the file without `.csv`.
    pub(super) name: String,
    pub(super) recorded: Recorded,
}

/// The load in a file, to be judged up to `horizon`; of several columns of values, the one of this name.
pub(super) fn read(
    path: &Path,
    column: Option<&str>,
    horizon: NonZeroUsize,
) -> Result<Load, Failure> {
    let wanted = Selection {
        column,
        from: None,
        to: None,
    };
    let samples = file::read(path, &wanted)?;
    Load::new(path, &samples, horizon)
        .map_err(|error| Failure::call(format_args!("{}: {error}", path.display())))
}

impl Load {
    /// The samples of the file `path`, to be judged up to `horizon`.
    fn new(path: &Path, samples: &[Sample], horizon: NonZeroUsize) -> Result<Self, String> {
        let values = samples.iter().map(|&Sample { at, value }| {
            let missing = || {
                format!("the value at {at} is missing; accepted: a value at each step of the grid")
            };
            Ok((at, value.ok_or_else(missing)?))
        });
        let values: Vec<_> = values.collect::<Result<_, String>>()?;
        let recorded = Recorded::new(&values, horizon).map_err(|error| error.to_string())?;
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
