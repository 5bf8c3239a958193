//! The disk usage of Pods on their nodes, from each node's kubelet. cAdvisor has no figure for it
//! under containerd, and no exporter knows emptyDirs. A kubelet adds them up at some cost, so each
//! is asked every few minutes, a few at a time. Evenkeel uses the kubelet's own port, with the
//! narrow right `nodes/stats`; the API server's proxy would need `nodes/proxy`, which also permits
//! commands in any Pod.

mod asker;
mod disks;
mod source;

pub use asker::{INTERVAL, Kubelet, KubeletPoller, Settings};
pub use disks::Disks;
pub use source::WithDisks;

use jiff::SignedDuration;

/// The ServiceAccount for requests to kubelets: it may read such figures and nothing else.
pub const ACCOUNT: &str = "evenkeel-kubelets";

/// An answer counts until two more could have come, with the time that their asking takes.
pub const MAX_AGE: SignedDuration = SignedDuration::from_mins(16);
