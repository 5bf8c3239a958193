//! The flags of `evenkeel assess`.

use std::path::PathBuf;

use evenkeel_terminal::cluster_args::KubeconfigArgs;
use evenkeel_terminal::output::Format;
use jiff::{SignedDuration, Timestamp};
use kube::Client;

use super::replay_depth::Depth;
use crate::forecast::csv_load;
use crate::forecast::flag_values::parse_duration;
use crate::prometheus_history::PrometheusArgs;

const EXAMPLES: &str = "\
Examples:
  kubectl -n monitoring port-forward svc/prometheus-operated 9090 &
  evenkeel assess --prometheus http://127.0.0.1:9090
  evenkeel assess --prometheus http://127.0.0.1:9090 --namespace shop -o table -o shop.html
  evenkeel assess --config evenkeel.yaml --selector team=web -o json | jq '.targets[] | select(.verdict == \"worthEnabling\") | .name'

It reads HPAs, ScaledObjects, workloads and Pods, and asks Prometheus for the history of each
load. It writes nothing, and nothing has to be installed. A ScaledObject is assessed by the HPA
that KEDA created for it. Each history is replayed with the HPA's own request, target, minReplicas
and maxReplicas: by the plain HPA at its own target, by the plain HPA at lower targets (down to
two thirds, which also buys safety), by the plain HPA with a seasonal rule as its second metric, and
with floors as Evenkeel would raise them. A seasonal rule is the highest load of the coming half
hour, as it was yesterday or last week, times 0.9, 1.0 or 1.1. It needs a server of external
metrics, such as prometheus-adapter or KEDA; the answer has its PromQL to copy. The
last 30 % of the history are judged, and at most three days; earlier data are for learning.

A rule or floors pay if, compared with a plain HPA at equal replica-hours, all of these hold:
  - time under-provisioned (ready Pods carry more than 1.1 times the target) less than 90 %
  - time overloaded (they carry more than they request) at most 1.1 times
  - more half days better than worse
`assess` recommends the first that applies:
  1. a rule that pays, if floors do not pay
  2. a rule that pays, if it costs at most 1.02 times the replica-hours of floors, and its share of
     the plain HPA's time under-provisioned is at most 1.05 times theirs
  3. floors, if they pay
  4. the highest lower target that leaves at most 1/0.9 of the seconds of floors, if it costs at
     most 1.02 times their replica-hours, and floors gain less than 10 % or cost more than the plain
     HPA at two thirds of its target
  5. no change
Of several rules, the one with the smallest share is taken. It is picked on the judged days, which
favours rules.

The cpu load is found in the series of cAdvisor by the names that Deployments and StatefulSets
give their Pods. Matchers, windows and queries are those of the configuration. The history of a
custom or external metric cannot be found by its name: name its load in evenkeel.dev/query, and
allow that with --set scaling.queries=any. A whole replay takes some seconds for each load. For
more than 40 loads, less is replayed unless --depth says otherwise; the answer says so.

Rights: list on pods, horizontalpodautoscalers.autoscaling, deployments.apps, statefulsets.apps,
replicasets.apps and, if KEDA is installed, scaledobjects.keda.sh. Exit codes: 0 done, whatever
the verdicts; 1 the cluster or Prometheus does not answer, or Prometheus has no series of any HPA;
2 the command line or the configuration is wrong.";

/// Show for each HPA and ScaledObject, from its history, whether scaling ahead of its load would
/// pay
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    kubeconfig: KubeconfigArgs,

    /// Only HPAs and ScaledObjects of this namespace [default: all namespaces]
    #[arg(long, short, value_name = "NAME")]
    pub(super) namespace: Option<String>,

    /// Only HPAs and ScaledObjects with these labels, as `kubectl get -l` has them
    #[arg(long, short = 'l', value_name = "LABELS")]
    pub(super) selector: Option<String>,

    /// Days of history to read, from 7 to 14; less if Prometheus has less
    #[arg(long, value_name = "DAYS", default_value_t = 14, value_parser = clap::value_parser!(u32).range(7..=14))]
    pub(super) days: u32,

    /// Read the history up to this time [default: now]
    #[arg(long, value_name = "TIME", value_parser = csv_load::time)]
    pub(super) until: Option<Timestamp>,

    /// Time until a new Pod is ready, for HPAs whose Pods do not show it
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub(super) start_up: SignedDuration,

    /// How much of each history is replayed [default: whole for up to 40 loads, shorter up to 120,
    /// then shortest]
    #[arg(long, value_enum, value_name = "DEPTH")]
    pub(super) depth: Option<Depth>,

    /// table, json or yaml for the numbers, or a file that ends in .html for a page (html alone
    /// prints the page); may be repeated
    #[arg(long, short, value_name = "FORMAT|FILE", value_parser = parse_output, default_value = "table")]
    pub(super) output: Vec<AssessOutput>,

    #[command(flatten)]
    pub(super) prometheus: PrometheusArgs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AssessOutput {
    Numbers(Format),
    Html(PathBuf),
}

fn parse_output(text: &str) -> Result<AssessOutput, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().and_then(|ending| ending.to_str());
    match (text, ending) {
        ("table", _) => Ok(AssessOutput::Numbers(Format::Table)),
        ("json", _) => Ok(AssessOutput::Numbers(Format::Json)),
        ("yaml", _) => Ok(AssessOutput::Numbers(Format::Yaml)),
        ("html", _) => Ok(AssessOutput::Html(PathBuf::from("-"))),
        (_, Some("html" | "htm")) => Ok(AssessOutput::Html(path)),
        _ => Err("accepted: table, json, yaml, html, or a file that ends in .html".to_owned()),
    }
}

impl Args {
    pub(super) async fn connect(&self) -> anyhow::Result<Client> {
        self.kubeconfig.connect().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_a_format_or_a_page() {
        for (text, output) in [
            ("table", AssessOutput::Numbers(Format::Table)),
            ("json", AssessOutput::Numbers(Format::Json)),
            ("html", AssessOutput::Html("-".into())),
            ("out/all.html", AssessOutput::Html("out/all.html".into())),
        ] {
            assert_eq!(parse_output(text), Ok(output));
        }
        for refused in ["all.svg", "csv", ""] {
            assert!(parse_output(refused).is_err(), "{refused}");
        }
    }
}
