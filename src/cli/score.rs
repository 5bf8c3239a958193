//! `evenkeel score`: where a Pod may go in a cluster and where it is best, with every figure that
//! decides it.
//!
//! The verdicts and scores are those of the extender itself; this only gathers the terms beside
//! them.

mod table;

use std::borrow::Cow;
use std::path::PathBuf;

use serde::Serialize;

use super::cluster_file::{self, NOW};
use super::figures::ByResource;
use super::output::{self, Failure, Format};
use super::pod_file::{self, PodManifest};
use super::settings::ConfigArgs;
use crate::config::{Config, Override};
use crate::extender::decide::{filter, prioritize};
use crate::extender::{Call, Judgement, Pass, Prioritized, Request, VerdictCache};
use crate::kubernetes::pod::Pod;
use crate::placement::node_table::{Freshness, NodeState};
use crate::placement::{NodeLoad, Policy, balance, headroom};
use crate::snapshot::Snapshot;
use crate::units::{Amount, Resource, Resources};

const EXAMPLES: &str = "\
Examples:
  evenkeel score -f examples/pods/edge-proxy.yaml --cluster examples/clusters/mixed.yaml
  evenkeel score -f examples/pods/web.yaml --cluster examples/clusters/thirty-nodes.yaml -o json
  evenkeel score -f pod.yaml --cluster cluster.yaml --normalization per-resource --set scheduling.headroom=0.7

Verdicts and scores are those that kube-scheduler would get. In JSON and YAML cpu is in millicores,
memory and disk in bytes, networkIo and diskIo in bytes per second.";

