//! The live state of the cluster: watches that feed the node table, and the snapshot that requests
//! read. One lock guards the table; watch tasks and the extender's reservations hold it for
//! microseconds, never across an await. Readers take the newest [`Snapshot`] without a lock.
//! Scaling data has a lock of its own.
//!
//! [`Snapshot`]: evenkeel_placement::snapshot::Snapshot

pub mod access;
mod autoscaling;
mod grouped_pods;
mod history;
mod lock;
pub mod metrics;
mod node_names;
pub mod owners;
pub mod paged_list;
mod pod_store;
mod profiles;
pub mod read_outcome;
mod readiness_gate;
pub mod records;
pub mod registration;
mod removable_pods;
mod resizable_pods;
pub mod server_time;
pub mod state;
pub mod watch;

pub use autoscaling::{PortraitObjects, ScalingObject, ScalingView, WorkloadPods};
pub use metrics::ClusterMetrics;
pub use read_outcome::{ReadFailure, ReadOutcome};
pub use records::{PLACEMENT, SCALING, WATCHED};
pub use server_time::server_time;
pub(crate) use state::LabelPlanView;
pub use state::{ClusterState, ProfileView, Settings};
