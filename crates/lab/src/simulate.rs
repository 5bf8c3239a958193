//! `evenkeel simulate`: placement policies side by side on a scenario, over many seeds. Each policy
//! gets the same Pods, loads and measurements, in virtual time, and the service's own code decides.
//! The results are means with confidence intervals, so that chance differences do not mislead.

mod frontier;
mod picture;
mod report;
mod seed_runs;
mod table;

use std::fmt::Display;
use std::path::{Path, PathBuf};

use evenkeel_sandbox::engine::summary::RunSummary;
use evenkeel_sandbox::parallel::{cores, in_parallel};
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_sandbox::simulation::ScenarioComparison;
use evenkeel_sandbox::simulation::policies::{OwnSettings, PolicyName};
use evenkeel_sandbox::simulation::replicas::ScalingMethod;
use evenkeel_units::Ratio;
use report::{PolicyReport, SimulateReport};
use seed_runs::in_parallel_with_bar;

use super::forecast::flag_values::{ForecastOutput, parse_output};
use super::forecast::output_file;
use super::forecast::replay::own_models::AS_SHIPPED;
use super::scenario_file;
use evenkeel_service::config::Config;
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;
use evenkeel_terminal::settings::ConfigArgs;

const EXAMPLES: &str = "\
Examples:
  evenkeel simulate --scenario examples/scenarios/simulate/herd.yaml --seeds 30
  evenkeel simulate --scenario examples/scenarios/simulate/thesis-5-4.yaml --policy default,clbp,evenkeel
  evenkeel simulate --scenario mine.yaml -o json -o herd.svg
  evenkeel simulate --scenario mine.yaml --set scheduling.headroom=0.7
  evenkeel simulate --scenario examples/scenarios/simulate/ds-hpa-day.yaml --policy default --scaling hpa,ds-hpa
  evenkeel simulate --scenario nodes.yaml --simkube trace.mp --load-factor 0.6
  evenkeel simulate --scenario examples/scenarios/simulate/portraits.yaml --frontier --seeds 5 -o table -o ways.svg

A scenario is a file as for `evenkeel dev` (examples/README.md names the fields), with a section
for this command. Every field of the section is optional (`dev` reads metrics.interval and
metrics.window):

  simulation:
    duration: 30m          how long it runs
    countFrom: 0s          figures count from this time on
    apart: 0s              time between the first replicas of a workload
    metrics:
      interval: 15s        time between two scrapes; loads are computed then, too
      window: 60s          window of rates
      delay: 5s            from a scrape until schedulers see it; less than the interval
    scheduler:
      decision: 5ms        time that kube-scheduler takes for one Pod
      notice: 2ms          from the decision until the extender is notified of it
      binding: 50ms        from the decision until the kubelet and watches see the binding
      retry: 10s           pause before a refused Pod is tried again
      percentageOfNodesToScore: 100
    source: where the scenario comes from
    reported: [results that the source reports]
    assumed: [what the source does not say]

Workloads with `traffic` and `scale.cpu` have as many replicas as their HPA would set, the same
for all policies, or those that the providers of `scale.portraitProviders` ask for. Forecasts
learn from `past` of the scenario. Response times come from a model: each ready replica is a queue
that serves perReplica requests a second. Spread is the standard deviation of the nodes'
utilisation in percentage points, as a mean over time; peak is the highest utilisation of any
node. With several seeds, each figure is a mean ± half of its 95 % confidence interval by
Student's distribution. The same seeds give the same output.";

/// Compare placement policies on a scenario, in virtual time and over many seeds
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A file with nodes, workloads and what to simulate; `-` reads standard input [default: the
    /// scenario of `evenkeel dev`]
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,

    /// A trace of SimKube (version 2), whose objects replace the scenario's workloads
    #[arg(long, value_name = "FILE")]
    simkube: Option<PathBuf>,

    /// Share of its demand that each Pod of a trace uses
    #[arg(long, value_name = "SHARE", default_value_t = 0.7, value_parser = parse_factor, requires = "simkube")]
    load_factor: f64,

    /// Policies to compare: default, crane, target-load-packing, load-variation-risk, koordinator, clbp,
    /// evenkeel [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    policy: Vec<PolicyName>,

    /// Number of runs of each policy, each with its own noise, order and ties
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,

    /// The first seed; the others follow it
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    first_seed: u64,

    /// Scaling methods to compare: hpa, tes (floors by triple exponential smoothing with fixed
    /// factors), ds-hpa, auto (Evenkeel's default), portraits (those of the scenario); placement is
    /// compared under each
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "hpa"
    )]
    scaling: Vec<ScalingMethod>,

    /// Compare scaling methods without placement: the portraits of the scenario, each kind alone
    /// and several together, and the plain HPA at its own target and at lower ones
    #[arg(long, conflicts_with_all = ["policy", "simkube", "scaling"])]
    frontier: bool,

    #[command(flatten)]
    config: ConfigArgs,

    /// table, json or yaml for the numbers, or a file that ends in .svg for a picture (svg alone
    /// prints the picture); may be repeated
    #[arg(long, short, value_name = "FORMAT|FILE", value_parser = parse_output, default_value = "table")]
    output: Vec<ForecastOutput>,
}

