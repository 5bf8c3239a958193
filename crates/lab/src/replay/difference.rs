//! A record beside its replays: by the HPAs alone, and with Evenkeel. The first pair shows how far a
//! replay is from what happened, the others what would have been different.

use std::io;
use std::io::Write;
use std::num::NonZeroUsize;

use comfy_table::Cell;
use evenkeel_sandbox::engine::summary::RunSummary;
use evenkeel_sandbox::parallel::in_parallel;
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_sandbox::simulation::ScenarioComparison;
use evenkeel_sandbox::simulation::policies::{OwnSettings, PolicyName};
use evenkeel_sandbox::simulation::recorded_cost::{RecordedCost, recorded_cost};
use evenkeel_sandbox::simulation::replicas::ScalingMethod;
use evenkeel_service::api::replay::{NodeFigures, ReplayComparison, ReplayRow};
use evenkeel_service::config::Config;
use evenkeel_terminal::output::{Style, fit_to_width, right};
use evenkeel_units::count_as_f64;
use serde::Serialize;

use super::{ReplayInput, ReplayRecord};
use crate::forecast::replay::own_models::AS_SHIPPED;

/// Rows that differ from the one with floors in placement only.
const PLACED: &str = "with floors and placement";
const WITH_SETTINGS: &str = "with your settings";

/// Differences of less than this share of the replica-hours are the same.
const SAME: f64 = 0.005;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayDifference {
    rows: Vec<ReplayRow>,
    #[serde(skip)]
    recorded: RecordedFloors,
}

/// The share of the recorded HPAs that had floors. It decides which replay the record is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordedFloors {
    Without,
    Mixed,
    All,
}

impl RecordedFloors {
    fn of(with_floors: &[String], scenario: &Scenario) -> Self {
        let scaled = scenario.workloads.iter().filter(|one| one.scale.is_some());
        let names: Vec<_> = scaled
            .map(|one| format!("{}/{}", one.namespace, one.name))
            .collect();
        let raised = names
            .iter()
            .filter(|name| with_floors.contains(name))
            .count();
        match raised {
            0 => Self::Without,
            raised if raised == names.len() => Self::All,
            _ => Self::Mixed,
        }
    }
}

/// A replay to run.
struct ReplayRun<'a> {
    name: &'a str,
    scenario: &'a Scenario,
    scaling: ScalingMethod,
    policy: PolicyName,
    own: &'a OwnSettings,
}

/// How replays are run.
pub(crate) struct ReplaySettings<'a> {
    pub(crate) shipped: OwnSettings,
    /// As set by the user; `None` if that is as shipped.
    pub(crate) set: Option<OwnSettings>,
    pub(crate) seeds: &'a [u64],
    /// Replays that run side by side.
    pub(crate) workers: NonZeroUsize,
}

pub(crate) fn own_settings(config: Config) -> OwnSettings {
    OwnSettings {
        policy: config.policy,
        balances_scale_in: config.cluster.balances_scale_in,
        table: config.cluster.table,
    }
}

impl ReplayDifference {
    /// `None` without a record.
    pub(crate) fn of(input: &ReplayInput, settings: &ReplaySettings<'_>) -> Option<Self> {
        let ReplayRecord { manifest, counts } = input.record.as_ref()?;
        let recorded = input.recorded();
        let was = recorded_cost(recorded, counts, manifest.span());
        let runs = runs(input, settings);
        let work = |run: &ReplayRun<'_>| replayed(run, settings.seeds);
        let replayed = in_parallel(settings.workers, &runs, work, |_| ());
        let rows = [as_it_was(was)].into_iter().chain(replayed);
        Some(Self {
            rows: rows.collect(),
            recorded: RecordedFloors::of(&manifest.with_floors, recorded),
        })
    }

