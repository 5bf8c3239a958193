//! The figures of a backtest: all of them for programs, tables for people.

use std::io;
use std::io::Write;
use std::num::NonZeroUsize;

use comfy_table::Cell;
use evenkeel_forecast::ModelSet;
use evenkeel_forecast::backtest::{Averages, Score};
use serde::Serialize;

use super::model_runs::{BacktestPlan, BacktestResults, TestedModel};
use evenkeel_terminal::output::{Report, Style, fit_to_width, percent, right};

#[derive(Debug, Serialize)]
pub(super) struct Results {
    /// True where not all was done.
    partial: bool,
    #[serde(rename = "results")]
    rows: Vec<BacktestRow>,
    /// Over the series that were finished.
    mean: Vec<MeanRow>,
    /// The results of the last estimation of parameters, for models that have any.
    found: Vec<BacktestModelForm>,
    /// Models that were left out for want of history.
    absent: Vec<BacktestMissingModel>,
}

/// The figures of one model at one horizon on one series.
#[derive(Debug, Serialize)]
struct BacktestRow {
    series: String,
    model: &'static str,
    #[serde(flatten)]
    score: Score,
    /// True where origins were left when it was interrupted.
    partial: bool,
    mae_vs_naive: Option<f64>,
    /// The time of the run, which makes the forecasts of all horizons.
    fit_seconds: f64,
    predict_seconds: f64,
}

/// The figures of one model at one horizon over all series.
#[derive(Debug, Serialize)]
struct MeanRow {
    model: &'static str,
    horizon: NonZeroUsize,
    #[serde(flatten)]
    averages: Averages,
    fit_seconds: f64,
    predict_seconds: f64,
}

#[derive(Debug, Serialize)]
struct BacktestModelForm {
    series: String,
    model: &'static str,
    form: String,
}

/// A model that made no forecast on a series.
#[derive(Debug, Serialize)]
struct BacktestMissingModel {
    series: String,
    model: &'static str,
    reason: String,
}

pub(super) fn report(tested: &BacktestResults, wanted: &BacktestPlan) -> Results {
    let all = tested
        .loads
        .iter()
        .flat_map(|load| load.models.iter().map(move |model| (&load.name, model)));
    let rows = all.clone().flat_map(|(series, model)| {
        let scores = model.scores.iter();
        scores.map(move |score| BacktestRow::new(series, model, score))
    });
    let absent = all.clone().filter_map(|(series, model)| {
        Some(BacktestMissingModel {
            series: series.clone(),
            model: model.model.as_str(),
            reason: model.absent.as_ref()?.to_string(),
        })
    });
    let found = all.clone().filter_map(|(series, model)| {
        Some(BacktestModelForm {
            series: series.clone(),
            model: model.model.as_str(),
            form: model.found.clone()?,
        })
    });
    let pairs = wanted.models.iter().flat_map(|&model| {
        let horizons = wanted.horizons.iter();
        horizons.map(move |&horizon| (model, horizon))
    });
    let finished: Vec<_> = all
        .clone()
        .map(|(_, model)| model)
        .filter(|model| !model.partial)
        .collect();
    Results {
        partial: tested.partial,
        rows: rows.collect(),
        mean: pairs
            .filter_map(|(model, horizon)| MeanRow::new(model, horizon, &finished))
            .collect(),
        found: found.collect(),
        absent: absent.collect(),
    }
}

impl BacktestRow {
    fn new(series: &str, tested: &TestedModel, score: &Score) -> Self {
        Self {
            series: series.to_owned(),
            model: tested.model.as_str(),
            score: *score,
            partial: tested.partial,
            mae_vs_naive: (score.naive_mae > 0.0).then(|| score.mae / score.naive_mae),
            fit_seconds: tested.fit.as_secs_f64(),
            predict_seconds: tested.predict.as_secs_f64(),
        }
    }
}

impl MeanRow {
    /// `None` where no run of this model was finished at this horizon.
    fn new(model: ModelSet, horizon: NonZeroUsize, finished: &[&TestedModel]) -> Option<Self> {
        let of_horizon = |tested: &&&TestedModel| {
            let mut scores = tested.scores.iter();
            tested.model == model && scores.any(|score| score.horizon == horizon)
        };
        let runs: Vec<_> = finished.iter().filter(of_horizon).collect();
        let scores = runs.iter().flat_map(|tested| &tested.scores);
        let scores: Vec<Score> = scores
            .filter(|score| score.horizon == horizon)
            .copied()
            .collect();
        Some(Self {
            model: model.as_str(),
            horizon,
            averages: Averages::of(&scores)?,
            fit_seconds: runs.iter().map(|tested| tested.fit.as_secs_f64()).sum(),
            predict_seconds: runs.iter().map(|tested| tested.predict.as_secs_f64()).sum(),
        })
    }
}

