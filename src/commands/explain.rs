//! `explain`: why a Pod went to its node, or where one would go, as a running service reports; and why
//! an HPA, a target of Evenkeel's scaling or a CronHPA asks for its count.

mod cron_hpa;
mod hpa;
mod object_name;
mod printable;
mod report;
mod target;

use std::path::PathBuf;

use evenkeel_http_client::Uri;

use evenkeel_service::api;
use evenkeel_service::api::explain::PodExplanation;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format};
use evenkeel_terminal::pod_file;
use evenkeel_terminal::runtime::runtime;
use evenkeel_terminal::service_api::{ServiceApi, parse_url};
use object_name::{NamespacedName, parse_name};
use report::ExplainReport;

const AFTER_HELP: &str = "\
If kube-scheduler has asked about the Pod, explain shows the last answers, one line each, and the terms \
of the newest. If the original answer is no longer stored, or with --nodes, it shows the current answer; \
-o json has both. With -f it judges the Pods of a manifest as if kube-scheduler asked about them now.

The service listens on the loopback address of its Pods. Forward the port first:
  kubectl -n evenkeel-system port-forward deploy/evenkeel 8081
Each replica knows only the calls that it received itself.

Examples:
  evenkeel explain shop/web-7c64d-x2x9p
  evenkeel explain shop/web-7c64d-x2x9p --node node-7
  evenkeel explain -f examples/pods/edge-proxy.yaml --nodes node-1,node-2 -o json
  evenkeel explain hpa shop/web
  evenkeel explain target shop/web
  evenkeel explain cronhpa shop/office-hours";

/// Show why a Pod went to its node, or where one would go now; or why an HPA or target has its count
#[derive(Debug, clap::Args)]
#[command(
    after_help = AFTER_HELP,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(super) struct Args {
    #[command(subcommand)]
    subject: Option<ExplainSubject>,

    /// The Pod, as NAMESPACE/NAME
    #[arg(required_unless_present = "file", conflicts_with = "file", value_parser = parse_name)]
    pod: Option<NamespacedName>,

    /// Score the Pods of this manifest instead (`-` reads standard input)
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Namespace of Pods whose manifest names none
    #[arg(
        long,
        short,
        value_name = "NAME",
        default_value = "default",
        requires = "file"
    )]
    namespace: String,

    /// Score again, among these nodes only [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    nodes: Vec<String>,

    /// Show all terms of this node; may be given several times
    #[arg(long, value_name = "NAME")]
    node: Vec<String>,

    /// Address of the dashboard's listener
    #[arg(long, value_name = "URL", value_parser = parse_url, default_value = "http://127.0.0.1:8081")]
    url: Uri,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, clap::Subcommand)]
enum ExplainSubject {
    Hpa(hpa::Args),
    Target(target::Args),
    #[command(name = "cronhpa")]
    CronHpa(cron_hpa::Args),
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    match &args.subject {
        Some(ExplainSubject::Hpa(args)) => return hpa::run(args),
        Some(ExplainSubject::Target(args)) => return target::run(args),
        Some(ExplainSubject::CronHpa(args)) => return cron_hpa::run(args),
        None => {}
    }
    let pods = runtime()?.block_on(ask(args))?;
    for name in &args.node {
        let is_known = |pod: &PodExplanation| pod.now.nodes.iter().any(|node| node.name == *name);
        if !pods.iter().all(is_known) {
            return Err(CliFailure::call(format_args!(
                "--node {name}: no such node was scored"
            )));
        }
    }
    let report = ExplainReport {
        pods,
        nodes: &args.node,
        shows_now: !args.nodes.is_empty(),
    };
    output::print(&report, args.output)
}

async fn ask(args: &Args) -> Result<Vec<PodExplanation>, CliFailure> {
    let service = ServiceApi::new(&args.url)?;
    let nodes = args.nodes.join(",");
    let mut fields = Vec::new();
    if !nodes.is_empty() {
        fields.push(("nodes", &*nodes));
    }
    if let Some(NamespacedName { namespace, name }) = &args.pod {
        fields.extend([("namespace", &**namespace), ("pod", &**name)]);
        return Ok(vec![service.get(api::EXPLAIN, &fields).await?]);
    }
    let mut explained = Vec::new();
    if let Some(file) = &args.file {
        for pod in pod_file::read(file, &args.namespace)? {
            let body = pod.manifest.to_string().into_bytes();
            explained.push(service.post(api::EXPLAIN, &fields, body).await?);
        }
    }
    Ok(explained)
}
