//! A utilisation as a bar with the headroom line in it. Each side of the line has its own scale, so
//! that the mark is at the line with any number of cells. A value over the line also has a `!`,
//! because not every user sees colours.

use evenkeel_terminal::output::percent;
use evenkeel_units::Amount;

use crate::dev::canvas::{Canvas, CanvasCell, Tone};

/// Cells of a bar where there is room, without the one of the mark.
pub(super) const CELLS: usize = 8;
const FIGURE: usize = 5;
pub(super) const WIDTH: usize = CELLS + 1 + FIGURE;

/// Eighths of a cell.
const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// The largest figure that there is room for.
const LARGEST: f64 = 9.99;

/// Columns of a bar of so many cells with its figure; without cells, only its figure.
pub(super) const fn width(cells: usize) -> usize {
    if cells == 0 {
        FIGURE
    } else {
        cells + 1 + FIGURE
    }
}

pub(super) fn draw(canvas: &mut Canvas, begin: CanvasCell, cells: usize, share: f64, line: f64) {
    let CanvasCell { row, column: at } = begin;
    let over = share > line;
    let tone = if over { Tone::Alarm } else { Tone::Plain };
    if cells > 0 {
        let mark = mark(cells, line);
        let eighths = whole(filled(cells, share, line) * whole_to_f64(PARTS.len()));
        for cell in 0..cells {
            let column = at + cell + usize::from(cell >= mark);
            let filled = eighths.saturating_sub(cell * PARTS.len());
            let part = PARTS.get(filled).copied().unwrap_or('█');
            canvas.put(row, column, part.encode_utf8(&mut [0; 4]), tone);
        }
        canvas.put(row, at + mark, "│", Tone::Quiet);
    }
    let end = at + width(cells);
    canvas.right(row, end - 1, &percent(share.clamp(0.0, LARGEST)), tone);
    if over {
        canvas.put(row, end - 1, "!", tone);
    }
}

fn mark(cells: usize, line: f64) -> usize {
    whole(line * whole_to_f64(cells)).min(cells)
}

/// Filled cells with fractions: the mark is the headroom line, the end the whole capacity.
fn filled(cells: usize, share: f64, line: f64) -> f64 {
    let (all, mark) = (whole_to_f64(cells), whole_to_f64(mark(cells, line)));
    if share <= line {
        (share.max(0.0) / line).min(1.0) * mark
    } else if line < 1.0 {
        mark + ((share - line) / (1.0 - line)).min(1.0) * (all - mark)
    } else {
        all
    }
}

/// A load over time in cells of eight heights, the highest of which is `most`.
pub(super) fn spark(values: impl Iterator<Item = f64>, most: f64) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let height = |value: f64| {
        let share = if most > 0.0 { value / most } else { 0.0 };
        HEIGHTS[whole(share.clamp(0.0, 1.0) * 7.0).min(HEIGHTS.len() - 1)]
    };
    values.map(height).collect()
}

fn whole(value: f64) -> usize {
    usize::try_from(Amount::from_f64(value.round()).get()).unwrap_or(usize::MAX)
}

fn whole_to_f64(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_the_line_and_the_end_is_all() {
        for (cells, share, line, expected) in [
            (8, 0.0, 0.8, 0.0),
            (8, 0.4, 0.8, 3.0),
            (8, 0.8, 0.8, 6.0),
            (8, 0.9, 0.8, 7.0),
            (8, 1.0, 0.8, 8.0),
            (8, 3.0, 0.8, 8.0),
            (4, 0.5, 1.0, 2.0),
            (4, 1.2, 1.0, 4.0),
            (2, 0.8, 0.8, 2.0),
        ] {
            let got = filled(cells, share, line);
            assert!(
                (got - expected).abs() < 1e-9,
                "{cells} {share} {line}: {got}"
            );
        }
    }
}
