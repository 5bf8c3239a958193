//! `evenkeel classify`: the demand of Pods, and the profile that admission would give them.

use std::io;
use std::io::Write;
use std::path::PathBuf;

use comfy_table::Cell;
use evenkeel_placement::demand::demand;
use evenkeel_placement::extender::explain::ResourceMap;
use evenkeel_placement::snapshot::{OptIn, Snapshot};
use evenkeel_placement::{NodeLoad, SchedulingPolicy, profile};
use evenkeel_units::{Amount, Resource, Resources};
use serde::Serialize;

use evenkeel_service::config::Config;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width};
use evenkeel_terminal::pod_file::PodManifest;
use evenkeel_terminal::settings::ConfigArgs;
use evenkeel_terminal::{cluster_file, output, pod_file, resource_units};

const EXAMPLES: &str = "\
Examples:
  evenkeel classify -f examples/pods/edge-proxy.yaml
  evenkeel classify -f examples/pods/database.yaml --cluster examples/clusters/mixed.yaml
  kubectl get deployment web -o yaml | evenkeel classify -f - -o json

A resource's share is the demand divided by the free capacity of the median node. Without
--cluster, this is an idle node with 8 cores, 32 GiB, 10 Gbps, 250 MB/s of disk I/O and 100 GiB of
disk. In JSON and YAML cpu is in millicores, memory and disk in bytes, networkIo and diskIo in
bytes per second.";

/// Show what Pods ask for and the profile that they get
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Manifests of Pods or workloads, such as Deployments; `-` reads standard input
    #[arg(long, short, value_name = "FILE")]
    file: PathBuf,

    /// A file with the cluster to classify against, a ClusterSnapshot
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,

    /// The namespace of Pods whose manifest names none
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    namespace: String,

    #[command(flatten)]
    config: ConfigArgs,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// Demands and profiles of the Pods of a file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClassifyReport {
    measured_against: &'static str,
    pods: Vec<ClassifiedPod>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClassifiedPod {
    kind: String,
    namespace: String,
    name: String,
    profile: String,
    profile_source: &'static str,
    threshold: f64,
    resources: ResourceMap<DemandShare>,
    warnings: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct DemandShare {
    demand: u64,
    source: &'static str,
    /// Of what is free; `None` where the capacity is unknown, and where nothing is free.
    share: Option<f64>,
    dominant: bool,
}

/// The node that stands for a cluster of which nothing is known.
fn reference_node() -> NodeLoad {
    NodeLoad {
        capacity: Resources::new([8_000, 32 << 30, 1_250_000_000, 250_000_000, 100 << 30])
            .map(|amount| Some(Amount::new(amount))),
        load: Resources::default(),
        io_pressed: false,
    }
}

pub(super) fn run(args: Args) -> Result<(), CliFailure> {
    let Args {
        file,
        cluster,
        namespace,
        config,
        output,
    } = args;
    let policy = Config::load(&config.sources([]))?.policy;
    let cluster = cluster
        .map(|path| cluster_file::read(&path, &policy))
        .transpose()?;
    let pods = pod_file::read(&file, &namespace)?;
    let snapshot = cluster.as_ref().map(|cluster| &cluster.snapshot);
    let report = ClassifyReport {
        measured_against: snapshot.map_or("reference node", |_| "median node of the cluster"),
        pods: pods
            .into_iter()
            .map(|pod| classify(pod, snapshot, &policy))
            .collect(),
    };
    for warning in cluster.iter().flat_map(|cluster| &cluster.warnings) {
        output::warn(warning);
    }
    output::print(&report, output)
}

fn classify(
    manifest: PodManifest,
    snapshot: Option<&Snapshot>,
    policy: &SchedulingPolicy,
) -> ClassifiedPod {
    let PodManifest { kind, pod, .. } = manifest;
    let asked = demand(&pod, policy.caps_as_demand);
    let mut warnings: Vec<String> = asked.invalid.iter().map(ToString::to_string).collect();
    let opted_in = snapshot.map(|snapshot| snapshot.opt_in(pod.namespace()));
    let threshold = match opted_in {
        Some(OptIn::In(namespace)) => policy.profile_threshold_in(namespace),
        _ => policy.profile_threshold,
    };
    if matches!(opted_in, Some(OptIn::Unknown | OptIn::Out)) {
        warnings.push(format!(
            "namespace {} has not opted in: admission does not change this Pod",
            pod.namespace()
        ));
    }
    let node = snapshot.map_or_else(reference_node, |snapshot| snapshot.nodes.median());
    let class = profile::classify(&asked.amounts, &node.free(), threshold);
    let declared = pod.declared_profile();
    let choice = policy.profiles.choose(declared, || class);
    let is_declared = choice.classification.is_none();
    if let Some(given) = declared.filter(|_| !is_declared) {
        let names: Vec<&str> = policy.profiles.names().collect();
        warnings.push(format!(
            "annotation evenkeel.dev/profile: {given:?} is not accepted, and the default applies; accepted: {}",
            names.join(", ")
        ));
    }
    let part = |resource| DemandShare {
        demand: asked.amounts[resource].get(),
        source: asked.sources[resource].as_str(),
        share: class.shares[resource].filter(|share| share.is_finite()),
        dominant: class.shares[resource].is_some_and(|share| share >= threshold.get())
            && resource != Resource::Disk,
    };
    ClassifiedPod {
        kind,
        namespace: pod.namespace().to_owned(),
        name: pod.name().to_owned(),
        profile: choice.name.to_owned(),
        profile_source: if is_declared { "declared" } else { "requests" },
        threshold: threshold.get(),
        resources: ResourceMap(Resources::from_fn(part)),
        warnings,
    }
}

impl Report for ClassifyReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        for pod in &self.pods {
            pod.print(to, style)?;
        }
        writeln!(
            to,
            "Shares are of the free capacity of the {}. The largest dominant share among CPU,\n\
             disk I/O and network gives the profile; otherwise memory, if dominant; otherwise \
             normal.",
            self.measured_against
        )
    }
}

