//! The plan of an IHPA: its portraits before the decision, and after it the status, Events and the write of the count.
//!
//! Everything from which whoever takes over goes on stands in the status: the change that is under way, what failed
//! checks hold, since when providers fail. Until a status that was written has come back by the watch, the memory
//! of the replica that wrote it counts.

mod conditions;
mod events;
mod given;
mod portray;
mod profile;
mod status;
mod writes;

pub use given::portrait_names;
pub use portray::portray;
pub(super) use writes::plan;

#[cfg(test)]
mod tests;
