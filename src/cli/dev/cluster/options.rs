//! The options of a cluster.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::error::StartError;
use evenkeel_clock::Clock;
use evenkeel_core::units::Ratio;
use evenkeel_sandbox::Timeline;
use evenkeel_sandbox::baseline::{self, Baseline};
use evenkeel_sandbox::engine::lag::Lags;
use evenkeel_sandbox::machines::Machines;
use evenkeel_sandbox::prometheus::{self, Behaviour, PreRunHistory};
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_sandbox::scenario::faults::Fault;
use evenkeel_sandbox::scenario::faults::FaultKind;

/// How fast the scenario runs unless said otherwise: fast enough to see a day's rhythm, slow enough
/// that the milliseconds of a control plane do not become minutes.
pub const SPEED: f64 = 20.0;

/// So far in the past the clock of a cluster begins: at 20 times its speed it catches up with the
/// machine's after nearly nine hours.
const BEHIND: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The options that a cluster is started with.
#[derive(Debug, Clone)]
pub struct DevClusterOptions {
    pub scenario: Scenario,
    /// Decides noise, ties and names.
    pub seed: u64,
    /// Seconds of the scenario a second.
    pub speed: Ratio,
    pub faults: Vec<Fault>,
    /// The headroom line that loads are compared with.
    pub line: Ratio,
    /// Where the kubeconfig and the service's configuration are written: a folder without them, which
    /// only its owner should enter.
    pub folder: PathBuf,
    /// Fields of the service's configuration, as a file has them; what says where the cluster is, and how
    /// Prometheus is reached, is left out of them.
    pub configuration: Map<String, Value>,
    /// How long the webhook and the extender may take, in place of the shipped second and 200 ms,
    /// on machines too busy to keep them.
    pub patience: Option<Duration>,
    /// Slows the scenario down while this machine is too slow for it.
    pub keeps_pace: bool,
}

impl DevClusterOptions {
    /// The shipped scenario, 20 times as fast as the clock.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            scenario: Scenario::mixed(),
            seed: 1,
            speed: Ratio::new(SPEED).expect("20 is finite"),
            faults: Vec::new(),
            line: Ratio::new(0.8).expect("0.8 is finite"),
            folder,
            configuration: Map::new(),
            patience: None,
            keeps_pace: false,
        }
    }

    /// A clock as fast as the scenario. It begins so far in the past that it stays behind the
    /// machine's clock, `now`, for hours: kubectl computes some ages by that clock.
    pub(super) fn clock(&self, now: Timestamp) -> Clock {
        let begins = now.checked_sub(BEHIND).unwrap_or(now);
        Clock::accelerated(self.speed.get(), begins, now)
    }

    /// The machines, with HPAs that are looked at each `sync`.
    pub(super) fn machines(&self, sync: SignedDuration) -> Machines {
        Machines::new(self.scenario.clone(), self.seed, self.line, sync)
    }

    /// The metrics backend and its address, with the past that the scenario says there is.
    pub(super) async fn metrics(
        &self,
        machines: &Machines,
        timeline: &Timeline,
        behaviour: &Behaviour,
    ) -> Result<(SocketAddr, impl Future<Output = ()> + use<>), StartError> {
        let before = PreRunHistory::of(&self.scenario, self.seed);
        let (machines, timeline) = (machines.clone(), timeline.clone());
        let backend = prometheus::serve(machines, timeline, behaviour.clone(), before).await;
        backend.map_err(|source| StartError::Io {
            what: "the metrics backend cannot listen",
            source,
        })
    }

    /// A run of the same seed without Evenkeel, in virtual time, with a control plane that
    /// lags as that of the run did and with the same lost nodes. Metrics and the API server have
    /// no faults there. Its HPAs aim at a share of their own targets.
    #[must_use]
    pub fn plain(&self, lags: Lags, target_share: Ratio) -> Baseline {
        let lost = self
            .faults
            .iter()
            .filter(|fault| fault.kind == FaultKind::NodeLoss);
        Baseline::new(baseline::Settings {
            scenario: self.scenario.clone(),
            seed: self.seed,
            line: self.line,
            lags,
            target_share,
            losses: lost.map(|fault| (fault.from, fault.until)).collect(),
        })
    }
}
