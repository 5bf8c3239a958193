//! The end of the service in parts, each with its time limit. After the grace period the kubelet
//! kills what is left: requests, and a held Lease. So the parts add up to less, which a test checks
//! against the manifest.

use std::time::Duration;

use crate::config::Config;
use crate::server::DrainSettings;

/// Time for running computations on threads of their own; the longest is a tick of all scaling
/// targets.
const COMPUTATIONS: Duration = Duration::from_secs(1);

/// Time to undo everything at an uninstall: the token expires a minute after its ServiceAccount was
/// deleted.
const REMOVAL: Duration = Duration::from_secs(50);

/// The parts, one after the other. Logs need no time: each line is written at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownTimeouts {
    /// Requests: still accepted, then finished.
    pub drain: DrainSettings,
    /// Background work: a check of the Lease, a write under way, and the release of the Lease.
    pub background: Duration,
    /// The time to undo the writes on the objects of others, if they are undone.
    pub removal: Duration,
    /// Computations that are under way.
    pub computations: Duration,
}

impl ShutdownTimeouts {
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
