//! Several columns of a CSV file, row by row.

use std::path::Path;

use jiff::Timestamp;

use super::csv_load::{self, CsvSelection};
use evenkeel_terminal::output;
use evenkeel_terminal::output::CliFailure;

/// A row; a value is `None` where the file says that it is missing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CsvRow {
    pub at: Timestamp,
    pub values: Vec<Option<f64>>,
}

/// The rows of a file, in the order of time; columns go by the names in its header.
pub(super) fn read(path: &Path, wanted: &[&str]) -> Result<Vec<CsvRow>, CliFailure> {
    let text = output::read_input(path)?;
    parse(&text, wanted)
        .map_err(|error| CliFailure::call(format_args!("{}: {error}", path.display())))
}

fn parse(text: &str, wanted: &[&str]) -> Result<Vec<CsvRow>, String> {
    let names = csv_load::header(text)?;
    if let Some(missing) = wanted
        .iter()
        .find(|name| !names.iter().any(|one| one == *name))
    {
        return Err(format!(
            "it has no column {missing:?}; accepted: {}",
            names.join(", ")
        ));
    }
    let mut rows: Vec<CsvRow> = Vec::new();
    for (place, &name) in wanted.iter().enumerate() {
        let selection = CsvSelection {
            column: Some(name),
            from: None,
            to: None,
        };
        let samples = csv_load::parse(text, &selection)?;
        if place == 0 {
            rows = samples
                .iter()
                .map(|sample| CsvRow {
                    at: sample.at,
                    values: Vec::with_capacity(wanted.len()),
                })
                .collect();
        }
        for (row, sample) in rows.iter_mut().zip(samples) {
            row.values.push(sample.value);
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_by_name_in_the_order_that_is_wanted() {
        let rows = parse("time,a,b,c\n60,1,2,3\n120,4,,6\n", &["c", "b"]).unwrap();
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.at.as_second(), row.values.clone()))
            .collect();
        assert_eq!(
            told,
            [
                (60, vec![Some(3.0), Some(2.0)]),
                (120, vec![Some(6.0), None])
            ]
        );
    }

    #[test]
    fn what_is_not_there_or_not_a_number_is_named() {
        for (text, parts) in [
            ("time,a,b\n60,1,2\n", &["no column \"c\"", "a, b"][..]),
            ("60,1,2\n", &["no header"]),
            ("", &["no header"]),
            ("time,c\n60,x\n", &["line 2", "column \"c\"", "\"x\""]),
        ] {
            let error = parse(text, &["c"]).unwrap_err();
            for part in parts {
                assert!(error.contains(part), "{part:?} in {error}");
            }
        }
    }
}
