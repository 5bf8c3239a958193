//! Questions of single targets, asked in the background.
//!
//! At each tick the scaling loop sets the questions that it wants. Their answers are kept until
//! newer ones come, so that no tick waits for the network. Each endpoint has places of its own: so
//! many for questions that are answered soon, and half as many for the others. Namespaces take
//! turns, and a failed question rests, longer each time.

mod agenda;
mod asker;
mod question;
mod wanted;

pub use asker::{Questions, TargetQueryRunner};
pub use question::{Purpose, TargetQuery, TargetQueryEndpoint, TargetQuerySource};
pub use wanted::TargetQueryRequest;
