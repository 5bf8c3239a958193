//! The record of the agent's limits, which outlives it. Its folder is gone with a restart of the
//! machine, as cgroups are. A limit is recorded before it is written, so the next agent knows every
//! value that may be its own, and removes no other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Component, Path, PathBuf};

use evenkeel_disk_io::cgroup::{Device, Limit};
use serde::{Deserialize, Serialize};

/// A record that cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(
        "the record {path} cannot be used: its directory must persist until the machine restarts"
    )]
    Unusable { path: PathBuf, source: io::Error },
    #[error(
        "{path} is not a record of disk I/O limits, so the agent cannot know which limits are its \
         own; if you delete it, present limits stay until their Pods end"
    )]
    Malformed {
        path: PathBuf,
        source: serde_json::Error,
    },
    /// Each agent would take the other's limits for those of another program.
    #[error("another agent uses the record {path}: run one agent on each node")]
    Held { path: PathBuf },
    #[error("{path} names the cgroup {cgroup}, which is outside the kubelet's directory")]
    Outside { path: PathBuf, cgroup: PathBuf },
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedPodLimits {
    /// The way from kubelet's folder.
    pub(super) cgroup: PathBuf,
    /// All values that may stand.
    pub(super) limits: BTreeMap<Device, BTreeSet<Limit>>,
}

/// All limits that were written, by the UIDs of their Pods.
#[derive(Debug)]
pub(super) struct DiskLimitRecord {
    path: PathBuf,
    pods: BTreeMap<String, RecordedPodLimits>,
    kept: Vec<u8>,
    /// Locked for as long as it is open.
    _lock: File,
}

impl DiskLimitRecord {
    /// The record at `path`, empty where there is none yet.
    ///
    /// # Errors
    /// Another agent keeps it, or it cannot be read, is none, or cannot be written.
    pub(super) fn open(path: PathBuf) -> Result<Self, RecordError> {
        let lock = lock(&path)?;
        let pods: BTreeMap<String, RecordedPodLimits> = match std::fs::read(&path) {
            Ok(text) => match serde_json::from_slice(&text) {
                Ok(pods) => pods,
                Err(source) => return Err(RecordError::Malformed { path, source }),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(source) => return Err(RecordError::Unusable { path, source }),
        };
        let outside = pods.values().find(|written| !is_below(&written.cgroup));
        if let Some(RecordedPodLimits { cgroup, .. }) = outside {
            let cgroup = cgroup.clone();
            return Err(RecordError::Outside { path, cgroup });
        }
        let mut record = Self {
            path,
            pods,
            kept: Vec::new(),
            _lock: lock,
        };
        record.save()?;
        Ok(record)
    }

    pub(super) fn uids(&self) -> Vec<String> {
        self.pods.keys().cloned().collect()
    }

    pub(super) fn of(&self, uid: &str) -> Option<&RecordedPodLimits> {
        self.pods.get(uid)
    }

    /// Takes note that `limits` are about to be written, and keeps it.
    ///
    /// # Errors
    /// It cannot be kept; then nothing may be written.
    pub(super) fn intend(
        &mut self,
        uid: &str,
        cgroup: &Path,
        limits: impl IntoIterator<Item = (Device, Limit)>,
    ) -> Result<(), RecordError> {
        let written = self.pods.entry(uid.to_owned()).or_default();
        cgroup.clone_into(&mut written.cgroup);
        for (device, limit) in limits {
            written.limits.entry(device).or_default().insert(limit);
        }
        self.save()
    }

    /// Notes that of a device's possible values only this one remains, or none; saved with the next
    /// change.
    pub(super) fn stands(&mut self, uid: &str, device: Device, limit: Limit) {
        let Some(written) = self.pods.get_mut(uid) else {
            return;
        };
        if limit == Limit::NONE {
            written.limits.remove(&device);
        } else {
            written.limits.insert(device, BTreeSet::from([limit]));
        }
        if written.limits.is_empty() {
            self.pods.remove(uid);
        }
    }

    /// Forgets a Pod after its cgroup is gone; the next change saves this.
    pub(super) fn forget(&mut self, uid: &str) {
        self.pods.remove(uid);
    }

    /// Saves the record atomically; without a change, nothing is written.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn save(&mut self) -> Result<(), RecordError> {
        let Self {
            path, pods, kept, ..
        } = self;
        let mut write = || {
            let text = serde_json::to_vec(pods)?;
            if text != *kept {
                let beside = path.with_extension("new");
                std::fs::write(&beside, &text)?;
                std::fs::rename(&beside, &*path)?;
                *kept = text;
            }
            Ok(())
        };
        write().map_err(|source| RecordError::Unusable {
            path: self.path.clone(),
            source,
        })
    }
}

/// The right to keep the record, which ends with the process however that ends.
fn lock(path: &Path) -> Result<File, RecordError> {
    let beside = File::create(path.with_extension("lock"));
    let locked = beside.map_err(TryLockError::Error).and_then(|file| {
        file.try_lock()?;
        Ok(file)
    });
    locked.map_err(|error| match error {
        TryLockError::WouldBlock => RecordError::Held {
            path: path.to_owned(),
        },
        TryLockError::Error(source) => RecordError::Unusable {
            path: path.to_owned(),
            source,
        },
    })
}

/// True for a path that leads downwards only.
fn is_below(path: &Path) -> bool {
    let mut parts = path.components();
    path.components().next().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDA: Device = Device { major: 8, minor: 0 };

    fn limit(rate: u64) -> Limit {
        Limit {
            read: Some(rate),
            write: None,
        }
    }

    #[test]
    fn what_is_intended_is_kept_at_once_and_what_stands_with_the_next_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("limits.json");
        let mut record = DiskLimitRecord::open(path.clone()).unwrap();
        let cgroup = Path::new("kubepods-podu.slice");
        record.intend("u", cgroup, [(SDA, limit(5))]).unwrap();
        record.stands("u", SDA, limit(5));
        record.intend("u", cgroup, [(SDA, limit(7))]).unwrap();
        // Killed here: both may stand.
        drop(record);
        let mut record = DiskLimitRecord::open(path.clone()).unwrap();
        let written = record.of("u").unwrap();
        assert_eq!(written.cgroup, cgroup);
        assert_eq!(written.limits[&SDA], BTreeSet::from([limit(5), limit(7)]));
        record.stands("u", SDA, Limit::NONE);
        record.save().unwrap();
        let second = DiskLimitRecord::open(path.clone()).unwrap_err();
        assert!(
            second.to_string().contains("one agent on each node"),
            "{second}"
        );
        drop(record);
        assert_eq!(DiskLimitRecord::open(path).unwrap().uids(), [""; 0]);
    }

    #[test]
    fn a_record_that_cannot_be_trusted_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("limits.json");
        for (text, reason) in [
            ("{", "is not a record"),
            (
                r#"{"u": {"cgroup": "a", "limits": {"sda": []}}}"#,
                "is not a record",
            ),
            (r#"{"u": {"cgroup": "../x", "limits": {}}}"#, "outside"),
            (r#"{"u": {"cgroup": "/x", "limits": {}}}"#, "outside"),
            (r#"{"u": {"cgroup": "", "limits": {}}}"#, "outside"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = DiskLimitRecord::open(path.clone()).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        let nowhere = folder.path().join("none/limits.json");
        let error = DiskLimitRecord::open(nowhere).unwrap_err().to_string();
        assert!(error.contains("must persist"), "{error}");
    }
}