    /// Prints the table, and each difference in words.
    pub(crate) fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let title = "The record and its replays: scaled workloads together";
        writeln!(to, "\n{}\n", style.emphasis(title))?;
        let mut table = style.table([
            Cell::new(""),
            right("UNDER-PROVISIONED s"),
            right("OVERLOADED s"),
            right("REPLICA-HOURS"),
            right("CHANGES"),
            right("PODS REFUSED"),
            right("ANY NODE OVER, s"),
        ]);
        for row in &self.rows {
            let node = |of: fn(&NodeFigures) -> f64| {
                right(
                    row.nodes
                        .as_ref()
                        .map_or_else(String::new, |one| format!("{:.0}", of(one))),
                )
            };
            table.add_row([
                Cell::new(&row.name),
                right(format!("{:.0}", row.under_provisioned_seconds)),
                right(format!("{:.0}", row.overloaded_seconds)),
                right(format!("{:.1}", row.replica_hours)),
                right(row.changes.to_string()),
                node(|one| one.pods_refused),
                node(|one| one.seconds_over_line),
            ]);
        }
        writeln!(to, "{}\n", fit_to_width(&table))?;
        for sentence in self.sentences() {
            writeln!(to, "{sentence}")?;
        }
        Ok(())
    }

    /// Each way of scaling compared with the replay of the recorded HPAs, and the record with the replay that is
    /// most like it.
    fn sentences(&self) -> Vec<String> {
        let [was, plain, floored, ..] = self.rows.as_slice() else {
            return Vec::new();
        };
        let others = self.rows.iter().skip(2);
        let scaled = others.filter(|row| ![PLACED, WITH_SETTINGS].contains(&&*row.name));
        let beside_plain = scaled.map(|row| {
            let difference = sentence(&row.name, figures(row), figures(plain));
            format!("{difference}.")
        });
        let like_record = match self.recorded {
            RecordedFloors::Without => Ok(plain),
            RecordedFloors::All => Ok(floored),
            RecordedFloors::Mixed => Err(
                "Only some of the recorded HPAs had floors, so the record cannot be compared with a replay. How \
                 exact the replays are is unknown.",
            ),
        };
        let itself = like_record.map_or_else(str::to_owned, |replay| {
            format!(
                "The replay itself: {}. Smaller differences than this one mean nothing.",
                sentence(&replay.name, figures(replay), figures(was))
            )
        });
        beside_plain.chain([itself]).collect()
    }

    /// For the page, with the gaps in the record.
    pub(crate) fn with_gaps(self, missing: Vec<String>) -> ReplayComparison {
        ReplayComparison {
            sentences: self.sentences(),
            rows: self.rows,
            missing,
        }
    }
}

fn runs<'a>(input: &'a ReplayInput, settings: &'a ReplaySettings<'_>) -> Vec<ReplayRun<'a>> {
    let (shipped, recorded) = (&settings.shipped, input.recorded());
    let run = |name, scenario, scaling, placement: Option<&'a OwnSettings>| ReplayRun {
        name,
        scenario,
        scaling,
        policy: placement.map_or(PolicyName::Default, |_| PolicyName::Evenkeel),
        own: placement.unwrap_or(shipped),
    };
    let (hpa, floors) = (ScalingMethod::Hpa, ScalingMethod::Auto);
    let mut runs = vec![
        run("recorded HPAs, replayed", recorded, hpa, None),
        run("with floors", recorded, floors, None),
        run(PLACED, recorded, floors, Some(shipped)),
    ];
    if let Some(set) = &settings.set {
        runs.push(run(WITH_SETTINGS, recorded, floors, Some(set)));
    }
    if input.unedited.is_some() {
        let edited = &input.scenario;
        runs.push(run("edited HPAs", edited, hpa, None));
        runs.push(run("edited HPAs with floors", edited, floors, None));
    }
    runs
}

/// Seconds under-provisioned, and replica-hours.
type ReplayFigures = (f64, f64);

/// One run beside another in words, without the final full stop.
pub(crate) fn sentence(
    name: &str,
    (seconds, hours): ReplayFigures,
    beside: ReplayFigures,
) -> String {
    let (other_seconds, other_hours) = beside;
    let more = if hours > 0.0 || other_hours > 0.0 {
        hours / other_hours - 1.0
    } else {
        0.0
    };
    let percent = (more.abs() * 100.0).round();
    let cost = if more.abs() < SAME {
        "the same replica-hours".to_owned()
    } else if more.is_infinite() {
        format!("{hours:.1} replica-hours instead of 0")
    } else if more > 0.0 {
        format!("{percent:.0} % more replica-hours")
    } else {
        format!("{percent:.0} % fewer replica-hours")
    };
    format!("{name}: {seconds:.0} s under-provisioned instead of {other_seconds:.0}, {cost}")
}

