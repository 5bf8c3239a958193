//! One quantity against another: lines through labelled points, on axes that are both numbers.

use super::axis::Values;
use super::figure::{Colour, Stroke};
use super::layout::Entry;
use super::svg::{Anchor, Place, Svg, TextStyle};
use super::{layout, marks};

pub(super) const HEIGHT: f64 = 620.0;
const LEFT: f64 = layout::LEFT;
const RIGHT: f64 = layout::RIGHT;
/// Room for the labels of the lower axis and its name.
const BOTTOM: f64 = 58.0;
/// Room between the outermost points and the edges, for their labels.
const MARGIN: f64 = 0.06;

const LABEL: TextStyle = TextStyle {
    size: 12.0,
    fill: "#202020",
    anchor: Anchor::Start,
};

/// Labels that would stand closer than this are written as one.
const CLOSE_X: f64 = 40.0;
const CLOSE_Y: f64 = 14.0;

#[derive(Debug, Clone)]
pub(in crate::cli) struct Scatter {
    pub title: String,
    /// Lines below the title.
    pub notes: Vec<String>,
    /// The quantity to the right, with its unit.
    pub x: String,
    /// The quantity upwards, which begins at 0.
    pub y: String,
    /// Drawn in this order.
    pub lines: Vec<ScatterLine>,
}

/// Points that belong together, in the order in which they are joined.
#[derive(Debug, Clone)]
pub(in crate::cli) struct ScatterLine {
    pub name: String,
    pub colour: Colour,
    pub stroke: Stroke,
    /// Where its labels stand, so that those of two lines keep apart.
    pub side: LabelSide,
    pub points: Vec<ScatterPoint>,
}

#[derive(Debug, Clone)]
pub(in crate::cli) struct ScatterPoint {
    pub x: f64,
    pub y: f64,
    pub label: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum LabelSide {
    /// Above, to the right.
    Above,
    /// Below, to the left.
    Below,
}

/// Where numbers are on the page.
#[derive(Debug, Clone, Copy)]
struct Frame {
    upper: f64,
    lower: f64,
    /// The numbers at the left and at the right edge.
    span: (f64, f64),
    top: f64,
}

impl Frame {
    fn place(&self, x: f64, y: f64) -> Place {
        let (from, to) = self.span;
        let width = layout::WIDTH - LEFT - RIGHT;
        Place::new(
            LEFT + width * (x - from) / (to - from),
            self.lower - (self.lower - self.upper) * y / self.top,
        )
    }
}

/// Draws on a page of its own.
pub(super) fn draw(scatter: &Scatter) -> String {
    let mut svg = Svg::new(layout::WIDTH, HEIGHT, &scatter.title);
    let upper = layout::heading(&mut svg, &scatter.title, &scatter.notes) + layout::HEAD;
    let (values, frame) = frame(scatter, upper);
    axes(&mut svg, scatter, &values, &frame);
    let entries = scatter.lines.iter().map(|line| Entry {
        name: &line.name,
        is_area: false,
        attributes: attributes(line),
    });
    layout::legend(&mut svg, &entries.collect::<Vec<_>>(), upper - 12.0);
    for line in &scatter.lines {
        let places = line
            .points
            .iter()
            .map(|point| frame.place(point.x, point.y));
        let places: Vec<_> = places.collect();
        svg.path(&marks::along(&places), &attributes(line));
        for Place { x, y } in &places {
            svg.path(&format!("M{x:.2} {y:.2}h0"), &dot(line));
        }
    }
    for line in &scatter.lines {
        labels(&mut svg, line, &frame);
    }
    svg.finish()
}

/// The axis of the values upwards, and the frame that holds all points.
fn frame(scatter: &Scatter, upper: f64) -> (Values, Frame) {
    let points = || scatter.lines.iter().flat_map(|line| &line.points);
    let (low, high) = points().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| {
        (low.min(point.x), high.max(point.x))
    });
    // Without a point, or with one, there is no span.
    let (low, high) = if low < high { (low, high) } else { one(low) };
    let margin = (high - low) * MARGIN;
    let values = Values::up_to(points().map(|point| point.y).fold(0.0, f64::max), false);
    let frame = Frame {
        upper,
        lower: HEIGHT - BOTTOM,
        span: (low - margin, high + margin),
        top: values.top,
    };
    (values, frame)
}

/// A span around a single number.
fn one(number: f64) -> (f64, f64) {
    let number = if number.is_finite() { number } else { 0.0 };
    let half = (number.abs() * 0.05).max(0.5);
    (number - half, number + half)
}

fn axes(svg: &mut Svg, scatter: &Scatter, values: &Values, frame: &Frame) {
    let (left, right) = (LEFT, layout::WIDTH - RIGHT);
    let Frame { upper, lower, .. } = *frame;
    for tick in &values.ticks {
        let y = frame.place(0.0, tick.value).y;
        svg.rule(Place::new(left, y), Place::new(right, y), layout::GRID);
        svg.text(Place::new(left - 9.0, y + 4.0), layout::VALUE, &tick.label);
    }
    let (from, to) = frame.span;
    for tick in Values::between(from, to) {
        let x = frame.place(tick.value, 0.0).x;
        svg.rule(Place::new(x, upper), Place::new(x, lower), layout::GRID);
        svg.text(Place::new(x, lower + 19.0), layout::TIME, &tick.label);
    }
    svg.rule(
        Place::new(left, lower),
        Place::new(right, lower),
        layout::AXIS,
    );
    svg.text(Place::new(left, upper - 12.0), layout::NAME, &scatter.y);
    svg.text(Place::new(right, lower + 42.0), layout::CLOCK, &scatter.x);
}

fn attributes(line: &ScatterLine) -> String {
    marks::line(line.colour, line.stroke)
}

/// A point is a line of no length with round ends.
fn dot(line: &ScatterLine) -> String {
    let colour = line.colour.hex();
    format!("stroke=\"{colour}\" stroke-width=\"9\" stroke-linecap=\"round\"")
}

/// The labels of a line; those that would cover each other are written as one.
fn labels(svg: &mut Svg, line: &ScatterLine, frame: &Frame) {
    let near = |one: &ScatterPoint, other: &ScatterPoint| {
        let (one, other) = (frame.place(one.x, one.y), frame.place(other.x, other.y));
        (one.x - other.x).abs() < CLOSE_X && (one.y - other.y).abs() < CLOSE_Y
    };
    for group in line.points.chunk_by(near) {
        let Some(first) = group.first() else { continue };
        let Place { x, y } = frame.place(first.x, first.y);
        let (place, anchor) = match line.side {
            LabelSide::Above => (Place::new(x + 9.0, y - 8.0), Anchor::Start),
            LabelSide::Below => (Place::new(x - 9.0, y + 18.0), Anchor::End),
        };
        let fill = line.colour.hex();
        let style = TextStyle {
            fill,
            anchor,
            ..LABEL
        };
        svg.text(place, style, &together(group));
    }
}

/// One label for points in a row.
fn together(group: &[ScatterPoint]) -> String {
    match group {
        [first, _, .., last] => format!("{} to {}", first.label, last.label),
        few => {
            let labels = few.iter().map(|point| point.label.as_str());
            labels.collect::<Vec<_>>().join(", ")
        }
    }
}