pub fn run(args: Args) -> Result<(), CliFailure> {
    let config = Config::load(&args.config.sources([]))?;
    let mut scenario = scenario_file::read(args.scenario.as_deref())?;
    if let Some(path) = &args.simkube {
        scenario = with_trace(scenario, path, args.load_factor)?;
    }
    for wanted in &args.output {
        if let ForecastOutput::Svg(path) = wanted {
            output_file::check(path)?;
        }
    }
    let seeds: Vec<u64> = (args.first_seed..args.first_seed.saturating_add(args.seeds)).collect();
    if args.frontier {
        return frontier::run(&scenario, &seeds, args.output);
    }
    let own = OwnSettings {
        policy: config.policy,
        balances_scale_in: config.cluster.balances_scale_in,
        table: config.cluster.table,
    };
    let line = own.policy.headroom;
    let begin = |scaling: &ScalingMethod| {
        let (scenario, own) = (scenario.clone(), own.clone());
        ScenarioComparison::new(scenario, *scaling, own, line, AS_SHIPPED)
    };
    let comparisons = in_parallel(
        cores(),
        &distinct(&ScalingMethod::ALL, &args.scaling),
        begin,
        |_| (),
    );
    let policies = distinct(&PolicyName::ALL, &args.policy);
    let simulated = simulate(&comparisons, &policies, &seeds, line.get());
    for wanted in args.output {
        match wanted {
            ForecastOutput::Numbers(format) => output::print(&simulated, format)?,
            ForecastOutput::Svg(path) => output_file::write(&path, picture::svg(&simulated))?,
        }
    }
    Ok(())
}

fn with_trace(scenario: Scenario, path: &Path, factor: f64) -> Result<Scenario, CliFailure> {
    let refuse = |what: &dyn Display| CliFailure::call(format_args!("{}: {what}", path.display()));
    let trace = std::fs::read(path).map_err(|error| refuse(&error))?;
    let factor = Ratio::new(factor).map_err(|error| refuse(&error))?;
    let scenario = scenario.with_simkube(&trace, factor);
    scenario.map_err(|error| refuse(&error))
}

fn parse_factor(text: &str) -> Result<f64, String> {
    let factor = text.parse::<f64>().ok();
    factor
        .filter(|factor| (0.0..=10.0).contains(factor))
        .ok_or_else(|| "accepted: a number from 0 to 10, such as 0.7".to_owned())
}

/// Those that are named, each once and in the order in which they are shown; all where none is.
fn distinct<T: Copy + PartialEq>(all: &[T], named: &[T]) -> Vec<T> {
    let all = all.iter().copied();
    all.filter(|one| named.is_empty() || named.contains(one))
        .collect()
}

/// Runs all policies on all seeds under each way of scaling, on all cores.
fn simulate(
    comparisons: &[ScenarioComparison],
    policies: &[PolicyName],
    seeds: &[u64],
    line: f64,
) -> SimulateReport {
    let entrants = comparisons
        .iter()
        .flat_map(|comparison| policies.iter().map(move |&policy| (comparison, policy)));
    let entrants: Vec<(&ScenarioComparison, PolicyName)> = entrants.collect();
    let jobs = entrants
        .iter()
        .flat_map(|&entrant| seeds.iter().map(move |&seed| (entrant, seed)));
    let jobs: Vec<((&ScenarioComparison, PolicyName), u64)> = jobs.collect();
    let work = |((comparison, policy), seed): &((&ScenarioComparison, PolicyName), u64)| {
        comparison.run(*policy, *seed)
    };
    let mut runs = in_parallel_with_bar(&jobs, work).into_iter();
    let policies = entrants.into_iter().filter_map(|(comparison, policy)| {
        let summaries: Vec<RunSummary> = runs.by_ref().take(seeds.len()).collect();
        PolicyReport::of(policy, comparison.scaling(), &summaries)
    });
    let policies = policies.collect();
    SimulateReport::of(comparisons, policies, seeds, line)
}
