//! A grid of cells that a view is drawn on before any terminal sees it, so that tests compare the
//! view as text. Every character takes one cell: one that is wider or moves the cursor is shown as
//! `?`.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Tone {
    #[default]
    Plain,
    /// Headers and hints.
    Quiet,
    Strong,
    /// Something that does not work, or is over its line.
    Alarm,
}

pub(super) type Cell = (char, Tone);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CanvasCell {
    pub(super) row: usize,
    pub(super) column: usize,
}

impl CanvasCell {
    pub(super) const fn new(row: usize, column: usize) -> Self {
        Self { row, column }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Canvas {
    width: usize,
    rows: Vec<Vec<Cell>>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            rows: vec![vec![(' ', Tone::Plain); width]; height],
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// Writes a text from a cell on, as far as the row goes; the column after it.
    pub(super) fn put(&mut self, row: usize, column: usize, text: &str, tone: Tone) -> usize {
        let mut at = column;
        let Some(cells) = self.rows.get_mut(row) else {
            return at;
        };
        for character in text.chars() {
            if let Some(cell) = cells.get_mut(at) {
                *cell = (one_cell(character), tone);
            }
            at += 1;
        }
        at
    }

    /// Writes a text into a field of `width` cells, and `…` at its end where it is longer.
    pub(super) fn field(&mut self, begin: CanvasCell, width: usize, text: &str, tone: Tone) {
        let CanvasCell { row, column } = begin;
        let fits = text.chars().count() <= width;
        if fits {
            self.put(row, column, text, tone);
        } else if let Some(kept) = width.checked_sub(1) {
            let short: String = text.chars().take(kept).chain(['…']).collect();
            self.put(row, column, &short, tone);
        }
    }

    /// Writes a text that ends before a column.
    pub(super) fn right(&mut self, row: usize, end: usize, text: &str, tone: Tone) {
        self.put(row, end.saturating_sub(text.chars().count()), text, tone);
    }
}

/// Letters, figures and the signs that the view itself uses.
fn one_cell(character: char) -> char {
    let known = character == ' '
        || character.is_ascii_graphic()
        || ('\u{a1}'..'\u{2ff}').contains(&character)
        || ('\u{2500}'..='\u{259f}').contains(&character)
        || "…–→·".contains(character);
    if known { character } else { '?' }
}
