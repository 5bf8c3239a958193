//! `evenkeel train --gru` and `--arima-gru`: networks on the past of one load, in a file.

use std::io;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgGroup;
use comfy_table::Cell;
use evenkeel_forecast::backtest::{BacktestRun, Score};
use evenkeel_forecast::{GruNetwork, ModelAssets, ModelSet, NETWORK_ROWS, NETWORK_WINDOW, Trainer};
use evenkeel_objects::truncate::excerpt;
use evenkeel_sandbox::parallel::cores;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width};
use evenkeel_training::{
    HeldOutError, MODEL_VERSION, ModelTrainer, NetworkDescription, NetworkFile, TrainedOnce,
};
use serde::Serialize;

use crate::forecast::flag_values::parse_horizon;
use crate::forecast::load_trace::LoadTrace;
use crate::forecast::progress::Bar;
use crate::forecast::{load_trace, network_model, output_file};

/// The purpose of trained networks.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Networks")]
#[command(group = ArgGroup::new("networks").args(["gru", "arima_gru", "swish_net"]))]
pub(in crate::forecast) struct Flags {
    /// Train recurrent networks on the differences of a load from its last value
    #[arg(long)]
    pub(super) gru: bool,

    /// Train recurrent networks on what ARIMA misses
    #[arg(long)]
    pub(super) arima_gru: bool,

    /// Train one network on many loads, which it identifies by name and time
    #[arg(long)]
    pub(super) swish_net: bool,

    /// Continue training the networks in a file of the same kind
    #[arg(long, value_name = "FILE", requires = "networks")]
    resume: Option<PathBuf>,

    /// The number of steps ahead that networks forecast
    #[arg(long, value_name = "STEPS", default_value = "12", requires = "networks", value_parser = parse_horizon)]
    steps: NonZeroUsize,
}

impl Flags {
    pub(super) const fn model(&self) -> Option<ModelSet> {
        match (self.gru, self.arima_gru) {
            (true, _) => Some(ModelSet::Gru),
            (_, true) => Some(ModelSet::ArimaGru),
            _ => None,
        }
    }

    pub(super) fn resume(&self) -> Option<&Path> {
        self.resume.as_deref()
    }

    pub(super) const fn steps(&self) -> NonZeroUsize {
        self.steps
    }
}

pub(super) struct NetworkTrainCall<'a> {
    pub(super) flags: &'a Flags,
    pub(super) files: &'a [PathBuf],
    pub(super) output: &'a Path,
    pub(super) threads: Option<NonZeroUsize>,
    pub(super) format: Format,
}

pub(super) fn run(model: ModelSet, call: &NetworkTrainCall<'_>) -> Result<(), CliFailure> {
    let [path] = call.files else {
        return Err(CliFailure::call(format_args!(
            "--{model} needs one file, and {} are given",
            call.files.len()
        )));
    };
    let steps = call.flags.steps;
    let load = load_trace::read(path, None, steps)?;
    let before = match &call.flags.resume {
        Some(file) => {
            let read = network_model::read(file)?;
            network_model::is_for(&read, file, model, &load, steps)?;
            if read.description.series != load.name {
                return Err(CliFailure::call(format_args!(
                    "{}: the networks have learnt {}, not {}",
                    file.display(),
                    excerpt(&read.description.series, network_model::NAME_SHOWN),
                    load.name
                )));
            }
            network_model::is_unseen(file, &load, read.description.learnt_to)?;
            if read.description.horizon != steps.get() {
                return Err(CliFailure::call(format_args!(
                    "{}: the networks forecast {} steps, and --steps is {steps}",
                    file.display(),
                    read.description.horizon
                )));
            }
            read.networks
        }
        None => Vec::new(),
    };
    let trainer = ModelTrainer::with(call.threads.unwrap_or_else(cores));
    let trainer = Arc::new(TrainedOnce::after(before, trainer));
    let refuse = |error: String| {
        CliFailure::work(format_args!(
            "{}: {error}. No model is written",
            path.display()
        ))
    };
    let scores = judged(model, &load, steps, &trainer).map_err(refuse)?;
    let networks = trainer
        .fitted()
        .map_err(|error| refuse(error.to_string()))?;
    let file = NetworkFile {
        description: described(model, &load, &scores, networks),
        networks: networks.to_vec(),
    };
    output_file::write_model(
        call.output,
        file.encode(),
        &NetworkReport(&file.description),
        call.format,
    )
}

