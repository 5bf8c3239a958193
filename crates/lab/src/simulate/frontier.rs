//! `evenkeel simulate --frontier`: portraits, alone and together, beside the plain HPA at lower
//! targets, over several seeds. Nothing is placed: replica counts do not depend on nodes.

mod picture;
mod report;
mod table;

use super::seed_runs::in_parallel_with_bar;
use crate::forecast::flag_values::ForecastOutput;
use crate::forecast::output_file;
use crate::forecast::replay::own_models::AS_SHIPPED;
use evenkeel_sandbox::scenario::{Scenario, ScenarioWorkload};
use evenkeel_sandbox::simulation::frontier::{ScalingScore, Way};
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;
use report::{FrontierGroup, Ways};

/// Compares the ways of scaling the workloads that have portraits.
pub(super) fn run(
    scenario: &Scenario,
    seeds: &[u64],
    outputs: Vec<ForecastOutput>,
) -> Result<(), CliFailure> {
    let scaled = scenario.workloads.iter();
    let scaled: Vec<&ScenarioWorkload> = scaled.filter(|one| one.portraits.is_some()).collect();
    if scaled.is_empty() {
        return Err(CliFailure::call(format_args!(
            "--frontier: no workload of {} has scale.portraitProviders; accepted: a scenario with \
             such a workload, for example examples/scenarios/simulate/portraits.yaml",
            scenario.name
        )));
    }
    let ways = Way::all();
    let runs = score(scenario, &ways, &scaled, seeds);
    let compared = Ways::of(scenario, seeds, groups(&ways, &scaled, seeds.len(), &runs));
    for wanted in outputs {
        match wanted {
            ForecastOutput::Numbers(format) => output::print(&compared, format)?,
            ForecastOutput::Svg(path) => output_file::write(&path, picture::svg(&compared))?,
        }
    }
    Ok(())
}

/// The runs by workload, by way, by seed.
fn score(
    scenario: &Scenario,
    ways: &[Way],
    scaled: &[&ScenarioWorkload],
    seeds: &[u64],
) -> Vec<Option<ScalingScore>> {
    let jobs = scaled.iter().flat_map(|&workload| {
        let ways = ways.iter();
        ways.flat_map(move |&way| seeds.iter().map(move |&seed| (workload, way, seed)))
    });
    let jobs: Vec<(&ScenarioWorkload, Way, u64)> = jobs.collect();
    in_parallel_with_bar(&jobs, |(workload, way, seed)| {
        way.scored(workload, scenario, *seed, AS_SHIPPED)
    })
}

/// The workloads of each namespace, in order, and all of them if there are several.
fn groups(
    ways: &[Way],
    scaled: &[&ScenarioWorkload],
    seeds: usize,
    runs: &[Option<ScalingScore>],
) -> Vec<FrontierGroup> {
    let each = runs.chunks(ways.len() * seeds);
    let by_workload: Vec<(&str, &[Option<ScalingScore>])> = scaled
        .iter()
        .map(|workload| workload.namespace.as_str())
        .zip(each)
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in &by_workload {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let group = |name: &str, is_meant: &dyn Fn(&str) -> bool| {
        let meant = by_workload.iter().filter(|(name, _)| is_meant(name));
        let meant: Vec<&[Option<ScalingScore>]> = meant.map(|(_, runs)| *runs).collect();
        FrontierGroup::of(name, ways, seeds, &meant)
    };
    let mut groups: Vec<FrontierGroup> = names
        .iter()
        .map(|wanted| group(wanted, &|name| name == *wanted))
        .collect();
    if names.len() > 1 {
        groups.push(group("all", &|_| true));
    }
    groups
}
