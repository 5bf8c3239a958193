//! `evenkeel train --swish-net`: one network for many loads, in a file.

use std::io;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use comfy_table::Cell;
use evenkeel_forecast::backtest::{BacktestRun, Score};
use evenkeel_forecast::{Calendar, ModelAssets, ModelSet, SWISH_STEPS, SwishLoad, SwishNet};
use evenkeel_terminal::output::{CliFailure, Report, Style, fit_to_width};
use evenkeel_training::{
    LearntLoad, MODEL_VERSION, SwishDescription, SwishFile, SwishSeries, SwishSettings, fit_swish,
};
use evenkeel_units::count_as_f64;
use serde::Serialize;

use super::networks::{NetworkTrainCall, held_out, told};
use crate::forecast::flag_values::given_twice;
use crate::forecast::load_trace::LoadTrace;
use crate::forecast::progress::Bar;
use crate::forecast::{load_trace, network_model, output_file};

/// The share of the time that fitting takes.
const FITTING: f64 = 0.9;

pub(super) fn run(call: &NetworkTrainCall<'_>) -> Result<(), CliFailure> {
    let steps = network_model::SWISH_HORIZON;
    if call.flags.steps() != steps {
        return Err(CliFailure::call(format_args!(
            "--steps {} is not accepted: swish-net forecasts {steps} steps",
            call.flags.steps()
        )));
    }
    let loads = read_loads(call)?;
    let before = match call.flags.resume() {
        Some(path) => Some(before(path, &loads)?),
        None => None,
    };
    let series = loads.iter().map(|load| SwishSeries {
        start: load.recorded.time(0),
        step: load.recorded.step(),
        values: &load.recorded.values()[..load.recorded.training()],
    });
    let series: Vec<_> = series.collect();
    let mut bar = Bar::new(true);
    let mut tell = |share: f64| bar.tell(FITTING * share, "fitted on the first 70 % of each");
    let settings = SwishSettings::default();
    let net = fit_swish(
        &series,
        &Calendar::default(),
        before.as_ref(),
        &settings,
        &mut tell,
    )
    .map_err(|error| CliFailure::work(format_args!("{error}. No model is written")))?;
    let net = Arc::new(net);
    let mut learnt = Vec::new();
    for (load, category) in loads.iter().zip(0..) {
        let share = count_as_f64(category) / count_as_f64(loads.len());
        bar.tell(FITTING + (1.0 - FITTING) * share, "and judged on the rest");
        learnt.push(described(load, &judged(load, &net, category)?));
    }
    bar.finish();
    let file = SwishFile {
        description: SwishDescription {
            kind: ModelSet::SwishNet.to_string(),
            version: MODEL_VERSION,
            scaling: "differences from the last value, divided by their mean size and a fiftieth of that of values"
                .to_owned(),
            window: SWISH_STEPS,
            horizon: SWISH_STEPS,
            loads: learnt,
        },
        net: Arc::unwrap_or_clone(net),
    };
    output_file::write_model(
        call.output,
        file.encode(),
        &SwishReport(&file.description),
        call.format,
    )
}

fn read_loads(call: &NetworkTrainCall<'_>) -> Result<Vec<LoadTrace>, CliFailure> {
    let read = |path: &PathBuf| load_trace::read(path, None, network_model::SWISH_HORIZON);
    let loads: Vec<LoadTrace> = call.files.iter().map(read).collect::<Result<_, _>>()?;
    let names: Vec<&str> = loads.iter().map(|load| &*load.name).collect();
    match given_twice(&names) {
        Some(name) => Err(CliFailure::call(format_args!(
            "two loads have the name {name}"
        ))),
        None => Ok(loads),
    }
}

/// The network to go on from.
fn before(path: &Path, loads: &[LoadTrace]) -> Result<SwishNet, CliFailure> {
    let SwishFile { description, net } = network_model::read_swish(path)?;
    let known = description.loads.iter();
    let known = known.map(|load| (&*load.name, load.step_seconds));
    let given = loads.iter();
    let given = given.map(|load| (&*load.name, load.recorded.step().as_secs()));
    if !known.eq(given) {
        return Err(CliFailure::call(format_args!(
            "{}: the network has learnt other loads, another order of them, or other steps than \
             are given",
            path.display()
        )));
    }
    for (load, learnt) in loads.iter().zip(&description.loads) {
        network_model::is_unseen(path, load, learnt.learnt_to)?;
    }
    Ok(net)
}

fn judged(
    load: &LoadTrace,
    net: &Arc<SwishNet>,
    category: usize,
) -> Result<Vec<Score>, CliFailure> {
    let shared = ModelAssets {
        swish: Some(SwishLoad {
            net: Arc::clone(net),
            category: Some(category),
        }),
        ..ModelAssets::default()
    };
    let horizons = [std::num::NonZeroUsize::MIN, network_model::SWISH_HORIZON];
    let mut run = BacktestRun::new(&load.recorded, ModelSet::SwishNet, &horizons, &shared);
    while run.observe() {
        if run.is_origin() {
            run.forecast()
                .map_err(|error| CliFailure::work(format_args!("{}: {error}", load.name)))?;
        }
    }
    Ok(run.scores())
}

fn described(load: &LoadTrace, scores: &[Score]) -> LearntLoad {
    let recorded = &load.recorded;
    LearntLoad {
        name: load.name.clone(),
        step_seconds: recorded.step().as_secs(),
        learnt_from: recorded.time(0),
        learnt_to: recorded.time(recorded.training().saturating_sub(1)),
        accuracy: held_out(scores),
    }
}

/// The description of the written file, as a report.
#[derive(Serialize)]
struct SwishReport<'a>(&'a SwishDescription);

impl Report for SwishReport<'_> {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let horizons: Vec<usize> = self.0.loads.first().map_or_else(Vec::new, |load| {
            load.accuracy.iter().map(|one| one.steps).collect()
        });
        let header = horizons
            .iter()
            .map(|steps| Cell::new(format!("/naive, {steps}")));
        let mut table = style.table([Cell::new("load")].into_iter().chain(header));
        let mut logs = vec![Vec::new(); horizons.len()];
        for load in &self.0.loads {
            let mut cells = vec![Cell::new(&load.name)];
            for (one, logs) in load.accuracy.iter().zip(&mut logs) {
                let ratio = (one.naive_mae > 0.0).then(|| one.mae / one.naive_mae);
                logs.extend(ratio.map(f64::ln));
                cells.push(Cell::new(told(ratio)));
            }
            table.add_row(cells);
        }
        let mean = |logs: &Vec<f64>| {
            let sum: f64 = logs.iter().sum();
            (!logs.is_empty()).then(|| (sum / count_as_f64(logs.len())).exp())
        };
        let means = logs.iter().map(|logs| Cell::new(told(mean(logs))));
        table.add_row([Cell::new("geometric mean")].into_iter().chain(means));
        writeln!(
            to,
            "{}: learnt from the first 70 % of each load; on the rest, MAE over that of the last value:\n{}",
            self.0.kind,
            fit_to_width(&table)
        )
    }
}
