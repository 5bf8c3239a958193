//! The flags of `evenkeel tune recommend`.

use std::path::PathBuf;

use evenkeel_terminal::cluster_args::KubeconfigArgs;
use jiff::SignedDuration;

use crate::forecast::flag_values::parse_duration;
use crate::prometheus_history::PrometheusArgs;

const EXAMPLES: &str = "\
Examples:
  kubectl -n monitoring port-forward svc/prometheus-operated 9090 &
  evenkeel tune recommend --prometheus http://127.0.0.1:9090
  evenkeel tune recommend --prometheus http://127.0.0.1:9090 -n shop --days 14 -o patches > patches.yaml
  kubectl apply --server-side --force-conflicts -f patches.yaml
  evenkeel tune recommend -f deployment.yaml --cpu cpu.csv --memory memory.csv --container app

For each container of Deployments and StatefulSets, the output has its requests and limits, what
its Pods used (median, 90th and 99th percentile and maximum of the means of --step; for memory, of
the maximum of each step), the share of periods in which it was throttled, how often it was
OOM-killed, and what its template should say. A recommended limit is 20 % above the highest mean
of five steps (formula (4.18) of [CLBP]), at least 5 % above the highest value (memory: 10 %), and
at least 20 % above a limit at which the container was throttled in more than 5 % of the periods
or was OOM-killed. A recommended request is the 90th percentile, or the limit in a Guaranteed Pod.
A request stays if an HPA or IHPA scales by that resource as a share of requests, or container by
container. evenkeel.dev/min-allowed and max-allowed of the workload apply. A missing limit or
request is not added.

Rights: list on deployments.apps, statefulsets.apps, horizontalpodautoscalers.autoscaling and
intelligenthorizontalpodautoscalers.autoscaling.evenkeel.dev. Files are `timestamp,value`, with
cpu in cores and memory in bytes. Exit codes: 0 done; 1 the cluster or Prometheus does not answer,
or there are no measurements; 2 the command line or the configuration is wrong.";

/// Show what each container used, and recommend requests and limits for its template
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    pub(super) kubeconfig: KubeconfigArgs,

    /// Only workloads of this namespace [default: all namespaces]
    #[arg(long, short, value_name = "NAME")]
    pub(super) namespace: Option<String>,

    /// Days of history to read
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=30))]
    pub(super) days: u32,

    /// Time that each value covers
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
    pub(super) step: SignedDuration,

    /// A workload's manifest, instead of a cluster; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,

    /// A CSV file with the cpu that one container of it used, in cores
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(super) cpu: Option<PathBuf>,

    /// A CSV file with the memory that it used, in bytes
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(super) memory: Option<PathBuf>,

    /// The container that the files describe, if there are several
    #[arg(long, value_name = "NAME", requires = "file")]
    pub(super) container: Option<String>,

    /// table, json, yaml, or patches: documents for `kubectl apply --server-side`
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) output: RecommendFormat,

    #[command(flatten)]
    pub(super) prometheus: PrometheusArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum RecommendFormat {
    /// A table for people
    #[default]
    Table,
    /// JSON for programs
    Json,
    /// YAML for programs
    Yaml,
    /// Patches of the changed templates
    Patches,
}
