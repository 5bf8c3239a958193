//! `evenkeel tune compare`: ways of tuning side by side on what containers wanted, in virtual time.
//! More room means less throttling, so ways compare only at equal slack: each runs as it is, and
//! with its limits scaled to Evenkeel's slack.

mod picture;
mod report;

use std::path::{Path, PathBuf};

use evenkeel_objects::duration;
use evenkeel_sandbox::parallel::{cores, in_parallel};
use evenkeel_sandbox::tuning::{
    ContainerDemand, PolicyName, Rhythm, margin_for, run as simulate, wanted_by,
};
use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::{Amount, count_as_f64};
use jiff::SignedDuration;
use report::{TuneCompareReport, TuneContainerReport};

use crate::forecast::csv_load::CsvSelection;
use crate::forecast::flag_values::{ForecastOutput, parse_output};
use crate::forecast::grid::on_grid;
use crate::forecast::{csv_load, output_file};
use crate::scenario_file;
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;

/// The mean that recorded series of any unit are scaled to: a core, and a gibibyte.
const MEAN: [(TunedResource, f64); 2] = [
    (TunedResource::Cpu, 1000.0),
    (TunedResource::Memory, 1024.0 * 1024.0 * 1024.0),
];
/// Limits begin at so many times the highest value of the first day.
const BEGIN: f64 = 2.0;
/// The time before figures are counted.
const SKIPPED: SignedDuration = SignedDuration::from_hours(24);

