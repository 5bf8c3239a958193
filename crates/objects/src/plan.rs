//! The parts that all plans share: planned writes with their priority, conditional patches, Events, statuses, and
//! the election of the leader.
//!
//! A plan is a pure function from observation to writes. The plans themselves are in the modules `plan` of
//! `scaling`, `placement`, `tuning` and `replica-profile`. Each write names the resourceVersion or the fields on
//! which it was decided, so a former leader overwrites nothing. No plan asks for a write that would change nothing.

pub mod conditional_patch;
pub mod context;
pub mod election;
pub mod event;
pub mod failed_writes;
pub mod scale;
pub mod status_writer;
pub mod write;
pub mod write_priority;

pub use write::{ObjectChange, Purpose, Write, WriteOperation};
