//! Weights of the model `global` in files.

use std::path::Path;
use std::sync::Arc;

use evenkeel_forecast::GlobalPeaks;

use evenkeel_terminal::output::CliFailure;

/// The weights in a file that `evenkeel train --global` made.
pub(super) fn read(path: &Path) -> Result<Arc<GlobalPeaks>, CliFailure> {
    let refuse = |error: &dyn std::fmt::Display| {
        CliFailure::call(format_args!("{}: {error}", path.display()))
    };
    let bytes = std::fs::read(path).map_err(|error| refuse(&error))?;
    let weights = GlobalPeaks::decode(&bytes).map_err(|error| refuse(&error))?;
    Ok(Arc::new(weights))
}
