//! Sizes, margins and text styles that all charts share, and the heading of a chart.

use super::axis::ValueTick;
use super::svg::{Anchor, PagePosition, Svg, TextStyle};
use super::text_width;

pub(super) const WIDTH: f64 = 1200.0;
pub(super) const RIGHT: f64 = 30.0;
/// Distance of two lines of text.
pub(super) const LINE_HEIGHT: f64 = 20.0;
/// The least room at the left, for the labels of the value axis.
const LEFT: f64 = 74.0;
/// Distance of those labels from the axis, and from the edge of the page.
const LABEL_GAP: f64 = 9.0;
const WIDEST_LABEL: f64 = 200.0;

const TITLE: TextStyle = style(20.0, "#202020", Anchor::Start);
const TITLE_HEIGHT: f64 = 26.0;
const NOTE: TextStyle = style(13.0, "#505050", Anchor::Start);
pub(super) const NAME: TextStyle = style(13.0, "#202020", Anchor::Start);
pub(super) const AXIS_NAME: TextStyle = style(13.0, "#202020", Anchor::End);
pub(super) const VALUE: TextStyle = style(12.0, "#505050", Anchor::End);
pub(super) const TIME: TextStyle = style(12.0, "#505050", Anchor::Middle);
pub(super) const GRID: &str = "#e6e6e6";
pub(super) const AXIS: &str = "#909090";

const fn style(size: f64, fill: &'static str, anchor: Anchor) -> TextStyle {
    TextStyle { size, fill, anchor }
}

/// The left edge of the panels: the labels of their value axes stand beside it.
pub(super) fn left<'a>(ticks: impl IntoIterator<Item = &'a ValueTick>) -> f64 {
    let widths = ticks.into_iter();
    let widths = widths.map(|tick| text_width::width(&tick.label, VALUE.size).min(WIDEST_LABEL));
    widths.fold(LEFT, |left, width| left.max(width + 2.0 * LABEL_GAP))
}

/// A label of the value axis of a panel that begins at `left`.
pub(super) fn value_label(svg: &mut Svg, left: f64, y: f64, label: &str) {
    let label = text_width::fitted(label, VALUE.size, WIDEST_LABEL);
    svg.text(PagePosition::new(left - LABEL_GAP, y + 4.0), VALUE, &label);
}

/// A label below a tick at `x`, moved inwards where it would leave the page.
pub(super) fn tick_label(svg: &mut Svg, x: f64, y: f64, label: &str) {
    let half = text_width::width(label, TIME.size) / 2.0 + 2.0;
    svg.text(
        PagePosition::new(x.clamp(half, WIDTH - half), y),
        TIME,
        label,
    );
}

/// The name of the lower axis, at the right.
pub(super) fn axis_name(svg: &mut Svg, y: f64, name: &str) {
    let name = text_width::fitted(name, AXIS_NAME.size, WIDTH - 2.0 * RIGHT);
    svg.text(PagePosition::new(WIDTH - RIGHT, y), AXIS_NAME, &name);
}

#[derive(Debug, Clone)]
pub(super) struct Heading {
    titles: Vec<String>,
    notes: Vec<String>,
}

impl Heading {
    pub(super) fn new(title: &str, notes: &[String], left: f64) -> Self {
        let room = WIDTH - RIGHT - left;
        let notes = notes
            .iter()
            .flat_map(|note| text_width::lines(note, NOTE.size, room));
        Self {
            titles: text_width::lines(title, TITLE.size, room),
            notes: notes.collect(),
        }
    }

    /// Draws from the upper edge of the page; returns where panels may begin.
    pub(super) fn draw(&self, svg: &mut Svg, left: f64) -> f64 {
        let mut y = 10.0;
        for title in &self.titles {
            y += TITLE_HEIGHT;
            svg.text(PagePosition::new(left, y), TITLE, title);
        }
        y += 4.0;
        for note in &self.notes {
            y += LINE_HEIGHT;
            svg.text(PagePosition::new(left, y), NOTE, note);
        }
        y + 12.0
    }

    /// Where panels may begin.
    pub(super) fn height(&self) -> f64 {
        let titles = self.titles.iter().map(|_| TITLE_HEIGHT).sum::<f64>();
        let notes = self.notes.iter().map(|_| LINE_HEIGHT).sum::<f64>();
        10.0 + titles + 4.0 + notes + 12.0
    }
}
