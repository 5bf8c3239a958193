//! Lines, steps and areas as paths, with no more points than the eye can tell apart.
//!
//! Several points in one column of pixels become the first, the lowest, the highest and the last of
//! them, so that a peak of one second is seen in a picture of a month.

use std::fmt::Write as _;

use super::{Colour, Point, Shape, Stroke};

/// Columns a pixel is divided into when points are thinned.
const COLUMNS: f64 = 2.0;

/// From values to places on the page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// The left upper corner.
    pub corner: (f64, f64),
    /// Width and height.
    pub size: (f64, f64),
    /// The time at the left edge and at the right one, in seconds.
    pub times: (f64, f64),
    /// The value at the upper edge.
    pub top: f64,
}

impl Scale {
    pub(super) fn x(&self, at: jiff::Timestamp) -> f64 {
        let (from, to) = self.times;
        self.corner.0 + self.size.0 * (seconds(at) - from) / (to - from).max(f64::MIN_POSITIVE)
    }

    pub(super) fn y(&self, value: f64) -> f64 {
        let share = (value / self.top).clamp(0.0, 1.0);
        self.corner.1 + self.size.1 * (1.0 - share)
    }

    /// The runs of points between holes, on the page, thinned.
    fn runs(&self, points: &[Point]) -> Vec<Vec<(f64, f64)>> {
        let place = |&(at, value): &Point| Some((self.x(at), self.y(value?)));
        let places: Vec<_> = points.iter().map(place).collect();
        let runs = places.split(Option::is_none).filter(|run| !run.is_empty());
        runs.map(|run| thin(run.iter().copied().flatten()))
            .collect()
    }
}

/// A time as seconds, for places on a page.
#[allow(clippy::cast_precision_loss)] // a page has thousands of places, not 2^53
pub(super) fn seconds(at: jiff::Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1e3
}

/// First, lowest, highest and last of each column, in the order of time.
fn thin(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    let mut column: Vec<(f64, f64)> = Vec::new();
    for point in points {
        let same = |other: &(f64, f64)| (other.0 * COLUMNS).floor() - (point.0 * COLUMNS).floor();
        if column.first().is_some_and(|first| same(first) != 0.0) {
            keep(&mut column, &mut kept);
        }
        column.push(point);
    }
    keep(&mut column, &mut kept);
    kept
}

fn keep(column: &mut Vec<(f64, f64)>, kept: &mut Vec<(f64, f64)>) {
    let by_value = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
    let last = column.len().saturating_sub(1);
    let (low, high) = ((0..=last).min_by(by_value), (0..=last).max_by(by_value));
    let mut places: Vec<usize> = [Some(0), low, high, Some(last)]
        .into_iter()
        .flatten()
        .collect();
    places.sort_unstable();
    places.dedup();
    kept.extend(places.into_iter().filter_map(|place| column.get(place)));
    column.clear();
}

/// The path of a shape and its attributes.
pub(super) fn path(shape: &Shape, colour: Colour, scale: &Scale) -> (String, String) {
    match shape {
        Shape::Line(points, stroke) => {
            let runs = scale.runs(points);
            let runs = runs.iter().map(|run| along(run));
            (runs.collect(), line(colour, *stroke))
        }
        Shape::Steps(points, stroke) => {
            let runs = scale.runs(&steps(points));
            let runs = runs.iter().map(|run| along(run));
            (runs.collect(), line(colour, *stroke))
        }
        Shape::Band(points) => {
            let side = |pick: fn((f64, f64)) -> f64| -> Vec<Point> {
                let side = points.iter().map(|&(at, pair)| (at, pair.map(pick)));
                side.collect()
            };
            let (lower, upper) = (
                scale.runs(&side(|pair| pair.0)),
                scale.runs(&side(|pair| pair.1)),
            );
            let areas = upper.iter().zip(&lower).map(|(upper, lower)| {
                let around: Vec<_> = upper.iter().chain(lower.iter().rev()).copied().collect();
                along(&around) + "Z"
            });
            (areas.collect(), area(colour))
        }
    }
}

/// Each value again just before the next one.
fn steps(points: &[Point]) -> Vec<Point> {
    let next = points.iter().skip(1).map(|(at, _)| Some(*at)).chain([None]);
    let held = points.iter().zip(next).flat_map(|(&(at, value), next)| {
        let end = next.map(|next| (next, value));
        [Some((at, value)), end].into_iter().flatten()
    });
    held.collect()
}

fn along(points: &[(f64, f64)]) -> String {
    let mut data = String::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        write!(data, "{letter}{x:.2} {y:.2}").expect("a String takes all text");
    }
    // A point alone would not be seen.
    if let [(x, _)] = points {
        write!(data, "H{:.2}", x + 1.0).expect("a String takes all text");
    }
    data
}

/// The attributes of a line.
pub(super) fn line(colour: Colour, stroke: Stroke) -> String {
    let (width, dashes) = match stroke {
        Stroke::Solid => (1.8, ""),
        Stroke::Dashed => (1.8, " stroke-dasharray=\"7 4\""),
        Stroke::Dotted => (1.8, " stroke-dasharray=\"2 3\""),
    };
    let colour = colour.hex();
    format!(
        "fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashes}"
    )
}

/// The attributes of an area.
pub(super) fn area(colour: Colour) -> String {
    format!(
        "fill=\"{}\" fill-opacity=\"0.35\" stroke=\"none\"",
        colour.hex()
    )
}