fn as_it_was(was: RecordedCost) -> ReplayRow {
    let RecordedCost { cost, changes } = was;
    ReplayRow {
        name: "as it was".to_owned(),
        under_provisioned_seconds: cost.under_provisioned_seconds,
        overloaded_seconds: cost.overloaded_seconds,
        replica_hours: cost.replica_hours,
        changes,
        nodes: None,
    }
}

fn replayed(run: &ReplayRun<'_>, seeds: &[u64]) -> ReplayRow {
    let (own, line) = (run.own.clone(), run.own.policy.headroom);
    let comparison =
        ScenarioComparison::new(run.scenario.clone(), run.scaling, own, line, AS_SHIPPED);
    let summaries: Vec<_> = seeds
        .iter()
        .map(|seed| comparison.run(run.policy, *seed))
        .collect();
    let mean = |of: fn(&RunSummary) -> f64| {
        summaries.iter().map(of).sum::<f64>() / count_as_f64(summaries.len().max(1))
    };
    let replicas = comparison.replicas();
    ReplayRow {
        name: run.name.to_owned(),
        under_provisioned_seconds: replicas.cost.under_provisioned_seconds,
        overloaded_seconds: replicas.cost.overloaded_seconds,
        replica_hours: replicas.cost.replica_hours,
        changes: replicas.scalings,
        nodes: Some(NodeFigures {
            pods_refused: mean(|run| count_as_f64(run.refused)),
            seconds_over_line: mean(|run| run.seconds_over_line),
        }),
    }
}

const fn figures(row: &ReplayRow) -> ReplayFigures {
    (row.under_provisioned_seconds, row.replica_hours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_is_compared_with_the_replay_that_is_like_it() {
        let row = |name: &str, seconds| ReplayRow {
            name: name.to_owned(),
            under_provisioned_seconds: seconds,
            overloaded_seconds: 0.0,
            replica_hours: 10.0,
            changes: 0,
            nodes: None,
        };
        for (recorded, expected) in [
            (
                RecordedFloors::Without,
                "The replay itself: recorded HPAs, replayed: 90 s under-provisioned",
            ),
            (
                RecordedFloors::All,
                "The replay itself: with floors: 20 s under-provisioned",
            ),
            (RecordedFloors::Mixed, "cannot be compared with a replay"),
        ] {
            let rows = vec![
                row("as it was", 30.0),
                row("recorded HPAs, replayed", 90.0),
                row("with floors", 20.0),
                row(PLACED, 20.0),
                row(WITH_SETTINGS, 20.0),
            ];
            let sentences = ReplayDifference { rows, recorded }.sentences();
            assert_eq!(sentences.len(), 2, "{sentences:?}");
            assert!(sentences[1].contains(expected), "{sentences:?}");
        }
    }

    #[test]
    fn the_floors_of_a_record_are_those_of_its_scaled_workloads() {
        let scenario = Scenario::mixed();
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            RecordedFloors::of(&names, &scenario)
        };
        assert_eq!(of(&[]), RecordedFloors::Without);
        assert_eq!(of(&["shop/other"]), RecordedFloors::Without);
        assert_eq!(of(&["shop/web"]), RecordedFloors::All);
    }

    #[test]
    fn a_difference_stands_in_words() {
        for (own, other, expected) in [
            (
                (0.0, 106.0),
                (412.0, 100.0),
                "with floors: 0 s under-provisioned instead of 412, 6 % more replica-hours",
            ),
            (
                (5.0, 90.0),
                (5.0, 100.0),
                "with floors: 5 s under-provisioned instead of 5, 10 % fewer replica-hours",
            ),
            (
                (5.0, 100.1),
                (5.0, 100.0),
                "with floors: 5 s under-provisioned instead of 5, the same replica-hours",
            ),
            (
                (5.0, 1.0),
                (5.0, 0.0),
                "with floors: 5 s under-provisioned instead of 5, 1.0 replica-hours instead of 0",
            ),
            (
                (0.0, 0.0),
                (0.0, 0.0),
                "with floors: 0 s under-provisioned instead of 0, the same replica-hours",
            ),
        ] {
            assert_eq!(sentence("with floors", own, other), expected);
        }
    }
}
