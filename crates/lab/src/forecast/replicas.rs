//! `evenkeel forecast replicas`: the replicas for traffic, by a model of `evenkeel train
//! --traffic`.

use std::io;
use std::io::Write;
use std::path::PathBuf;

use comfy_table::Cell;
use evenkeel_forecast::{Calendar, CalendarInputs, TrafficModel};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_scaling::recommend::traffic::{Demand, NeedLimit, TrafficReplicas, needed};
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width};
use jiff::Timestamp;
use serde::Serialize;

use super::csv_columns::CsvRow;
use super::flag_values::parse_zone;
use super::traffic_model::TrafficModelReport;
use super::{csv_columns, csv_load, traffic_model};

const EXAMPLES: &str = "\
Examples:
  evenkeel forecast replicas shop.traffic traffic.csv --target 60 --min 2 --max 60
  evenkeel forecast replicas shop.traffic --traffic http_rps=900,rpc_rps=260 --at 2026-03-01T09:00:00Z --target 60 --max 60 -o json

The file has a column of times and a column for each traffic of the model, recorded or forecast;
other columns are ignored. For each row, the output has the smallest number of replicas such that
neither it nor any larger number is above the target, and the utilisation that the model predicts
for it. The output says if --min or --max decides the number, and names the traffic of which each
replica has less or more than in any sample of the model. A row without some traffic has no number.";

/// Show how many replicas traffic needs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The model file that `evenkeel train --traffic` wrote
    #[arg(value_name = "MODEL")]
    model: PathBuf,

    /// CSV file with the traffic of each time (`-` reads standard input)
    #[arg(value_name = "FILE", required_unless_present = "traffic")]
    file: Option<PathBuf>,

    /// Traffic at one time, instead of a file; each number is the sum over all replicas
    #[arg(long, value_name = "NAME=NUMBER", value_delimiter = ',', value_parser = parse_traffic,
        conflicts_with = "file", requires = "at")]
    traffic: Vec<(String, f64)>,

    /// The time of that traffic
    #[arg(long, value_name = "TIME", value_parser = csv_load::time, requires = "traffic")]
    at: Option<Timestamp>,

    /// The target utilisation of each replica, in the unit of the column that the model was trained
    /// on
    #[arg(long, value_name = "NUMBER", value_parser = parse_target)]
    target: f64,

    /// Smallest number of replicas
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    min: i32,

    /// Largest number of replicas
    #[arg(long, value_name = "NUMBER")]
    max: i32,

    /// Output format
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t)]
    output: Format,
}

fn parse_traffic(text: &str) -> Result<(String, f64), String> {
    let pair = text.split_once('=').and_then(|(name, value)| {
        let value = value.trim().parse::<f64>().ok()?;
        let good = value.is_finite() && value >= 0.0;
        good.then(|| (name.trim().to_owned(), value))
    });
    pair.ok_or_else(|| {
        "accepted: a name and a number of at least 0, such as http_rps=900".to_owned()
    })
}

fn parse_target(text: &str) -> Result<f64, String> {
    let target = text.parse::<f64>().ok();
    target
        .filter(|target| target.is_finite() && *target > 0.0)
        .ok_or_else(|| {
            "accepted: a number above 0 in the unit of the model's utilisation, such as 60 for \
             percent"
                .to_owned()
        })
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let bounds = ReplicaBounds::new(args.min, args.max)
        .map_err(|error| CliFailure::call(format_args!("--min, --max: {error}")))?;
    let model = traffic_model::read(&args.model)?;
    let rows = rows(args, &model)?;
    let zone = parse_zone(&model.zone).map_err(|error| {
        let path = args.model.display();
        CliFailure::work(format_args!(
            "{path}: its time zone {:?} is unknown on this machine; {error}",
            model.zone
        ))
    })?;
    let calendar = Calendar::new(zone);
    let told = rows.into_iter().map(|row| {
        let values = row.values.iter().copied().collect::<Option<Vec<f64>>>();
        let found = values.map(|traffic| {
            let demand = Demand {
                traffic: &traffic,
                moment: CalendarInputs::of(row.at, &calendar),
            };
            let found = needed(&model.function, &demand, args.target, bounds);
            let beyond = model.beyond_samples(&traffic, f64::from(found.replicas));
            (found, beyond.map(str::to_owned).collect())
        });
        Count::of(row, found)
    });
    let report = TrafficReplicaTable {
        traffic: model.components.clone(),
        target: args.target,
        min: bounds.min(),
        max: bounds.max(),
        replicas: told.collect(),
        model: TrafficModelReport::of(&model),
    };
    output::print(&report, args.output)
}

