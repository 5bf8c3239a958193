//! `evenkeel simulate`: placement policies side by side on a scenario, over many seeds. Each policy
//! gets the same Pods, loads and measurements, in virtual time, and the service's own code decides.
//! The results are means with confidence intervals, so that chance differences do not mislead.

mod frontier;
mod picture;
mod report;
mod seed_runs;
mod table;

use std::path::PathBuf;

use evenkeel_sandbox::engine::summary::RunSummary;
use evenkeel_sandbox::parallel::{cores, in_parallel};
use evenkeel_sandbox::simulation::ScenarioComparison;
use evenkeel_sandbox::simulation::policies::{OwnSettings, PolicyName};
use evenkeel_sandbox::simulation::replicas::ScalingMethod;
use report::{PolicyReport, SimulateReport};
use seed_runs::in_parallel_with_bar;

use super::forecast::flag_values::{ForecastOutput, parse_output};
use super::forecast::output_file;
use super::forecast::replay::own_models::AS_SHIPPED;
use crate::replay::ReplayArgs;
use crate::replay::difference::{ReplayDifference, ReplaySettings, own_settings};
use evenkeel_service::config::{Config, ConfigSources, Override};
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
  evenkeel simulate --replay incident.tar --hpa edited.yaml
  evenkeel simulate --scenario nodes.yaml --replay trace.mp --load-factor 0.6
  evenkeel simulate --scenario examples/scenarios/simulate/portraits.yaml --frontier --seeds 5 -o table -o ways.svg

A record of `evenkeel record` (--replay) is a scenario with what really happened. A table first sets
the record beside its replays: by its HPAs alone, with floors, with your settings, and with the HPAs
of --hpa. What the record does not show is listed under Assumed.

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

    #[command(flatten)]
    replay: ReplayArgs,

    /// Policies to compare: default, crane, target-load-packing, load-variation-risk, koordinator, clbp,
    /// evenkeel, evenkeel-labels [default: all; default and evenkeel for a record]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    policy: Vec<PolicyName>,

    /// Number of runs of each policy, each with its own noise, order and ties
    #[arg(long, value_name = "NUMBER", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,

    /// The first seed; the others follow it
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    first_seed: u64,

    /// Scaling methods to compare: hpa, tes (floors by triple exponential smoothing with fixed
    /// factors), ds-hpa, arima, gru, arima-gru, gbdt, auto (Evenkeel's default), portraits (those
    /// of the scenario); placement is compared under each
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "hpa"
    )]
    scaling: Vec<ScalingMethod>,

    /// Compare scaling methods without placement: the portraits of the scenario, each kind alone
    /// and several together, and the plain HPA at its own target and at lower ones
    #[arg(long, conflicts_with_all = ["policy", "replay", "scaling"])]
    frontier: bool,

    #[command(flatten)]
    config: ConfigArgs,

    /// table, json or yaml for the numbers, or a file that ends in .svg for a picture (svg alone
    /// prints the picture); may be repeated
    #[arg(long, short, value_name = "FORMAT|FILE", value_parser = parse_output, default_value = "table")]
    output: Vec<ForecastOutput>,
}

pub fn run(args: Args) -> Result<(), CliFailure> {
    let sources = args.config.sources([]);
    let config = Config::load(&sources)?;
    let input = args.replay.load(args.scenario.as_deref())?;
    for wanted in &args.output {
        if let ForecastOutput::Svg(path) = wanted {
            output_file::check(path)?;
        }
    }
    let seeds: Vec<u64> = (args.first_seed..args.first_seed.saturating_add(args.seeds)).collect();
    if args.frontier {
        return frontier::run(&input.scenario, &seeds, args.output);
    }
    let own = own_settings(config);
    for flag in without_effect(&sources, &own) {
        output::warn(&format!(
            "{} {} has no effect: `simulate` uses placement settings only, and this one is unused or has its \
             default value",
            flag.flag, flag.path
        ));
    }
    let line = own.policy.headroom;
    let begin = |scaling: &ScalingMethod| {
        let (scenario, own) = (input.scenario.clone(), own.clone());
        ScenarioComparison::new(scenario, *scaling, own, line, AS_SHIPPED)
    };
    let comparisons = in_parallel(
        cores(),
        &distinct(&ScalingMethod::ALL, &args.scaling),
        begin,
        |_| (),
    );
    let mut policies = distinct(&PolicyName::ALL, &args.policy);
    if args.policy.is_empty() && input.record.is_some() {
        policies.retain(|policy| BESIDE_RECORD.contains(policy));
    }
    let mut simulated = simulate(&comparisons, &policies, &seeds, line.get());
    let shipped = own_settings(Config::load(&ConfigSources::default())?);
    let settings = ReplaySettings {
        set: (own != shipped).then_some(own),
        shipped,
        seeds: &seeds,
        workers: cores(),
    };
    simulated.replay = ReplayDifference::of(&input, &settings);
    for wanted in args.output {
        match wanted {
            ForecastOutput::Numbers(format) => output::print(&simulated, format)?,
            ForecastOutput::Svg(path) => output_file::write(&path, picture::svg(&simulated))?,
        }
    }
    Ok(())
}

/// The settings of the command line without which `own` would be the same.
fn without_effect<'a>(sources: &'a ConfigSources, own: &OwnSettings) -> Vec<&'a Override> {
    let is_unused = |place: usize| {
        let mut others = sources.clone();
        others.flags.remove(place);
        // The others may be invalid without this one.
        Config::load(&others).is_ok_and(|config| own_settings(config) == *own)
    };
    let flags = sources.flags.iter().enumerate();
    flags
        .filter_map(|(place, flag)| is_unused(place).then_some(flag))
        .collect()
}

/// The policies that a record is compared by unless others are named.
const BESIDE_RECORD: [PolicyName; 2] = [PolicyName::Default, PolicyName::Evenkeel];

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
