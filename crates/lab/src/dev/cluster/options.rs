//! The options of a cluster.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use evenkeel_clock::Clock;
use evenkeel_sandbox::baseline::Baseline;
use evenkeel_sandbox::engine::lag::Lags;
use evenkeel_sandbox::machines::Machines;
use evenkeel_sandbox::prometheus::{Behaviour, PreRunHistory};
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_sandbox::scenario::faults::{Fault, FaultKind};
use evenkeel_sandbox::target_replay::SeasonalRule;
use evenkeel_sandbox::{Timeline, baseline, prometheus};
use evenkeel_units::Ratio;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::error::StartError;

/// The default speed: fast enough for a day's rhythm, slow enough that a control plane's
/// milliseconds do not become minutes.
pub const SPEED: f64 = 20.0;

/// How far in the past a cluster's clock begins: at 20 times its speed it reaches the machine's
/// after nearly nine hours.
const BEHIND: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The seconds of a day.
const DAY: i64 = 24 * 60 * 60;

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
    /// The folder of the kubeconfig and the service's configuration; only its owner should enter
    /// it.
    pub folder: PathBuf,
    /// Fields of the service's configuration; those of the cluster's place and of Prometheus are
    /// overridden.
    pub configuration: Map<String, Value>,
    /// Time limit of webhook and extender, in place of the shipped second and 200 ms, for busy
    /// machines.
    pub patience: Option<Duration>,
    /// The scheduler calls the extender. Score labels are for clusters where it cannot.
    pub calls_extender: bool,
    /// Slows the scenario down while this machine is too slow for it.
    pub keeps_pace: bool,
    /// The clock begins at the time of day of this time; `None` for that of the machine.
    pub begins_as: Option<Timestamp>,
}

impl DevClusterOptions {
    /// The shipped scenario, 20 times as fast as the clock.
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
            calls_extender: true,
            keeps_pace: false,
            begins_as: None,
        }
    }

    /// A clock as fast as the scenario. It stays behind the machine's clock, `now`, for hours:
    /// kubectl computes some ages by that clock.
    pub(super) fn clock(&self, now: Timestamp) -> Clock {
        let day = |at: Timestamp| at.as_second().rem_euclid(DAY);
        let behind = now.checked_sub(BEHIND).unwrap_or(now);
        let earlier = self
            .begins_as
            .map_or(0, |like| (day(behind) - day(like)).rem_euclid(DAY));
        let begins = behind.checked_sub(SignedDuration::from_secs(earlier));
        let begins = begins.unwrap_or(behind);
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

    /// A run of the same seed without Evenkeel, in virtual time, with the run's control-plane lags
    /// and lost nodes, and without faults of metrics and API server. Its HPAs aim at a share of
    /// their own targets, and follow a seasonal rule if one is given.
    pub fn plain(&self, lags: Lags, target_share: Ratio, rule: Option<SeasonalRule>) -> Baseline {
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
            rule,
            losses: lost.map(|fault| (fault.from, fault.until)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_begins_a_week_ago_at_the_time_of_day_of_a_record() {
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = time("2026-11-29T07:30:00Z");
        for (like, begins) in [
            (None, "2026-11-22T07:30:00Z"),
            (Some("2026-11-28T06:12:00Z"), "2026-11-22T06:12:00Z"),
            (Some("2026-11-28T07:31:00Z"), "2026-11-21T07:31:00Z"),
        ] {
            let options = DevClusterOptions {
                begins_as: like.map(time),
                ..DevClusterOptions::new(PathBuf::new())
            };
            let clock = options.clock(now);
            let behind = clock.at(now).duration_since(time(begins));
            assert!(behind.abs() < SignedDuration::from_secs(1), "{behind}");
        }
    }
}
