//! The section `simulation` of a scenario: duration, delays of measurements and bindings, and
//! sources. `evenkeel simulate` reads all of it. `dev` only reads interval and window of metrics,
//! because its control plane has real delays. Every field has a default.

use evenkeel_objects::yaml_values::YamlText;
use evenkeel_placement::NodesToScore;
use jiff::SignedDuration;
use serde::Deserialize;

use super::error::ScenarioError;
use super::values::{duration, refused};
use crate::scrape_timing::Timing;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulation {
    pub duration: SignedDuration,
    /// Figures count from then on; earlier time fills windows of measurements.
    pub count_from: SignedDuration,
    /// Time between two initial replicas of a workload; `None` if all are made at once.
    pub apart: SignedDuration,
    /// Between two scrapes.
    pub interval: SignedDuration,
    pub window: SignedDuration,
    /// From a scrape until schedulers see it; shorter than the interval.
    pub delay: SignedDuration,
    /// kube-scheduler's time for one Pod; the next one waits.
    pub decision: SignedDuration,
    /// From a decision until an extender has kube-scheduler's notice of it.
    pub notice: SignedDuration,
    /// From a decision until the kubelet has the Pod and the watch shows the binding.
    pub binding: SignedDuration,
    /// Wait of a refused Pod until the next try.
    pub retry: SignedDuration,
    pub nodes_to_score: NodesToScore,
    pub background: ScenarioProvenance,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScenarioProvenance {
    /// Origin of its numbers.
    pub source: Option<String>,
    /// Results of the source.
    pub reported: Vec<String>,
    /// Assumptions for missing values of the source.
    pub assumed: Vec<String>,
}

impl Simulation {
    /// When and over which span loads are measured.
    pub const fn timing(&self) -> Timing {
        Timing {
            interval: self.interval,
            window: self.window,
        }
    }
}

impl Default for Simulation {
    fn default() -> Self {
        let (second, milli) = (SignedDuration::from_secs, SignedDuration::from_millis);
        // As Prometheus and the service are shipped.
        let Timing { interval, window } = Timing::default();
        Self {
            duration: second(1800),
            count_from: SignedDuration::ZERO,
            apart: SignedDuration::ZERO,
            interval,
            window,
            delay: second(5),
            // Of a kube-scheduler at about 200 Pods a second, with an idle API server.
            decision: milli(5),
            notice: milli(2),
            binding: milli(50),
            // kube-scheduler's longest pause for a Pod.
            retry: second(10),
            nodes_to_score: NodesToScore::ALL,
            background: ScenarioProvenance::default(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SimulationFile {
    #[serde(default)]
    duration: Option<YamlText>,
    #[serde(default)]
    count_from: Option<YamlText>,
    #[serde(default)]
    apart: Option<YamlText>,
    #[serde(default)]
    metrics: MetricsFile,
    #[serde(default)]
    scheduler: SchedulerFile,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    reported: Vec<String>,
    #[serde(default)]
    assumed: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MetricsFile {
    #[serde(default)]
    interval: Option<YamlText>,
    #[serde(default)]
    window: Option<YamlText>,
    #[serde(default)]
    delay: Option<YamlText>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SchedulerFile {
    #[serde(default)]
    decision: Option<YamlText>,
    #[serde(default)]
    notice: Option<YamlText>,
    #[serde(default)]
    binding: Option<YamlText>,
    #[serde(default)]
    retry: Option<YamlText>,
    #[serde(default)]
    percentage_of_nodes_to_score: Option<u32>,
}

/// All defaults if the section is missing.
pub(super) fn checked(file: Option<SimulationFile>) -> Result<Simulation, ScenarioError> {
    let usual = Simulation::default();
    let Some(file) = file else { return Ok(usual) };
    let SimulationFile {
        duration,
        count_from,
        apart,
        metrics:
            MetricsFile {
                interval,
                window,
                delay,
            },
        scheduler,
        source,
        reported,
        assumed,
    } = file;
    let SchedulerFile {
        decision,
        notice,
        binding,
        retry,
        percentage_of_nodes_to_score,
    } = scheduler;
    let simulation = Simulation {
        duration: or("duration", duration, usual.duration)?,
        count_from: or("countFrom", count_from, usual.count_from)?,
        apart: or("apart", apart, usual.apart)?,
        interval: or("metrics.interval", interval, usual.interval)?,
        window: or("metrics.window", window, usual.window)?,
        delay: or("metrics.delay", delay, usual.delay)?,
        decision: or("scheduler.decision", decision, usual.decision)?,
        notice: or("scheduler.notice", notice, usual.notice)?,
        binding: or("scheduler.binding", binding, usual.binding)?,
        retry: or("scheduler.retry", retry, usual.retry)?,
        nodes_to_score: percentage_of_nodes_to_score
            .map_or(Ok(usual.nodes_to_score), nodes_to_score)?,
        background: ScenarioProvenance {
            source,
            reported,
            assumed,
        },
    };
    consistent(&simulation)?;
    Ok(simulation)
}

fn or(
    field: &str,
    text: Option<YamlText>,
    usual: SignedDuration,
) -> Result<SignedDuration, ScenarioError> {
    text.map_or(Ok(usual), |text| {
        duration(&format!("simulation.{field}"), &text)
    })
}

fn nodes_to_score(percent: u32) -> Result<NodesToScore, ScenarioError> {
    NodesToScore::new(percent).ok_or_else(|| {
        let path = "simulation.scheduler.percentageOfNodesToScore";
        refused(path, percent, "a whole number from 0 to 100")
    })
}

/// Refuses times that exclude each other.
fn consistent(simulation: &Simulation) -> Result<(), ScenarioError> {
    let Simulation {
        duration,
        count_from,
        interval,
        window,
        delay,
        retry,
        ..
    } = simulation;
    let second = SignedDuration::from_secs(1);
    let rules = [
        (
            *interval >= second,
            "metrics.interval",
            interval,
            "at least 1s",
        ),
        (
            window >= interval,
            "metrics.window",
            window,
            "at least metrics.interval: a rate needs two scrapes",
        ),
        (
            delay < interval,
            "metrics.delay",
            delay,
            "less than metrics.interval",
        ),
        (*retry >= second, "scheduler.retry", retry, "at least 1s"),
        (
            count_from < duration,
            "countFrom",
            count_from,
            "less than duration",
        ),
    ];
    for (holds, field, given, accepted) in rules {
        if !holds {
            let path = format!("simulation.{field}");
            return Err(refused(&path, format!("{given:#}"), accepted));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    const PLAIN: &str = "
name: small
nodes:
  - {name: a, capacity: {cpu: 4, memory: 8Gi, networkIo: 1Gbps, diskIo: 100MB/s, disk: 50Gi}}
workloads: []
simulation:
";

    fn read(section: &str) -> Result<Simulation, String> {
        let scenario = format!("{PLAIN}{section}").parse::<Scenario>();
        let scenario = scenario.map_err(|error| error.to_string());
        scenario.map(|scenario| scenario.simulation)
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        assert_eq!(read("  {}").unwrap(), Simulation::default());
        let given = read("  duration: 1h\n  metrics: {delay: 1s}\n  assumed: [noise]").unwrap();
        assert_eq!(given.duration, SignedDuration::from_hours(1));
        assert_eq!(given.delay, SignedDuration::from_secs(1));
        assert_eq!(given.interval, Simulation::default().interval);
        assert_eq!(given.background.assumed, ["noise"]);
    }

    #[test]
    fn times_that_exclude_each_other_and_unknown_fields_are_refused_by_name() {
        for (section, parts) in [
            (
                "  {duration: 1m, countFrom: 1m}",
                "simulation.countFrom: \"1m\"",
            ),
            (
                "  {metrics: {delay: 15s}}",
                "simulation.metrics.delay: \"15s\"",
            ),
            ("  {metrics: {window: 5s}}", "simulation.metrics.window"),
            ("  {metrics: {interval: 0s}}", "simulation.metrics.interval"),
            ("  {scheduler: {retry: 0s}}", "simulation.scheduler.retry"),
            (
                "  {scheduler: {percentageOfNodesToScore: 101}}",
                "simulation.scheduler.percentageOfNodesToScore",
            ),
            (
                "  {scheduler: {binding: soon}}",
                "simulation.scheduler.binding",
            ),
            ("  {lenght: 1m}", "lenght"),
        ] {
            let error = read(section).unwrap_err();
            assert!(error.contains(parts), "{section}: {error}");
        }
        let unknown = read("  {lenght: 1m}").unwrap_err();
        assert!(
            unknown.contains("duration"),
            "it says what is accepted: {unknown}"
        );
    }
}
