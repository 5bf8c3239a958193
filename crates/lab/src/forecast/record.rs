//! `evenkeel forecast record`: past queries of Prometheus as a CSV file for the other commands.

use std::path::PathBuf;

use clap::ArgGroup;
use evenkeel_scaling::tracker::backfill_pace::BackfillRemainder;
use evenkeel_service::controller::scaling::history_backfill::{HistoryRequest, HistoryResponse};
use evenkeel_service::metrics::MetricsError;
use evenkeel_service::metrics::prometheus::PrometheusSource;
use evenkeel_terminal::output::CliFailure;
use evenkeel_terminal::runtime::runtime;
use evenkeel_units::count_as_f64;
use jiff::{SignedDuration, Timestamp};

use super::progress::Bar;
use super::{csv_load, output_file};
use crate::prometheus_history;
use crate::prometheus_history::{PrometheusArgs, ask_all};

const EXAMPLES: &str = "\
Examples:
  kubectl -n monitoring port-forward svc/prometheus-operated 9090 &
  evenkeel forecast record 'sum(rate(http_requests_total{namespace=\"shop\"}[2m]))' --prometheus http://127.0.0.1:9090 -o shop.csv
  evenkeel forecast record --prometheus http://127.0.0.1:9090 --days 56 --step 5m -o shop.csv --column http_rps='sum(rate(http_requests_total{namespace=\"shop\"}[5m]))' --column cpu_pct='200 * avg(rate(container_cpu_usage_seconds_total{namespace=\"shop\"}[5m]))' --column replicas='kube_deployment_status_replicas_ready{namespace=\"shop\",deployment=\"web\"}'

The file has a column of times, each in the middle of its step, and one column for each query; a
single query has the column load. Each query must return one series. Values below 0 are written as
0. Missing, NaN and infinite values are left empty. Steps without any value at the beginning and
the end are left out. Prometheus is asked for some hundred steps at a time. All other forecast
commands, and `evenkeel train`, read such files.";

/// The most steps of a file: two years of them by the minute.
const MOST: i64 = 1_050_000;
/// The most columns of a file.
const MOST_COLUMNS: usize = 16;
/// The name of the only column.
const LOAD: &str = "load";
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Write the history of queries from Prometheus to a CSV file
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("queries").required(true).args(["query", "columns"]))]
pub(super) struct Args {
    /// The PromQL of the load
    #[arg(value_name = "PROMQL")]
    query: Option<String>,

    /// A column of the file and its PromQL; may be repeated
    #[arg(long = "column", value_name = "NAME=PROMQL", value_parser = parse_column)]
    columns: Vec<RecordColumn>,

    /// Days of history
    #[arg(long, value_name = "DAYS", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..=730))]
    days: u32,

    /// The end of the history [default: now]
    #[arg(long, value_name = "TIME", value_parser = csv_load::time)]
    to: Option<Timestamp>,

    /// The interval of the samples
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_step)]
    step: SignedDuration,

    /// The file, or - for standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    #[command(flatten)]
    prometheus: PrometheusArgs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct RecordColumn {
    name: String,
    promql: String,
}

fn parse_column(text: &str) -> Result<RecordColumn, String> {
    let parts = text.split_once('=').map(|(a, b)| (a.trim(), b.trim()));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    match parts {
        Some((name, promql))
            if !name.is_empty() && name.bytes().all(is_plain) && !promql.is_empty() =>
        {
            Ok(RecordColumn {
                name: name.to_owned(),
                promql: promql.to_owned(),
            })
        }
        _ => Err(
            "accepted: NAME=PROMQL, the name of letters, digits, `_`, `.` and `-`, such as rps=sum(rate(x[2m]))"
                .to_owned(),
        ),
    }
}

fn parse_step(text: &str) -> Result<SignedDuration, String> {
    let parsed = text.parse::<SignedDuration>().ok();
    let whole = parsed.filter(|step| step.subsec_nanos() == 0);
    whole
        .filter(|step| (15..=3600).contains(&step.as_secs()))
        .ok_or_else(|| {
            "accepted: a time of whole seconds from 15s to 1h, such as 1m or 5m".to_owned()
        })
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let columns = columns(args)?;
    output_file::check(&args.output)?;
    let config = args.prometheus.config()?;
    let (source, address) = prometheus_history::source(&config)?;
    let steps = steps(args)?;
    let step = args.step.as_secs();
    let runtime = runtime()?;
    let now = || runtime.block_on(prometheus_history::now(&source));
    let to = args.to.unwrap_or_else(now).as_second();
    let end = Timestamp::from_second(to - to.rem_euclid(step)).map_err(CliFailure::call)?;
    let rest = BackfillRemainder::of(end, args.step, steps);
    let mut bar = Bar::new(true);
    let mut pasts = Vec::with_capacity(columns.len());
    for column in &columns {
        let asked = past(&source, &column.promql, rest, |share| {
            let done = count_as_f64(pasts.len()) + share;
            bar.tell(done / count_as_f64(columns.len()), "asking Prometheus");
        });
        let values = runtime.block_on(asked);
        let values = values.map_err(|error| refused(&address, column, &error))?;
        if values.is_empty() {
            return Err(CliFailure::work(format_args!(
                "Prometheus at {address} has no value of the column {:?} in {} days before {end}: {}",
                column.name, args.days, column.promql
            )));
        }
        pasts.push(values);
    }
    bar.finish();
    let names = columns.iter().map(|column| column.name.as_str());
    output_file::write(&args.output, csv(names, &pasts, args.step))
}