/// Fits networks on the first 70 % of the load, as a backtest does, and judges them on the rest.
fn judged(
    model: ModelSet,
    load: &LoadTrace,
    steps: NonZeroUsize,
    trainer: &Arc<TrainedOnce>,
) -> Result<Vec<Score>, String> {
    let shared = ModelAssets {
        trainer: Some(Arc::clone(trainer) as Arc<dyn Trainer>),
        ..ModelAssets::default()
    };
    let mut horizons = vec![NonZeroUsize::MIN, steps];
    horizons.dedup();
    let mut run = BacktestRun::new(&load.recorded, model, &horizons, &shared);
    let mut bar = Bar::new(true);
    bar.tell(0.1, "networks are fitted on the first 70 %");
    while run.observe() {
        if run.is_fit_due() {
            run.fit();
        }
        if run.is_origin() {
            bar.tell(run.progress(), "and judged on the rest");
            run.forecast().map_err(|error| error.to_string())?;
        }
    }
    bar.finish();
    Ok(run.scores())
}

fn described(
    model: ModelSet,
    load: &LoadTrace,
    scores: &[Score],
    networks: &[GruNetwork],
) -> NetworkDescription {
    let recorded = &load.recorded;
    let learnt = recorded.training();
    let what = match model {
        ModelSet::ArimaGru => "errors of ARIMA's forecasts of the next step",
        _ => "differences from the last value",
    };
    let shape = networks.first().map(GruNetwork::shape);
    NetworkDescription {
        kind: model.to_string(),
        version: MODEL_VERSION,
        series: load.name.clone(),
        step_seconds: recorded.step().as_secs(),
        learnt_from: recorded.time(learnt.saturating_sub(NETWORK_ROWS)),
        learnt_to: recorded.time(learnt.saturating_sub(1)),
        scaling: format!("{what}, divided by their mean size"),
        networks: networks.len(),
        window: NETWORK_WINDOW,
        hidden: shape.map_or(0, |shape| shape.hidden),
        horizon: shape.map_or(0, |shape| shape.outputs),
        accuracy: held_out(scores),
    }
}

pub(super) fn held_out(scores: &[Score]) -> Vec<HeldOutError> {
    let told = scores.iter().map(|score| HeldOutError {
        steps: score.horizon.get(),
        forecasts: score.forecasts,
        mae: score.mae,
        naive_mae: score.naive_mae,
    });
    told.collect()
}

pub(super) fn told(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}"))
}

/// The description of the written file, as a report.
#[derive(Serialize)]
struct NetworkReport<'a>(&'a NetworkDescription);

impl Report for NetworkReport<'_> {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let NetworkDescription {
            kind,
            version: _,
            series,
            step_seconds,
            learnt_from,
            learnt_to,
            scaling,
            networks,
            window,
            hidden,
            horizon,
            accuracy,
        } = self.0;
        writeln!(
            to,
            "{kind}: {networks} networks of {hidden} units read {window} {scaling}, and forecast \
             {horizon} steps."
        )?;
        writeln!(
            to,
            "Learnt from {series}, {learnt_from} to {learnt_to}, values {step_seconds} s apart. On the rest:"
        )?;
        let header = ["steps", "forecasts", "MAE", "/naive"].map(Cell::new);
        let mut table = style.table(header);
        for one in accuracy {
            let ratio = (one.naive_mae > 0.0).then(|| one.mae / one.naive_mae);
            table.add_row([
                Cell::new(one.steps),
                Cell::new(one.forecasts),
                Cell::new(format!("{:.4}", one.mae)),
                Cell::new(told(ratio)),
            ]);
        }
        writeln!(to, "{}", fit_to_width(&table))?;
        let worse = accuracy.iter().filter(|one| one.mae > one.naive_mae);
        let worse: Vec<_> = worse.map(|one| one.steps.to_string()).collect();
        if worse.is_empty() {
            return Ok(());
        }
        writeln!(
            to,
            "Worse than the last value at {} steps: the load has changed. A backtest without \
             --model-file retrains every 250 values.",
            worse.join(" and ")
        )
    }
}
