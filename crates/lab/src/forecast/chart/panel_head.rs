//! The head of a panel: its title, and the legend of its marks beside the title or below it.

use super::style::{LINE_HEIGHT, NAME, RIGHT, WIDTH};
use super::svg::{PagePosition, Svg};
use super::text_width;

const TITLE_LINE: f64 = 34.0;
/// Distance of the lowest line of text from the panel.
const ABOVE: f64 = 12.0;
/// Length of a mark's sample in the legend.
const SAMPLE: f64 = 26.0;
/// Room between a sample and its name, two entries, and the title and a legend beside it.
const SAMPLE_GAP: f64 = 8.0;
const ENTRY_GAP: f64 = 22.0;
const TITLE_GAP: f64 = 40.0;

#[derive(Debug, Clone)]
pub(super) struct LegendEntry {
    pub name: String,
    pub is_area: bool,
    pub attributes: String,
}

impl LegendEntry {
    fn width(&self) -> f64 {
        SAMPLE + SAMPLE_GAP + text_width::width(&self.name, NAME.size) + ENTRY_GAP
    }
}

#[derive(Debug, Clone)]
pub(super) struct Head {
    left: f64,
    title: String,
    /// The lines of the legend, each with the place where it begins.
    lines: Vec<(f64, Vec<LegendEntry>)>,
    is_beside_title: bool,
}

impl Head {
    /// Lays out between `left` and the right edge. A name that is wider than that is cut off.
    pub(super) fn new(title: &str, entries: Vec<LegendEntry>, left: f64) -> Self {
        let room = WIDTH - RIGHT - left;
        let title = text_width::fitted(title, NAME.size, room);
        let whole = entries.iter().map(LegendEntry::width).sum::<f64>() - ENTRY_GAP;
        let is_beside_title =
            text_width::width(&title, NAME.size) + TITLE_GAP + whole.max(0.0) <= room;
        let lines = if is_beside_title {
            vec![(WIDTH - RIGHT - whole, entries)]
        } else {
            let lines = broken(entries, room).into_iter();
            lines.map(|line| (left, line)).collect()
        };
        Self {
            left,
            title,
            lines,
            is_beside_title,
        }
    }

    /// Height up to the panel.
    pub(super) fn height(&self) -> f64 {
        let below = if self.is_beside_title {
            0
        } else {
            self.lines.len()
        };
        (0..below).fold(TITLE_LINE, |height, _| height + LINE_HEIGHT)
    }

    /// Draws with the upper edge at `upper`.
    pub(super) fn draw(&self, svg: &mut Svg, upper: f64) {
        let mut y = upper + TITLE_LINE - ABOVE;
        svg.text(PagePosition::new(self.left, y), NAME, &self.title);
        for (left, line) in &self.lines {
            if !self.is_beside_title {
                y += LINE_HEIGHT;
            }
            let mut x = *left;
            for entry in line {
                let data = sample(entry.is_area, PagePosition::new(x, y - 4.5));
                svg.path(&data, &entry.attributes);
                svg.text(
                    PagePosition::new(x + SAMPLE + SAMPLE_GAP, y),
                    NAME,
                    &entry.name,
                );
                x += entry.width();
            }
        }
    }
}

/// The entries in lines of at most `room` pixels.
fn broken(entries: Vec<LegendEntry>, room: f64) -> Vec<Vec<LegendEntry>> {
    let mut lines: Vec<Vec<LegendEntry>> = Vec::new();
    let mut used = 0.0;
    for mut entry in entries {
        entry.name = text_width::fitted(&entry.name, NAME.size, room - SAMPLE - SAMPLE_GAP);
        let width = entry.width();
        match lines.last_mut() {
            Some(line) if used + width - ENTRY_GAP <= room => {
                used += width;
                line.push(entry);
            }
            _ => {
                used = width;
                lines.push(vec![entry]);
            }
        }
    }
    lines
}

/// Path of a mark's sample: a piece of line, or of area around the height of `at`.
fn sample(is_area: bool, at: PagePosition) -> String {
    let PagePosition { x, y } = at;
    if is_area {
        format!("M{x:.1} {:.1}h{SAMPLE}v12h-{SAMPLE}Z", y - 6.0)
    } else {
        format!("M{x:.1} {y:.1}h{SAMPLE}")
    }
}
