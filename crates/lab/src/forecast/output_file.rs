//! The place that a picture or weights are written to.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report};

/// Writes to a file, or to standard output where `-` stands for the file.
pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<(), CliFailure> {
    if path == Path::new("-") {
        let mut out = io::stdout().lock();
        out.write_all(contents.as_ref())?;
        return Ok(out.flush()?);
    }
    let is_other = path.symlink_metadata().is_ok_and(|found| !found.is_file());
    let written = if is_other {
        std::fs::write(path, contents)
    } else {
        replace(path, contents.as_ref())
    };
    written.map_err(|error| refused(path, &error))
}

/// Writes a file atomically: an interruption leaves the old file. Its permissions stay.
fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let mut beside = tempfile::Builder::new();
    // As for any new file, less what the user's mask takes away.
    #[cfg(unix)]
    beside.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = beside.tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(contents)?;
    if let Ok(before) = path.metadata() {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.persist(path)?;
    Ok(())
}

/// Writes a model and prints its report, unless the model itself goes to standard output.
pub(crate) fn write_model(
    path: &Path,
    model: impl AsRef<[u8]>,
    report: &impl Report,
    format: Format,
) -> Result<(), CliFailure> {
    write(path, model)?;
    if path == Path::new("-") {
        return Ok(());
    }
    output::print(report, format)
}

/// Checks that [`write`] can write there, before long work; changes nothing.
pub(crate) fn check(path: &Path) -> Result<(), CliFailure> {
    if path == Path::new("-") {
        return Ok(());
    }
    let is_new = path.symlink_metadata().is_err();
    if !is_new && !path.exists() {
        return Err(CliFailure::work(format_args!(
            "cannot write {}: it is a broken link",
            path.display()
        )));
    }
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|error| refused(path, &error))?;
    if is_new {
        std::fs::remove_file(path).map_err(|error| refused(path, &error))?;
    }
    Ok(())
}

fn refused(path: &Path, error: &io::Error) -> CliFailure {
    CliFailure::work(format_args!("cannot write {}: {error}", path.display()))
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

    #[cfg(unix)]
    #[test]
    fn a_link_is_written_through_unless_it_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let (to, link) = (folder.path().join("to"), folder.path().join("link"));
        std::os::unix::fs::symlink(&to, &link).unwrap();
        assert!(check(&link).is_err() && !to.exists());
        std::fs::write(&to, "before").unwrap();
        assert!(check(&link).is_ok() && write(&link, "after").is_ok());
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&to).unwrap(), "after");
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        for contents in ["first", "second"] {
            write(&path, contents).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), contents);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let of = |mode| std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, of(0o600)).unwrap();
            write(&path, "private").unwrap();
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert!(write(&folder.path().join("none/model"), "").is_err());
    }
}
