//! The live picture of the cluster: watches that feed the node table, and the snapshot that
//! requests read.
//!
//! One lock guards the table; it is held for microseconds by the watch tasks and by the extender's
//! reservations, never across an await. Readers take the newest [`Snapshot`] without a lock. What
//! scaling reads has a lock of its own.
//!
//! [`Snapshot`]: evenkeel_kubernetes::snapshot::Snapshot

pub mod access;
mod autoscaling;
mod grouped_pods;
mod history;
mod lock;
pub mod metrics;
pub mod owners;
pub(crate) mod paged_list;
mod profiles;
mod readiness_gate;
pub mod records;
mod removable_pods;
mod resizable_pods;
pub mod state;
pub mod watch;

pub use autoscaling::{PortraitObjects, ScalingObject, ScalingView, WorkloadPods};
pub use metrics::ClusterMetrics;
pub use records::{PLACEMENT, SCALING, WATCHED};
pub use state::{ClusterState, ProfileView, Settings};
