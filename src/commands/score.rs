//! `evenkeel score`: the nodes for a Pod and the best one, with every figure that decides. It only
//! shows the extender's own explanation.

mod table;

use std::path::PathBuf;

use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::extender::PlacementContext;
use evenkeel_placement::extender::explain::{Explanation, explain};
use evenkeel_placement::snapshot::Snapshot;
use serde::Serialize;

use evenkeel_service::config::{Config, Override};
use evenkeel_terminal::cluster_file::NOW;
use evenkeel_terminal::output::{CliFailure, Format};
use evenkeel_terminal::pod_file::PodManifest;
use evenkeel_terminal::settings::ConfigArgs;
use evenkeel_terminal::{cluster_file, output, pod_file};

const EXAMPLES: &str = "\
Examples:
  evenkeel score -f examples/pods/edge-proxy.yaml --cluster examples/clusters/mixed.yaml
  evenkeel score -f examples/pods/web.yaml --cluster examples/clusters/thirty-nodes.yaml -o json
  evenkeel score -f pod.yaml --cluster cluster.yaml --normalization per-resource --set scheduling.headroom=0.7

Verdicts and scores are those that kube-scheduler would get. In JSON and YAML cpu is in millicores,
memory and disk in bytes, networkIo and diskIo in bytes per second.";

/// Show which nodes a Pod may go to and which is best, with all scores
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Manifests of Pods or workloads, such as Deployments; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,

    /// A file with the cluster, a ClusterSnapshot
    #[arg(long, value_name = "FILE")]
    cluster: PathBuf,

    /// The namespace of Pods whose manifest names none
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    namespace: String,

    /// How the spreads of the five resources become one score: joint or per-resource
    /// [scheduling.normalization]
    #[arg(long, value_name = "MODE")]
    normalization: Option<String>,

    #[command(flatten)]
    config: ConfigArgs,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, Serialize)]
struct ScoreReport {
    pods: Vec<ScoredPod>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScoredPod {
    kind: String,
    #[serde(flatten)]
    explanation: Explanation,
    /// The node that the Pod would most likely get.
    best: Option<String>,
    /// The nodes that pass although none has headroom.
    relaxed_to: Vec<String>,
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    let normalization = args.normalization.map(|value| Override {
        flag: "--normalization".to_owned(),
        path: "scheduling.normalization".to_owned(),
        value,
    });
    let policy = Config::load(&args.config.sources(normalization))?.policy;
    let cluster = cluster_file::read(&args.cluster, &policy)?;
    let pods = pod_file::read(&args.file, &args.namespace)?;
    for warning in &cluster.warnings {
        output::warn(warning);
    }
    let report = ScoreReport {
        pods: pods
            .into_iter()
            .map(|pod| score(pod, &cluster.snapshot, &policy))
            .collect(),
    };
    output::print(&report, args.output)
}

fn score(manifest: PodManifest, snapshot: &Snapshot, policy: &SchedulingPolicy) -> ScoredPod {
    let PodManifest { kind, pod, .. } = manifest;
    let call = PlacementContext {
        snapshot,
        policy,
        now: NOW,
        refused_since: None,
    };
    let explanation = explain(&pod, &call);
    let nodes = explanation.nodes.iter();
    let passing = nodes.filter(|node| explanation.relaxed && node.passes && node.schedulable);
    ScoredPod {
        kind,
        best: explanation.best.clone(),
        relaxed_to: passing.map(|node| node.name.clone()).collect(),
        explanation,
    }
}