fn rows(args: &Args, model: &TrafficModel) -> Result<Vec<CsvRow>, CliFailure> {
    if let Some(file) = &args.file {
        let names: Vec<&str> = model.components.iter().map(String::as_str).collect();
        return csv_columns::read(file, &names);
    }
    let at = args
        .at
        .ok_or_else(|| CliFailure::call("--traffic needs --at TIME"))?;
    let known = model.components.join(", ");
    let is_known = |name: &str| model.components.iter().any(|one| one == name);
    if let Some((name, _)) = args.traffic.iter().find(|(name, _)| !is_known(name)) {
        return Err(CliFailure::call(format_args!(
            "--traffic: the model has no traffic {name:?}; accepted: {known}"
        )));
    }
    let values = model.components.iter().map(|wanted| {
        let mut named = args.traffic.iter().filter(|(name, _)| name == wanted);
        match (named.next(), named.next()) {
            (Some((_, value)), None) => Ok(Some(*value)),
            _ => Err(CliFailure::call(format_args!(
                "--traffic needs {wanted:?} once; accepted: a number for each of {known}"
            ))),
        }
    });
    let values = values.collect::<Result<_, _>>()?;
    Ok(vec![CsvRow { at, values }])
}

#[derive(Debug, Serialize)]
struct TrafficReplicaTable {
    model: TrafficModelReport,
    /// The names of the kinds of traffic, in their order.
    traffic: Vec<String>,
    target: f64,
    min: i32,
    max: i32,
    replicas: Vec<Count>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Count {
    at: Timestamp,
    traffic: Vec<Option<f64>>,
    replicas: Option<i32>,
    utilisation: Option<f64>,
    limited_by: Option<&'static str>,
    /// The kinds of traffic of which a replica has less or more than in any sample of the model.
    extrapolated: Vec<String>,
}

impl Count {
    fn of(row: CsvRow, found: Option<(TrafficReplicas, Vec<String>)>) -> Self {
        let CsvRow { at, values } = row;
        let (found, extrapolated) = found.unzip();
        Self {
            at,
            traffic: values,
            replicas: found.map(|found| found.replicas),
            utilisation: found.and_then(|found| found.utilisation),
            limited_by: found.and_then(|found| found.limit).map(NeedLimit::as_str),
            extrapolated: extrapolated.unwrap_or_default(),
        }
    }
}

impl Report for TrafficReplicaTable {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        for line in self.model.lines() {
            writeln!(to, "{line}")?;
        }
        writeln!(
            to,
            "Target {}, {} to {} replicas.\n",
            self.target, self.min, self.max
        )?;
        let titles = self.traffic.iter().map(Cell::new);
        let rest = ["replicas", "utilisation", "limited by", "extrapolated"].map(Cell::new);
        let mut table = style.table([Cell::new("time")].into_iter().chain(titles).chain(rest));
        for count in &self.replicas {
            let number = |value: Option<f64>| {
                value.map_or_else(|| "-".to_owned(), |one| format!("{one:.2}"))
            };
            let traffic = count.traffic.iter().map(|&value| Cell::new(number(value)));
            let replicas = count
                .replicas
                .map_or_else(|| "-".to_owned(), |one| one.to_string());
            let rest = [
                replicas,
                number(count.utilisation),
                count.limited_by.unwrap_or_default().to_owned(),
                count.extrapolated.join(", "),
            ];
            let cells = [Cell::new(count.at)].into_iter().chain(traffic);
            table.add_row(cells.chain(rest.map(Cell::new)).collect::<Vec<_>>());
        }
        writeln!(to, "{}", fit_to_width(&table))
    }
}
