//! What a run is shown by: lines, objects or the view.

use std::net::SocketAddr;
use std::path::PathBuf;

use jiff::SignedDuration;
use serde::Serialize;

use crate::cli::dev::cluster::events::TimedEvent;
use crate::cli::output::Failure;

/// A cluster that has just started.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Started {
    /// The scenario's name.
    pub(super) scenario: String,
    /// What decided noise, ties and names.
    pub(super) seed: u64,
    /// Seconds of the scenario a second.
    pub(super) speed: f64,
    /// The headroom line, as a share.
    pub(super) line: f64,
    /// What will break and when.
    pub(super) faults: Vec<String>,
    /// For kubectl.
    pub(super) kubeconfig: PathBuf,
    /// Where the dashboard is.
    pub(super) dashboard: SocketAddr,
    /// Where the service's probes and metrics are.
    pub(super) metrics: SocketAddr,
}

/// Shows a run while it goes on.
pub(super) trait Show {
    /// The cluster has started.
    fn started(&mut self, started: &Started) -> Result<(), Failure>;

    /// Something happened.
    fn happened(&mut self, happened: &TimedEvent) -> Result<(), Failure>;

    /// Events that came too fast to be shown.
    fn missed(&mut self, count: u64) -> Result<(), Failure>;

    /// A moment has passed.
    fn tick(&mut self, at: SignedDuration) -> Result<(), Failure>;

    /// The run is over, or has failed; called in any case.
    fn leave(&mut self);

    /// Whether whoever watches wants it to end.
    fn wants_end(&mut self) -> bool {
        false
    }
}

/// A time of the scenario, such as `00:07:12`.
pub(super) fn clock(at: SignedDuration) -> String {
    let seconds = at.as_secs().max(0);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)
}