const EXAMPLES: &str = "\
Examples:
  evenkeel tune compare tests/fixtures/traces/*cpu*.csv --memory tests/fixtures/traces/alibaba2018_cluster_mem_5m.csv
  evenkeel tune compare load.csv --step 1m --turn 10m -o json
  evenkeel tune compare --scenario examples/scenarios/simulate/thesis-5-4-tuning.yaml --step 20s --turn 20s -o curve.svg

Files are `timestamp,value` of any unit. Each is scaled to a mean of one core, or of 1 GiB with
--memory, and is interpolated between its samples. Limits begin at twice the highest value of the
first day, which does not count. Each container is alone, on a node with room, in a Guaranteed
Pod: its request changes with its limit. CPU time that a limit holds back is lost. A container
that needs more memory than its limit is killed in each such step, and is not measured then.
Methods: fixed (the first limit stays), thesis (formulas (4.18) and (4.19) of [CLBP] alone), vpa
(recommender and updater of the Vertical Pod Autoscaler, in place), evenkeel. SLACK is (limit -
use) / use. The columns after AT EQUAL SLACK show the same method with its limits scaled until its
slack equals Evenkeel's.";

/// Compare tuning methods on recorded or simulated use
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// CSV files with the cpu that containers needed
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// CSV files with the memory that containers needed
    #[arg(long, value_name = "FILE", num_args = 1..)]
    memory: Vec<PathBuf>,

    /// A scenario of `evenkeel simulate`; both resources of its first workload with traffic are
    /// tuned
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "memory"])]
    scenario: Option<PathBuf>,

    /// Methods to compare: fixed, thesis, vpa, evenkeel [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    policy: Vec<PolicyName>,

    /// Time between two samples of a container
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_duration)]
    step: SignedDuration,

    /// Time between two decisions about a container
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    turn: SignedDuration,

    /// Seed of the noise of a scenario
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// table, json or yaml for the numbers, or a file that ends in .svg for a picture of the first
    /// container; may be repeated
    #[arg(long, short, value_name = "FORMAT|FILE", value_parser = parse_output, default_value = "table")]
    output: Vec<ForecastOutput>,
}

/// One container with a name for its rows.
struct TuneCompareContainer {
    name: String,
    wanted: ContainerDemand,
}

pub fn run(args: Args) -> Result<(), CliFailure> {
    for wanted in &args.output {
        if let ForecastOutput::Svg(path) = wanted {
            output_file::check(path)?;
        }
    }
    let rhythm = rhythm(args.step, args.turn)?;
    let all = containers(&args)?;
    let policies: Vec<PolicyName> = PolicyName::ALL
        .into_iter()
        .filter(|policy| args.policy.is_empty() || args.policy.contains(policy))
        .collect();
    let entries = in_parallel(cores(), &all, |one| entry(one, &policies, rhythm), |_| ());
    let compared = TuneCompareReport::new(args.step, args.turn, entries);
    for wanted in args.output {
        match wanted {
            ForecastOutput::Numbers(format) => output::print(&compared, format)?,
            ForecastOutput::Svg(path) => output_file::write(&path, picture::svg(&compared))?,
        }
    }
    Ok(())
}

fn parse_duration(text: &str) -> Result<SignedDuration, String> {
    let parsed = duration::parse(text).filter(SignedDuration::is_positive);
    parsed.ok_or_else(|| format!("accepted: {}", duration::ACCEPTED))
}

fn rhythm(step: SignedDuration, turn: SignedDuration) -> Result<Rhythm, CliFailure> {
    let steps = turn.as_millis() / step.as_millis().max(1);
    let turn = usize::try_from(steps).unwrap_or(0);
    if turn == 0 {
        return Err(CliFailure::call(
            "--turn is not accepted; accepted: --step or more",
        ));
    }
    Ok(Rhythm { turn })
}

fn containers(args: &Args) -> Result<Vec<TuneCompareContainer>, CliFailure> {
    if let Some(path) = &args.scenario {
        let scenario = scenario_file::read(Some(path))?;
        let of = |resource: TunedResource| {
            let all = wanted_by(&scenario, resource, args.step, args.seed).into_iter();
            all.enumerate()
                .map(move |(number, wanted)| TuneCompareContainer {
                    name: format!("Pod {} {resource}", number + 1),
                    wanted,
                })
        };
        let all: Vec<TuneCompareContainer> = TunedResource::ALL.into_iter().flat_map(of).collect();
        if all.is_empty() {
            return Err(CliFailure::call(format_args!(
                "{}: no workload has traffic; accepted: a scenario with one",
                path.display()
            )));
        }
        return Ok(all);
    }
    if args.files.is_empty() && args.memory.is_empty() {
        return Err(CliFailure::call(
            "nothing to compare on: name CSV files or --scenario FILE",
        ));
    }
    let cpu = args
        .files
        .iter()
        .map(|file| recorded(file, TunedResource::Cpu, args.step));
    let memory = args
        .memory
        .iter()
        .map(|file| recorded(file, TunedResource::Memory, args.step));
    cpu.chain(memory).collect()
}

/// A recorded series on the grid of the samples.
fn recorded(
    path: &Path,
    resource: TunedResource,
    step: SignedDuration,
) -> Result<TuneCompareContainer, CliFailure> {
    let refuse = |what: String| CliFailure::call(format_args!("{}: {what}", path.display()));
    let selection = CsvSelection {
        column: None,
        from: None,
        to: None,
    };
    let samples = csv_load::read(path, &selection)?;
    let load = on_grid(&samples).map_err(refuse)?.load;
    let each = (step.as_millis() / load.step().as_millis().max(1)).max(1);
    let each = usize::try_from(each).unwrap_or(usize::MAX);
    let mut values: Vec<f64> = load
        .values()
        .iter()
        .step_by(each)
        .flatten()
        .copied()
        .collect();
    let mean = values.iter().sum::<f64>() / count_as_f64(values.len().max(1));
    if mean <= 0.0 {
        return Err(refuse(
            "all values are zero; accepted: values above zero".to_owned(),
        ));
    }
    let to = MEAN
        .iter()
        .find(|(of, _)| *of == resource)
        .map_or(1.0, |(_, mean)| *mean);
    for value in &mut values {
        *value = (*value * to / mean).max(0.0);
    }
    let skipped = SKIPPED.as_millis() / step.as_millis().max(1);
    let skipped = usize::try_from(skipped).unwrap_or(0);
    if values.len() <= skipped * 2 {
        return Err(refuse(
            "less than two days; accepted: two days or more".to_owned(),
        ));
    }
    let highest = values[..skipped].iter().copied().fold(0.0, f64::max);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(TuneCompareContainer {
        name: name.into_owned(),
        wanted: ContainerDemand {
            resource,
            start: load.start(),
            step,
            values,
            limit: Amount::from_f64(highest * BEGIN),
            skipped,
        },
    })
}

fn entry(
    one: &TuneCompareContainer,
    policies: &[PolicyName],
    rhythm: Rhythm,
) -> TuneContainerReport {
    let wanted = &one.wanted;
    let slack = simulate(wanted, PolicyName::Evenkeel, rhythm, 1.0).slack;
    let compared = policies.iter().map(|&policy| {
        let as_it_is = simulate(wanted, policy, rhythm, 1.0);
        let at_equal_slack = if policy == PolicyName::Evenkeel {
            as_it_is.clone()
        } else {
            let margin = margin_for(wanted, policy, rhythm, slack);
            simulate(wanted, policy, rhythm, margin)
        };
        report::TunePolicyRow::new(policy, as_it_is, at_equal_slack)
    });
    TuneContainerReport::new(one.name.clone(), wanted.clone(), compared.collect())
}
