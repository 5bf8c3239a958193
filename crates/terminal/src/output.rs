//! Output of results and failures: tables for people, JSON and YAML for programs.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::{fmt, io};

use anyhow::Context;
use clap::ValueEnum;
use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, Table,
    TableStyle, Width,
};
use evenkeel_service::config::ConfigError;
use serde::Serialize;

/// Format in which a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// A table for people
    #[default]
    Table,
    /// JSON for programs
    Json,
    /// YAML for programs and people
    Yaml,
}

pub trait Report: Serialize {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()>;
}

#[derive(Debug)]
pub enum CliFailure {
    /// The call, an input file or the configuration is wrong.
    Call(anyhow::Error),
    /// The call was right and the work failed.
    Work(anyhow::Error),
}

impl CliFailure {
    pub const WRONG_CALL: u8 = 2;

    pub fn call(what: impl fmt::Display) -> Self {
        Self::Call(anyhow::Error::msg(what.to_string()))
    }

    pub fn work(what: impl fmt::Display) -> Self {
        Self::Work(anyhow::Error::msg(what.to_string()))
    }

    /// The same with what was to be done.
    pub fn context(self, what: String) -> Self {
        match self {
            Self::Call(error) => Self::Call(error.context(what)),
            Self::Work(error) => Self::Work(error.context(what)),
        }
    }

    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Call(_) => ExitCode::from(Self::WRONG_CALL),
            Self::Work(_) => ExitCode::FAILURE,
        }
    }

    /// The reader of the output has gone away.
    pub fn is_closed_pipe(&self) -> bool {
        let (Self::Call(error) | Self::Work(error)) = self;
        error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for CliFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Call(error) | Self::Work(error)) = self;
        // Some errors repeat their cause in their own text, and then it is not said again.
        let mut said = error.to_string();
        for cause in error.chain().skip(1).map(ToString::to_string) {
            if !said.contains(&cause) {
                said = format!("{said}: {cause}");
            }
        }
        f.write_str(&said)
    }
}

impl From<ConfigError> for CliFailure {
    fn from(error: ConfigError) -> Self {
        Self::Call(error.into())
    }
}

impl From<io::Error> for CliFailure {
    fn from(error: io::Error) -> Self {
        Self::Work(error.into())
    }
}

/// A cell whose text stands at the right.
pub fn right(text: impl Into<String>) -> Cell {
    Cell::new(text.into()).set_alignment(CellAlignment::Right)
}

/// A line below the header and no other: tables are read along their rows.
const LINES: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The most columns of text that a table takes.
const MOST_COLUMNS: u16 = 100;
/// The width from which a column of a table is prose, which is broken into lines.
const PROSE: u16 = 40;
/// The padding behind a column of a table.
const PADDING: u16 = 2;
/// The space between two columns: the padding, and the place of a line that is not drawn.
const GAP: u16 = PADDING + 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Colour,
}

impl Style {
    fn of_stdout() -> Self {
        if io::stdout().is_terminal() && !evenkeel_service::config::no_colour() {
            Self::Colour
        } else {
            Self::Plain
        }
    }

    pub fn table(self, header: impl IntoIterator<Item = Cell>) -> Table {
        let mut table = Table::new();
        table.load_style(LINES);
        match self {
            Self::Plain => table.force_no_tty(),
            Self::Colour => table.enforce_styling(),
        };
        table.set_header(header.into_iter().map(|cell| self.bold(cell)));
        for column in table.column_iter_mut() {
            column.set_padding((0, PADDING));
        }
        table
    }

    pub fn bold(self, cell: Cell) -> Cell {
        match self {
            Self::Plain => cell,
            Self::Colour => cell.add_attribute(Attribute::Bold),
        }
    }

    pub fn good(self, cell: Cell) -> Cell {
        self.colour(cell, Color::Green)
    }

    pub fn bad(self, cell: Cell) -> Cell {
        self.colour(cell, Color::Red)
    }

    fn colour(self, cell: Cell, colour: Color) -> Cell {
        match self {
            Self::Plain => cell,
            Self::Colour => cell.fg(colour),
        }
    }

