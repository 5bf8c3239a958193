//! Sets the limits of all Pods, one cgroup at a time. A missing cgroup is waited for, and one that
//! is gone is forgotten. A failure at one Pod affects no other, and is retried with the next pass.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use evenkeel_clock as clock;
use evenkeel_disk_io::cgroup::{
    Device, IoLimitChange, IoLimitPlan, IoMax, IoMaxError, Limit, plan,
};
use evenkeel_disk_io::disk_io_limit::DiskIoLimit;
use evenkeel_disk_io::node_pod::NodePod;

use super::host::Host;
use super::limit_events::DiskLimitEvent;
use super::record::{DiskLimitRecord, RecordError};
use crate::telemetry::RateLimited;

#[derive(Debug)]
pub(super) struct PodDiskLimit {
    pub(super) pod: Arc<NodePod>,
    pub(super) limit: DiskIoLimit,
}

#[derive(Debug, Default)]
pub(super) struct LimiterPassOutcome {
    pub(super) limited: usize,
    /// Pods at which something failed.
    pub(super) failures: usize,
    pub(super) notices: Vec<(Arc<NodePod>, DiskLimitEvent)>,
}

/// Cause for which the limits of a Pod are not what they should be.
#[derive(Debug, thiserror::Error)]
enum LimiterError {
    #[error("io.max of {cgroup}: {source}")]
    Read { cgroup: PathBuf, source: io::Error },
    #[error("io.max of {cgroup}: {source}")]
    Malformed { cgroup: PathBuf, source: IoMaxError },
    #[error("{line:?} into io.max of {cgroup}: {source}")]
    Write {
        cgroup: PathBuf,
        line: String,
        source: io::Error,
    },
    #[error(transparent)]
    Record(#[from] RecordError),
}

struct DesiredCgroupLimits<'a> {
    uid: &'a str,
    cgroup: &'a Path,
    limits: BTreeMap<Device, Limit>,
}

enum CgroupLimitState {
    /// As wanted, except on devices that have a limit of another program.
    As { foreign: Vec<Device> },
    /// It is not there, yet or any more.
    Absent,
    /// It is there, and the controller `io` is not.
    NoController,
}

/// Keeps the limits of a node's Pods.
#[derive(Debug)]
pub(super) struct Limiter {
    host: Host,
    record: DiskLimitRecord,
    warned: RateLimited<&'static str>,
}

impl Limiter {
    pub(super) fn new(host: Host, record: DiskLimitRecord) -> Self {
        Self {
            host,
            record,
            warned: RateLimited::default(),
        }
    }

    /// Takes the limits to what is asked for; those of all other Pods are taken away.
    pub(super) fn pass(&mut self, asked: &[PodDiskLimit]) -> LimiterPassOutcome {
        let mut done = LimiterPassOutcome::default();
        let wanted: BTreeSet<&str> = asked
            .iter()
            .filter_map(|asked| asked.pod.kubelet_uid())
            .collect();
        self.release(&wanted, &mut done);
        if !asked.is_empty() {
            self.enforce(asked, &mut done);
        }
        // If this fails, the previous record still names every limit that is set, and maybe more.
        if let Err(error) = self.record.save() {
            self.warn("record", &error, "the record of limits is not up to date");
            done.failures += 1;
        }
        done
    }

    fn release(&mut self, wanted: &BTreeSet<&str>, done: &mut LimiterPassOutcome) {
        for uid in self.record.uids() {
            if wanted.contains(&*uid) {
                continue;
            }
            let Some(written) = self.record.of(&uid) else {
                continue;
            };
            let cgroup = written.cgroup.clone();
            let kept = self.keep(&DesiredCgroupLimits {
                uid: &uid,
                cgroup: &cgroup,
                limits: BTreeMap::new(),
            });
            match kept {
                Ok(CgroupLimitState::As { .. }) => {
                    tracing::info!(pod = uid, "disk I/O limits are removed");
                }
                Ok(CgroupLimitState::Absent | CgroupLimitState::NoController) => {}
                Err(error) => {
                    self.warn("release", &error, "a disk I/O limit could not be removed");
                    done.failures += 1;
                }
            }
        }
    }

    fn enforce(&mut self, asked: &[PodDiskLimit], done: &mut LimiterPassOutcome) {
        let disks = match self.host.disks() {
            Ok(disks) => disks,
            Err(error) => {
                self.warn("mounts", &error, "the mounts of the node cannot be read");
                done.failures += asked.len();
                return;
            }
        };
        for PodDiskLimit { pod, limit } in asked {
            let (Some(uid), Some(cgroup)) = (pod.kubelet_uid(), self.host.cgroup(pod)) else {
                continue;
            };
            let devices = self.host.devices(pod, &disks);
            if devices.is_empty() {
                done.notices
                    .push((Arc::clone(pod), DiskLimitEvent::NoDevice));
                continue;
            }
            let limits = devices.iter().map(|device| (*device, of(*limit))).collect();
            let kept = self.keep(&DesiredCgroupLimits {
                uid,
                cgroup: &cgroup,
                limits,
            });
            if kept.is_err() {
                done.failures += 1;
            }
            let Some(notice) = self.notice(*limit, &devices, kept) else {
                continue;
            };
            if matches!(notice, DiskLimitEvent::Limited { .. }) {
                done.limited += 1;
            }
            done.notices.push((Arc::clone(pod), notice));
        }
    }