/// Show where a Pod may go and where it is best, with every figure that decides it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Manifests of Pods or of what makes them, such as Deployments; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,

    /// The cluster: a ClusterSnapshot
    #[arg(long, value_name = "FILE")]
    cluster: PathBuf,

    /// The namespace of Pods that name none
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    namespace: String,

    /// How five spreads become one score: joint or per-resource [scheduling.normalization]
    #[arg(long, value_name = "MODE")]
    normalization: Option<String>,

    #[command(flatten)]
    config: ConfigArgs,

    /// How the result is printed
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// Where the Pods of a file may go.
#[derive(Debug, Serialize)]
struct Scored {
    pods: Vec<ScoredPod>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScoredPod {
    kind: String,
    namespace: String,
    name: String,
    /// Why the extender does not judge this Pod, if so.
    unjudged: Option<&'static str>,
    #[serde(flatten)]
    judged: Option<Judged>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Judged {
    profile: Option<String>,
    weights: Option<ByResource<f64>>,
    normalization: &'static str,
    headroom: f64,
    demand: ByResource<Asked>,
    relaxed: bool,
    best: Option<String>,
    nodes: Vec<ScoredNode>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Asked {
    amount: u64,
    source: &'static str,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScoredNode {
    name: String,
    schedulable: bool,
    passes: bool,
    refused_by: Vec<&'static str>,
    resources: ByResource<Term>,
    /// 0 to 10, exactly.
    total: Option<f64>,
    /// The integer that kube-scheduler gets.
    score: Option<u8>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Term {
    load: u64,
    capacity: Option<u64>,
    /// (load + demand) / capacity.
    with_pod: Option<f64>,
    fits: bool,
    /// What the load rests on: a fresh measurement, or the demands of the node's Pods.
    measurement: &'static str,
    /// D (4.9).
    deviation: Option<f64>,
    /// S (4.10).
    score: Option<f64>,
}

pub(super) fn run(args: Args) -> Result<(), Failure> {
    let Args {
        file,
        cluster,
        namespace,
        normalization,
        config,
        output,
    } = args;
    let normalization = normalization.map(|value| Override {
        flag: "--normalization".to_owned(),
        path: "scheduling.normalization".to_owned(),
        value,
    });
    let policy = Config::load(&config.sources(normalization))?.policy;
    let cluster = cluster_file::read(&cluster, &policy)?;
    let pods = pod_file::read(&file, &namespace)?;
    for warning in &cluster.warnings {
        output::warn(warning);
    }
    let report = Scored {
        pods: pods
            .into_iter()
            .map(|pod| score(pod, &cluster.snapshot, &policy))
            .collect(),
    };
    output::print(&report, output)
}

fn score(manifest: PodManifest, snapshot: &Snapshot, policy: &Policy) -> ScoredPod {
    let PodManifest { kind, name, pod } = manifest;
    let call = Call {
        snapshot,
        policy,
        now: NOW,
        refused_since: None,
    };
    let mut scored = ScoredPod {
        kind,
        namespace: pod.namespace().to_owned(),
        name,
        unjudged: None,
        judged: None,
        warnings: Vec::new(),
    };
    match Judgement::of(&pod, &call) {
        Ok(judgement) => {
            let invalid = judgement.demand.invalid.iter();
            scored.warnings = invalid.map(ToString::to_string).collect();
            let (judged, unjudged) = judge(pod, &judgement, &call);
            scored.unjudged = unjudged.map(Pass::as_str);
            scored.judged = Some(judged);
        }
        Err(why) => scored.unjudged = Some(why.as_str()),
    }
    scored
}

/// Asks the extender what kube-scheduler would ask it: filter for all nodes that can take Pods,
/// then prioritize for those that pass.
fn judge(pod: Pod, judgement: &Judgement<'_>, call: &Call<'_>) -> (Judged, Option<Pass>) {
    let nodes: Vec<&NodeState> = call.snapshot.nodes.iter().collect();
    let open: Vec<&NodeState> = nodes
        .iter()
        .copied()
        .filter(|node| node.schedulable)
        .collect();
    let mut request = Request {
        pod,
        names: names(&open),
        objects: None,
    };
    let filtered = filter(&request, call, &VerdictCache::default());
    let passing: Vec<&NodeState> = open
        .iter()
        .enumerate()
        .filter(|(position, _)| filtered.passes(*position))
        .map(|(_, node)| *node)
        .collect();
    request.names = names(&passing);
    let prioritized = prioritize(&request, call);
    let weights = prioritized
        .profile
        .as_ref()
        .and_then(|profile| call.policy.profiles.get(profile));
    let mut scored: Vec<ScoredNode> = nodes
        .iter()
        .map(|node| ScoredNode::new(node, judgement))
        .collect();
    mark_passing(&mut scored, &passing);
    if let Some(weights) = weights {
        add_scores(&mut scored, &passing, &prioritized, &|loads| {
            let demand = &judgement.demand.amounts;
            balance::detail(loads, demand, weights, call.policy.normalization)
        });
    }
    let judged = Judged {
        weights: weights.map(|weights| (*weights.get()).into()),
        normalization: call.policy.normalization.as_str(),
        headroom: judgement.headroom.get(),
        demand: asked(judgement),
        relaxed: filtered.relaxed,
        best: prioritized.best.map(|best| passing[best].name.to_string()),
        nodes: scored,
        profile: prioritized.profile,
    };
    (judged, filtered.unjudged)
}

fn names<'a>(nodes: &[&'a NodeState]) -> Vec<Cow<'a, str>> {
    nodes
        .iter()
        .map(|node| Cow::Borrowed(&*node.name))
        .collect()
}

fn asked(judgement: &Judgement<'_>) -> ByResource<Asked> {
    let demand = &judgement.demand;
    Resources::from_fn(|resource| Asked {
        amount: demand.amounts[resource].get(),
        source: demand.sources[resource].as_str(),
    })
    .into()
}

fn mark_passing(scored: &mut [ScoredNode], passing: &[&NodeState]) {
    for node in scored {
        node.passes = passing.iter().any(|passing| *passing.name == *node.name);
    }
}

fn add_scores(
    scored: &mut [ScoredNode],
    passing: &[&NodeState],
    prioritized: &Prioritized,
    detail: &dyn Fn(&[NodeLoad]) -> Vec<balance::NodeScore>,
) {
    let loads: Vec<NodeLoad> = passing.iter().map(|node| node.load).collect();
    let details = passing.iter().zip(detail(&loads)).zip(&prioritized.scores);
    for ((state, detail), &wire) in details {
        if let Some(node) = scored.iter_mut().find(|node| *node.name == *state.name) {
            node.total = Some(detail.total);
            node.score = Some(wire);
            let terms = node.resources.as_resources();
            node.resources = Resources::from_fn(|resource| Term {
                deviation: detail.deviation[resource],
                score: detail.score[resource],
                ..*terms[resource]
            })
            .into();
        }
    }
}

impl ScoredNode {
    fn new(node: &NodeState, judgement: &Judgement<'_>) -> Self {
        let terms = headroom::terms(&judgement.demand.amounts, &node.load, judgement.headroom);
        let refused_by = terms
            .iter()
            .filter(|(_, term)| !term.fits)
            .map(|(resource, _)| resource.as_str());
        Self {
            name: node.name.to_string(),
            schedulable: node.schedulable,
            passes: false,
            refused_by: refused_by.collect(),
            resources: Resources::from_fn(|resource| Term::new(resource, &terms[resource], node))
                .into(),
            total: None,
            score: None,
        }
    }
}

impl Term {
    fn new(resource: Resource, term: &headroom::Term, node: &NodeState) -> Self {
        let together = term.load.as_f64() + term.demand.as_f64();
        Self {
            load: term.load.get(),
            capacity: term.capacity.map(Amount::get),
            with_pod: term
                .capacity
                .map(|capacity| together / capacity.as_f64())
                .filter(|ratio| ratio.is_finite()),
            fits: term.fits,
            measurement: node.freshness[resource].as_str(),
            deviation: None,
            score: None,
        }
    }

    /// Whether the load is a sum of demands for want of a fresh measurement.
    fn is_estimated(&self) -> bool {
        self.capacity.is_some() && self.measurement != Freshness::Fresh.as_str()
    }
}
