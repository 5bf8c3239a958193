//! Pure functions from observation to writes, one module for each loop. Each write names what its
//! decision was based on, the resourceVersion or the fields, so that a former leader overwrites
//! nothing. No plan asks for a write that would change nothing.

pub mod annotation_warning;
pub mod ca_bundle;
pub mod certificate_secret;
pub mod conditional_patch;
pub mod context;
pub mod deletion_cost;
pub mod election;
pub mod event;
pub mod external_portraits;
pub mod failed_writes;
pub mod headroom_wakeup;
pub mod key_rotation;
pub mod online_condition;
pub mod opt_in_label;
pub mod opt_in_notice;
pub mod overload;
pub mod replica_profile;
pub mod resize;
pub mod rotation;
pub mod scale;
pub mod scaling;
pub mod status_writer;
pub mod tuning;
pub mod uninstall;
mod write;
pub mod write_priority;

pub use write::{ObjectChange, Purpose, Write, WriteOperation};
