//! Labels of points: each stands beside its point where nothing else does.

use super::figure::{LabelSide, ScatterPoint};
use super::svg::{Anchor, PagePosition, TextStyle};
use super::text_width;

/// Height of the letters.
const SIZE: f64 = 12.0;
/// How far letters reach above and below the line that they stand on, as shares of their height.
const ASCENT: f64 = 0.8;
const DESCENT: f64 = 0.24;
/// Half the width of a point, with the room around it.
const DOT: f64 = 6.0;
const APART: f64 = 2.0;
/// Points of a line that are closer than this have one label.
const CLOSE_X: f64 = 40.0;
const CLOSE_Y: f64 = 14.0;
/// How far from its point, in steps, a label may stand, and the length of a step.
const STEPS: u8 = 7;
const STEP: f64 = 16.0;

/// A rectangle by its left upper and right lower corners.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rectangle {
    pub from: PagePosition,
    pub to: PagePosition,
}

impl Rectangle {
    fn around(point: PagePosition) -> Self {
        Self {
            from: PagePosition::new(point.x - DOT, point.y - DOT),
            to: PagePosition::new(point.x + DOT, point.y + DOT),
        }
    }

    /// The rectangle of a text of which `at` is the start or the end.
    fn of_text(at: PagePosition, anchor: Anchor, width: f64) -> Self {
        let left = if anchor == Anchor::End {
            at.x - width
        } else {
            at.x
        };
        Self {
            from: PagePosition::new(left - APART, at.y - SIZE * ASCENT - APART),
            to: PagePosition::new(left + width + APART, at.y + SIZE * DESCENT + APART),
        }
    }

    /// True where the line between two places passes through the rectangle.
    fn is_crossed(&self, from: PagePosition, to: PagePosition) -> bool {
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        // The part of the line, from 0 (start) to 1 (end), that each pair of edges leaves.
        let edges = [
            (dx, self.from.x - from.x, self.to.x - from.x),
            (dy, self.from.y - from.y, self.to.y - from.y),
        ];
        let (mut start, mut end) = (0.0_f64, 1.0_f64);
        for (along, low, high) in edges {
            if along == 0.0 {
                if low > 0.0 || high < 0.0 {
                    return false;
                }
                continue;
            }
            let (one, other) = (low / along, high / along);
            start = start.max(one.min(other));
            end = end.min(one.max(other));
        }
        start < end
    }

    fn meets(&self, other: &Self) -> bool {
        self.from.x < other.to.x
            && other.from.x < self.to.x
            && self.from.y < other.to.y
            && other.from.y < self.to.y
    }

    fn holds(&self, other: &Self) -> bool {
        self.from.x <= other.from.x
            && other.to.x <= self.to.x
            && self.from.y <= other.from.y
            && other.to.y <= self.to.y
    }
}

#[derive(Debug, Clone)]
pub(super) struct Label {
    pub text: String,
    pub at: PagePosition,
    pub style: TextStyle,
    /// From the point to the label, where it stands away from it.
    pub leader: Option<(PagePosition, PagePosition)>,
}

/// Places labels one after the other inside an area.
#[derive(Debug)]
pub(super) struct LabelPlacer {
    area: Rectangle,
    taken: Vec<Rectangle>,
    /// The straight pieces of all lines.
    pieces: Vec<(PagePosition, PagePosition)>,
}

impl LabelPlacer {
    /// No label covers a point of the `lines`, and where there is room none lies on a line.
    pub(super) fn new(area: Rectangle, lines: &[Vec<PagePosition>]) -> Self {
        let points = lines.iter().flatten();
        let pieces = lines.iter().flat_map(|line| line.windows(2));
        Self {
            area,
            taken: points.map(|point| Rectangle::around(*point)).collect(),
            pieces: pieces.map(|ends| (ends[0], ends[1])).collect(),
        }
    }

