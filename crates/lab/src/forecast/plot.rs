//! `evenkeel forecast plot`: one target's load with forecasts, and the replicas of Evenkeel and a
//! plain HPA.

use std::path::PathBuf;

use evenkeel_forecast::ModelSet;
use evenkeel_quantity::Quantity;
use evenkeel_sandbox::target_replay;
use evenkeel_sandbox::target_replay::{GRID, ReplayTarget, TargetRunOutcome};
use evenkeel_units::{Ratio, Resource, count_as_f64};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::csv_load::{CsvLoadUnit, CsvSelection};
use super::file_workload::FileWorkload;
use super::flag_values::{
    ForecastOutput, parse_duration, parse_followed, parse_output, parse_resource, parse_target,
    parse_zone,
};
use super::grid::GridLoad;
use super::progress::Bar;
use super::report::{Costs, ForecastOf, Plot, PlotAccuracy, base_unit, points};
use super::{csv_load, file_workload, grid, output_file, picture};
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;

const EXAMPLES: &str = "\
Examples:
  evenkeel forecast plot load.csv --request 500m --target 60% --min 2 --max 20 -o load.svg
  evenkeel forecast plot load.csv --request 500m --target 60% --min 2 --max 20 --unit millicores --column web --model s-hpa --start-up 90s -o load.svg -o json

A file has a column of times (RFC 3339 with an offset, or seconds since 1970) and one or more
columns of values: the load of all Pods together. CPU values are cores unless --unit says
millicores; values that make sense as millicores only are refused. Memory needs --unit. An empty
value, NaN or null counts as missing. The load is put on a grid of 15 s: a step takes the mean of
its samples, and a step without samples is interpolated. 3 or more missing samples are a gap, in
which no load is known and the replicas do not change.

The load of a file runs through the rules of the service in mode floor, tick by tick, with an HPA
and the usual delays of Pods and metrics; and through the same HPA alone.

Under-provisioned: the ready Pods carry more than 1.1 times the target, beyond the HPA's
tolerance. Overloaded: they carry more than they request.";

/// Plot a load with its forecasts, and the replicas of Evenkeel and of a plain HPA
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A CSV file (`-` reads standard input)
    #[arg(value_name = "FILE")]
    source: PathBuf,

    /// table, json or yaml for the numbers, or a file that ends in .svg for a picture (svg alone
    /// prints the picture); may be repeated
    #[arg(long, short, value_name = "FORMAT|FILE", value_parser = parse_output, default_value = "table")]
    output: Vec<ForecastOutput>,

    /// The time zone of the time axis: UTC, local, or a name such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = parse_zone)]
    time_zone: TimeZone,

    /// The resource: cpu or memory
    #[arg(long, value_name = "NAME", value_parser = parse_resource, default_value = "cpu")]
    resource: Resource,

    /// Time until a new Pod is ready
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "40s")]
    start_up: SignedDuration,

    /// Request of one Pod, such as 500m or 1Gi
    #[arg(long, value_name = "QUANTITY")]
    request: Quantity,

    /// The target utilisation of the request
    #[arg(long, value_name = "PERCENT", value_parser = parse_target)]
    target: Ratio,

    /// Smallest number of replicas
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..))]
    min: i32,

    /// Largest number of replicas
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i32).range(1..=100_000))]
    max: i32,

    /// Model of the forecasts: auto and s-hpa as the service uses them; tes, naive or
    /// seasonal-naive alone
    #[arg(long, value_name = "NAME", value_parser = parse_followed, default_value_t)]
    model: ModelSet,

    /// Unit of the values; needed if it is ambiguous
    #[arg(long, value_enum, value_name = "UNIT")]
    unit: Option<CsvLoadUnit>,

    /// The column of values, if there are several
    #[arg(long, value_name = "NAME")]
    column: Option<String>,

    /// Leave out earlier samples
    #[arg(long, value_name = "TIME", value_parser = csv_load::time)]
    from: Option<Timestamp>,

    /// Leave out later samples
    #[arg(long, value_name = "TIME", value_parser = csv_load::time)]
    to: Option<Timestamp>,
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let plot = plot(args)?;
    for wanted in &args.output {
        match wanted {
            ForecastOutput::Numbers(format) => output::print(&plot, *format)?,
            ForecastOutput::Svg(path) => {
                let svg = picture::svg(&plot, args.time_zone.clone());
                output_file::write(path, &svg)?;
            }
        }
    }
    Ok(())
}

