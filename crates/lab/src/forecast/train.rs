//! `evenkeel train`: makes models from recorded loads: the weights of `global`, traffic models, and
//! networks.

mod networks;
mod swish;
mod traffic;

use std::io;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, ValueEnum};
use comfy_table::Cell;
use evenkeel_forecast::{GlobalPeaks, LEVELS, Minutes};
use evenkeel_sandbox::parallel::cores;
use evenkeel_sandbox::target_replay::{minutes_of, with_noise};
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width};
use evenkeel_training::{GlobalSettings, PeakEvaluation, fit_global, judge, synthetic};
use evenkeel_units::count_as_f64;
use evenkeel_units::random::RandomSource;
use serde::Serialize;

use super::csv_load::CsvSelection;
use super::progress::Bar;
use super::{csv_load, grid, output_file};

const EXAMPLES: &str = "\
Examples:
  evenkeel train --global tests/fixtures/traces/*.csv --synthetic 20 -o global.bin
  evenkeel train --global tests/fixtures/traces/*.csv --leave-out nasa_ -o without-nasa.bin
  evenkeel train --traffic http_rps,rpc_rps --utilisation cpu_pct shop.csv -o shop.traffic
  evenkeel train --arima-gru shop.csv -o shop.safetensors
  evenkeel train --swish-net tests/fixtures/traces/*.csv -o many.safetensors

`global` forecasts the largest load until new capacity is ready, for all targets, whatever their
size and unit. Each file is one series: a column of times (RFC 3339 with an offset, or seconds
since 1970), and one of values of any unit. The interval of samples is regular; the load between
them is interpolated. The value of each 15 seconds is multiplied by 1 + N(0, 0.03), which is like
the noise of real Pods.

It is fitted twice. The first fit is on the first 70 % of each series, and the table shows how it
does on the rest: the loss of its 80 % quantile, and how many of the largest loads were below its
quantiles. The loss is a share of that of the best constant factor on the last load, chosen in
hindsight, which is what an HPA with a lower target covers; below 1 is better. The second fit is
on all data and is written to the file. The same files and seed give the same weights, on any
number of threads.

`traffic` predicts the utilisation of a target's replicas from their traffic, so that `evenkeel
forecast replicas` can show how many replicas traffic needs. The file has a column of times and
named columns of each traffic, of the replicas, and of their utilisation. A linear model with
coefficients of at least 0 uses each traffic per replica. Boosted trees add what it misses by the
time of day and week, such as a job each Sunday, after several Sundays. The first fit is on all
but the newest day. If it does not explain half of the variance of that day, and half of what
replicas and time alone leave, then traffic does not drive the utilisation, and no model is
written.

`gru` and `arima-gru` learn from the first 70 % of one load and are judged on the rest; the table
compares them with the last value as the forecast. Training ends early if the error on the newest
eighth of the training data no longer falls. The file is safetensors, described in its metadata;
`evenkeel forecast backtest --model-file` forecasts with it. --resume continues from such a file,
for example when more of the load is known.

`swish-net` is one network for many loads. It identifies them by the names of their files, and
uses the time of day and week. It forecasts a load that it has not learnt by what all loads have
in common.";

/// Noise of a sample, as a share of it.
const NOISE: f64 = 0.03;
const JUDGED_WINDOW: usize = 5;

/// Train models on recorded loads: weights of the model global, a model of traffic, or networks
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("kind").required(true).args(["global", "traffic", "gru", "arima_gru", "swish_net"]))]
pub struct Args {
    /// CSV files: one series each for --global and --swish-net, one file for the others
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The file that the model is written to, and table, json or yaml for its accuracy [default: table]; `-` writes the
    /// model to standard output, without the accuracy; may be repeated
    #[arg(long, short, value_name = "FORMAT|FILE", required = true)]
    output: Vec<TrainOutput>,

    /// Number of threads; it does not change the result [default: one for each core]
    #[arg(long, value_name = "NUMBER")]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    traffic: traffic::TrafficColumnArgs,

    #[command(flatten)]
    networks: networks::Flags,

    #[command(flatten)]
    weights: Weights,
}

/// One result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TrainOutput {
    Accuracy(Format),
    Model(PathBuf),
}

impl From<&str> for TrainOutput {
    fn from(text: &str) -> Self {
        let format = <Format as ValueEnum>::from_str(text, false);
        format.map_or_else(|_| Self::Model(text.into()), Self::Accuracy)
    }
}

impl Args {
    /// The file of the model, and the format of its accuracy.
    fn results(&self) -> Result<(&Path, Format), CliFailure> {
        let mut model = None;
        let mut format = Format::default();
        for output in &self.output {
            match output {
                TrainOutput::Accuracy(given) => format = *given,
                TrainOutput::Model(path) => {
                    if model.replace(path.as_path()).is_some() {
                        return Err(CliFailure::call(
                            "-o names two files, but there is one model",
                        ));
                    }
                }
            }
        }
        let model = model.ok_or_else(|| CliFailure::call("-o names no file for the model"))?;
        Ok((model, format))
    }
}

/// The kinds that have neither noise nor synthetic series.
const NOT_GLOBAL: [&str; 4] = ["traffic", "gru", "arima_gru", "swish_net"];

/// How weights of global are made.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Global")]
struct Weights {
    /// Train weights of the model global, which all targets share
    #[arg(long)]
    global: bool,

    /// Number of synthetic series to add, drawn from the seed
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 20,
        conflicts_with_all = NOT_GLOBAL
    )]
    synthetic: usize,

    /// Leave out files whose names begin with this, such as those for judging the weights; may be
    /// repeated
    #[arg(long, value_name = "PREFIX", conflicts_with_all = NOT_GLOBAL)]
    leave_out: Vec<String>,

    /// Seed of noise, synthetic series and the choice of rows
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        conflicts_with_all = NOT_GLOBAL
    )]
    seed: u64,
}

struct TrainSeries {
    name: String,
    minutes: Minutes,
}

pub fn run(args: &Args) -> Result<(), CliFailure> {
    let (output, format) = args.results()?;
    output_file::check(output)?;
    if args.weights.global {
        return run_global(args);
    }
    let call = networks::NetworkTrainCall {
        flags: &args.networks,
        files: &args.files,
        output,
        threads: args.threads,
        format,
    };
    if let Some(model) = args.networks.model() {
        return networks::run(model, &call);
    }
    if args.networks.swish_net {
        return swish::run(&call);
    }
    traffic::run(&traffic::TrafficTrainCall {
        columns: &args.traffic,
        files: &args.files,
        output,
        threads: args.threads,
        format,
    })
}

fn run_global(args: &Args) -> Result<(), CliFailure> {
    let Weights {
        global: _,
        synthetic: drawn,
        leave_out,
        seed,
    } = &args.weights;
    let files = args
        .files
        .iter()
        .filter(|path| !is_left_out(path, leave_out));
    let series = files.map(|path| learnt(path, *seed));
    let mut series: Vec<TrainSeries> = series.collect::<Result<_, _>>()?;
    if series.is_empty() {
        return Err(CliFailure::call("--leave-out leaves no file to learn from"));
    }
    let drawn = (0..*drawn).map(|number| TrainSeries {
        name: format!("synthetic {number}"),
        minutes: synthetic(*seed, number),
    });
    series.extend(drawn);
    let settings = GlobalSettings {
        seed: *seed,
        ..GlobalSettings::with(args.threads.unwrap_or_else(cores))
    };
    let mut bar = Bar::new(true);
    let halves = series.iter().map(|one| first(&one.minutes));
    let trial = fit(&halves.collect::<Vec<_>>(), &settings)?;
    bar.tell(0.45, "judged, and fitted on all data");
    let accuracy = TrainAccuracy::of(&trial, &series);
    let whole: Vec<Minutes> = series.into_iter().map(|one| one.minutes).collect();
    let weights = fit(&whole, &settings)?.encode();
    bar.finish();
    let (output, format) = args.results()?;
    output_file::write_model(output, weights, &accuracy, format)
}

fn is_left_out(path: &Path, prefixes: &[String]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// The series in a file, with noise.
fn learnt(path: &Path, seed: u64) -> Result<TrainSeries, CliFailure> {
    let named = |error: &str| CliFailure::call(format_args!("{}: {error}", path.display()));
    let wanted = CsvSelection {
        column: None,
        from: None,
        to: None,
    };
    let samples = csv_load::read(path, &wanted)?;
    let gridded = grid::on_grid(&samples).map_err(|error| named(&error))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let source = RandomSource::new(seed).stream(&name);
    let load = with_noise(gridded.load, NOISE, source);
    let minutes = minutes_of(&load).ok_or_else(|| named("is shorter than a minute"))?;
    Ok(TrainSeries {
        name: name.into_owned(),
        minutes,
    })
}

fn judged_from(minutes: &Minutes) -> usize {
    minutes.values().len() * 7 / 10
}

/// The part of a series that is not judged.
fn first(minutes: &Minutes) -> Minutes {
    let known = &minutes.values()[..judged_from(minutes)];
    Minutes::new(minutes.start(), known.to_vec())
}

fn fit(series: &[Minutes], settings: &GlobalSettings) -> Result<GlobalPeaks, CliFailure> {
    fit_global(series, settings).map_err(CliFailure::work)
}

/// How good the weights are on the parts of the series that they have not seen.
#[derive(Debug, Serialize)]
struct TrainAccuracy {
    series: Vec<TrainAccuracyRow>,
    /// The geometric mean over the series.
    mean_loss_ratio: f64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrainAccuracyRow {
    name: String,
    forecasts: usize,
    loss_ratio: Option<f64>,
    /// The shares of largest loads below each quantile.
    below: [f64; LEVELS.len()],
}

impl TrainAccuracy {
    fn of(weights: &GlobalPeaks, series: &[TrainSeries]) -> Self {
        let rows = series.iter().filter_map(|one| {
            let from = judged_from(&one.minutes);
            let judged = judge(weights, &one.minutes, from, JUDGED_WINDOW)?;
            let PeakEvaluation {
                forecasts,
                ratio,
                below,
            } = judged;
            Some(TrainAccuracyRow {
                name: one.name.clone(),
                forecasts,
                loss_ratio: ratio,
                below,
            })
        });
        let series: Vec<TrainAccuracyRow> = rows.collect();
        let logs = series.iter().filter_map(|row| row.loss_ratio.map(f64::ln));
        let logs: Vec<f64> = logs.collect();
        let mean = logs.iter().sum::<f64>() / count_as_f64(logs.len().max(1));
        Self {
            series,
            mean_loss_ratio: mean.exp(),
        }
    }
}

impl Report for TrainAccuracy {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let levels = LEVELS.map(|level| Cell::new(format!("below {}%", level * 100.0)));
        let header = ["series", "forecasts", "loss over best factor"].map(Cell::new);
        let mut table = style.table(header.into_iter().chain(levels));
        for row in &self.series {
            let ratio = row
                .loss_ratio
                .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"));
            let below = row
                .below
                .map(|share| Cell::new(format!("{:.1}%", share * 100.0)));
            let cells = [
                Cell::new(&row.name),
                Cell::new(row.forecasts),
                Cell::new(ratio),
            ];
            table.add_row(cells.into_iter().chain(below).collect::<Vec<_>>());
        }
        writeln!(to, "{}", fit_to_width(&table))?;
        writeln!(
            to,
            "geometric mean of the losses: {:.3}",
            self.mean_loss_ratio
        )
    }
}
