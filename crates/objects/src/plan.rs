//! Pure functions from observation to writes, one module for each loop. Each write names what its
//! decision was based on, the resourceVersion or the fields, so that a former leader overwrites
//! nothing. No plan asks for a write that would change nothing.

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