const COLUMNS: [&str; 13] = [
    "SERIES",
    "MODEL",
    "STEPS",
    "MAE",
    "RMSE",
    "MAPE",
    "SMAPE",
    "MASE",
    "/NAIVE",
    "80%",
    "95%",
    "FIT S",
    "PREDICT S",
];

const MEAN_COLUMNS: [&str; 17] = [
    "MEAN OVER SERIES",
    "STEPS",
    "SERIES",
    "/NAIVE",
    "CLIPPED",
    "WORST",
    "RMSE",
    "BETTER",
    "MASE",
    "MEDIAN",
    "MAPE",
    "MEDIAN",
    "SMAPE",
    "80%",
    "95%",
    "FIT S",
    "PREDICT S",
];

impl Report for Results {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        if self.partial {
            writeln!(
                to,
                "{}: interrupted before the end. Rows marked * cover a part of their origins.\n",
                style.emphasis("PARTIAL RESULT")
            )?;
        }
        let mut table = style.table(header(&COLUMNS));
        table.add_rows(self.rows.iter().map(BacktestRow::cells));
        writeln!(to, "{}\n", fit_to_width(&table))?;
        let mut table = style.table(header(&MEAN_COLUMNS));
        table.add_rows(self.mean.iter().map(MeanRow::cells));
        writeln!(to, "{}", fit_to_width(&table))?;
        self.print_remarks(to)
    }
}

impl Results {
    /// Prints a line for each estimated form and for each model that was left out.
    fn print_remarks(&self, to: &mut dyn Write) -> io::Result<()> {
        if !self.found.is_empty() || !self.absent.is_empty() {
            writeln!(to)?;
        }
        for BacktestModelForm {
            series,
            model,
            form,
        } in &self.found
        {
            writeln!(to, "{model} on {series}, last estimate: {form}.")?;
        }
        for BacktestMissingModel {
            series,
            model,
            reason,
        } in &self.absent
        {
            writeln!(
                to,
                "{model} is left out on {series}: too little history for training, {reason}."
            )?;
        }
        Ok(())
    }
}

/// Titles of columns, the first at the left, those of numbers at the right.
fn header(titles: &[&str]) -> Vec<Cell> {
    let cell = |title: &&str| match *title {
        "SERIES" | "MODEL" | "MEAN OVER SERIES" => Cell::new(title),
        title => right(title.to_owned()),
    };
    titles.iter().map(cell).collect()
}

impl BacktestRow {
    fn cells(&self) -> Vec<Cell> {
        let score = &self.score;
        let mark = if self.partial { "*" } else { "" };
        let mut cells = vec![
            Cell::new(format!("{}{mark}", self.series)),
            Cell::new(self.model),
        ];
        let numbers = [
            score.horizon.to_string(),
            significant(score.mae),
            significant(score.rmse),
            places(score.mape, 2),
            places(Some(score.smape), 2),
            places(score.mase, 3),
            places(self.mae_vs_naive, 3),
            percent(score.coverage80),
            percent(score.coverage95),
            places(Some(self.fit_seconds), 2),
            places(Some(self.predict_seconds), 2),
        ];
        cells.extend(numbers.map(right));
        cells
    }
}

impl MeanRow {
    fn cells(&self) -> Vec<Cell> {
        let averages = &self.averages;
        let mut cells = vec![Cell::new(self.model)];
        let numbers = [
            self.horizon.to_string(),
            averages.series.to_string(),
            places(averages.mae_vs_naive_geomean, 3),
            places(averages.mae_clipped_vs_naive_geomean, 3),
            places(averages.mae_vs_naive_worst, 2),
            places(averages.rmse_vs_naive_geomean, 3),
            format!("{}/{}", averages.better_than_naive, averages.series),
            places(averages.mase_mean, 3),
            places(averages.mase_median, 3),
            places(averages.mape_mean, 2),
            places(averages.mape_median, 2),
            places(Some(averages.smape_mean), 2),
            percent(averages.coverage80),
            percent(averages.coverage95),
            places(Some(self.fit_seconds), 1),
            places(Some(self.predict_seconds), 1),
        ];
        cells.extend(numbers.map(right));
        cells
    }
}

fn places(value: Option<f64>, places: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.places$}"))
}

/// A number of any size, with 4 significant digits.
fn significant(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1000.0.. => format!("{value:.0}"),
        100.0.. => format!("{value:.1}"),
        10.0.. => format!("{value:.2}"),
        1.0.. => format!("{value:.3}"),
        0.001.. => format!("{value:.5}"),
        _ => format!("{value:.3e}"),
    }
}
