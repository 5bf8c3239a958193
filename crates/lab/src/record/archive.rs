//! The tar archive of a record. A reader takes plain files of a bounded size and nothing else, into
//! memory: no path of an archive is ever written to.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use evenkeel_sandbox::recording::{RECORD, REPLICAS, SCENARIO};
use evenkeel_sandbox::scenario::Scenario;
use jiff::Timestamp;
use tar::{Archive, Builder, EntryType, Header};

/// Most bytes of a record, all files together.
pub const MOST_BYTES: u64 = 128 << 20;
/// Most files of a record.
const MOST_FILES: usize = 20_000;
/// Two empty blocks end an archive; without them, a cut between two files would not show.
const END: [u8; 2 * BLOCK] = [0; 2 * BLOCK];
const BLOCK: usize = 512;
/// Files that every record has.
const REQUIRED: [&str; 3] = [RECORD, SCENARIO, REPLICAS];

/// Why bytes are no record.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("it is cut short or damaged: {0}; accepted: a whole file of `evenkeel record`")]
    Damaged(String),
    #[error("it is larger than {} MiB, which is the most that is accepted", MOST_BYTES >> 20)]
    TooLarge,
    #[error("it has more than {MOST_FILES} files, which is the most that is accepted")]
    TooManyFiles,
    #[error("{0:?} is not accepted; accepted: plain files with paths inside of the archive")]
    Path(String),
    #[error("{0:?} occurs twice; accepted: each file once")]
    Twice(String),
    #[error("{0} is missing; accepted: a file of `evenkeel record`")]
    Missing(String),
    #[error("{0} is no text in UTF-8")]
    Text(String),
}

/// Files by their paths.
pub type ArchiveFiles = BTreeMap<String, String>;

/// The bytes of an archive; the same files give the same bytes.
///
/// # Errors
/// The files are larger than a reader accepts.
pub fn write(files: &[(String, String)], time: Timestamp) -> Result<Vec<u8>, ArchiveError> {
    let mut builder = Builder::new(Vec::new());
    let damaged = |error: std::io::Error| ArchiveError::Damaged(error.to_string());
    for (name, text) in files {
        let mut header = Header::new_ustar();
        header.set_size(u64::try_from(text.len()).unwrap_or(u64::MAX));
        header.set_mode(0o644);
        header.set_mtime(u64::try_from(time.as_second()).unwrap_or(0));
        header.set_entry_type(EntryType::Regular);
        builder
            .append_data(&mut header, name, text.as_bytes())
            .map_err(damaged)?;
    }
    let bytes = builder.into_inner().map_err(damaged)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_BYTES {
        return Err(ArchiveError::TooLarge);
    }
    Ok(bytes)
}

/// All files of an archive, of which the required ones exist.
///
/// # Errors
/// Anything but a whole record of an accepted size.
pub fn read(bytes: &[u8]) -> Result<ArchiveFiles, ArchiveError> {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_BYTES {
        return Err(ArchiveError::TooLarge);
    }
    let mut files = ArchiveFiles::new();
    read_entries(bytes, &mut files)?;
    if !bytes.ends_with(&END) || !bytes.len().is_multiple_of(BLOCK) {
        return Err(ArchiveError::Damaged("its end is missing".to_owned()));
    }
    match REQUIRED.into_iter().find(|name| !files.contains_key(*name)) {
        Some(name) => Err(ArchiveError::Missing(name.to_owned())),
        None => Ok(files),
    }
}

