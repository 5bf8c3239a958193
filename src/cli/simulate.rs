//! `evenkeel simulate`: policies of placement side by side on a scenario, over many seeds.
//!
//! The same Pods, loads and measurements for each policy, in virtual time; the service's own decisions
//! are the code that it runs. What comes out are means with their confidence intervals, so that a
//! difference that is chance does not look like one.

mod picture;
mod report;
mod table;

use std::path::PathBuf;
use std::sync::Mutex;

use super::forecast::output_file;
use super::forecast::progress::Bar;
use super::forecast::values::{Output, parse_output};
use super::output::{self, Failure};
use super::scenario_file;
use super::settings::ConfigArgs;
use crate::config::Config;
use evenkeel_core::units::count_as_f64;
use evenkeel_sandbox::parallel::{cores, in_parallel};
use evenkeel_sandbox::simulation::Comparison;
use evenkeel_sandbox::simulation::policies::{OwnSettings, PolicyName};
use evenkeel_sandbox::simulation::replicas::Scaling;
use report::Simulated;

const EXAMPLES: &str = "\
Examples:
  evenkeel simulate --scenario examples/scenarios/simulate/herd.yaml --seeds 30
  evenkeel simulate --scenario examples/scenarios/simulate/thesis-5-4.yaml --policy default,clbp,evenkeel
  evenkeel simulate --scenario mine.yaml -o json -o herd.svg
  evenkeel simulate --scenario mine.yaml --set scheduling.headroom=0.7

A scenario is a file as `evenkeel dev` reads it (examples/README.md names the fields), with a section for
this command, of which every field may be left out:

  simulation:
    duration: 30m          how long it runs
    countFrom: 0s          from when on figures are counted
    apart: 0s              time between two replicas that a workload begins with
    metrics:
      interval: 15s        distance of two scrapes; loads are computed then, too
      window: 60s          span of rates
      delay: 5s            from a scrape until schedulers see it; less than the interval
    scheduler:
      decision: 5ms        time that kube-scheduler takes for one Pod
      binding: 50ms        from there until the kubelet has it and watches tell of it
      retry: 10s           pause of a Pod that was refused
      percentageOfNodesToScore: 100
    source: where the scenario is from
    reported: [what came out there]
    assumed: [what the source is silent about]

Workloads with `traffic` and `scale.cpu` have as many replicas as their HPA would give them, the same for all
policies. Spread is the standard deviation of the nodes' utilisation, its mean over time, in points of a
percent; peak the highest utilisation of any node. With several seeds each figure is a mean, and after ±
stands half of its 95 % confidence interval by Student's distribution. The same seeds give the same output.";

/// Compare policies of placement on a scenario, in virtual time and over many seeds
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Nodes, workloads and what is simulated of them; `-` reads standard input [default: the scenario of
    /// `evenkeel dev`]
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,

    /// Policies to compare: default, crane, target-load-packing, load-variation-risk, koordinator, clbp,
    /// evenkeel [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    policy: Vec<PolicyName>,

    /// Number of runs of each policy, each with noise, order and ties of its own
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,

    /// The first seed; the others follow it
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    first_seed: u64,

    /// Who scales: the HPA alone, or floors ahead of the load above it
    #[arg(long, value_enum, value_name = "NAME", default_value_t)]
    scaling: ScaledBy,

    #[command(flatten)]
    config: ConfigArgs,

    /// table, json or yaml for the numbers, or a file to draw, which ends in .svg (svg alone draws to
    /// standard output); may be repeated
    #[arg(long, short, value_name = "FORMAT|FILE", value_parser = parse_output, default_value = "table")]
    output: Vec<Output>,
}

/// Who scales the workloads with an HPA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum ScaledBy {
    /// The HPA alone
    #[default]
    Hpa,
    /// The HPA above Evenkeel's floors
    Ahead,
}

impl From<ScaledBy> for Scaling {
    fn from(by: ScaledBy) -> Self {
        match by {
            ScaledBy::Hpa => Self::Hpa,
            ScaledBy::Ahead => Self::Ahead,
        }
    }
}

pub(super) fn run(args: Args) -> Result<(), Failure> {
    let Args {
        scenario,
        policy,
        seeds,
        first_seed,
        scaling,
        config,
        output,
    } = args;
    let config = Config::load(&config.sources([]))?;
    let scenario = scenario_file::read(scenario.as_deref())?;
    for wanted in &output {
        if let Output::Svg(path) = wanted {
            output_file::check(path)?;
        }
    }
    let own = OwnSettings {
        policy: config.policy,
        table: config.cluster.table,
    };
    let line = own.policy.headroom;
    let comparison = Comparison::new(scenario, scaling.into(), own, line);
    let seeds: Vec<u64> = (first_seed..first_seed.saturating_add(seeds)).collect();
    let policies = chosen(&policy);
    let simulated = simulate(&comparison, &policies, &seeds, line.get());
    for wanted in output {
        match wanted {
            Output::Numbers(format) => output::print(&simulated, format)?,
            Output::Svg(path) => output_file::write(&path, picture::svg(&simulated))?,
        }
    }
    Ok(())
}

/// Each policy once, in the order in which they are shown.
fn chosen(named: &[PolicyName]) -> Vec<PolicyName> {
    if named.is_empty() {
        return PolicyName::ALL.to_vec();
    }
    let all = PolicyName::ALL.into_iter();
    all.filter(|policy| named.contains(policy)).collect()
}

/// Runs all policies on all seeds, on all cores.
fn simulate(
    comparison: &Comparison,
    policies: &[PolicyName],
    seeds: &[u64],
    line: f64,
) -> Simulated {
    let jobs: Vec<(PolicyName, u64)> = policies
        .iter()
        .flat_map(|&policy| seeds.iter().map(move |&seed| (policy, seed)))
        .collect();
    let bar = Mutex::new(Bar::new(true));
    let all = count_as_f64(jobs.len());
    let told = |done: usize| {
        // A bar that panicked is shown no more.
        if let Ok(mut bar) = bar.lock() {
            bar.tell(count_as_f64(done) / all, "");
        }
    };
    let work = |(policy, seed): &(PolicyName, u64)| comparison.run(*policy, *seed);
    let mut runs = in_parallel(cores(), &jobs, work, told).into_iter();
    if let Ok(mut bar) = bar.lock() {
        bar.finish();
    }
    let outcomes = policies.iter().map(|&policy| {
        let summaries = runs.by_ref().take(seeds.len()).collect();
        (policy, summaries)
    });
    Simulated::of(comparison, outcomes.collect(), seeds, line)
}
