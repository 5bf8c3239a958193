//! A backtest as a chart: for each model and horizon the load, its forecast and the interval.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::model_runs::{BacktestForecast, BacktestForecastLine, TestedLoad, TestedModel};
use crate::forecast::chart;
use crate::forecast::chart::{BandPoint, ChartFigure, ChartMark, Colour, MarkShape, Panel, Stroke};
use crate::forecast::load_trace::LoadTrace;

/// As many panels can be read one above the other.
pub(super) const MOST_PANELS: usize = 4;

/// The chart of one load's last `show`, its time axis labelled by the clock of `zone`.
pub(super) fn svg(
    load: &LoadTrace,
    tested: &TestedLoad,
    show: SignedDuration,
    zone: &TimeZone,
) -> String {
    let recorded = &load.recorded;
    let last = recorded.values().len() - 1;
    let to = recorded.time(last);
    let begins = to.checked_sub(show).unwrap_or(Timestamp::MIN);
    let judged = recorded.training()..=last;
    let first = judged
        .into_iter()
        .find(|&index| begins <= recorded.time(index));
    let first = first.unwrap_or(last);
    let all = tested.models.iter();
    let drawn = all.flat_map(|model| model.drawn.iter().map(move |drawn| (model, drawn)));
    let panels: Vec<_> = drawn
        .map(|(model, drawn)| panel(load, model, drawn, first))
        .collect();
    let mut notes = vec![format!(
        "The last {} values of {} that were judged, {:#} apart",
        last + 1 - first,
        recorded.origins(),
        recorded.step()
    )];
    if tested.models.iter().any(|model| model.partial) {
        notes.push("Partial: it was interrupted before its end".to_owned());
    }
    chart::draw(&ChartFigure {
        title: format!("{}: load and forecasts", load.name),
        notes,
        from: recorded.time(first),
        to,
        zone: zone.clone(),
        panels,
    })
}

fn panel(
    load: &LoadTrace,
    model: &TestedModel,
    drawn: &BacktestForecastLine,
    first: usize,
) -> Panel {
    let values = load.recorded.values();
    let times = || (first..values.len()).map(|index| (index, load.recorded.time(index)));
    let told = |index: usize| drawn.values.get(index).copied().flatten();
    let line = |value: &dyn Fn(usize) -> Option<f64>| {
        let points = times().map(|(index, at)| chart::ChartPoint {
            at,
            value: value(index),
        });
        MarkShape::Line(points.collect(), Stroke::Solid)
    };
    let band = times().map(|(index, at)| {
        let interval = told(index).map(|BacktestForecast { interval80, .. }| interval80);
        BandPoint {
            at,
            lower: interval.map(|interval| interval.lower),
            upper: interval.map(|interval| interval.upper),
        }
    });
    let mark = |name: &str, colour, shape| ChartMark {
        name: name.to_owned(),
        colour,
        shape,
    };
    Panel {
        title: title(model, drawn),
        share: 1.0,
        whole: false,
        marks: vec![
            mark("80% interval", Colour::Sky, MarkShape::Band(band.collect())),
            mark("load", Colour::Ink, line(&|index| Some(values[index]))),
            mark(
                "forecast",
                Colour::Vermilion,
                line(&|index| told(index).map(|told| told.mean)),
            ),
        ],
    }
}

fn title(model: &TestedModel, drawn: &BacktestForecastLine) -> String {
    let steps = match drawn.horizon.get() {
        1 => "1 step ahead".to_owned(),
        steps => format!("{steps} steps ahead"),
    };
    let name = model.model;
    if let Some(absent) = &model.absent {
        return format!("{name}, {steps}: too little history, {absent}");
    }
    let mut scores = model.scores.iter();
    let Some(score) = scores.find(|score| score.horizon == drawn.horizon) else {
        return format!("{name}, {steps}");
    };
    let against = match score.naive_mae {
        0.0 => String::new(),
        naive => format!(", {:.3} of the last value's", score.mae / naive),
    };
    format!("{name}, {steps}: MAE {:.4}{against}", score.mae)
}
