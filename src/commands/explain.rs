//! `explain`: why a Pod went to its node, or where one would go, as a running service tells.

mod report;

use std::path::PathBuf;

use evenkeel_http_client::Uri;

use evenkeel_service::api;
use evenkeel_service::api::explain::PodExplanation;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format};
use evenkeel_terminal::pod_file;
use evenkeel_terminal::runtime::runtime;
use evenkeel_terminal::service_api::{ServiceApi, parse_url};
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
  evenkeel explain -f examples/pods/edge-proxy.yaml --nodes node-1,node-2 -o json";

/// Show why a Pod went to its node, or where one would go now
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The Pod, as NAMESPACE/NAME
    #[arg(required_unless_present = "file", conflicts_with = "file", value_parser = parse_pod)]
    pod: Option<PodName>,

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

#[derive(Debug, Clone)]
struct PodName {
    namespace: String,
    name: String,
}

fn parse_pod(text: &str) -> Result<PodName, String> {
    let (namespace, name) = text.split_once('/').unwrap_or_default();
    if namespace.is_empty() || name.is_empty() || name.contains('/') {
        return Err("accepted: NAMESPACE/NAME".to_owned());
    }
    Ok(PodName {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
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
    if let Some(PodName { namespace, name }) = &args.pod {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_named_with_its_namespace() {
        let named = parse_pod("shop/web-0").unwrap();
        assert_eq!((&*named.namespace, &*named.name), ("shop", "web-0"));
        for text in ["web-0", "/web-0", "shop/", "a/b/c", ""] {
            assert!(parse_pod(text).is_err(), "{text}");
        }
    }
}
