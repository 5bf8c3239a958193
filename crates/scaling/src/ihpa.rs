//! An IHPA at a tick: its portraits before the decision, and its status, conditions and Events after it.
//! `writes/ihpa.rs` plans the write of the count.
//!
//! The status holds all that a new leader needs: the change that is under way, the changes that failed
//! checks hold, and since when providers fail. Until a written status has come back by the watch, the
//! memory of the replica that wrote it counts.

pub(crate) mod conditions;
pub(crate) mod events;
mod provider_inputs;
mod static_providers;
pub(crate) mod status;
mod status_conversion;

pub use provider_inputs::portray;
pub use static_providers::portrait_names;

#[cfg(test)]
mod tests;
