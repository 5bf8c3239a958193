//! Output of results and failures: tables for people, JSON and YAML for programs.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use comfy_table::{Attribute, Cell, Color, LineStyle, Table, TableStyle};
use serde::Serialize;

use crate::config::ConfigError;

/// Format in which a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
    /// A table for people
    #[default]
    Table,
    /// JSON for programs
    Json,
    /// YAML for programs, and for people who read it
    Yaml,
}

/// Result of a subcommand.
pub(super) trait Report: Serialize {
    /// Prints it for people.
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()>;
}

/// Failure of a subcommand.
#[derive(Debug)]
pub(super) enum Failure {
    /// The call, an input file or the configuration is wrong.
    Call(anyhow::Error),
    /// The call was right and the work failed.
    Work(anyhow::Error),
}

impl Failure {
    /// The exit code of a wrong call.
    pub(super) const WRONG_CALL: u8 = 2;

    pub(super) fn call(what: impl fmt::Display) -> Self {
        Self::Call(anyhow::Error::msg(what.to_string()))
    }

    pub(super) fn work(what: impl fmt::Display) -> Self {
        Self::Work(anyhow::Error::msg(what.to_string()))
    }

    /// The same with what was to be done.
    pub(super) fn context(self, what: String) -> Self {
        match self {
            Self::Call(error) => Self::Call(error.context(what)),
            Self::Work(error) => Self::Work(error.context(what)),
        }
    }

    pub(super) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Call(_) => ExitCode::from(Self::WRONG_CALL),
            Self::Work(_) => ExitCode::FAILURE,
        }
    }

    /// The reader of the output has gone away.
    pub(super) fn is_closed_pipe(&self) -> bool {
        let (Self::Call(error) | Self::Work(error)) = self;
        error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
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

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Call(error.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Work(error.into())
    }
}

/// A line below the header and no other: tables are read along their rows.
const LINES: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Emphasis in printed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Colour,
}

impl Style {
    /// The style of standard output.
    fn of_stdout() -> Self {
        if io::stdout().is_terminal() && !crate::config::no_colour() {
            Self::Colour
        } else {
            Self::Plain
        }
    }

    /// A table with this header.
    pub(super) fn table(self, header: impl IntoIterator<Item = Cell>) -> Table {
        let mut table = Table::new();
        table.load_style(LINES);
        match self {
            Self::Plain => table.force_no_tty(),
            Self::Colour => table.enforce_styling(),
        };
        table.set_header(header.into_iter().map(|cell| self.bold(cell)));
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table
    }

    pub(super) fn bold(self, cell: Cell) -> Cell {
        match self {
            Self::Plain => cell,
            Self::Colour => cell.add_attribute(Attribute::Bold),
        }
    }

    pub(super) fn good(self, cell: Cell) -> Cell {
        self.colour(cell, Color::Green)
    }

    pub(super) fn bad(self, cell: Cell) -> Cell {
        self.colour(cell, Color::Red)
    }

    fn colour(self, cell: Cell, colour: Color) -> Cell {
        match self {
            Self::Plain => cell,
            Self::Colour => cell.fg(colour),
        }
    }

    /// Emphasises a text within a sentence.
    pub(super) fn emphasis(self, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\u{1b}[1m{text}\u{1b}[0m"),
        }
    }
}

/// A share of a whole, in whole percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Says on standard error what was not understood and yet is no failure.
pub(super) fn warn(what: &str) {
    // Nobody is left to tell if standard error is closed.
    let _ = writeln!(io::stderr(), "evenkeel: warning: {what}");
}

/// Prints a report on standard output.
pub(super) fn print(report: &impl Report, format: Format) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match format {
        Format::Table => report.print(&mut out, Style::of_stdout())?,
        Format::Json => print_json(&mut out, report)?,
        Format::Yaml => out.write_all(yaml(report)?.as_bytes())?,
    }
    Ok(out.flush()?)
}

fn print_json(out: &mut dyn Write, report: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(report).map_err(Failure::work)?;
    Ok(writeln!(out, "{json}")?)
}

/// A value as a YAML document.
pub(super) fn yaml(report: &impl Serialize) -> Result<String, Failure> {
    serde_saphyr::to_string(report).map_err(Failure::work)
}

/// The text of an input file, or of standard input where `-` stands for the file.
pub(super) fn read_input(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") {
        io::read_to_string(io::stdin()).context("cannot read standard input")
    } else {
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    text.map_err(Failure::Call)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_an_error_repeats_is_said_once() {
        let cause = || io::Error::other("no such file");
        let repeats = anyhow::Error::new(cause()).context("cannot read x: no such file");
        assert_eq!(
            Failure::Call(repeats).to_string(),
            "cannot read x: no such file"
        );
        let short = anyhow::Error::new(cause()).context("cannot read x");
        assert_eq!(
            Failure::Call(short).to_string(),
            "cannot read x: no such file"
        );
    }
}
