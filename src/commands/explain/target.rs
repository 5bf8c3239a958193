//! `explain target`: why a target of Evenkeel's own scaling has its count, as a running service tells.

mod report;

use std::sync::Arc;

use evenkeel_http_client::Uri;
use evenkeel_scaling::status::dashboard::ScalingStatus;
use evenkeel_service::api;
use evenkeel_service::api::scaling::TargetList;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format};
use evenkeel_terminal::runtime::runtime;
use evenkeel_terminal::service_api::{ServiceApi, parse_url};

use self::report::TargetReport;
use super::object_name::{NamespacedName, parse_name};

const AFTER_HELP: &str = "\
A target is a workload or autoscaler that Evenkeel scales or makes recommendations for. It is found by its own name or by that of its workload. For any other HPA, use explain hpa.

Every replica knows the same targets, from a few seconds after its start.

Exit codes: 0 explained; 1 the service cannot be asked, or knows no such target; 2 the command line is wrong.

Examples:
  evenkeel explain target shop/web
  evenkeel explain target shop/web --kind IntelligentHorizontalPodAutoscaler
  evenkeel explain target shop/web -o json | jq -r '.[].reason'";

/// Show why a target of Evenkeel's scaling has its count, and what would change it
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    /// The target or its workload, as NAMESPACE/NAME
    #[arg(value_name = "NAMESPACE/NAME", value_parser = parse_name)]
    target: NamespacedName,

    /// The kind of the target or its workload, such as Deployment [default: any]
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Address of the dashboard's listener
    #[arg(long, value_name = "URL", value_parser = parse_url, default_value = "http://127.0.0.1:8081")]
    url: Uri,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let namespace = &*args.target.namespace;
    let list: TargetList = runtime()?.block_on(async {
        let service = ServiceApi::new(&args.url)?;
        let fields = [("namespace", namespace)];
        service.get(api::SCALING, &fields).await
    })?;
    let found = matching(list.targets, &args.target.name, args.kind.as_deref());
    if found.is_empty() {
        let kind = args.kind.as_deref().unwrap_or("target");
        let name = &args.target.name;
        return Err(CliFailure::work(format_args!(
            "Evenkeel scales no {kind} {namespace}/{name}. The namespace must have opted in; a replica that has just \
             started knows its targets a few seconds later. For an HPA that Evenkeel does not touch: evenkeel explain hpa {namespace}/{name}"
        )));
    }
    output::print(&TargetReport(found), args.output)
}

fn matching(
    targets: Vec<Arc<ScalingStatus>>,
    name: &str,
    kind: Option<&str>,
) -> Vec<Arc<ScalingStatus>> {
    let is_named = |target: &Arc<ScalingStatus>| {
        [&target.object, &target.workload]
            .into_iter()
            .any(|object| {
                &*object.name == name
                    && kind.is_none_or(|kind| kind.eq_ignore_ascii_case(&object.kind))
            })
    };
    targets.into_iter().filter(is_named).collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_service::api::scaling::sample;

    use super::*;

    #[test]
    fn a_target_is_found_by_its_own_name_or_that_of_its_workload() {
        let mut other = sample::status();
        other.object.name = "web-autoscaler".into();
        let targets = vec![Arc::new(sample::status()), Arc::new(other)];
        for (name, kind, found) in [
            ("web", None, 2),
            ("web", Some("deployment"), 2),
            ("web", Some("HorizontalPodAutoscaler"), 1),
            ("web-autoscaler", None, 1),
            ("web", Some("StatefulSet"), 0),
            ("shop", None, 0),
        ] {
            let count = matching(targets.clone(), name, kind).len();
            assert_eq!(count, found, "{name} {kind:?}");
        }
    }
}
