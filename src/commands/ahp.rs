//! `evenkeel ahp`: the weights that follow from pairwise judgements, and whether these agree.

use std::io;
use std::io::Write;
use std::path::PathBuf;

use comfy_table::Cell;
use evenkeel_placement::ahp::{CONSISTENCY_LIMIT, JudgementMatrix, RandomIndex};
use evenkeel_placement::profile::{Profile, judgements};
use evenkeel_units::Resource;
use serde::Serialize;

use evenkeel_service::config::parse_judgement;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width, right};

const EXAMPLES: &str = "\
Examples:
  evenkeel ahp --profile network
  evenkeel ahp --matrix '1 3 5; 1/3 1 2; 1/5 1/2 1' --names cpu,memory,network
  evenkeel ahp -f judgements.yaml --random-index saaty -o json

A file has one row per line, or the rows as YAML: [[1, 3], [1/3, 1]]. The value in row i and
column j says how many times as important i is as j. The exit code is 1 if the judgements
contradict each other (CR >= 0.1); the configuration refuses such judgements, too.";

/// Show the weights and the consistency of a judgement matrix
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    #[command(flatten)]
    judgements: Judgements,

    /// Names of the rows
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    names: Vec<String>,

    /// The random index: thesis (1.11 for five rows), saaty (1.12), or a number for this size
    #[arg(long, value_name = "TABLE|NUMBER", default_value = "thesis")]
    random_index: String,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Judgements {
    /// Rows separated by `;`, judgements by spaces or commas
    #[arg(long, short, value_name = "ROWS")]
    matrix: Option<String>,

    /// A file with the rows; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,

    /// The judgements of a built-in profile: compute, memory, io or network
    #[arg(long, short, value_name = "NAME")]
    profile: Option<Profile>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AhpReport {
    rows: Vec<AhpWeightRow>,
    lambda_max: f64,
    consistency_index: f64,
    random_index: f64,
    consistency_ratio: f64,
    consistency_limit: f64,
    accepted: bool,
}

#[derive(Debug, Serialize)]
struct AhpWeightRow {
    name: String,
    judgements: Vec<f64>,
    weight: f64,
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    let (matrix, own_names) = args.judgements.read()?;
    let size = matrix.rows().len();
    let names = match (args.names.is_empty(), own_names) {
        (true, Some(own)) => own,
        (true, None) => (1..=size).map(|row| row.to_string()).collect(),
        (false, _) if args.names.len() == size => args.names,
        (false, _) => {
            let given = args.names.len();
            return Err(CliFailure::call(format_args!(
                "--names: {given} names are not accepted: one for each of the {size} rows"
            )));
        }
    };
    let random_index = parse_random_index(&args.random_index, size)?;
    let report = analyse(&matrix, names, &random_index);
    output::print(&report, args.output)?;
    if report.accepted {
        Ok(())
    } else {
        Err(CliFailure::work(format_args!(
            "the judgements contradict each other: consistency ratio {:.3}, accepted: below {CONSISTENCY_LIMIT}",
            report.consistency_ratio
        )))
    }
}

fn analyse(matrix: &JudgementMatrix, names: Vec<String>, index: &RandomIndex) -> AhpReport {
    let analysis = matrix.analyse(index);
    let accepted = analysis.accept().is_ok();
    let rows = names.into_iter().zip(matrix.rows()).zip(&analysis.weights);
    AhpReport {
        rows: rows
            .map(|((name, judgements), &weight)| AhpWeightRow {
                name,
                judgements: judgements.clone(),
                weight,
            })
            .collect(),
        lambda_max: analysis.lambda_max,
        consistency_index: analysis.consistency_index,
        random_index: index.get(matrix.rows().len()),
        consistency_ratio: analysis.consistency_ratio,
        consistency_limit: CONSISTENCY_LIMIT,
        accepted,
    }
}

impl Judgements {
    /// The matrix, and the names of its rows where it brings them.
    fn read(self) -> Result<(JudgementMatrix, Option<Vec<String>>), CliFailure> {
        let Self {
            matrix,
            file,
            profile,
        } = self;
        if let Some(profile) = profile {
            let matrix = judgements(profile).ok_or_else(|| {
                CliFailure::call(format_args!(
                    "--profile {profile} has fixed weights and no judgements; \
                     accepted: compute, memory, io or network"
                ))
            })?;
            let names = Resource::ALL.iter().map(Resource::to_string).collect();
            return Ok((matrix, Some(names)));
        }
        let (origin, text) = match (matrix, file) {
            (Some(matrix), _) => ("--matrix".to_owned(), matrix.replace(';', "\n")),
            (None, file) => {
                let file = file.unwrap_or_else(|| "-".into());
                (file.display().to_string(), output::read_input(&file)?)
            }
        };
        let matrix = parse_rows(&text)
            .and_then(|rows| JudgementMatrix::new(rows).map_err(|error| error.to_string()))
            .map_err(|message| CliFailure::call(format_args!("{origin}: {message}")))?;
        Ok((matrix, None))
    }
}

/// Rows as YAML flow lists, as YAML block lists of them, or as plain lines.
fn parse_rows(text: &str) -> Result<Vec<Vec<f64>>, String> {
    let plain = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .map(|line| line.trim_start().trim_start_matches('-'))
        .flat_map(|line| line.split(']'))
        .map(|row| row.trim_matches(|c: char| c.is_whitespace() || matches!(c, '[' | ',')));
    let mut rows = Vec::new();
    for row in plain.filter(|row| !row.is_empty()) {
        let judgements = row
            .split([',', ' ', '\t'])
            .map(|text| text.trim_matches(['"', '\'']))
            .filter(|text| !text.is_empty());
        let judgements: Result<Vec<f64>, _> = judgements.map(parse_judgement).collect();
        rows.push(judgements.map_err(|error| format!("row {}: {error}", rows.len() + 1))?);
    }
    Ok(rows)
}

fn parse_random_index(text: &str, size: usize) -> Result<RandomIndex, CliFailure> {
    match text {
        "thesis" => Ok(RandomIndex::thesis()),
        "saaty" => Ok(RandomIndex::saaty()),
        number => number
            .parse()
            .map_err(|_| "accepted: thesis, saaty or a number".to_owned())
            .and_then(|value| {
                RandomIndex::thesis()
                    .with(size, value)
                    .map_err(|error| error.to_string())
            })
            .map_err(|error| CliFailure::call(format_args!("--random-index {text:?}: {error}"))),
    }
}

impl Report for AhpReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let names = self.rows.iter().map(|row| right(row.name.clone()));
        let header = std::iter::once(Cell::new("")).chain(names);
        let mut table = style.table(header.chain([right("weight".to_owned())]));
        for row in &self.rows {
            let judgements = row.judgements.iter().map(|&value| right(fraction(value)));
            let mut cells = vec![Cell::new(&row.name)];
            cells.extend(judgements);
            cells.push(style.bold(right(format!("{:.4}", row.weight))));
            table.add_row(cells);
        }
        writeln!(to, "{}\n", fit_to_width(&table))?;
        writeln!(
            to,
            "λmax {:.4}   CI {:.4}   RI {:.2}   CR {:.4}",
            self.lambda_max, self.consistency_index, self.random_index, self.consistency_ratio
        )?;
        let verdict = if self.accepted {
            "The judgements are consistent"
        } else {
            "The judgements contradict each other"
        };
        writeln!(
            to,
            "{verdict}: CR must be below {}.",
            self.consistency_limit
        )
    }
}

/// A judgement as people write it.
fn fraction(judgement: f64) -> String {
    let inverse = (1.0 / judgement).round();
    if judgement < 1.0 && (judgement * inverse - 1.0).abs() < 1e-9 {
        format!("1/{inverse}")
    } else {
        let text = format!("{judgement:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_read_in_all_its_spellings() {
        let rows = vec![vec![1.0, 4.0], vec![0.25, 1.0]];
        for text in [
            "1 4\n1/4 1",
            "1, 4\n0.25, 1\n",
            "[[1, 4], [1/4, 1]]",
            "# judgements\n- [1, 4]\n- [\"1/4\", 1]   # memory\n",
        ] {
            assert_eq!(parse_rows(text), Ok(rows.clone()), "{text}");
        }
        let refused = parse_rows("1 4\n1/4 x").unwrap_err();
        assert!(refused.starts_with("row 2: \"x\""), "{refused}");
    }

    #[test]
    fn judgements_are_printed_as_they_are_written() {
        for (judgement, text) in [(3.0, "3"), (1.0 / 3.0, "1/3"), (2.5, "2.5"), (0.4, "0.4")] {
            assert_eq!(fraction(judgement), text);
        }
    }
}
