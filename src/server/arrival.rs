//! The bounds of a path, and what its guard tells the handler of a request.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::budget::BodyBudget;
use evenkeel_core::units::Bytes;

/// Bounds of the requests to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Size of the largest body.
    pub body: Bytes,
    /// Time limit of a body.
    pub body_time: Duration,
    /// Requests answered at a time; those beyond it are shed.
    pub concurrency: NonZeroUsize,
}

/// Place of a request relative to the concurrency limit of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Within it: the handler does its work.
    Normal,
    /// Beyond it: the handler answers at once so as to change nothing.
    Shed,
}

/// A request that the guard has let through, as the handler sees it.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    pub limits: Limits,
    pub budget: Arc<BodyBudget>,
    pub load: Load,
    pub started: Instant,
}
