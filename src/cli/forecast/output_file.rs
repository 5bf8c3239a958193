//! The place that a picture or weights are written to.

use std::io::{self, Write as _};
use std::path::Path;

use crate::cli::output::Failure;

/// Writes to a file, or to standard output where `-` stands for the file.
pub(in crate::cli) fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        out.write_all(contents.as_ref())?;
        return Ok(out.flush()?);
    }
    std::fs::write(path, contents)
        .map_err(|error| Failure::work(format_args!("cannot write {}: {error}", path.display())))
}
