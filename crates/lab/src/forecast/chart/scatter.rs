//! One quantity against another: lines through labelled points, on axes that are both numbers.

use super::axis::{ValueAxis, ValueTick};
use super::figure::{Colour, LabelSide, ScatterPoint, Stroke};
use super::labels::{Label, LabelPlacer, Rectangle};
use super::marks;
use super::panel_head::{Head, LegendEntry};
use super::style::{self, AXIS, GRID, Heading, RIGHT, TIME, WIDTH};
use super::svg::{Drawing, PagePosition, Svg};

/// Height of the area in which points stand.
const AREA: f64 = 460.0;
/// Room for the labels of the lower axis and its name.
const BOTTOM: f64 = 58.0;
/// Room between the outermost points and the edges, for their labels.
const MARGIN: f64 = 0.06;

#[derive(Debug, Clone)]
pub(crate) struct Scatter {
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

#[derive(Debug, Clone)]
pub(crate) struct ScatterLine {
    pub name: String,
    pub colour: Colour,
    pub stroke: Stroke,
    /// Where its labels stand, so that those of two lines keep apart.
    pub side: LabelSide,
    pub points: Vec<ScatterPoint>,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    area: Rectangle,
    /// The numbers at the left and at the right edge.
    span: (f64, f64),
    top: f64,
}

impl Frame {
    fn place(&self, x: f64, y: f64) -> PagePosition {
        let (from, to) = self.span;
        let Rectangle {
            from: upper,
            to: lower,
        } = self.area;
        PagePosition::new(
            upper.x + (lower.x - upper.x) * (x - from) / (to - from),
            lower.y - (lower.y - upper.y) * y / self.top,
        )
    }

    fn point<'a>(&self, point: &'a ScatterPoint) -> (PagePosition, &'a ScatterPoint) {
        (self.place(point.x, point.y), point)
    }
}

pub(super) fn drawing(scatter: &Scatter) -> Drawing {
    let points = || scatter.lines.iter().flat_map(|line| &line.points);
    let highest = points().map(|point| point.y).fold(0.0, f64::max);
    let values = ValueAxis::up_to(highest, false);
    let left = style::left(&values.ticks);
    let heading = Heading::new(&scatter.title, &scatter.notes, left);
    let mut frame = Frame {
        area: Rectangle {
            from: PagePosition::new(left, 0.0),
            to: PagePosition::new(WIDTH - RIGHT, AREA),
        },
        span: span(scatter),
        top: values.top,
    };
    let lines = |frame: &Frame| lines(scatter, frame);
    // A line named by its label needs no legend. The legend moves the area, but nothing inside it.
    let entries = scatter.lines.iter().zip(lines(&frame));
    let entries = entries.filter(|(line, labels)| !is_named(line, labels));
    let entries = entries.map(|(line, _)| LegendEntry {
        name: line.name.clone(),
        is_area: false,
        attributes: attributes(line),
    });
    let head = Head::new(&scatter.y, entries.collect(), left);
    let upper = heading.height() + head.height();
    frame.area.from.y = upper;
    frame.area.to.y = upper + AREA;

    let mut svg = Svg::new(WIDTH, upper + AREA + BOTTOM, &scatter.title);
    let below = heading.draw(&mut svg, left);
    head.draw(&mut svg, below);
    axes(&mut svg, &values.ticks, &frame);
    style::axis_name(&mut svg, frame.area.to.y + 42.0, &scatter.x);
    for (line, labels) in scatter.lines.iter().zip(lines(&frame)) {
        draw_line(&mut svg, line, &labels, &frame);
    }
    svg.finish()
}

fn lines(scatter: &Scatter, frame: &Frame) -> Vec<Vec<Label>> {
    let places = |line: &ScatterLine| {
        let places = line.points.iter().map(|point| frame.point(point).0);
        places.collect()
    };
    let places: Vec<Vec<PagePosition>> = scatter.lines.iter().map(places).collect();
    let mut labels = LabelPlacer::new(frame.area, &places);
    let of = |line: &ScatterLine| {
        let points: Vec<_> = line.points.iter().map(|point| frame.point(point)).collect();
        labels.of_line(&points, line.side, line.colour.hex())
    };
    scatter.lines.iter().map(of).collect()
}

/// True where a label says what the line is.
fn is_named(line: &ScatterLine, labels: &[Label]) -> bool {
    labels.iter().any(|label| label.text == line.name)
}

fn draw_line(svg: &mut Svg, line: &ScatterLine, labels: &[Label], frame: &Frame) {
    let places = line.points.iter().map(|point| frame.point(point).0);
    let places: Vec<_> = places.collect();
    svg.path(&marks::along(&places), &attributes(line));
    for PagePosition { x, y } in &places {
        svg.path(&format!("M{x:.2} {y:.2}h0"), &dot(line));
    }
    for label in labels {
        if let Some((from, to)) = label.leader {
            svg.rule(from, to, line.colour.hex());
        }
        svg.text(label.at, label.style, &label.text);
    }
}

/// The numbers at the left and at the right edge.
fn span(scatter: &Scatter) -> (f64, f64) {
    let points = scatter.lines.iter().flat_map(|line| &line.points);
    let (low, high) = points.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| {
        (low.min(point.x), high.max(point.x))
    });
    // Without a point, or with one, there is no span.
    let (low, high) = if low < high { (low, high) } else { one(low) };
    let margin = (high - low) * MARGIN;
    (low - margin, high + margin)
}

/// A span around a single number.
fn one(number: f64) -> (f64, f64) {
    let number = if number.is_finite() { number } else { 0.0 };
    let half = (number.abs() * 0.05).max(0.5);
    (number - half, number + half)
}

fn axes(svg: &mut Svg, values: &[ValueTick], frame: &Frame) {
    let Rectangle {
        from: upper,
        to: lower,
    } = frame.area;
    for tick in values {
        let y = frame.place(0.0, tick.value).y;
        svg.rule(
            PagePosition::new(upper.x, y),
            PagePosition::new(lower.x, y),
            GRID,
        );
        style::value_label(svg, upper.x, y, &tick.label);
    }
    let (from, to) = frame.span;
    for tick in ValueAxis::between(from, to, lower.x - upper.x, TIME.size) {
        let x = frame.place(tick.value, 0.0).x;
        svg.rule(
            PagePosition::new(x, upper.y),
            PagePosition::new(x, lower.y),
            GRID,
        );
        style::tick_label(svg, x, lower.y + 19.0, &tick.label);
    }
    svg.rule(PagePosition::new(upper.x, lower.y), lower, AXIS);
}

fn attributes(line: &ScatterLine) -> String {
    marks::line(line.colour, line.stroke)
}

/// A point is a line of no length with round ends.
fn dot(line: &ScatterLine) -> String {
    let colour = line.colour.hex();
    format!("stroke=\"{colour}\" stroke-width=\"9\" stroke-linecap=\"round\"")
}