fn read_entries(from: &[u8], files: &mut ArchiveFiles) -> Result<(), ArchiveError> {
    let damaged = |error: std::io::Error| ArchiveError::Damaged(error.to_string());
    let mut archive = Archive::new(from);
    for entry in archive.entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if entry.header().entry_type() == EntryType::Directory && entry.size() == 0 {
            continue; // tar writes one for each folder that it packs
        }
        if entry.header().entry_type() != EntryType::Regular || !is_inside(&name) {
            return Err(ArchiveError::Path(name));
        }
        let size = entry.size();
        if size > MOST_BYTES {
            return Err(ArchiveError::TooLarge);
        }
        if files.len() == MOST_FILES {
            return Err(ArchiveError::TooManyFiles);
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(damaged)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) < size {
            return Err(ArchiveError::Damaged(format!("{name} ends early")));
        }
        let text = String::from_utf8(bytes).map_err(|_| ArchiveError::Text(name.clone()))?;
        if files.insert(name.clone(), text).is_some() {
            return Err(ArchiveError::Twice(name));
        }
    }
    Ok(())
}

/// Relative, without steps upwards.
fn is_inside(path: &str) -> bool {
    let mut steps = path.split('/');
    !path.contains('\\') && steps.all(|step| !["", ".", ".."].contains(&step))
}

/// The scenario of a record.
///
/// # Errors
/// A text that no replay can read, with its file.
pub(crate) fn scenario(files: &ArchiveFiles) -> Result<Scenario, String> {
    let traces = |path: &Path| {
        let name = path.to_string_lossy();
        let text = files.get(&*name).cloned();
        text.ok_or_else(|| "the record has no such file".to_owned())
    };
    let text = files.get(SCENARIO).map(String::as_str).unwrap_or_default();
    Scenario::read(text, &traces).map_err(|error| format!("{SCENARIO}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<(String, String)> {
        let file = |name: &str| (name.to_owned(), format!("text of {name}"));
        let mut all: Vec<_> = REQUIRED.map(file).to_vec();
        all.push(file("traces/1.csv"));
        all
    }

    fn written(files: &[(String, String)]) -> Vec<u8> {
        write(files, Timestamp::UNIX_EPOCH).unwrap()
    }

    #[test]
    fn what_is_written_is_read_and_the_same_files_give_the_same_bytes() {
        let bytes = written(&files());
        assert_eq!(bytes, written(&files()));
        let read: Vec<(String, String)> = read(&bytes).unwrap().into_iter().collect();
        let mut expected = files();
        expected.sort();
        assert_eq!(read, expected);
    }

    #[test]
    fn a_record_that_is_cut_at_any_block_is_refused() {
        let bytes = written(&files());
        for end in (0..bytes.len()).step_by(128) {
            assert!(read(&bytes[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn folders_that_tar_adds_are_skipped() {
        let folder = entry("traces/", EntryType::Directory, 0);
        let bytes = [folder, written(&files())].concat();
        assert_eq!(read(&bytes).unwrap().len(), files().len());
    }

    /// The bytes of one file with this path, which the writer itself would refuse.
    fn entry(path: &str, kind: EntryType, size: u64) -> Vec<u8> {
        let mut header = Header::new_ustar();
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(0o644);
        header.set_cksum();
        header.as_bytes().to_vec()
    }

    #[test]
    fn bad_archives_are_refused_with_what_and_what_is_accepted() {
        let regular = EntryType::Regular;
        let mut twice = files();
        twice.push(files().remove(3));
        let without = files().split_off(1);
        for (bytes, part) in [
            (
                entry("../outside", regular, 0),
                "\"../outside\" is not accepted",
            ),
            (
                entry("/etc/passwd", regular, 0),
                "\"/etc/passwd\" is not accepted",
            ),
            (entry("a//b", regular, 0), "\"a//b\" is not accepted"),
            (
                entry("link", EntryType::Symlink, 0),
                "\"link\" is not accepted",
            ),
            (
                entry("huge", regular, MOST_BYTES + 1),
                "larger than 128 MiB",
            ),
            (written(&twice), "occurs twice"),
            (written(&without), "record.json is missing"),
            (b"no tar at all".repeat(100), "cut short or damaged"),
            (Vec::new(), "its end is missing"),
        ] {
            let error = read(&bytes).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
        let mut text = entry(RECORD, regular, 2);
        text.extend([0xff, 0xfe]);
        text.resize(2048, 0);
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains("no text"), "{error}");
    }
}
