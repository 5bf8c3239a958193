//! The place that a picture or weights are written to.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use crate::cli::output::{self, Failure, Format, Report};

/// Writes to a file, or to standard output where `-` stands for the file.
pub(in crate::cli) fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        out.write_all(contents.as_ref())?;
        return Ok(out.flush()?);
    }
    std::fs::write(path, contents).map_err(|error| refused(path, &error))
}

/// Writes a model, and prints what there is to say of it, unless the model itself goes to standard output.
pub(in crate::cli) fn write_model(
    path: &Path,
    model: impl AsRef<[u8]>,
    report: &impl Report,
    format: Format,
) -> Result<(), Failure> {
    write(path, model)?;
    if path == Path::new("-") {
        return Ok(());
    }
    output::print(report, format)
}

/// Holds that [`write`] can write there, before work that takes long; it leaves everything as it is.
pub(in crate::cli) fn check(path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Ok(());
    }
    let is_new = path.symlink_metadata().is_err();
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| refused(path, &error))?;
    if is_new {
        std::fs::remove_file(path).map_err(|error| refused(path, &error))?;
    }
    Ok(())
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    Failure::work(format_args!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_refuses_what_cannot_be_written_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (new, old) = (folder.path().join("new"), folder.path().join("old"));
        std::fs::write(&old, "kept").unwrap();
        assert!(check(&new).is_ok() && check(&old).is_ok());
        assert!(!new.exists());
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "kept");
        for refused in [folder.path().to_owned(), folder.path().join("none/new")] {
            assert!(check(&refused).is_err(), "{}", refused.display());
        }
        assert!(check(Path::new("-")).is_ok());
    }
}
