//! Where everything stands on the page: title, notes, panels with their legends, and one time axis
//! below them.

use super::axis::{self, TimeTick, Values};
use super::marks::{self, Scale, seconds};
use super::svg::{Anchor, Svg};
use super::{Figure, Mark, Panel, Shape, Stroke};

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 700.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 30.0;
/// For the labels of the time axis, the date and the axis' name.
const BOTTOM: f64 = 66.0;
/// For a panel's title and legend.
const HEAD: f64 = 34.0;
/// Between two panels.
const GAP: f64 = 16.0;

const TITLE: (f64, &str) = (20.0, "#202020");
const NOTE: (f64, &str) = (13.0, "#505050");
const LABEL: (f64, &str) = (12.0, "#505050");
const NAME: (f64, &str) = (13.0, "#202020");
const GRID: &str = "#e6e6e6";
const AXIS: &str = "#909090";

/// The mean width of a letter, relative to the size of the font.
const LETTER: f64 = 0.56;
/// The sample of a line in the legend.
const SAMPLE: f64 = 26.0;

pub(super) fn draw(figure: &Figure) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT, &figure.title);
    svg.text((LEFT, 36.0), Anchor::Start, TITLE, &figure.title);
    let mut y = 40.0;
    for note in &figure.notes {
        y += 20.0;
        svg.text((LEFT, y), Anchor::Start, NOTE, note);
    }
    let ticks = axis::times(figure.from, figure.to, &figure.zone);
    let shares: f64 = figure.panels.iter().map(|panel| panel.share).sum();
    let count = evenkeel_core::units::count_as_f64(figure.panels.len());
    let heads = count * HEAD + (count - 1.0).max(0.0) * GAP;
    let room = HEIGHT - BOTTOM - y - 12.0 - heads;
    let mut upper = y + 12.0;
    for panel in &figure.panels {
        let height = room * panel.share / shares;
        let values = Values::up_to(highest(panel), panel.whole);
        let scale = Scale {
            corner: (LEFT, upper + HEAD),
            size: (WIDTH - LEFT - RIGHT, height),
            times: (seconds(figure.from), seconds(figure.to)),
            top: values.top,
        };
        head(&mut svg, panel, upper + HEAD - 12.0);
        grid(&mut svg, &scale, &values, &ticks);
        for mark in &panel.marks {
            let (data, attributes) = marks::path(&mark.shape, mark.colour, &scale);
            svg.path(&data, &attributes);
        }
        upper += HEAD + height + GAP;
    }
    time_axis(&mut svg, figure, &ticks, HEIGHT - BOTTOM);
    svg.finish()
}

/// The largest value that a panel shows.
fn highest(panel: &Panel) -> f64 {
    let values = panel.marks.iter().flat_map(|mark| match &mark.shape {
        Shape::Line(points, _) | Shape::Steps(points, _) => {
            points.iter().filter_map(|(_, value)| *value).collect()
        }
        Shape::Band(points) => {
            let upper = points.iter().filter_map(|(_, pair)| Some(pair.as_ref()?.1));
            upper.collect::<Vec<f64>>()
        }
    });
    values.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// The panel's title at the left, its legend at the right.
fn head(svg: &mut Svg, panel: &Panel, y: f64) {
    svg.text((LEFT, y), Anchor::Start, NAME, &panel.title);
    let width = |mark: &Mark| SAMPLE + 8.0 + letters(&mark.name) + 22.0;
    let whole: f64 = panel.marks.iter().map(width).sum();
    let mut x = WIDTH - RIGHT + 22.0 - whole;
    for mark in &panel.marks {
        sample(svg, mark, (x, y - 4.5));
        svg.text((x + SAMPLE + 8.0, y), Anchor::Start, NAME, &mark.name);
        x += width(mark);
    }
}

fn letters(text: &str) -> f64 {
    evenkeel_core::units::count_as_f64(text.chars().count()) * NAME.0 * LETTER
}

/// A mark's sample in the legend, around the height `y`.
fn sample(svg: &mut Svg, mark: &Mark, (x, y): (f64, f64)) {
    let line = |stroke: Stroke| {
        (
            format!("M{x} {y}h{SAMPLE}"),
            marks::line(mark.colour, stroke),
        )
    };
    let (data, attributes) = match mark.shape {
        Shape::Line(_, stroke) | Shape::Steps(_, stroke) => line(stroke),
        Shape::Band(_) => {
            let box_of = format!("M{x} {}h{SAMPLE}v12h-{SAMPLE}Z", y - 6.0);
            (box_of, marks::area(mark.colour))
        }
    };
    svg.path(&data, &attributes);
}

fn grid(svg: &mut Svg, scale: &Scale, values: &Values, ticks: &[TimeTick]) {
    let (left, upper) = scale.corner;
    let (right, lower) = (left + scale.size.0, upper + scale.size.1);
    for tick in ticks {
        let x = scale.x(tick.at);
        svg.rule((x, upper), (x, lower), GRID);
    }
    for (value, label) in &values.ticks {
        let y = scale.y(*value);
        svg.rule((left, y), (right, y), GRID);
        svg.text((left - 9.0, y + 4.0), Anchor::End, LABEL, label);
    }
    svg.rule((left, lower), (right, lower), AXIS);
}

fn time_axis(svg: &mut Svg, figure: &Figure, ticks: &[TimeTick], y: f64) {
    let scale = Scale {
        corner: (LEFT, y),
        size: (WIDTH - LEFT - RIGHT, 0.0),
        times: (seconds(figure.from), seconds(figure.to)),
        top: 1.0,
    };
    let mut free = 0.0;
    for tick in ticks {
        let x = scale.x(tick.at);
        svg.rule((x, y), (x, y + 5.0), AXIS);
        svg.text((x, y + 19.0), Anchor::Middle, LABEL, &tick.label);
        // Two dates side by side at midnight would run into each other.
        if let Some(date) = tick.date.as_ref().filter(|_| x >= free) {
            svg.text((x, y + 36.0), Anchor::Middle, LABEL, date);
            free = x + 90.0;
        }
    }
    let clock = axis::clock(&figure.zone, figure.from);
    let name = format!("Time ({clock})");
    svg.text((WIDTH - RIGHT, y + 54.0), Anchor::End, NAME, &name);
}
