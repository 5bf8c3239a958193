//! `evenkeel forecast backtest`: how well models would have forecast past loads.

mod model_file;
mod model_runs;
mod picture;
mod results;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use evenkeel_forecast::ModelSet;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use model_file::BacktestModelFile;
use model_runs::{BacktestPlan, BacktestResults};

use super::flag_values::{
    BacktestHorizon, ForecastOutput, given_twice, parse_backtest_horizon, parse_output, parse_zone,
};
use super::interrupt::Interrupt;
use super::load_trace::LoadTrace;
use super::{load_trace, output_file};
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;

const EXAMPLES: &str = "\
Examples:
  evenkeel forecast backtest load.csv
  evenkeel forecast backtest tests/fixtures/traces/*.csv --models naive,gbdt,auto --horizon 1,12 -o json
  evenkeel forecast backtest load.csv --models arima --horizon 12 --show 1d -o load.svg -o table
  evenkeel forecast backtest load.csv --horizon 1h,6h,24h

A file has a column of times and one of values, on a regular grid without gaps. The first 70 % of
the values are for training. From the last of them and from each later value, the models forecast
every step up to the largest horizon, with the data up to that value only. Parameters are
estimated at the first of these origins and at every 250th after it. The error at horizon 12 is
that of the twelfth step alone.

With times as the horizon, the load is the highest value of each ten minutes, and the file needs one
in each. So it is in the hours ahead of a HorizontalPortrait. A step is then ten minutes: 6, 36 and
144 are an hour, six hours and a day. As there, models are fitted anew on the newest eight days, here
every 24 steps (four hours).

naive is the last value, and seasonal-naive the value of a day ago. tes and s-hpa are smoothing
models. arima and ets are estimated on the last 2,000 values, gbdt (boosted trees) on the last
16,000. gru (recurrent networks) learns from the last 8,000, and arima-gru learns from them what
arima misses. swish-net is a network for many loads, read from a file. auto blends naive,
seasonal-naive, arima, ets and gbdt by their recent accuracy at each horizon. The service with
auto forecasts something else, the largest load until new capacity is ready: see `forecast
replay`.

MAE and RMSE are in the file's unit, MAPE and sMAPE in percent. MASE is the MAE divided by the
mean change between two training values. /NAIVE is the MAE divided by that of the last value as
the forecast; its mean over series is geometric, so that no series dominates. 80% and 95% are the
shares of values inside the intervals. Forecasts below zero count as they are, and as 0 under
CLIPPED. Times are those of this machine: of all estimations (trees and networks use all cores),
and of all updates and forecasts.

A picture shows one file. With several files, each has its own picture, with the name of the file
before `.svg`. Ctrl-C ends the work and prints the result so far, labelled as partial; the exit
code is then 1.";

/// Measure how well models forecast past loads, compared with the last value as the forecast
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// CSV files; `-` reads standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Models, in the order of the tables
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        default_value = "naive,seasonal-naive,gbdt,auto"
    )]
    models: Vec<ModelSet>,

    /// Steps ahead at which forecasts are judged, or times such as 1h,6h,24h
    #[arg(long, value_name = "STEPS|TIME,...", value_delimiter = ',', default_value = "1,12", value_parser = parse_backtest_horizon)]
    horizon: Vec<BacktestHorizon>,

    /// table, json or yaml for the numbers, or a file that ends in .svg for a picture; may be
    /// repeated
    #[arg(long, short, value_name = "FORMAT|FILE", value_parser = parse_output, default_value = "table")]
    output: Vec<ForecastOutput>,

    /// How much of the end of a load a picture shows
    #[arg(long, value_name = "TIME", value_parser = parse_span, default_value = "2d")]
    show: SignedDuration,

    /// The time zone of the time axis: UTC, local, or a name such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = parse_zone)]
    time_zone: TimeZone,

    /// Use the networks in this file of `evenkeel train` instead of training new ones; swish-net
    /// needs one
    #[arg(long, value_name = "FILE")]
    model_file: Option<PathBuf>,

    /// The column of values, if there are several
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
}

fn parse_span(text: &str) -> Result<SignedDuration, String> {
    let hours = text
        .strip_suffix('d')
        .and_then(|days| days.parse::<u16>().ok())
        .map(|days| SignedDuration::from_hours(24 * i64::from(days)));
    let span = hours.or_else(|| text.parse().ok());
    span.filter(SignedDuration::is_positive)
        .ok_or_else(|| "accepted: a time above zero, such as 2d or 90m".to_owned())
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let wanted = wanted(args)?;
    let pictures = pictures(args, &wanted)?;
    let column = args.column.as_deref();
    let read = if has_times(args) {
        load_trace::read_highs
    } else {
        load_trace::read
    };
    let loads = args
        .files
        .iter()
        .map(|path| read(path, column, farthest(args)));
    let loads: Vec<LoadTrace> = loads.collect::<Result<_, _>>()?;
    let filed = args.model_file.as_deref();
    let filed =
        filed.map(|path| BacktestModelFile::read(path, &wanted.models, farthest(args), &loads));
    let filed = filed.transpose()?;
    if wanted.models.contains(&ModelSet::SwishNet)
        && filed
            .as_ref()
            .is_none_or(|filed| filed.model() != ModelSet::SwishNet)
    {
        return Err(CliFailure::call(
            "swish-net is not trained here; accepted with --model-file and what `evenkeel train --swish-net` made",
        ));
    }
    let tested = model_runs::test(
        &loads,
        &wanted,
        filed.as_ref(),
        !pictures.is_empty(),
        &Interrupt::listen()?,
    );
    let report = results::report(&tested, &wanted);
    for output in &args.output {
        if let ForecastOutput::Numbers(format) = output {
            output::print(&report, *format)?;
        }
    }
    for path in pictures {
        for (load, tested) in loads.iter().zip(&tested.loads) {
            let path = picture_of(path, load, loads.len());
            let svg = picture::svg(load, tested, args.show, &args.time_zone);
            output_file::write(&path, svg)?;
        }
    }
    interrupted(&tested)
}

/// The models and horizons, each once.
fn wanted(args: &Args) -> Result<BacktestPlan, CliFailure> {
    let repeated =
        |flag: &str, name: String| CliFailure::call(format_args!("{flag} {name} is given twice"));
    if let Some(model) = given_twice(&args.models) {
        return Err(repeated("--models", model.to_string()));
    }
    if let Some(horizon) = given_twice(&args.horizon) {
        return Err(repeated("--horizon", horizon.to_string()));
    }
    let is_time = |horizon: &BacktestHorizon| matches!(horizon, BacktestHorizon::Time(_));
    if has_times(args) && !args.horizon.iter().all(is_time) {
        return Err(CliFailure::call(
            "--horizon mixes steps and times; accepted: one form, such as 1,12 or 1h,6h,24h",
        ));
    }
    let horizons = args.horizon.iter().map(|horizon| horizon.steps());
    let mut horizons: Vec<_> = horizons.collect();
    horizons.sort_unstable();
    Ok(BacktestPlan {
        models: args.models.clone(),
        horizons,
        is_hours_ahead: has_times(args),
    })
}

/// The files to draw; a picture with too many panels is refused.
fn pictures<'a>(args: &'a Args, wanted: &BacktestPlan) -> Result<Vec<&'a Path>, CliFailure> {
    let paths = args.output.iter().filter_map(|output| match output {
        ForecastOutput::Svg(path) => Some(path.as_path()),
        ForecastOutput::Numbers(_) => None,
    });
    let paths: Vec<_> = paths.collect();
    let panels = wanted.models.len() * wanted.horizons.len();
    if !paths.is_empty() && panels > picture::MOST_PANELS {
        return Err(CliFailure::call(format_args!(
            "a picture of {} models at {} horizons is not drawn; accepted: up to {} of both together, see \
             --models and --horizon",
            wanted.models.len(),
            wanted.horizons.len(),
            picture::MOST_PANELS
        )));
    }
    Ok(paths)
}

/// The path of the picture of one of `count` loads.
fn picture_of(path: &Path, load: &LoadTrace, count: usize) -> PathBuf {
    if count == 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{}.svg", load.name))
}

/// True where forecasts are judged at times ahead, on the highest value of each ten minutes.
fn has_times(args: &Args) -> bool {
    let mut horizons = args.horizon.iter();
    horizons.any(|horizon| matches!(horizon, BacktestHorizon::Time(_)))
}

fn farthest(args: &Args) -> NonZeroUsize {
    let farthest = args.horizon.iter().map(|horizon| horizon.steps()).max();
    farthest.unwrap_or(NonZeroUsize::MIN)
}

fn interrupted(tested: &BacktestResults) -> Result<(), CliFailure> {
    if tested.partial {
        return Err(CliFailure::work(
            "interrupted: the result above is partial, and means cover the finished part",
        ));
    }
    Ok(())
}
