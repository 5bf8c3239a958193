//! Questions of single targets, asked in the background.
//!
//! At each tick the scaling loop sets the questions that it wants. Their answers are kept until
//! newer ones come, so that no tick waits for the network. Each endpoint has a lane of the
//! [queue](super::query_queue), with a trial, and its tenants are namespaces.

mod asker;
mod question;
mod wanted;

#[cfg(test)]
pub(super) use asker::lane;
pub use asker::{Questions, TargetQueryRunner};
pub use question::{Purpose, TargetQuery, TargetQueryEndpoint, TargetQuerySource};
pub use wanted::TargetQueryRequest;