fn columns(args: &Args) -> Result<Vec<RecordColumn>, CliFailure> {
    if let Some(query) = &args.query {
        return Ok(vec![RecordColumn {
            name: LOAD.to_owned(),
            promql: query.clone(),
        }]);
    }
    let columns = args.columns.clone();
    let again = |one: &&RecordColumn| columns.iter().filter(|two| two.name == one.name).count() > 1;
    if let Some(twice) = columns.iter().find(again) {
        let name = &twice.name;
        return Err(CliFailure::call(format_args!(
            "--column {name} is given twice; accepted: each name once"
        )));
    }
    if columns.len() > MOST_COLUMNS {
        return Err(CliFailure::call(format_args!(
            "{} columns; accepted: up to {MOST_COLUMNS}",
            columns.len()
        )));
    }
    Ok(columns)
}

fn steps(args: &Args) -> Result<u32, CliFailure> {
    let steps = i64::from(args.days) * DAY.as_secs() / args.step.as_secs();
    if steps > MOST {
        return Err(CliFailure::call(format_args!(
            "{} days have {steps} steps of {:#}; accepted: up to {MOST}, by a longer --step or fewer --days",
            args.days, args.step
        )));
    }
    u32::try_from(steps).map_err(CliFailure::call)
}

/// The values of a query, in the order of time; `told` hears the share that is done.
async fn past(
    source: &PrometheusSource,
    promql: &str,
    rest: BackfillRemainder,
    mut told: impl FnMut(f64),
) -> Result<Vec<(Timestamp, f64)>, MetricsError> {
    let mut values = Vec::new();
    let all = rest.newest(u32::MAX);
    ask_all(
        source,
        HistoryRequest::Query(promql),
        rest,
        |answer, slots| {
            if let HistoryResponse::Points(points) = answer {
                values.extend(points);
            }
            if let Some(all) = all {
                let left = slots.start.duration_since(all.start);
                let whole = all.step.as_secs_f64() * f64::from(all.points);
                told(1.0 - left.as_secs_f64() / whole);
            }
        },
    )
    .await?;
    values.sort_unstable_by_key(|(at, _)| *at);
    Ok(values)
}

fn refused(address: &str, column: &RecordColumn, error: &MetricsError) -> CliFailure {
    match error {
        MetricsError::Refused { .. } | MetricsError::SeriesCount { .. } => CliFailure::call(
            format_args!("the query of the column {:?}: {error}", column.name),
        ),
        _ => prometheus_history::unreachable(address, error),
    }
}

/// A line for each step from the first to the last that has a value.
fn csv<'a>(
    names: impl Iterator<Item = &'a str>,
    pasts: &[Vec<(Timestamp, f64)>],
    step: SignedDuration,
) -> String {
    let mut text = "time".to_owned();
    for name in names {
        text.push(',');
        text.push_str(name);
    }
    text.push('\n');
    let first = pasts.iter().filter_map(|past| Some(past.first()?.0)).min();
    let last = pasts.iter().filter_map(|past| Some(past.last()?.0)).max();
    let (Some(first), Some(last)) = (first, last) else {
        return text;
    };
    let mut rest: Vec<_> = pasts
        .iter()
        .map(|past| past.iter().copied().peekable())
        .collect();
    let mut at = first;
    while at <= last {
        text.push_str(&at.to_string());
        for past in &mut rest {
            text.push(',');
            if let Some((_, value)) = past.next_if(|(time, _)| *time <= at) {
                text.push_str(&value.to_string());
            }
        }
        text.push('\n');
        let Ok(next) = at.checked_add(step) else {
            break;
        };
        at = next;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn each_step_has_a_line_and_what_is_missing_is_nothing() {
        let pasts = [
            vec![(at(90), 1.5), (at(210), 2.0)],
            vec![(at(30), 7.0), (at(90), 8.0)],
        ];
        let text = csv(["a", "b"].into_iter(), &pasts, SignedDuration::from_mins(1));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "time,a,b",
                "1970-01-01T00:00:30Z,,7",
                "1970-01-01T00:01:30Z,1.5,8",
                "1970-01-01T00:02:30Z,,",
                "1970-01-01T00:03:30Z,2,"
            ]
        );
    }

    #[test]
    fn columns_and_steps_are_refused_with_what_is_accepted() {
        let column = parse_column(" a = sum(b{c=\"d\"}) ").unwrap();
        assert_eq!(
            (column.name.as_str(), column.promql.as_str()),
            ("a", "sum(b{c=\"d\"})")
        );
        for refused in ["", "a", "=b", "a=", "a b=c", "a,b=c"] {
            assert!(parse_column(refused).is_err(), "{refused}");
        }
        for accepted in ["15s", "1m", "1h"] {
            assert!(parse_step(accepted).is_ok(), "{accepted}");
        }
        for refused in ["14s", "2h", "1", "-1m", "15500ms"] {
            assert!(parse_step(refused).is_err(), "{refused}");
        }
    }
}
