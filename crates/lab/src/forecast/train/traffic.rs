//! `evenkeel train --traffic`: the utilisation of a target's Pods from the traffic that they take.

use std::io;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use evenkeel_forecast::Calendar;
use evenkeel_sandbox::parallel::cores;
use evenkeel_training::{TrafficNames, TrafficSample, TrafficSettings, fit_traffic};
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::forecast::csv_columns::CsvRow;
use crate::forecast::flag_values::parse_zone;
use crate::forecast::progress::Bar;
use crate::forecast::traffic_model::TrafficModelReport;
use crate::forecast::{csv_columns, output_file};
use evenkeel_terminal::output::{CliFailure, Format, Report, Style};

/// The columns of a file with traffic.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Traffic")]
pub(in crate::forecast) struct TrafficColumnArgs {
    /// Train a model of the utilisation on these columns of traffic, each the sum over all replicas
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(super) traffic: Vec<String>,

    /// The column of the utilisation of each replica, in any unit
    #[arg(long, value_name = "COLUMN", requires = "traffic")]
    utilisation: Option<String>,

    /// The column of the replicas that took the traffic
    #[arg(
        long,
        value_name = "COLUMN",
        default_value = "replicas",
        requires = "traffic"
    )]
    replicas: String,

    /// The time zone of days and weeks: UTC, local, or a name such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC", requires = "traffic", value_parser = parse_zone)]
    time_zone: TimeZone,
}

pub(super) struct TrafficTrainCall<'a> {
    pub(super) columns: &'a TrafficColumnArgs,
    pub(super) files: &'a [PathBuf],
    pub(super) output: &'a Path,
    pub(super) threads: Option<NonZeroUsize>,
    pub(super) format: Format,
}

pub(super) fn run(call: &TrafficTrainCall<'_>) -> Result<(), CliFailure> {
    let TrafficTrainCall {
        columns,
        files,
        output,
        threads,
        format,
    } = call;
    let [file] = files else {
        return Err(CliFailure::call(format_args!(
            "--traffic needs one file, and {} are given",
            files.len()
        )));
    };
    let names = columns.names()?;
    let rows = csv_columns::read(file, &columns.wanted(&names.utilisation)?)?;
    let samples: Vec<TrafficSample> = rows.iter().filter_map(sample).collect();
    let left_out = rows.len() - samples.len();
    let settings = TrafficSettings::with(threads.unwrap_or_else(cores));
    let mut bar = Bar::new(true);
    bar.tell(
        0.1,
        "fitted on all but the newest day, judged on it, and fitted on all",
    );
    let fitted = fit_traffic(&samples, names, &settings);
    bar.finish();
    let model = fitted.map_err(|error| {
        let file = file.display();
        CliFailure::work(format_args!("{file}: {error}. No model is written"))
    })?;
    let report = TrafficTrainReport {
        model: TrafficModelReport::of(&model),
        samples: samples.len(),
        left_out,
    };
    output_file::write_model(output, model.encode(), &report, *format)
}

impl TrafficColumnArgs {
    fn names(&self) -> Result<TrafficNames, CliFailure> {
        let utilisation = self
            .utilisation
            .clone()
            .ok_or_else(|| CliFailure::call("--traffic needs --utilisation COLUMN"))?;
        let zone = self.time_zone.iana_name();
        let zone = zone.ok_or_else(|| {
            CliFailure::call("--time-zone: the local clock has no name; accepted: UTC, or a name such as Europe/Berlin")
        })?;
        Ok(TrafficNames {
            components: self.traffic.clone(),
            utilisation,
            zone: zone.to_owned(),
            calendar: Calendar::new(self.time_zone.clone()),
        })
    }

    /// The columns of traffic, and after them those of replicas and utilisation.
    fn wanted<'a>(&'a self, utilisation: &'a str) -> Result<Vec<&'a str>, CliFailure> {
        let traffic = self.traffic.iter().map(String::as_str);
        let wanted: Vec<&str> = traffic.chain([&*self.replicas, utilisation]).collect();
        let mut sorted = wanted.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(CliFailure::call(format_args!(
                "column {:?} is named twice: --traffic, --replicas and --utilisation must name \
                 different columns",
                pair[0]
            ))),
            None => Ok(wanted),
        }
    }
}

/// The sample in a row; `None` where something is missing, or there were no replicas.
fn sample(row: &CsvRow) -> Option<TrafficSample> {
    let values = row.values.iter().copied().collect::<Option<Vec<f64>>>()?;
    let (&[replicas, utilisation], traffic) =
        values.split_last_chunk::<2>().map(|(a, b)| (b, a))?;
    (replicas > 0.0).then(|| TrafficSample {
        at: row.at,
        traffic: traffic.to_vec(),
        replicas,
        utilisation,
    })
}

/// A model that was written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrafficTrainReport {
    model: TrafficModelReport,
    samples: usize,
    /// Rows with something missing, or without replicas.
    left_out: usize,
}

impl Report for TrafficTrainReport {
    fn print(&self, to: &mut dyn Write, _: Style) -> io::Result<()> {
        for line in self.model.lines() {
            writeln!(to, "{line}")?;
        }
        if self.left_out > 0 {
            writeln!(
                to,
                "{} of {} rows were left out, because a value is missing or there were no \
                 replicas.",
                self.left_out,
                self.samples + self.left_out
            )?;
        }
        Ok(())
    }
}
