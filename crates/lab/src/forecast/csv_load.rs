//! Reads a load from a CSV file: finds the columns, and reads their times and values. Nothing is
//! guessed: an ambiguous number is refused with line, column and accepted forms, and so is a cpu
//! load without a unit that makes sense in millicores only.

use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord, Trim};
use jiff::Timestamp;

use super::grid::TraceSample;
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;

/// Accepted names of the column of times, in small letters.
const TIMES: [&str; 6] = ["timestamp", "time", "date", "datetime", "at", "ts"];
/// From here on a number of seconds is thousands of years ahead, and one of milliseconds is not.
const MILLISECONDS: f64 = 1e11;

/// The unit that plain numbers are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum CsvLoadUnit {
    /// Cpu in cores
    Cores,
    /// Cpu in thousandths of a core
    Millicores,
    /// Memory in bytes
    Bytes,
    /// Memory in 1024^2 bytes
    #[value(name = "MiB")]
    Mebibytes,
    /// Memory in 1024^3 bytes
    #[value(name = "GiB")]
    Gibibytes,
}

impl CsvLoadUnit {
    /// Base units (millicores, bytes) in one of it.
    pub(super) const fn factor(self) -> f64 {
        match self {
            Self::Cores => 1000.0,
            Self::Millicores | Self::Bytes => 1.0,
            Self::Mebibytes => 1024.0 * 1024.0,
            Self::Gibibytes => 1024.0 * 1024.0 * 1024.0,
        }
    }

    pub(super) const fn is_cpu(self) -> bool {
        matches!(self, Self::Cores | Self::Millicores)
    }
}

/// The part of a file that is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CsvSelection<'a> {
    pub column: Option<&'a str>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
}

/// The samples of a file, in the order of time, as the numbers stand there.
pub(crate) fn read(path: &Path, wanted: &CsvSelection<'_>) -> Result<Vec<TraceSample>, CliFailure> {
    let text = output::read_input(path)?;
    parse(&text, wanted)
        .map_err(|error| CliFailure::call(format_args!("{}: {error}", path.display())))
}

#[derive(Debug, Clone)]
struct CsvColumns {
    time: usize,
    value: usize,
    names: Vec<String>,
}

/// The names of the columns of values, of a file that begins with a header.
pub(super) fn header(text: &str) -> Result<Vec<String>, String> {
    const REFUSED: &str = "it has no header; accepted: a first line that names its columns";
    let first = reader(text).into_records().next();
    let first = first.ok_or(REFUSED)?;
    let row = first.map_err(|error| format!("is no CSV: {error}"))?;
    let fields: Vec<&str> = row.iter().collect();
    let time = time_column(&fields).ok_or(REFUSED)?;
    let others = (0..fields.len()).filter(|&index| index != time);
    Ok(others.map(|index| fields[index].to_owned()).collect())
}

fn reader(text: &str) -> Reader<&[u8]> {
    ReaderBuilder::new()
        .has_headers(false)
        .comment(Some(b'#'))
        .trim(Trim::All)
        .from_reader(text.as_bytes())
}

/// The column of times by a header; `None` where the row has values.
fn time_column(fields: &[&str]) -> Option<usize> {
    if fields.iter().any(|field| time(field).is_ok()) {
        return None;
    }
    let is_time = |name: &&str| TIMES.contains(&name.to_lowercase().as_str());
    Some(fields.iter().position(is_time).unwrap_or(0))
}

pub(super) fn parse(text: &str, wanted: &CsvSelection<'_>) -> Result<Vec<TraceSample>, String> {
    let mut rows = reader(text);
    let mut columns: Option<CsvColumns> = None;
    let mut samples: Vec<TraceSample> = Vec::new();
    for row in rows.records() {
        let row = row.map_err(|error| format!("is no CSV: {error}"))?;
        let line = row.position().map_or(0, csv::Position::line);
        if columns.is_none() {
            let (found, is_header) = CsvColumns::find(&row, wanted.column, line)?;
            columns = Some(found);
            if is_header {
                continue;
            }
        }
        let before = samples.last().map(|sample| sample.at);
        let sample = columns.as_ref().map(|columns| columns.sample(&row, before));
        let sample = sample.transpose();
        samples.extend(sample.map_err(|error| format!("line {line}, {error}"))?);
    }
    let inside = |sample: &TraceSample| {
        wanted.from.is_none_or(|from| from <= sample.at)
            && wanted.to.is_none_or(|to| sample.at <= to)
    };
    samples.retain(inside);
    Ok(samples)
}

impl CsvColumns {
    /// The columns by the first row, and whether it is a header.
    fn find(row: &StringRecord, column: Option<&str>, line: u64) -> Result<(Self, bool), String> {
        let fields: Vec<&str> = row.iter().collect();
        if let [alone] = fields[..] {
            return Err(format!(
                "line {line}: {alone:?} is one column; accepted: a time and a value, separated by \
                 a comma"
            ));
        }
        let Some(time) = time_column(&fields) else {
            return Self::plain(fields.len(), column);
        };
        let others: Vec<usize> = (0..fields.len()).filter(|&index| index != time).collect();
        let list = || {
            let names = others.iter().map(|&index| fields[index]);
            names.collect::<Vec<_>>().join(", ")
        };
        let value = match (column, &others[..]) {
            (Some(name), _) => others
                .iter()
                .copied()
                .find(|&index| fields[index] == name)
                .ok_or_else(|| {
                    format!(
                        "--column {name:?}: there is no such column; accepted: {}",
                        list()
                    )
                })?,
            (None, &[only]) => only,
            (None, _) => {
                return Err(format!(
                    "has several columns of values: {}; accepted: one, or --column NAME if the \
                     command has it",
                    list()
                ));
            }
        };
        let names = fields
            .iter()
            .map(|name| format!("column {name:?}"))
            .collect();
        Ok((Self { time, value, names }, true))
    }