    /// The notice about a Pod's limit; none while its cgroup is not there.
    fn notice(
        &self,
        limit: DiskIoLimit,
        devices: &BTreeSet<Device>,
        kept: Result<CgroupLimitState, LimiterError>,
    ) -> Option<DiskLimitEvent> {
        let named = |devices: &mut dyn Iterator<Item = Device>| -> Vec<String> {
            devices.map(|device| self.host.name(device)).collect()
        };
        match kept {
            Ok(CgroupLimitState::Absent) => None,
            Ok(CgroupLimitState::NoController) => Some(DiskLimitEvent::NoController),
            Ok(CgroupLimitState::As { foreign }) if foreign.is_empty() => {
                Some(DiskLimitEvent::Limited {
                    limit,
                    devices: named(&mut devices.iter().copied()),
                })
            }
            Ok(CgroupLimitState::As { foreign }) => Some(DiskLimitEvent::Foreign {
                devices: named(&mut foreign.into_iter()),
            }),
            Err(error) => {
                self.warn("enforce", &error, "a disk I/O limit could not be set");
                Some(DiskLimitEvent::Failed(error.to_string()))
            }
        }
    }

    fn warn(&self, what: &'static str, error: &dyn std::error::Error, message: &str) {
        if let Some(suppressed) = self.warned.permit(what, clock::instant()) {
            tracing::error!(%error, suppressed, "{message}");
        }
    }

    fn keep(&mut self, wanted: &DesiredCgroupLimits<'_>) -> Result<CgroupLimitState, LimiterError> {
        let DesiredCgroupLimits {
            uid,
            cgroup,
            limits,
        } = wanted;
        let text = match self.host.read(cgroup, "io.max") {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.record.forget(uid);
                return Ok(if self.host.has(cgroup) {
                    CgroupLimitState::NoController
                } else {
                    CgroupLimitState::Absent
                });
            }
            Err(source) => {
                let cgroup = cgroup.to_path_buf();
                return Err(LimiterError::Read { cgroup, source });
            }
        };
        let present: IoMax = text.parse().map_err(|source| LimiterError::Malformed {
            cgroup: cgroup.to_path_buf(),
            source,
        })?;
        let own = self.record.of(uid).map(|written| written.limits.clone());
        let IoLimitPlan {
            changes,
            foreign,
            forgotten,
        } = plan(limits, &present, &own.unwrap_or_default());
        for device in forgotten {
            self.record.stands(uid, device, Limit::NONE);
        }
        self.write(wanted, &changes)?;
        // Of those that were there as wanted, no other value can stand any more.
        for (device, limit) in limits {
            if self.is_own(uid, *device) && !foreign.contains(device) {
                self.record.stands(uid, *device, *limit);
            }
        }
        Ok(CgroupLimitState::As { foreign })
    }

    fn is_own(&self, uid: &str, device: Device) -> bool {
        let written = self.record.of(uid);
        written.is_some_and(|written| written.limits.contains_key(&device))
    }

    /// Makes the changes, each recorded before.
    fn write(
        &mut self,
        wanted: &DesiredCgroupLimits<'_>,
        changes: &[IoLimitChange],
    ) -> Result<(), LimiterError> {
        let DesiredCgroupLimits { uid, cgroup, .. } = wanted;
        let set = changes.iter().filter(|change| change.limit != Limit::NONE);
        let set: Vec<_> = set.map(|change| (change.device, change.limit)).collect();
        if !set.is_empty() {
            self.record.intend(uid, cgroup, set)?;
        }
        each(changes, |change| self.change(wanted, change))
    }

    /// Makes one change; false where the Pod has ended since.
    fn change(
        &mut self,
        wanted: &DesiredCgroupLimits<'_>,
        change: &IoLimitChange,
    ) -> Result<bool, LimiterError> {
        let DesiredCgroupLimits { uid, cgroup, .. } = wanted;
        let IoLimitChange {
            device,
            limit,
            sides,
        } = change;
        let line = limit.line(*device, *sides);
        match self.host.limit(cgroup, &line) {
            Ok(()) => self.record.stands(uid, *device, *limit),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.host.has(cgroup) => {
                self.record.forget(uid);
                return Ok(false);
            }
            Err(source) => {
                let cgroup = cgroup.to_path_buf();
                return Err(LimiterError::Write {
                    cgroup,
                    line,
                    source,
                });
            }
        }
        tracing::info!(cgroup = %cgroup.display(), line, "a disk I/O limit is set");
        Ok(true)
    }
}

/// Runs all and returns the first error; ends if one reports that nothing is left to do. At the
/// agent's end no later pass makes up for a skipped device.
fn each<T, E>(all: &[T], mut one: impl FnMut(&T) -> Result<bool, E>) -> Result<(), E> {
    let mut first = Ok(());
    for item in all {
        match one(item) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}

/// The limit in the kernel's terms.
fn of(limit: DiskIoLimit) -> Limit {
    let DiskIoLimit { read, write, .. } = limit;
    Limit {
        read: read.map(|rate| rate.0),
        write: write.map(|rate| rate.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_fails_keeps_no_other_from_its_limit() {
        let mut done = Vec::new();
        let outcome = each(&[1, 2, 3, 4], |device| {
            done.push(*device);
            if device % 2 == 1 {
                Err(*device)
            } else {
                Ok(true)
            }
        });
        assert_eq!((outcome, done), (Err(1), vec![1, 2, 3, 4]));
        let gone: Result<(), ()> = each(&[1, 2], |device| {
            assert_eq!(*device, 1);
            Ok(false)
        });
        assert_eq!(gone, Ok(()));
    }
}
