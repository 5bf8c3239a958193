//! Questions of single targets, asked in the background.
//!
//! At each tick the scaling loop says which it wants; they are asked, and their answers kept until newer
//! ones come, so that no tick waits for the network. Each of those who are asked has places of its own:
//! so many for questions that are answered soon, and half as many for the others; namespaces take
//! turns, and what fails rests, longer each time.

mod agenda;
mod asker;
mod newest;
mod question;
mod wanted;

pub use asker::{Questions, TargetQueryRunner};
pub use newest::{CachedAnswer, LatestAnswers};
pub use question::{Purpose, TargetQuery, TargetQueryEndpoint, TargetQuerySource};
pub use wanted::TargetQueryRequest;