    /// Columns without names: the time and the value.
    fn plain(count: usize, column: Option<&str>) -> Result<(Self, bool), String> {
        if let Some(name) = column {
            return Err(format!(
                "--column {name:?}: its first line is no header, so no column has a name"
            ));
        }
        if count > 2 {
            return Err(format!(
                "has {count} columns and no header; accepted: a time and a value, or a header and --column"
            ));
        }
        let names = vec!["column 1".to_owned(), "column 2".to_owned()];
        let (time, value) = (0, 1);
        Ok((Self { time, value, names }, false))
    }

    /// The sample in a row that is not earlier than the one above.
    fn sample(&self, row: &StringRecord, before: Option<Timestamp>) -> Result<TraceSample, String> {
        let field = |index: usize| row.get(index).unwrap_or_default();
        let told = |index: usize| move |error| format!("{}: {error}", self.names[index]);
        let at = time(field(self.time)).map_err(told(self.time))?;
        if before.is_some_and(|before| at < before) {
            let error =
                format!("{at} comes before the line above; accepted: times that do not go back");
            return Err(told(self.time)(error));
        }
        let value = value(field(self.value)).map_err(told(self.value))?;
        Ok(TraceSample { at, value })
    }
}

/// A time as people and programs write it.
pub(crate) fn time(text: &str) -> Result<Timestamp, String> {
    const ACCEPTED: &str =
        "accepted: RFC 3339 with an offset, such as 2026-03-01T08:00:00Z, or seconds since 1970";
    let refused = || format!("{text:?} is not a time; {ACCEPTED}");
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let seconds: f64 = text.parse().map_err(|_| refused())?;
    if seconds.abs() >= MILLISECONDS {
        return Err(format!("{text} looks like milliseconds; {ACCEPTED}"));
    }
    let since = jiff::SignedDuration::try_from_secs_f64(seconds).map_err(|_| refused())?;
    Timestamp::from_duration(since).map_err(|_| refused())
}

/// A value; `None` where the field says that there is none.
fn value(text: &str) -> Result<Option<f64>, String> {
    if text.is_empty() || ["nan", "null", "none", "na"].contains(&text.to_lowercase().as_str()) {
        return Ok(None);
    }
    let number = text.parse::<f64>().ok();
    let load = number.filter(|value| value.is_finite() && *value >= 0.0);
    load.map(Some).ok_or_else(|| {
        format!("{text:?} is not a load; accepted: a number of at least 0 without a unit (see --unit), or nothing for a missing one")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: CsvSelection<'static> = CsvSelection {
        column: None,
        from: None,
        to: None,
    };

    fn seconds(text: &str, wanted: &CsvSelection<'_>) -> Vec<(i64, Option<f64>)> {
        let samples = parse(text, wanted).unwrap().into_iter();
        samples
            .map(|sample| (sample.at.as_second(), sample.value))
            .collect()
    }

    #[test]
    fn times_and_values_are_found_with_and_without_names() {
        let expected = [(60, Some(1.5)), (120, None)];
        for text in [
            "60,1.5\n120,\n",
            "timestamp,value\n60,1.5\n120,NaN\n",
            "# made by hand\nload , Time\n1.5, 1970-01-01T00:01:00Z\n, 1970-01-01T01:02:00+01:00\n",
            "\"when\",\"cores\"\n60.2,1.5\n120,null\n",
        ] {
            assert_eq!(seconds(text, &ALL), expected, "{text}");
        }
        let several = "time,a,b\n60,1,2\n";
        let second = CsvSelection {
            column: Some("b"),
            ..ALL
        };
        assert_eq!(seconds(several, &second), [(60, Some(2.0))]);
        let from = Timestamp::from_second(61).unwrap();
        assert_eq!(
            seconds(
                "60,1\n61,2\n62,3\n",
                &CsvSelection {
                    from: Some(from),
                    to: Some(from),
                    ..ALL
                }
            ),
            [(61, Some(2.0))]
        );
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_place() {
        for (text, column, parts) in [
            (
                "time,value\n60,1\nnoon,2\n",
                None,
                &["line 3", "column \"time\"", "\"noon\"", "RFC 3339"][..],
            ),
            (
                "time,value\n60,-1\n",
                None,
                &["line 2", "column \"value\"", "\"-1\"", "at least 0"],
            ),
            (
                "60,4100m\n",
                None,
                &["line 1", "column 2", "\"4100m\"", "--unit"],
            ),
            (
                "60,1\n30,1\n",
                None,
                &["line 2", "column 1", "do not go back"],
            ),
            (
                "1772352000000,1\n",
                None,
                &["milliseconds", "seconds since 1970"],
            ),
            ("60\n", None, &["line 1", "one column"]),
            ("time,a,b\n60,1,2\n", None, &["--column", "a, b"]),
            (
                "time,a\n60,1\n",
                Some("c"),
                &["--column \"c\"", "accepted: a"],
            ),
            ("60,1\n", Some("c"), &["no header"]),
            ("60,1,2\n", None, &["3 columns", "--column"]),
            ("time,value\n60,1\n70,1,2\n", None, &["line: 3"]),
        ] {
            let error = parse(text, &CsvSelection { column, ..ALL }).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{part:?} in {error}");
            }
        }
    }
}