    pub fn emphasis(self, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\u{1b}[1m{text}\u{1b}[0m"),
        }
    }
}

/// A table as text, at most 100 columns wide. Columns without room move to a block below, behind
/// the first column.
pub fn fit_to_width(table: &Table) -> String {
    let most = table
        .width()
        .map_or(MOST_COLUMNS, |width| width.min(MOST_COLUMNS));
    let widths = table.column_max_content_widths();
    // A word that is longer than its share of a line is broken all the same.
    let word = |column: usize, share: u16| longest_word(table, column).min(share);
    let needed = |column: usize, share: u16| widths[column].min(PROSE.max(word(column, share)));
    let first = needed(0, most / 2 - GAP) + GAP;
    let needed: Vec<u16> = (0..widths.len())
        .map(|column| match column {
            0 => first,
            _ => needed(column, most.saturating_sub(first + GAP)) + GAP,
        })
        .collect();
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut shown = vec![0];
    let mut used = first;
    for (column, width) in needed.iter().enumerate().skip(1) {
        if shown.len() > 1 && used + width > most {
            blocks.push(std::mem::replace(&mut shown, vec![0]));
            used = first;
        }
        used += width;
        shown.push(column);
    }
    blocks.push(shown);
    let blocks = blocks.iter().map(|shown| {
        let mut block = table.clone();
        block.set_content_arrangement(ContentArrangement::Dynamic);
        block.set_width(most);
        for (at, column) in block.column_iter_mut().enumerate() {
            if !shown.contains(&at) {
                column.set_constraint(ColumnConstraint::Hidden);
            } else if widths[at] <= PROSE {
                column.set_constraint(ColumnConstraint::ContentWidth);
            } else {
                let least = Width::Fixed(needed[at] - 1);
                column.set_constraint(ColumnConstraint::LowerBoundary(least));
            }
        }
        block.trim_fmt()
    });
    blocks.collect::<Vec<_>>().join("\n\n")
}

fn longest_word(table: &Table, column: usize) -> u16 {
    let cells = table.column_cells_with_header_iter(column).flatten();
    let lengths = cells.flat_map(|cell| {
        let text = cell.content();
        let words = text.split_whitespace().map(|word| word.chars().count());
        words.collect::<Vec<_>>()
    });
    lengths
        .max()
        .map_or(0, |longest| u16::try_from(longest).unwrap_or(u16::MAX))
}

/// A share of a whole, in whole percent.
pub fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Says on standard error what was not understood and yet is no failure.
pub fn warn(what: &str) {
    // If standard error is closed, the warning cannot be shown anywhere.
    let _ = writeln!(io::stderr(), "evenkeel: warning: {what}");
}

pub fn print(report: &impl Report, format: Format) -> Result<(), CliFailure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match format {
        Format::Table => report.print(&mut out, Style::of_stdout())?,
        Format::Json => print_json(&mut out, report)?,
        Format::Yaml => out.write_all(yaml(report)?.as_bytes())?,
    }
    Ok(out.flush()?)
}

fn print_json(out: &mut dyn Write, report: &impl Serialize) -> Result<(), CliFailure> {
    let json = serde_json::to_string_pretty(report).map_err(CliFailure::work)?;
    Ok(writeln!(out, "{json}")?)
}

pub fn yaml(report: &impl Serialize) -> Result<String, CliFailure> {
    serde_saphyr::to_string(report).map_err(CliFailure::work)
}

/// The text of an input file, or of standard input where `-` stands for the file.
pub fn read_input(path: &Path) -> Result<String, CliFailure> {
    let text = if path == Path::new("-") {
        io::read_to_string(io::stdin()).context("cannot read standard input")
    } else {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    text.map_err(CliFailure::Call)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_narrow(text: &str) {
        let widths = text.lines().map(|line| line.chars().count());
        assert!(widths.max().is_some_and(|most| most <= 100), "{text}");
    }

    #[test]
    fn prose_is_broken_into_lines_and_words_of_other_columns_are_not() {
        let mut table = Style::Plain.table(["NAME", "REASON"].map(Cell::new));
        let name = "shop/a-name-without-a-place-to-break";
        table.add_row([Cell::new(name), Cell::new("a reason ".repeat(30))]);
        let text = fit_to_width(&table);
        assert_narrow(&text);
        assert!(text.contains(&format!("{name}   a reason")), "{text}");
    }

    #[test]
    fn columns_that_do_not_fit_stand_below_behind_the_first_one() {
        let header = (0..12).map(|column| Cell::new(format!("REPLICA-HOURS {column}")));
        let mut table = Style::Plain.table(header);
        table.add_row((0..12).map(|column| Cell::new(format!("value-{column}"))));
        let text = fit_to_width(&table);
        assert_narrow(&text);
        assert_eq!(text.matches("REPLICA-HOURS 0").count(), 3, "{text}");
        for column in 1..12 {
            let header = format!("REPLICA-HOURS {column}");
            let cells = text.lines().flat_map(|line| line.split("   "));
            assert_eq!(cells.filter(|cell| *cell == header).count(), 1, "{text}");
            assert!(text.contains(&format!("value-{column}")), "{text}");
        }
    }

    #[test]
    fn many_narrow_columns_do_not_add_up_to_more_than_a_line() {
        let mut table = Style::Plain.table((0..40).map(|_| Cell::new("ab")));
        table.add_row((0..40).map(|_| Cell::new("cd")));
        assert_narrow(&fit_to_width(&table));
    }

    #[test]
    fn a_cause_that_an_error_repeats_is_said_once() {
        let cause = || io::Error::other("no such file");
        let repeats = anyhow::Error::new(cause()).context("cannot read x: no such file");
        assert_eq!(
            CliFailure::Call(repeats).to_string(),
            "cannot read x: no such file"
        );
        let short = anyhow::Error::new(cause()).context("cannot read x");
        assert_eq!(
            CliFailure::Call(short).to_string(),
            "cannot read x: no such file"
        );
    }
}
