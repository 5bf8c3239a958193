//! The flags of `evenkeel forecast replay`.

use std::path::PathBuf;

use evenkeel_forecast::ModelSet;
use evenkeel_objects::scaling_mode::ScaleDown;
use evenkeel_quantity::Quantity;
use evenkeel_sandbox::target_replay::Floors;
use evenkeel_units::{Ratio, Resource};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::forecast::csv_load;
use crate::forecast::csv_load::CsvLoadUnit;
use crate::forecast::file_workload::FileWorkload;
use crate::forecast::flag_values::{
    ForecastOutput, parse_duration, parse_followed, parse_noise, parse_output, parse_target,
    parse_zone,
};

const EXAMPLES: &str = "\
Examples:
  evenkeel forecast replay load.csv --request 500m --target 60% --min 2 --max 20 --count-from 2026-03-08T00:00:00Z -o table -o frontier.svg
  evenkeel forecast replay tests/fixtures/traces/*.csv --peak 6 --request 500m --target 60% --min 2 --max 60 --noise 0.03 -o json

Each file is one series: a column of times (RFC 3339 with an offset, or seconds since 1970), and
one of values: the cpu load of all Pods together, in cores unless --unit says millicores, or in
any unit with --peak. The interval of samples is regular and at most an hour. The load is
interpolated on a grid of 15 s, and 3 or more missing samples are a gap. With --noise, each value
of the grid is multiplied by 1 + N(0, noise). All policies of a series have the same load.

The models learn from the samples before --count-from, and costs count from there on. Policies are
Evenkeel's floors at risks of 0.1, 0.5, 1, 2 and 5 %, the plain HPA at nine targets from its own
down to two thirds of it, and seasonal rules. A seasonal rule is a second metric of the HPA: the
highest load of the half hour that begins now, as it was yesterday or last week, times 0.9, 1.0 or
1.1. In PromQL it is sum(max_over_time(load[30m:15s] offset 23h30m)) or vector(0), with 6d23h30m
for last week. It reads the values of the grid, noise included, and needs a whole day or week of
samples before --count-from.

Under-provisioned: the ready Pods carry more than 1.1 times the target, beyond the HPA's
tolerance. Overloaded: they carry more than they request. At equal replica-hours: the seconds of
floors or of a rule as a share of those of the plain HPA whose lower target costs as many
replica-hours; below 1 is better. Between two targets, the logarithms of replica-hours and of
seconds plus 15 are interpolated. Floors and rules with fewer replica-hours than the plain HPA at
its own target are compared with that; those with more than at the lowest target are not compared.
The figure of a series is the geometric mean over the risks of its floors. A note names each series
on which floors at the default risk leave more than 1.1 times the under-provisioned time of the
best seasonal rule, both at equal replica-hours. Ctrl-C ends the work and prints the result so far,
labelled as partial; the exit code is then 1.";

/// Replay floors, the plain HPA at lower targets, and seasonal rules on past loads
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::forecast) struct Args {
    /// CSV files, one series each (`-` reads standard input)
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,

    /// table, json or yaml for the numbers, or a file that ends in .svg for a picture (svg alone
    /// prints the picture); may be repeated
    #[arg(long, short, value_name = "FORMAT|FILE", value_parser = parse_output, default_value = "table")]
    pub(super) output: Vec<ForecastOutput>,

    /// Add every 15 s of every policy to JSON and YAML, and a timeline to pictures
    #[arg(long)]
    pub(super) points: bool,

    /// The time zone of a timeline: UTC, local, or a name such as Europe/Berlin
    #[arg(long, value_name = "ZONE", default_value = "UTC", value_parser = parse_zone)]
    pub(super) time_zone: TimeZone,

    #[command(flatten)]
    pods: ReplayPodsArgs,

    #[command(flatten)]
    pub(super) load: ReplayLoadArgs,

    /// Weights of the model global, made by `evenkeel train` [default: the built-in weights]
    #[arg(long, value_name = "FILE")]
    pub(super) weights: Option<PathBuf>,

    /// Fit no trees on the history of each series, as for a target without Prometheus or on its
    /// first day
    #[arg(long)]
    pub(super) without_own: bool,

    /// Model of the forecasts: auto and s-hpa as the service uses them; tes, naive or
    /// seasonal-naive alone
    #[arg(long, value_name = "NAME", value_parser = parse_followed, default_value_t)]
    pub(super) model: ModelSet,

    /// When floors go down: reactive, after the load has fallen; early, as soon as the upper 95 % bound of the
    /// forecast needs fewer replicas
    #[arg(long, value_name = "WHEN", default_value = "reactive")]
    pub(super) scale_down: ScaleDown,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The workload")]
pub(super) struct ReplayPodsArgs {
    /// Request of one Pod, such as 500m
    #[arg(long, value_name = "QUANTITY")]
    request: Quantity,

    /// The target utilisation of the request
    #[arg(long, value_name = "PERCENT", value_parser = parse_target)]
    target: Ratio,

    /// Smallest number of replicas
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..))]
    min: i32,

    /// Largest number of replicas
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(i32).range(1..=100_000))]
    max: i32,

    /// Time until a new Pod is ready [default: the interval of the samples, from 15s to 5m]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    start_up: Option<SignedDuration>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The load")]
pub(super) struct ReplayLoadArgs {
    /// Count costs from this time on; earlier samples are for learning [default: the last 30 % of
    /// the samples, and at most the last 3 days]
    #[arg(long, value_name = "TIME", value_parser = csv_load::time)]
    pub(super) count_from: Option<Timestamp>,

    /// Standard deviation of the noise on each value of the grid, as a share of it
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = parse_noise)]
    pub(super) noise: f64,

    /// Seed of the noise
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(super) seed: u64,

    /// Scale each series so that its largest sample is this, such as 6 or 6000m
    #[arg(long, value_name = "QUANTITY", conflicts_with = "unit")]
    pub(super) peak: Option<Quantity>,

    /// Unit of the values, cores or millicores; needed if it is ambiguous
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(super) unit: Option<CsvLoadUnit>,

    /// The column of values, if there are several
    #[arg(long, value_name = "NAME")]
    pub(super) column: Option<String>,
}

impl Args {
    /// The settings of the floors, at the default risk.
    pub(super) fn floors(&self) -> Floors {
        Floors {
            scale_down: self.scale_down,
            ..Floors::by(self.model)
        }
    }

    /// The workload of a series with samples at the distance `step`.
    pub(super) fn workload(&self, step: SignedDuration) -> FileWorkload {
        let pods = &self.pods;
        let shortest = SignedDuration::from_secs(15);
        let longest = SignedDuration::from_mins(5);
        FileWorkload {
            resource: Resource::Cpu,
            request: pods.request,
            share: pods.target,
            min: pods.min,
            max: pods.max,
            start_up: pods.start_up.unwrap_or(step.clamp(shortest, longest)),
        }
    }
}
