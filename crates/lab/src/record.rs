//! `evenkeel record`: the past of a cluster as one file, from its objects and its Prometheus. It
//! writes nothing to the cluster. `dev` and `simulate` replay the file.

pub mod archive;
mod cluster;
mod series;

use std::path::PathBuf;

use evenkeel_clock as clock;
use evenkeel_sandbox::recording::{ClusterRecord, RecordSpan, UnreadParts};
use evenkeel_service::config::Config;
use evenkeel_service::metrics::prometheus::PrometheusSource;
use evenkeel_terminal::cluster_args::KubeconfigArgs;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style};
use evenkeel_terminal::runtime::runtime;
use evenkeel_units::Resource;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::forecast::{csv_load, output_file};
use crate::prometheus_history;
use crate::prometheus_history::PrometheusArgs;

const EXAMPLES: &str = "\
Examples:
  kubectl -n monitoring port-forward svc/prometheus-operated 9090 &
  evenkeel record --since 26h --prometheus http://127.0.0.1:9090 -o incident.tar
  evenkeel record --since 26h --prometheus http://127.0.0.1:9090 --anonymize -o incident.tar
  evenkeel record --since 8d --learn 7d --step 2m --namespace shop -o shop.tar
  evenkeel simulate --replay incident.tar
  evenkeel dev --replay incident.tar --set scaling.mode=floor

The file is a tar archive with record.json (times, version and a list of what the record does not
show), scenario.yaml with its traces (a scenario as for `evenkeel dev --scenario`), replicas.json
(ready Pods by step) and nodes.json, pods.json, autoscalers.json and events.json. It has no
environment variables or Secrets. Without --anonymize, messages of Events and selectors of metrics
may name images, labels and addresses. --anonymize replaces the names of
namespaces, nodes, workloads, Pods, HPAs, metrics and containers with numbered placeholders, and
leaves out texts in which names may stand.

The load of a Deployment or StatefulSet is the cpu that its Pods used. Its counts come from
kube-state-metrics, or without it from the Pods' own series. Matchers, windows and queries are those
of the configuration. If a series is missing, the record names it and goes on. If no workload has
any cpu series, the command fails.

Rights: list on nodes, pods, deployments.apps; without list on statefulsets.apps,
horizontalpodautoscalers.autoscaling or events, the record goes on without them and says so. Exit
codes: 0 done; 1 the cluster or Prometheus does not answer, or there is nothing to replay; 2 the
command line or the configuration is wrong.";

/// Most values of all series: about 200 MB in memory.
const MOST_VALUES: usize = 8_000_000;
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Least time to replay beside a day of learning.
const LEAST_BESIDE_DAY: SignedDuration = SignedDuration::from_hours(1);

/// Record the load, Pods, nodes, HPAs and Events of a cluster in a file that dev and simulate replay
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,

    /// How far back the record goes
    #[arg(long, value_name = "TIME", default_value = "26h", value_parser = parse_span)]
    since: SignedDuration,

    /// The end of the record [default: now]
    #[arg(long, value_name = "TIME", value_parser = csv_load::time)]
    until: Option<Timestamp>,

    /// The first part of the record, from which forecasts learn and which is not replayed; longer if
    /// there was no workload yet [default: 24h of a record of at least 25h, else none]
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    learn: Option<SignedDuration>,

    /// The interval of the series
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = parse_step)]
    step: SignedDuration,

    /// Only workloads, Pods, HPAs and Events of this namespace [default: all namespaces]
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,

    /// Replace each name with a numbered placeholder, the same everywhere
    #[arg(long)]
    anonymize: bool,

    /// The file, or - for standard output
    #[arg(long, short, value_name = "FILE", default_value = "incident.tar")]
    output: PathBuf,

    #[command(flatten)]
    prometheus: PrometheusArgs,
}

fn parse_span(text: &str) -> Result<SignedDuration, String> {
    let days = text
        .strip_suffix('d')
        .and_then(|days| days.parse::<i64>().ok());
    let parsed = match days {
        Some(days) => days
            .checked_mul(24)
            .and_then(|hours| hours.checked_mul(3600)),
        None => text
            .parse::<SignedDuration>()
            .ok()
            .map(|span| span.as_secs()),
    };
    parsed
        .filter(|seconds| (300..=14 * 86_400).contains(seconds))
        .map(SignedDuration::from_secs)
        .ok_or_else(|| "accepted: a time from 5m to 14d, such as 26h or 8d".to_owned())
}

fn parse_step(text: &str) -> Result<SignedDuration, String> {
    let step = text.parse::<SignedDuration>().ok();
    let whole = step.filter(|step| step.subsec_nanos() == 0);
    whole
        .filter(|step| (15..=300).contains(&step.as_secs()))
        .ok_or_else(|| "accepted: a time of whole seconds from 15s to 5m, such as 1m".to_owned())
}

