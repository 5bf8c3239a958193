//! The flags of `evenkeel tune recommend`.

use std::path::PathBuf;

use jiff::SignedDuration;

use crate::cli::connect::KubeconfigArgs;
use crate::cli::forecast::values::parse_duration;
use crate::cli::prometheus_past::PrometheusArgs;

const EXAMPLES: &str = "\
Examples:
  kubectl -n monitoring port-forward svc/prometheus-operated 9090 &
  evenkeel tune recommend --prometheus http://127.0.0.1:9090
  evenkeel tune recommend --prometheus http://127.0.0.1:9090 -n shop --days 14 -o patches > patches.yaml
  kubectl apply --server-side --force-conflicts -f patches.yaml
  evenkeel tune recommend -f deployment.yaml --cpu cpu.csv --memory memory.csv --container app

For each container of Deployments and StatefulSets: its requests and limits, what its Pods used (the middle, the
90th and 99th percentile and the highest of means of --step; of memory the highest of each), the share of periods
in which it was throttled, the times that it was killed for want of memory, and what its template should say. A
limit is the highest mean of five steps and a fifth above it ([CLBP] (4.18)), never below the highest value and
5 % above it, of memory 10 %; at least a fifth above a limit that it was throttled at in more than 5 % of the
periods, or killed at. A request is the 90th percentile, and the limit in a Pod of the class Guaranteed. Requests
of a resource that an HPA or IHPA counts by as a share of them, or container by container, stay. evenkeel.dev/min-allowed
and max-allowed of the workload hold. A limit or request that is absent is not added.

Rights: list on deployments.apps, statefulsets.apps, horizontalpodautoscalers.autoscaling and
intelligenthorizontalpodautoscalers.autoscaling.evenkeel.dev. Files are
`timestamp,value`, of cpu in cores, of memory in bytes. Exit codes: 0 done; 1 cluster or Prometheus does not
answer, or nothing was measured; 2 the call or the configuration is wrong.";

/// Tell for each container what it used and what its template should say
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli::tune) struct Args {
    #[command(flatten)]
    pub(super) kubeconfig: KubeconfigArgs,

    /// Only workloads of this namespace [default: all namespaces]
    #[arg(long, short, value_name = "NAME")]
    pub(super) namespace: Option<String>,

    /// Days of the past to look at
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=30))]
    pub(super) days: u32,

    /// Time that each value speaks of
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration)]
    pub(super) step: SignedDuration,

    /// A workload's manifest, in place of a cluster; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    pub(super) file: Option<PathBuf>,

    /// What one container of it used of cpu, in cores: a CSV file
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(super) cpu: Option<PathBuf>,

    /// What it used of memory, in bytes: a CSV file
    #[arg(long, value_name = "FILE", requires = "file")]
    pub(super) memory: Option<PathBuf>,

    /// The container that the files are of, where there are several
    #[arg(long, value_name = "NAME", requires = "file")]
    pub(super) container: Option<String>,

    /// table, json, yaml, or patches: documents for `kubectl apply --server-side`
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) output: Shown,

    #[command(flatten)]
    pub(super) prometheus: PrometheusArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum Shown {
    /// A table for people
    #[default]
    Table,
    /// JSON for programs
    Json,
    /// YAML for programs
    Yaml,
    /// The changed templates as documents
    Patches,
}
