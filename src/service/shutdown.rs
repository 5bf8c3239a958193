//! The end of the service in parts, each with the longest that it may take.
//!
//! After the grace period the kubelet kills what is left: requests, and a Lease that is still held.
//! So the parts add up to less, which a test holds against the manifest.

use std::time::Duration;

use crate::config::Config;
use crate::server::DrainSettings;

/// Time for computations that are under way on threads of their own; the longest is a tick of all
/// scaling targets.
const COMPUTATIONS: Duration = Duration::from_secs(1);

/// Time to take everything back where the installation is deleted. The token is worth nothing a minute after its
/// ServiceAccount was.
const REMOVAL: Duration = Duration::from_secs(50);

/// The parts, one after the other. Logs need no time of their own: each line is written when it is
/// told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownTimeouts {
    /// Requests: still accepted, then finished.
    pub drain: DrainSettings,
    /// Background work: a look at the Lease, a write that is under way, and giving the
    /// Lease back.
    pub background: Duration,
    /// The time to undo the writes on the objects of others, if they are undone.
    pub removal: Duration,
    /// Computations that are under way.
    pub computations: Duration,
}

impl ShutdownTimeouts {
    /// The parts as `config` sets them.
    pub fn of(config: &Config) -> Self {
        Self {
            drain: config.server.drain,
            background: config.leader_election.longest_end(config.writer.timeout),
            removal: REMOVAL,
            computations: COMPUTATIONS,
        }
    }

    /// The longest time from the signal to the end of the process.
    pub fn longest(&self) -> Duration {
        let Self {
            drain: DrainSettings { delay, timeout },
            background,
            removal,
            computations,
        } = *self;
        delay + timeout + background + removal + computations
    }
}
