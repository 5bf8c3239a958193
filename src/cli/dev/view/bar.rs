//! A utilisation as a bar with the headroom line in it.

use crate::cli::dev::canvas::{Canvas, Tone};
use crate::cli::output::percent;
use crate::units::Amount;

/// Cells of a bar, without the one of the line.
const CELLS: usize = 8;
/// Columns of a bar with its figure.
pub(super) const WIDTH: usize = CELLS + 1 + 5;

/// Eighths of a cell.
const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// What a bar shows at most; the figure beside it goes on.
const FULL: f64 = 1.0;
/// The largest figure that there is room for.
const LARGEST: f64 = 9.99;

/// Draws the bar of a share of the capacity.
pub(super) fn draw(canvas: &mut Canvas, row: usize, at: usize, share: f64, line: f64) {
    let tone = if share > line {
        Tone::Alarm
    } else {
        Tone::Plain
    };
    let mark = whole(line * whole_to_f64(CELLS)).min(CELLS);
    let eighths = whole(share.clamp(0.0, FULL) * whole_to_f64(CELLS * PARTS.len()));
    for cell in 0..CELLS {
        let column = at + cell + usize::from(cell >= mark);
        let filled = eighths.saturating_sub(cell * PARTS.len());
        let part = PARTS.get(filled).copied().unwrap_or('█');
        canvas.put(row, column, part.encode_utf8(&mut [0; 4]), tone);
    }
    canvas.put(row, at + mark, "│", Tone::Quiet);
    let figure = percent(share.clamp(0.0, LARGEST));
    canvas.right(row, at + WIDTH, &figure, tone);
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

/// The nearest whole number.
fn whole(value: f64) -> usize {
    usize::try_from(Amount::from_f64(value.round()).get()).unwrap_or(usize::MAX)
}

fn whole_to_f64(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