/// A summary of the record, for people and programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordReport {
    file: String,
    bytes: usize,
    from: Timestamp,
    until: Timestamp,
    nodes: usize,
    workloads: usize,
    pods: usize,
    autoscalers: usize,
    events: usize,
    missing: Vec<String>,
}

impl Report for RecordReport {
    fn print(&self, to: &mut dyn std::io::Write, _: Style) -> std::io::Result<()> {
        let Self {
            file,
            bytes,
            from,
            until,
            nodes,
            workloads,
            pods,
            autoscalers,
            events,
            missing,
        } = self;
        writeln!(
            to,
            "{file}: {} KiB, from {from} until {until}",
            bytes.div_ceil(1024)
        )?;
        writeln!(
            to,
            "{nodes} nodes, {workloads} workloads, {pods} Pods, {autoscalers} HPAs, {events} Events\n"
        )?;
        writeln!(to, "The record does not show:")?;
        for gap in missing {
            writeln!(to, "- {gap}")?;
        }
        writeln!(to, "\nReplay it: evenkeel simulate --replay {file}")
    }
}

pub fn run(args: &Args) -> Result<(), CliFailure> {
    let config = args.prometheus.config()?;
    output_file::check(&args.output)?;
    let record = runtime()?.block_on(Box::pin(gather(args, &config)))?;
    let record = if args.anonymize {
        record.anonymized()
    } else {
        record
    };
    let files = record.files().map_err(CliFailure::work)?;
    let bytes = archive::write(&files, record.span.until).map_err(|error| {
        CliFailure::work(format_args!(
            "{error}. Record less: one --namespace, a longer --step or a shorter --since"
        ))
    })?;
    // What cannot be replayed must show while the series are still there.
    let read = archive::read(&bytes).map_err(|error| error.to_string());
    let replayed = read.and_then(|files| archive::scenario(&files));
    replayed.map_err(|error| {
        CliFailure::work(format_args!("the record could not be replayed: {error}"))
    })?;
    output_file::write(&args.output, &bytes)?;
    if args.output == std::path::Path::new("-") {
        return Ok(());
    }
    let report = RecordReport {
        file: args.output.display().to_string(),
        bytes: bytes.len(),
        from: record.span.from,
        until: record.span.until,
        nodes: record.nodes.len(),
        workloads: record.workloads.len(),
        pods: record.pods.len(),
        autoscalers: record.autoscalers.len(),
        events: record.events.len(),
        missing: record.gaps(),
    };
    output::print(&report, Format::Table)
}

async fn gather(args: &Args, config: &Config) -> Result<ClusterRecord, CliFailure> {
    let (source, url) = prometheus_history::source(config)?;
    let unreachable = |error| prometheus_history::unreachable(&url, &error);
    let client = args.kubeconfig.connect().await.map_err(CliFailure::Call)?;
    // Series are dated by the clock of Prometheus.
    let now = source.now().await.map_err(unreachable)?;
    let until = args.until.or(now).unwrap_or_else(clock::now);
    let span = span(args, until, &source)?;
    let mut record = ClusterRecord {
        span,
        is_anonymized: false,
        nodes: Vec::new(),
        workloads: Vec::new(),
        pods: Vec::new(),
        autoscalers: Vec::new(),
        events: Vec::new(),
        unread: UnreadParts::default(),
    };
    record.unread.other_namespaces = args.namespace.is_some();
    cluster::read(&client, args.namespace.as_deref(), &mut record).await?;
    let values = record.workloads.len().saturating_mul(2 * span.points());
    if values > MOST_VALUES {
        return Err(CliFailure::call(format_args!(
            "{} workloads have {values} values in this time; accepted: up to {MOST_VALUES}, by a longer \
             --step, a shorter --since or one --namespace",
            record.workloads.len()
        )));
    }
    series::read(&source, &mut record)
        .await
        .map_err(unreachable)?;
    record.skip_empty_begin();
    Ok(record)
}

/// The span ends when its last values are measured.
fn span(
    args: &Args,
    until: Timestamp,
    source: &PrometheusSource,
) -> Result<RecordSpan, CliFailure> {
    let (since, step) = (args.since, args.step.as_secs());
    let known = until
        .checked_sub(source.lag(Resource::Cpu))
        .unwrap_or(until)
        .as_second();
    let points = since.as_secs() / step;
    let default = if since >= DAY + LEAST_BESIDE_DAY {
        DAY
    } else {
        SignedDuration::ZERO
    };
    let learn = args.learn.unwrap_or(default).as_secs() / step * step;
    if learn >= points * step {
        return Err(CliFailure::call(format_args!(
            "--learn {:#} leaves nothing of --since {since:#} to replay; accepted: a shorter --learn",
            SignedDuration::from_secs(learn)
        )));
    }
    let end = known - known.rem_euclid(step);
    let time = |second| Timestamp::from_second(second).map_err(CliFailure::call);
    Ok(RecordSpan {
        from: time(end - points * step)?,
        until: time(end)?,
        step: args.step,
        learn: SignedDuration::from_secs(learn),
    })
}