fn plot(args: &Args) -> Result<Plot, CliFailure> {
    let path = &args.source;
    let wanted = CsvSelection {
        column: args.column.as_deref(),
        from: args.from,
        to: args.to,
    };
    let (target, factor) = target(args)?;
    let mut samples = csv_load::read(path, &wanted)?;
    file_workload::scale(&mut samples, factor);
    let named = |error: String| CliFailure::call(format_args!("{}: {error}", path.display()));
    let gridded = grid::on_grid(&samples).map_err(named)?;
    if args.unit.is_none() {
        file_workload::unambiguous(&samples, &target).map_err(named)?;
    }
    let mut bar = Bar::new(gridded.load.values().len() >= LONG);
    let mut told = |share| bar.tell(share, "");
    let outcome = target_replay::run(&target, args.model, &gridded.load, &mut told);
    bar.finish();
    Ok(report(args, &target, &gridded, &outcome))
}

/// Target of the simulation, and the number of base units in one unit of the file.
fn target(args: &Args) -> Result<(ReplayTarget, f64), CliFailure> {
    let workload = FileWorkload {
        resource: args.resource,
        request: args.request,
        share: args.target,
        min: args.min,
        max: args.max,
        start_up: args.start_up,
    };
    let factor = file_workload::factor(args.resource, args.unit)?;
    Ok((workload.target()?, factor))
}

fn report(
    args: &Args,
    target: &ReplayTarget,
    gridded: &GridLoad,
    outcome: &TargetRunOutcome,
) -> Plot {
    let forecasts = outcome.forecasts;
    let known = |value: f64| (forecasts.scored > 0).then_some(value);
    Plot {
        source: args.source.display().to_string(),
        resource: target.resource,
        unit: base_unit(target.resource).to_owned(),
        step_seconds: GRID.as_secs(),
        request: target.capacity.request(),
        target: target.capacity.target(),
        min: target.bounds.min(),
        max: target.bounds.max(),
        start_up_seconds: target.start_up.as_secs(),
        horizon_seconds: outcome.horizon.total().as_secs(),
        model: named(args.model, forecasts.model),
        from: gridded.load.start(),
        to: gridded.load.end(),
        costs: Costs {
            evenkeel: outcome.evenkeel.into(),
            plain_hpa: outcome.plain.into(),
        },
        forecast: PlotAccuracy {
            of: if args.model == ModelSet::Auto {
                ForecastOf::Largest
            } else {
                ForecastOf::Load
            },
            scored: forecasts.scored,
            mae: known(forecasts.mae),
            naive_mae: known(forecasts.naive_mae),
            coverage80: known(forecasts.coverage80),
            trusted_share: forecasts.trusted_share,
            trust: forecasts.trust.to_string(),
        },
        notes: notes(gridded, target, outcome),
        points: points(outcome),
    }
}

/// The model; with `auto` also the one that it came to.
fn named(model: ModelSet, last: Option<&str>) -> String {
    match last.filter(|_| model == ModelSet::Auto) {
        Some(last) => format!("auto (at the end {last})"),
        None => model.to_string(),
    }
}

/// Properties of the data that the figures depend on.
fn notes(gridded: &GridLoad, target: &ReplayTarget, outcome: &TargetRunOutcome) -> Vec<String> {
    let mut notes = Vec::new();
    let most = target.bounds.max();
    let full = outcome.points.iter();
    let full = full.filter(|point| point.replicas.min(point.plain) >= most);
    let share = count_as_f64(full.count()) / count_as_f64(outcome.points.len().max(1));
    if share >= 0.01 {
        notes.push(format!(
            "both are at --max {most} for {:.0} % of the time, and neither can scale further",
            share * 100.0
        ));
    }
    if gridded.step > GRID {
        notes.push(format!(
            "samples are {} s apart and the load between them is interpolated: forecasts look \
             better than on a load that changes in between",
            gridded.step.as_secs()
        ));
    }
    match gridded.gaps {
        0 => {}
        1 => notes.push("1 gap in the load".to_owned()),
        gaps => notes.push(format!("{gaps} gaps in the load")),
    }
    notes
}

/// Ticks from which on a run takes long enough to show its progress.
const LONG: usize = 20_000;
