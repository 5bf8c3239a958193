//! Ways to show a run: lines, objects or the view.

use std::net::SocketAddr;
use std::path::PathBuf;

use jiff::SignedDuration;
use serde::Serialize;

use crate::dev::cluster::events::TimedEvent;
use evenkeel_terminal::output::CliFailure;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ClusterStartSummary {
    pub(super) scenario: String,
    /// Seed of noise, ties and names.
    pub(super) seed: u64,
    /// Seconds of the scenario a second.
    pub(super) speed: f64,
    /// The headroom line, as a share.
    pub(super) line: f64,
    pub(super) faults: Vec<String>,
    pub(super) kubeconfig: PathBuf,
    pub(super) dashboard: SocketAddr,
    pub(super) prometheus: SocketAddr,
    /// Address of the service's probes and metrics.
    pub(super) metrics: SocketAddr,
}

pub(super) trait RunDisplay {
    fn started(&mut self, started: &ClusterStartSummary) -> Result<(), CliFailure>;

    fn happened(&mut self, happened: &TimedEvent) -> Result<(), CliFailure>;

    /// Events that came too fast to be shown.
    fn missed(&mut self, count: u64) -> Result<(), CliFailure>;

    /// A moment has passed.
    fn tick(&mut self, at: SignedDuration) -> Result<(), CliFailure>;

    /// The run is over, or has failed; called in any case.
    fn leave(&mut self);

    /// The user asked for an end.
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
