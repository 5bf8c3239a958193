//! The signals that no round of measurements tells: custom and external metrics, usage by one container,
//! and PromQL, each asked for one target by itself.
//!
//! At each tick the scaling loop says which it wants; they are asked in the background, and their
//! answers kept until newer ones come, so that no tick waits for the network. Of each API at most
//! [`agenda::AT_ONCE`] questions that are answered soon are under way, and half as many that are not;
//! namespaces take turns, and what fails rests, longer each time.

mod agenda;
mod asker;
mod readings;
mod served;
mod source;
mod wanted;

pub use asker::{Asker, Signals};
pub use readings::{SignalReading, SignalReadings};
pub use served::ServedSource;
pub use source::{SignalSource, Sources};
pub use wanted::Wanted;

use std::time::Duration;

use evenkeel_core::units::Bytes;

/// The longest answer to one question: the values of some 10,000 Pods.
pub(crate) const BODY_LIMIT: Bytes = Bytes(4 * 1024 * 1024);

/// The bounds of one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The longest that it may take.
    pub timeout: Duration,
}
