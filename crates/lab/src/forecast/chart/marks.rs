//! Lines, steps and areas as paths, with no more points than the eye can tell apart. Each column of
//! pixels keeps its first, lowest, highest and last point, so that a peak of one second is seen in
//! a chart of a month.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::figure::{BandPoint, ChartMark, ChartPoint, Colour, MarkShape, Stroke};
use super::svg::PagePosition;

/// Columns that a pixel is divided into when points are thinned.
const COLUMNS: f64 = 2.0;

#[derive(Debug, Clone, Copy)]
pub(super) struct ChartScale {
    pub corner: PagePosition,
    pub width: f64,
    pub height: f64,
    /// Time at the left edge, in seconds.
    pub from: f64,
    /// Time at the right edge, in seconds.
    pub to: f64,
    /// Value at the upper edge; that at the lower one is 0.
    pub top: f64,
}

impl ChartScale {
    pub(super) fn x(&self, at: Timestamp) -> f64 {
        let span = (self.to - self.from).max(f64::MIN_POSITIVE);
        self.corner.x + self.width * (seconds(at) - self.from) / span
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        let share = (value / self.top).clamp(0.0, 1.0);
        self.corner.y + self.height * (1.0 - share)
    }

    /// Places of the runs of points between holes, thinned.
    fn runs(&self, points: &[ChartPoint]) -> Vec<Vec<PagePosition>> {
        let place =
            |point: &ChartPoint| Some(PagePosition::new(self.x(point.at), self.y(point.value?)));
        let places: Vec<_> = points.iter().map(place).collect();
        let runs = places.split(Option::is_none).filter(|run| !run.is_empty());
        runs.map(|run| thin(run.iter().copied().flatten()))
            .collect()
    }
}

/// A time as seconds since 1970.
#[allow(clippy::cast_precision_loss)] // a page has thousands of places, not 2^53
pub(super) fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1e3
}

/// First, lowest, highest and last of each column, in the order of time.
fn thin(points: impl Iterator<Item = PagePosition>) -> Vec<PagePosition> {
    let column_of = |point: &PagePosition| (point.x * COLUMNS).floor();
    let mut kept = Vec::new();
    let mut column: Vec<PagePosition> = Vec::new();
    for point in points {
        let first = column.first();
        if first.is_some_and(|first| column_of(first).total_cmp(&column_of(&point)).is_ne()) {
            keep(&mut column, &mut kept);
        }
        column.push(point);
    }
    keep(&mut column, &mut kept);
    kept
}

fn keep(column: &mut Vec<PagePosition>, kept: &mut Vec<PagePosition>) {
    let by_height = |a: &usize, b: &usize| column[*a].y.total_cmp(&column[*b].y);
    let last = column.len().saturating_sub(1);
    let (high, low) = ((0..=last).min_by(by_height), (0..=last).max_by(by_height));
    let mut places: Vec<usize> = [Some(0), low, high, Some(last)]
        .into_iter()
        .flatten()
        .collect();
    places.sort_unstable();
    places.dedup();
    kept.extend(places.into_iter().filter_map(|place| column.get(place)));
    column.clear();
}

pub(super) fn path(shape: &MarkShape, scale: &ChartScale) -> String {
    let lines = |points: &[ChartPoint]| scale.runs(points).iter().map(|run| along(run)).collect();
    match shape {
        MarkShape::Line(points, _) => lines(points),
        MarkShape::Steps(points, _) => lines(&steps(points)),
        MarkShape::Band(points) => band(points, scale),
    }
}

/// Around the area: along the upper bound, and back along the lower one.
fn band(points: &[BandPoint], scale: &ChartScale) -> String {
    let side = |bound: fn(&BandPoint) -> Option<f64>| -> Vec<Vec<PagePosition>> {
        let whole = |point: &BandPoint| point.lower.is_some() && point.upper.is_some();
        let points = points.iter().map(|point| ChartPoint {
            at: point.at,
            value: bound(point).filter(|_| whole(point)),
        });
        scale.runs(&points.collect::<Vec<_>>())
    };
    let (lower, upper) = (side(|point| point.lower), side(|point| point.upper));
    let areas = upper.iter().zip(&lower).map(|(upper, lower)| {
        let around: Vec<_> = upper.iter().chain(lower.iter().rev()).copied().collect();
        along(&around) + "Z"
    });
    areas.collect()
}

/// Each value again just before the next one.
fn steps(points: &[ChartPoint]) -> Vec<ChartPoint> {
    let next = points.iter().skip(1).map(|point| Some(point.at));
    let held = points
        .iter()
        .zip(next.chain([None]))
        .flat_map(|(point, next)| {
            let end = next.map(|at| ChartPoint { at, ..*point });
            [Some(*point), end].into_iter().flatten()
        });
    held.collect()
}

pub(super) fn along(places: &[PagePosition]) -> String {
    let mut data = String::new();
    for (index, PagePosition { x, y }) in places.iter().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        write!(data, "{letter}{x:.2} {y:.2}").expect("a String takes all text");
    }
    // A point alone would not be seen.
    if let [PagePosition { x, .. }] = places {
        write!(data, "H{:.2}", x + 1.0).expect("a String takes all text");
    }
    data
}

/// Attributes of a mark's path: a line of its dashes, or an area.
pub(super) fn attributes(mark: &ChartMark) -> String {
    match mark.shape {
        MarkShape::Line(_, stroke) | MarkShape::Steps(_, stroke) => line(mark.colour, stroke),
        MarkShape::Band(_) => {
            let colour = mark.colour.hex();
            format!("fill=\"{colour}\" fill-opacity=\"0.35\" stroke=\"none\"")
        }
    }
}

pub(super) fn line(colour: Colour, stroke: Stroke) -> String {
    let colour = colour.hex();
    let dashes = match stroke {
        Stroke::Solid => "",
        Stroke::Dashed => " stroke-dasharray=\"7 4\"",
        Stroke::Dotted => " stroke-dasharray=\"2 3\"",
    };
    format!(
        "fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{dashes}"
    )
}
