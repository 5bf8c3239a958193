//! Places on the page: title, notes, panels with legends, and one time axis below them.

use super::axis::{self, TimeTick, ValueAxis};
use super::figure::{ChartFigure, ChartMark, MarkShape, Panel};
use super::marks::{self, ChartScale, seconds};
use super::panel_head::{Head, LegendEntry};
use super::style::{self, AXIS, GRID, Heading, RIGHT, TIME, WIDTH};
use super::svg::{Drawing, PagePosition, Svg};
use super::text_width;

/// Height of a chart in which the panels have enough room.
const HEIGHT: f64 = 700.0;
const LEAST: f64 = 110.0;
/// Room for the labels of the time axis, the date and the name of the axis.
const BOTTOM: f64 = 66.0;
/// Room between two panels.
const GAP: f64 = 16.0;

struct PanelLayout<'a> {
    panel: &'a Panel,
    head: Head,
    values: ValueAxis,
    height: f64,
}

/// The figure as SVG, 1200 pixels wide, and 700 high unless it needs more.
pub(crate) fn draw(figure: &ChartFigure) -> String {
    drawing(figure).text
}

pub(super) fn drawing(figure: &ChartFigure) -> Drawing {
    let values = |panel: &Panel| ValueAxis::up_to(highest(panel), panel.whole);
    let values: Vec<_> = figure.panels.iter().map(values).collect();
    let left = style::left(values.iter().flat_map(|values| &values.ticks));
    let heading = Heading::new(&figure.title, &figure.notes, left);
    let panels = placed(figure, values, heading.height(), left);
    let parts = panels
        .iter()
        .map(|one| one.head.height() + one.height + GAP);
    let height = heading.height() + parts.sum::<f64>() - GAP + BOTTOM;

    let mut svg = Svg::new(WIDTH, height, &figure.title);
    let ticks = axis::times(figure.from, figure.to, &figure.zone);
    let mut upper = heading.draw(&mut svg, left);
    for one in &panels {
        one.head.draw(&mut svg, upper);
        upper += one.head.height();
        let corner = PagePosition::new(left, upper);
        let scale = scale(figure, corner, one.height, one.values.top);
        grid(&mut svg, &scale, &one.values, &ticks);
        for mark in &one.panel.marks {
            let data = marks::path(&mark.shape, &scale);
            svg.path(&data, &marks::attributes(mark));
        }
        upper += one.height + GAP;
    }
    time_axis(
        &mut svg,
        figure,
        &ticks,
        PagePosition::new(left, height - BOTTOM),
    );
    svg.finish()
}

/// The panels with their heights: shares of what the page has left, and high enough to be read.
fn placed(
    figure: &ChartFigure,
    values: Vec<ValueAxis>,
    upper: f64,
    left: f64,
) -> Vec<PanelLayout<'_>> {
    let heads = figure.panels.iter().map(|panel| head(panel, left));
    let heads: Vec<_> = heads.collect();
    let taken: f64 = heads.iter().map(|head| head.height() + GAP).sum();
    let shares: f64 = figure.panels.iter().map(|panel| panel.share).sum();
    let least = figure.panels.iter().map(|panel| LEAST / panel.share);
    let unit = least.fold((HEIGHT - BOTTOM - upper - taken + GAP) / shares, f64::max);
    let panels = figure.panels.iter().zip(heads).zip(values);
    let panels = panels.map(|((panel, head), values)| PanelLayout {
        panel,
        head,
        values,
        height: unit * panel.share,
    });
    panels.collect()
}

fn head(panel: &Panel, left: f64) -> Head {
    let entry = |mark: &ChartMark| LegendEntry {
        name: mark.name.clone(),
        is_area: matches!(mark.shape, MarkShape::Band(_)),
        attributes: marks::attributes(mark),
    };
    Head::new(&panel.title, panel.marks.iter().map(entry).collect(), left)
}

fn scale(figure: &ChartFigure, corner: PagePosition, height: f64, top: f64) -> ChartScale {
    ChartScale {
        corner,
        width: WIDTH - corner.x - RIGHT,
        height,
        from: seconds(figure.from),
        to: seconds(figure.to),
        top,
    }
}

/// Largest value that a panel shows.
fn highest(panel: &Panel) -> f64 {
    let values = panel.marks.iter().flat_map(|mark| match &mark.shape {
        MarkShape::Line(points, _) | MarkShape::Steps(points, _) => {
            let values = points.iter().filter_map(|point| point.value);
            values.collect::<Vec<f64>>()
        }
        MarkShape::Band(points) => points.iter().filter_map(|point| point.upper).collect(),
    });
    values.filter(|value| value.is_finite()).fold(0.0, f64::max)
}

fn grid(svg: &mut Svg, scale: &ChartScale, values: &ValueAxis, ticks: &[TimeTick]) {
    let PagePosition { x: left, y: upper } = scale.corner;
    let (right, lower) = (left + scale.width, upper + scale.height);
    for tick in ticks {
        let x = scale.x(tick.at);
        svg.rule(
            PagePosition::new(x, upper),
            PagePosition::new(x, lower),
            GRID,
        );
    }
    for tick in &values.ticks {
        let y = scale.y(tick.value);
        svg.rule(
            PagePosition::new(left, y),
            PagePosition::new(right, y),
            GRID,
        );
        style::value_label(svg, left, y, &tick.label);
    }
    svg.rule(
        PagePosition::new(left, lower),
        PagePosition::new(right, lower),
        AXIS,
    );
}

fn time_axis(svg: &mut Svg, figure: &ChartFigure, ticks: &[TimeTick], corner: PagePosition) {
    let scale = scale(figure, corner, 0.0, 1.0);
    let y = corner.y;
    let mut free = 0.0;
    for tick in ticks {
        let x = scale.x(tick.at);
        svg.rule(PagePosition::new(x, y), PagePosition::new(x, y + 5.0), AXIS);
        style::tick_label(svg, x, y + 19.0, &tick.label);
        // Two dates side by side at midnight would run into each other.
        if let Some(date) = tick.date.as_ref().filter(|_| x >= free) {
            style::tick_label(svg, x, y + 36.0, date);
            free = x + 1.5 * text_width::width(date, TIME.size) + 8.0;
        }
    }
    let clock = axis::clock(&figure.zone, figure.from);
    style::axis_name(svg, y + 54.0, &format!("Time ({clock})"));
}