    /// The labels of a line's points with their places. A label without room near its point is left
    /// out.
    pub(super) fn of_line(
        &mut self,
        points: &[(PagePosition, &ScatterPoint)],
        side: LabelSide,
        fill: &'static str,
    ) -> Vec<Label> {
        let near = |one: &(PagePosition, _), other: &(PagePosition, _)| {
            (one.0.x - other.0.x).abs() < CLOSE_X && (one.0.y - other.0.y).abs() < CLOSE_Y
        };
        let groups = points.chunk_by(near);
        let labels = groups.filter_map(|group| {
            let (point, _) = group.first()?;
            self.beside(*point, &together(group), side, fill)
        });
        labels.collect()
    }

    fn beside(
        &mut self,
        point: PagePosition,
        text: &str,
        side: LabelSide,
        fill: &'static str,
    ) -> Option<Label> {
        let width = text_width::width(text, SIZE);
        let room = self.area.to.x - self.area.from.x;
        if text.is_empty() || width > room {
            return None;
        }
        let free = || {
            candidates(point, side).filter(|(at, anchor, _)| {
                let text = Rectangle::of_text(*at, *anchor, width);
                self.area.holds(&text) && !self.taken.iter().any(|taken| taken.meets(&text))
            })
        };
        let clear = free().find(|(at, anchor, _)| {
            let text = Rectangle::of_text(*at, *anchor, width);
            let mut pieces = self.pieces.iter();
            !pieces.any(|(from, to)| text.is_crossed(*from, *to))
        });
        let (at, anchor, is_away) = clear.or_else(|| free().next())?;
        self.taken.push(Rectangle::of_text(at, anchor, width));
        let middle = PagePosition::new(at.x, at.y - SIZE * ASCENT / 2.0);
        Some(Label {
            text: text.to_owned(),
            at,
            style: TextStyle {
                size: SIZE,
                fill,
                anchor,
            },
            leader: is_away.then_some((point, middle)),
        })
    }
}

/// Places for a label, the best first, and whether each is away from the point.
fn candidates(
    point: PagePosition,
    side: LabelSide,
) -> impl Iterator<Item = (PagePosition, Anchor, bool)> {
    let PagePosition { x, y } = point;
    (0..STEPS).flat_map(move |step| {
        let far = f64::from(step) * STEP;
        let above = y - 8.0 - far;
        let below = y + 18.0 + far;
        let right = (x + 9.0, Anchor::Start);
        let left = (x - 9.0, Anchor::End);
        let order = match side {
            LabelSide::Above => [(right, above), (left, above), (right, below), (left, below)],
            LabelSide::Below => [(left, below), (right, below), (left, above), (right, above)],
        };
        order.map(|((x, anchor), y)| (PagePosition::new(x, y), anchor, step > 0))
    })
}

fn together(group: &[(PagePosition, &ScatterPoint)]) -> String {
    match group {
        [(_, first), _, .., (_, last)] => format!("{} to {}", first.label, last.label),
        few => {
            let labels = few.iter().map(|(_, point)| point.label.as_str());
            labels.collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_leaves_the_line_where_there_is_room() {
        let area = Rectangle {
            from: PagePosition::new(0.0, 0.0),
            to: PagePosition::new(400.0, 400.0),
        };
        for end in [(300.0, 150.0), (250.0, 100.0), (100.0, 230.0)] {
            let line = vec![
                PagePosition::new(200.0, 200.0),
                PagePosition::new(end.0, end.1),
            ];
            let pieces = (line[0], line[1]);
            let mut labels = LabelPlacer::new(area, std::slice::from_ref(&line));
            let label = labels.beside(line[0], "0.1%", LabelSide::Above, "black");
            let label = label.unwrap();
            let width = text_width::width(&label.text, SIZE);
            let text = Rectangle::of_text(label.at, label.style.anchor, width);
            assert!(!text.is_crossed(pieces.0, pieces.1), "{label:?}");
        }
        let narrow = Rectangle {
            from: PagePosition::new(195.0, 170.0),
            to: PagePosition::new(260.0, 205.0),
        };
        let along = vec![
            PagePosition::new(200.0, 200.0),
            PagePosition::new(300.0, 180.0),
        ];
        let mut labels = LabelPlacer::new(narrow, &[along]);
        let only = labels.beside(
            PagePosition::new(200.0, 200.0),
            "0.1%",
            LabelSide::Above,
            "black",
        );
        assert!(only.is_some(), "better on the line than without a name");
    }
}
