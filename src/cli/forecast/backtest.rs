//! `evenkeel forecast backtest`: how well models would have forecast past loads.

mod filed;
mod picture;
mod results;
mod work;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::interrupt::Interrupt;
use super::load::{self, Load};
use super::output_file;
use super::values::{Output, given_twice, parse_horizon, parse_output, parse_zone};
use crate::cli::output::{self, Failure};
use evenkeel_core::forecast::ModelSet;
use filed::Filed;
use work::{Tested, Wanted};

const EXAMPLES: &str = "\
Examples:
  evenkeel forecast backtest load.csv
  evenkeel forecast backtest traces/*.csv --models naive,gbdt,auto --horizon 1,12 -o json
  evenkeel forecast backtest load.csv --models arima --horizon 12 --show 1d -o load.svg -o table

A file has a column of times and one of values, on a regular grid without gaps. The first 70 % of the
values are for training; from each later one, and the one before, the models forecast every step up to
the largest horizon, knowing only what had come by then. Parameters are estimated at the first of these
origins and every 250 after it. The error at horizon 12 is that of the twelfth step alone.

naive and seasonal-naive are the last value and that of a day ago; tes and s-hpa smooth; arima and ets are
estimated on the last 2,000 values, gbdt (boosted trees) on the last 16,000. gru (recurrent networks)
learns from the last 8,000, and arima-gru what arima misses on them; swish-net
knows many loads, from a file. auto blends naive, seasonal-naive,
arima, ets and gbdt by what each was worth of late at each horizon. A service that scales by auto asks
for the largest load until there is capacity, which `forecast replay` shows.

MAE, RMSE in the file's unit; MAPE, sMAPE in percent; MASE over the mean change from one value of
training to the next; /NAIVE is the MAE over that of the last value as the forecast, and its mean over
series is the geometric one, which no series dominates. 80% and 95% are the shares of values inside the
intervals. Forecasts count below zero too, and held at 0 under CLIPPED. Times are those of this machine: of
all estimations, which for trees and networks take all cores, and of all updates and forecasts.

A picture shows one file: with several, each has its own, its name put before `.svg`. Ctrl-C ends the
work and prints what is there, labelled as partial; the exit code is 1 then.";

/// Measure how well models forecast past loads, against the last value as the forecast
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

    /// Steps ahead at which forecasts are judged
    #[arg(long, value_name = "STEPS,...", value_delimiter = ',', default_value = "1,12", value_parser = parse_horizon)]
    horizon: Vec<NonZeroUsize>,

    /// table, json or yaml for the numbers, or a file to draw, which ends in .svg; may be repeated
    #[arg(long, short, value_name = "FORMAT|FILE", value_parser = parse_output, default_value = "table")]
    output: Vec<Output>,

    /// The time at the end of a load that a picture shows
    #[arg(long, value_name = "TIME", value_parser = parse_span, default_value = "2d")]
    show: SignedDuration,

    /// The clock of the time axis: UTC, local, or a name such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = parse_zone)]
    time_zone: TimeZone,

    /// Networks that `evenkeel train` made, in place of ones that are trained here; swish-net needs one
    #[arg(long, value_name = "FILE")]
    model_file: Option<PathBuf>,

    /// The column of values, where there are several
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

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let wanted = wanted(args)?;
    let pictures = pictures(args, &wanted)?;
    let column = args.column.as_deref();
    let loads = args
        .files
        .iter()
        .map(|path| load::read(path, column, farthest(args)));
    let loads: Vec<Load> = loads.collect::<Result<_, _>>()?;
    let filed = args.model_file.as_deref();
    let filed = filed.map(|path| Filed::read(path, &wanted.models, farthest(args), &loads));
    let filed = filed.transpose()?;
    if wanted.models.contains(&ModelSet::SwishNet)
        && filed
            .as_ref()
            .is_none_or(|filed| filed.model() != ModelSet::SwishNet)
    {
        return Err(Failure::call(
            "swish-net is not trained here; accepted with --model-file and what `evenkeel train --swish-net` made",
        ));
    }
    let tested = work::test(
        &loads,
        &wanted,
        filed.as_ref(),
        !pictures.is_empty(),
        &Interrupt::listen()?,
    );
    let report = results::report(&tested, &wanted);
    for output in &args.output {
        if let Output::Numbers(format) = output {
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
fn wanted(args: &Args) -> Result<Wanted, Failure> {
    let repeated =
        |flag: &str, name: String| Failure::call(format_args!("{flag} {name} is given twice"));
    if let Some(model) = given_twice(&args.models) {
        return Err(repeated("--models", model.to_string()));
    }
    if let Some(horizon) = given_twice(&args.horizon) {
        return Err(repeated("--horizon", horizon.to_string()));
    }
    let mut horizons = args.horizon.clone();
    horizons.sort_unstable();
    Ok(Wanted {
        models: args.models.clone(),
        horizons,
    })
}

/// The files to draw; a picture with too many panels is refused.
fn pictures<'a>(args: &'a Args, wanted: &Wanted) -> Result<Vec<&'a Path>, Failure> {
    let paths = args.output.iter().filter_map(|output| match output {
        Output::Svg(path) => Some(path.as_path()),
        Output::Numbers(_) => None,
    });
    let paths: Vec<_> = paths.collect();
    let panels = wanted.models.len() * wanted.horizons.len();
    if !paths.is_empty() && panels > picture::MOST_PANELS {
        return Err(Failure::call(format_args!(
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
fn picture_of(path: &Path, load: &Load, count: usize) -> PathBuf {
    if count == 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{}.svg", load.name))
}

fn farthest(args: &Args) -> NonZeroUsize {
    let farthest = args.horizon.iter().max().copied();
    farthest.unwrap_or(NonZeroUsize::MIN)
}

fn interrupted(tested: &Tested) -> Result<(), Failure> {
    if tested.partial {
        return Err(Failure::work(
            "interrupted: the result above is partial, means are of what was finished",
        ));
    }
    Ok(())
}
