//! Places of everything on the page: title, notes, panels with their legends, and one time axis
//! below them.

use super::axis::{self, TimeTick, Values};
use super::figure::{Figure, Mark, Panel, Shape};
use super::marks::{self, Scale, seconds};
use super::svg::{Anchor, Place, Svg, TextStyle};
use evenkeel_core::units::count_as_f64;

pub(super) const WIDTH: f64 = 1200.0;
pub(super) const HEIGHT: f64 = 700.0;
pub(super) const LEFT: f64 = 74.0;
pub(super) const RIGHT: f64 = 30.0;
/// Room for the labels of the time axis, the date and the name of the axis.
const BOTTOM: f64 = 66.0;
/// Room for a panel's title and legend.
pub(super) const HEAD: f64 = 34.0;
/// Room between two panels.
const GAP: f64 = 16.0;

const TITLE: TextStyle = style(20.0, "#202020", Anchor::Start);
const NOTE: TextStyle = style(13.0, "#505050", Anchor::Start);
pub(super) const NAME: TextStyle = style(13.0, "#202020", Anchor::Start);
pub(super) const CLOCK: TextStyle = style(13.0, "#202020", Anchor::End);
pub(super) const VALUE: TextStyle = style(12.0, "#505050", Anchor::End);
pub(super) const TIME: TextStyle = style(12.0, "#505050", Anchor::Middle);
pub(super) const GRID: &str = "#e6e6e6";
pub(super) const AXIS: &str = "#909090";

/// Mean width of a letter as a share of the font's size, with some room for wide fonts.
const LETTER: f64 = 0.56;
/// Length of a mark's sample in the legend.
const SAMPLE: f64 = 26.0;
/// Room between a sample and its name, and between two entries of the legend.
const SAMPLE_GAP: f64 = 8.0;
const ENTRY_GAP: f64 = 22.0;

const fn style(size: f64, fill: &'static str, anchor: Anchor) -> TextStyle {
    TextStyle { size, fill, anchor }
}

/// An entry of a legend.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    pub name: &'a str,
    /// True for an area, false for a line.
    pub is_area: bool,
    /// The attributes of its sample.
    pub attributes: String,
}

/// The figure as SVG, 1200 by 700 pixels.
pub(in crate::cli) fn draw(figure: &Figure) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT, &figure.title);
    let ticks = axis::times(figure.from, figure.to, &figure.zone);
    let mut upper = heading(&mut svg, &figure.title, &figure.notes);
    let room = room(figure, upper);
    for panel in &figure.panels {
        let height = room * panel.share;
        let values = Values::up_to(highest(panel), panel.whole);
        let scale = scale(figure, upper + HEAD, height, values.top);
        head(&mut svg, panel, upper + HEAD - 12.0);
        grid(&mut svg, &scale, &values, &ticks);
        for mark in &panel.marks {
            let data = marks::path(&mark.shape, &scale);
            svg.path(&data, &marks::attributes(mark));
        }
        upper += HEAD + height + GAP;
    }
    time_axis(&mut svg, figure, &ticks);
    svg.finish()
}

/// The title and the notes below it; returns where panels may begin.
pub(super) fn heading(svg: &mut Svg, title: &str, notes: &[String]) -> f64 {
    svg.text(Place::new(LEFT, 36.0), TITLE, title);
    let mut y = 40.0;
    for line in notes.iter().flat_map(|note| lines(note)) {
        y += 20.0;
        svg.text(Place::new(LEFT, y), NOTE, &line);
    }
    y + 12.0
}

/// The characters of a note that the page is surely wide enough for.
const LINE: usize = 150;

/// A text broken at spaces, where a line would be longer than the page is wide.
fn lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is a first");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= LINE {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Height of a panel whose share is 1, where panels begin at `upper`.
fn room(figure: &Figure, upper: f64) -> f64 {
    let shares: f64 = figure.panels.iter().map(|panel| panel.share).sum();
    let count = count_as_f64(figure.panels.len());
    let heads = count * HEAD + (count - 1.0).max(0.0) * GAP;
    (HEIGHT - BOTTOM - upper - heads) / shares
}