impl ClassifiedPod {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let source = match self.profile_source {
            "declared" => "as its annotation says",
            _ => "from its requests",
        };
        let Self {
            kind,
            namespace,
            name,
            profile,
            ..
        } = self;
        writeln!(
            to,
            "{kind} {namespace}/{name}: profile {profile}, {source}\n"
        )?;
        let share = format!("Share (dominant from {})", output::percent(self.threshold));
        let mut table = style.table(["Resource", "Demand", "From", &share].map(Cell::new));
        for (resource, part) in self.resources.0.iter() {
            let asks = part.source != "unknown";
            let amount = resource.with_unit(Amount::new(part.demand));
            let share = match part.share {
                Some(share) if asks => output::percent(share),
                None if part.dominant => "nothing is free".to_owned(),
                _ => "–".to_owned(),
            };
            let share = Cell::new(if part.dominant {
                format!("{share}  dominant")
            } else {
                share
            });
            table.add_row([
                Cell::new(resource_units::title(resource)),
                Cell::new(if asks { amount } else { "–".to_owned() }),
                Cell::new(demand_source(part.source)),
                if part.dominant {
                    style.bold(share)
                } else {
                    share
                },
            ]);
        }
        writeln!(to, "{}\n", fit_to_width(&table))?;
        for warning in &self.warnings {
            writeln!(to, "Warning: {warning}")?;
        }
        if !self.warnings.is_empty() {
            writeln!(to)?;
        }
        Ok(())
    }
}

fn demand_source(name: &str) -> &str {
    match name {
        "history" => "its workload's history",
        "caps" => "its cap",
        "unknown" => "not stated",
        // An annotation and requests are what they are called.
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use evenkeel_placement::admission::{
        AdmissionContext, AdmissionRequestView, nothing_carried, review, ungated,
    };
    use serde_json::{Value, json};

    use super::*;
    use evenkeel_service::config::{ConfigSources, yaml};

    /// The profile that the webhook gives to a Pod.
    fn reviewed(pod: &Value, snapshot: &Snapshot, policy: &SchedulingPolicy) -> Option<String> {
        let body = json!({
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "request": {
                "uid": "1",
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "namespace": "shop",
                "operation": "CREATE",
                "object": pod,
            },
        });
        let body = body.to_string();
        let request = AdmissionRequestView::parse(body.as_bytes()).unwrap();
        let known = AdmissionContext {
            snapshot,
            policy,
            gates: &ungated,
            score_terms: &nothing_carried,
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        review(&request, &known).profile
    }

    #[test]
    fn the_profile_is_the_one_that_admission_gives() {
        let policy = Config::load(&ConfigSources::default()).unwrap().policy;
        let cluster = Path::new("examples/clusters/mixed.yaml");
        let snapshot = cluster_file::read(cluster, &policy).unwrap().snapshot;
        let mut profiles = std::collections::BTreeSet::new();
        for (cpu, memory, annotations) in [
            ("100m", "64Mi", "{}"),
            ("6", "64Mi", "{}"),
            ("100m", "30Gi", "{}"),
            ("100m", "64Mi", "{evenkeel.dev/network-io: 4Gbps}"),
            ("100m", "64Mi", "{evenkeel.dev/disk-io: 300MB/s}"),
            ("6", "64Mi", "{evenkeel.dev/profile: memory}"),
            ("6", "64Mi", "{evenkeel.dev/profile: unheard-of}"),
        ] {
            let text = format!(
                "{{kind: Pod, metadata: {{name: a, namespace: shop, annotations: {annotations}}}, \
                 spec: {{containers: [{{resources: {{requests: {{cpu: {cpu}, memory: {memory}}}}}}}]}}}}"
            );
            let object: Value = yaml::parse(&text).unwrap();
            let pod = PodManifest {
                kind: "Pod".to_owned(),
                pod: serde_json::from_str(&object.to_string()).unwrap(),
                manifest: object.clone(),
            };
            let classified = classify(pod, Some(&snapshot), &policy);
            let given = reviewed(&object, &snapshot, &policy);
            assert_eq!(Some(&classified.profile), given.as_ref(), "{text}");
            profiles.insert(classified.profile);
        }
        assert_eq!(profiles.len(), 5, "{profiles:?}");
    }
}
