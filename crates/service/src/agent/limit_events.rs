//! Events on Pods: the limit that stands, or why none does; each told once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use evenkeel_clock as clock;
use evenkeel_disk_io::disk_io_limit::{DiskIoLimit, LimitRefusal};
use evenkeel_disk_io::node_pod::NodePod;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::plan::Purpose;
use evenkeel_objects::plan::event::{EventContent, EventSeverity, RegardingObject};

use crate::controller::WriteQueue;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DiskLimitEvent {
    /// It stands on all of these devices.
    Limited {
        limit: DiskIoLimit,
        devices: Vec<String>,
    },
    /// The annotation is not accepted.
    Refused(LimitRefusal),
    /// These devices have a limit of another program.
    Foreign {
        devices: Vec<String>,
    },
    /// None of its volumes, nor the node's own filesystem, is on a block device.
    NoDevice,
    NoController,
    Failed(String),
}

impl DiskLimitEvent {
    /// The cause in one word, for Events and metrics.
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::Limited { .. } => "DiskIoLimited",
            Self::Refused(refusal) => refusal.reason(),
            Self::Foreign { .. } => "DiskIoLimitForeign",
            Self::NoDevice => "DiskIoNoDevice",
            Self::NoController => "DiskIoNoController",
            Self::Failed(_) => "DiskIoLimitFailed",
        }
    }

    const fn severity(&self) -> EventSeverity {
        match self {
            Self::Limited { .. } => EventSeverity::Normal,
            Self::Refused(_)
            | Self::Foreign { .. }
            | Self::NoDevice
            | Self::NoController
            | Self::Failed(_) => EventSeverity::Warning,
        }
    }

    fn note(&self) -> String {
        match self {
            Self::Limited { limit, devices } => {
                let rates = DiskIoLimit {
                    is_tuned: false,
                    ..*limit
                };
                let tuned = if limit.is_tuned {
                    ", which follows its use"
                } else {
                    ""
                };
                let devices = devices.join(", ");
                format!("disk I/O is limited to {rates} on {devices}{tuned}")
            }
            Self::Refused(refusal) => refusal.to_string(),
            Self::Foreign { devices } => format!(
                "disk I/O on {} has a limit that Evenkeel did not set, and that limit stays",
                devices.join(", ")
            ),
            Self::NoDevice => {
                "disk I/O is not limited: neither the Pod's volumes nor the node's own \
                               filesystem is on a block device"
                    .to_owned()
            }
            Self::NoController => {
                "disk I/O is not limited: the Pod's cgroup has no io controller, because the \
                                   node's kernel or kubelet does not enable it"
                    .to_owned()
            }
            Self::Failed(error) => format!("disk I/O is not limited as it should be: {error}"),
        }
    }
}

/// Tells of Pods, and remembers what was told.
#[derive(Debug)]
pub(super) struct Notices {
    queue: WriteQueue,
    reporter: String,
    /// The notes that stand, by the UIDs of their Pods.
    told: HashMap<String, String>,
}

impl Notices {
    pub(super) fn new(queue: WriteQueue, reporter: String) -> Self {
        Self {
            queue,
            reporter,
            told: HashMap::new(),
        }
    }

    pub(super) fn tell(&mut self, notices: Vec<(Arc<NodePod>, DiskLimitEvent)>) {
        let now = clock::now();
        let mut uids = HashSet::new();
        for (pod, notice) in notices {
            let regarding = RegardingObject::of(Kind::Pod, &pod.metadata);
            let note = notice.note();
            uids.insert(regarding.uid.clone());
            let before = self.told.insert(regarding.uid.clone(), note.clone());
            if before.as_ref() == Some(&note) {
                continue;
            }
            let event = EventContent {
                purpose: Purpose::DiskIoEvent,
                severity: notice.severity(),
                reason: notice.reason(),
                action: "LimitDiskIo",
                note: note.into(),
            };
            self.queue.put(event.at(&regarding, &self.reporter, now));
        }
        self.told.retain(|uid, _| uids.contains(uid));
    }
}