fn scale(figure: &Figure, upper: f64, height: f64, top: f64) -> Scale {
    Scale {
        corner: Place::new(LEFT, upper),
        width: WIDTH - LEFT - RIGHT,
        height,
        from: seconds(figure.from),
        to: seconds(figure.to),
        top,
    }
}

/// Largest value that a panel shows.
fn highest(panel: &Panel) -> f64 {
    let values = panel.marks.iter().flat_map(|mark| match &mark.shape {
        Shape::Line(points, _) | Shape::Steps(points, _) => {
            let values = points.iter().filter_map(|point| point.value);
            values.collect::<Vec<f64>>()
        }
        Shape::Band(points) => points.iter().filter_map(|point| point.upper).collect(),
    });
    values.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

/// The panel's title at the left, its legend at the right.
fn head<'a>(svg: &mut Svg, panel: &'a Panel, y: f64) {
    svg.text(Place::new(LEFT, y), NAME, &panel.title);
    let entry = |mark: &'a Mark| Entry {
        name: &mark.name,
        is_area: matches!(mark.shape, Shape::Band(_)),
        attributes: marks::attributes(mark),
    };
    let entries: Vec<_> = panel.marks.iter().map(entry).collect();
    legend(svg, &entries, y);
}

/// The legend at the right.
pub(super) fn legend(svg: &mut Svg, entries: &[Entry<'_>], y: f64) {
    let width = |entry: &Entry<'_>| SAMPLE + SAMPLE_GAP + letters(entry.name) + ENTRY_GAP;
    let whole: f64 = entries.iter().map(width).sum();
    let mut x = WIDTH - RIGHT + ENTRY_GAP - whole;
    for entry in entries {
        let data = sample(entry.is_area, Place::new(x, y - 4.5));
        svg.path(&data, &entry.attributes);
        svg.text(Place::new(x + SAMPLE + SAMPLE_GAP, y), NAME, entry.name);
        x += width(entry);
    }
}

/// Estimated width of a name in the legend.
fn letters(text: &str) -> f64 {
    count_as_f64(text.chars().count()) * NAME.size * LETTER
}

/// Path of a mark's sample in the legend: a piece of line, or of area around the height of `at`.
fn sample(is_area: bool, at: Place) -> String {
    let Place { x, y } = at;
    if is_area {
        format!("M{x} {}h{SAMPLE}v12h-{SAMPLE}Z", y - 6.0)
    } else {
        format!("M{x} {y}h{SAMPLE}")
    }
}

fn grid(svg: &mut Svg, scale: &Scale, values: &Values, ticks: &[TimeTick]) {
    let Place { x: left, y: upper } = scale.corner;
    let (right, lower) = (left + scale.width, upper + scale.height);
    for tick in ticks {
        let x = scale.x(tick.at);
        svg.rule(Place::new(x, upper), Place::new(x, lower), GRID);
    }
    for tick in &values.ticks {
        let y = scale.y(tick.value);
        svg.rule(Place::new(left, y), Place::new(right, y), GRID);
        svg.text(Place::new(left - 9.0, y + 4.0), VALUE, &tick.label);
    }
    svg.rule(Place::new(left, lower), Place::new(right, lower), AXIS);
}

fn time_axis(svg: &mut Svg, figure: &Figure, ticks: &[TimeTick]) {
    let y = HEIGHT - BOTTOM;
    let scale = scale(figure, y, 0.0, 1.0);
    let mut free = 0.0;
    for tick in ticks {
        let x = scale.x(tick.at);
        svg.rule(Place::new(x, y), Place::new(x, y + 5.0), AXIS);
        svg.text(Place::new(x, y + 19.0), TIME, &tick.label);
        // Two dates side by side at midnight would run into each other.
        if let Some(date) = tick.date.as_ref().filter(|_| x >= free) {
            svg.text(Place::new(x, y + 36.0), TIME, date);
            free = x + 90.0;
        }
    }
    let clock = axis::clock(&figure.zone, figure.from);
    let name = format!("Time ({clock})");
    svg.text(Place::new(WIDTH - RIGHT, y + 54.0), CLOCK, &name);
}
