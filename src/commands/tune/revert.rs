//! `evenkeel tune revert`: gives Pods back the resources that they were made with.

use std::collections::BTreeSet;
use std::io;
use std::io::Write;

use anyhow::Context as _;
use comfy_table::Cell;
use evenkeel_objects::lenient_object::{LenientObject, UnreadableObject};
use evenkeel_tuning::resizable_pod::ResizablePod;
use evenkeel_tuning::resize::ResizeRules;
use evenkeel_tuning::resize_record::Resizer;
use kube::api::ListParams;
use kube::{Api, Client};
use serde::Serialize;

use evenkeel_service::cluster::paged_list::{Listing, for_each};
use evenkeel_service::controller::tuning::lowers_memory_limits;
use evenkeel_service::uninstall::put_resources_back;
use evenkeel_service::watched_types::WatchedPod;
use evenkeel_terminal::cluster_args::KubeconfigArgs;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width};
use evenkeel_terminal::runtime::runtime;

const EXAMPLES: &str = "\
Examples:
  evenkeel tune revert                 # every Pod of the cluster
  evenkeel tune revert -n shop         # every Pod of a namespace
  evenkeel tune revert -n shop web-1   # one Pod

A workload in mode on (evenkeel.dev/tuning: on) is tuned again at its next turn, so set that to
off first. A Pod that another writer has resized since keeps its resources, and only Evenkeel's
record is removed. A Pod that does not exist, or cannot be read and so may be resized, counts as
failed. Exit codes: 0 nothing is left to put back; 1 something is or may be left, or the cluster
cannot be reached; 2 the command line is wrong.";

/// Give resized Pods their original resources back
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only these Pods
    #[arg(value_name = "POD", requires = "namespace")]
    pods: Vec<String>,

    /// Only Pods of this namespace [default: all namespaces]
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,

    #[command(flatten)]
    kubeconfig: KubeconfigArgs,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, Serialize)]
struct RevertReport {
    pods: Vec<RevertedPod>,
}

#[derive(Debug, Serialize)]
struct RevertedPod {
    namespace: String,
    pod: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let reverted = runtime()?.block_on(Box::pin(revert(args)))?;
    output::print(&reverted, args.output)?;
    let left = reverted
        .pods
        .iter()
        .filter(|pod| pod.failed.is_some())
        .count();
    match left {
        0 => Ok(()),
        1 => Err(CliFailure::work("1 Pod could not be put back")),
        left => Err(CliFailure::work(format_args!(
            "{left} Pods could not be put back"
        ))),
    }
}

async fn revert(args: &Args) -> Result<RevertReport, CliFailure> {
    let client = args.kubeconfig.connect().await;
    let client = client.map_err(CliFailure::Call)?;
    let lowers = lowers_memory_limits(&client).await;
    let lowers = lowers
        .context("the API server cannot be reached")
        .map_err(CliFailure::Work)?;
    let rules = ResizeRules {
        may_restart: true,
        may_lower_memory_limits: lowers,
    };
    let RevertSelection {
        resized,
        unreadable,
        missing,
    } = RevertSelection::of(&client, args)
        .await
        .context("Pods cannot be listed")
        .map_err(CliFailure::Work)?;
    let mut pods: Vec<RevertedPod> = unreadable.into_iter().map(RevertedPod::from).collect();
    pods.extend(missing.into_iter().map(|pod| RevertedPod {
        namespace: args.namespace.clone().unwrap_or_default(),
        pod,
        failed: Some("there is no such Pod".to_owned()),
    }));
    for pod in resized {
        let back = put_resources_back(&client, &pod.namespace, &pod.name, rules).await;
        let failed = back.err().map(|error| error.to_string());
        pods.push(RevertedPod {
            namespace: pod.namespace.to_string(),
            pod: pod.name.to_string(),
            failed,
        });
    }
    Ok(RevertReport { pods })
}

#[derive(Debug, Default)]
struct RevertSelection {
    resized: Vec<ResizablePod>,
    unreadable: Vec<UnreadableObject>,
    /// The names of which there is none.
    missing: BTreeSet<String>,
}

impl RevertSelection {
    async fn of(client: &Client, args: &Args) -> kube::Result<Self> {
        let api: Api<WatchedPod> = match &args.namespace {
            Some(namespace) => Api::namespaced(client.clone(), namespace),
            None => Api::all(client.clone()),
        };
        let mut found = Self {
            missing: args.pods.iter().cloned().collect(),
            ..Self::default()
        };
        let listing = Listing::of(&api, ListParams::default());
        for_each(listing, |pod| found.take(pod, &args.pods)).await?;
        Ok(found)
    }

    /// Takes a Pod that is one of those with these names, or any where there are none.
    fn take(&mut self, LenientObject(pod): LenientObject<WatchedPod>, names: &[String]) {
        let is_asked_for = |pod: &str| names.is_empty() || names.iter().any(|name| name == pod);
        match pod {
            Ok(watched) => {
                self.missing.remove(watched.pod.name());
                let resized = ResizablePod::of(&watched.pod)
                    .filter(|pod| pod.is_resized_by(Resizer::Tuning) && is_asked_for(&pod.name));
                self.resized.extend(resized);
            }
            Err(unreadable) => {
                let name = unreadable.metadata.name.as_deref().unwrap_or_default();
                self.missing.remove(name);
                if is_asked_for(name) {
                    self.unreadable.push(unreadable);
                }
            }
        }
    }
}

impl From<UnreadableObject> for RevertedPod {
    fn from(UnreadableObject { metadata, error }: UnreadableObject) -> Self {
        Self {
            namespace: metadata.namespace.unwrap_or_default(),
            pod: metadata.name.unwrap_or_default(),
            failed: Some(format!(
                "it cannot be read, and may still be resized: {error}"
            )),
        }
    }
}

impl Report for RevertReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        if self.pods.is_empty() {
            return writeln!(to, "No Pod has a resize of tuning.");
        }
        let mut table = style.table(["POD", "DONE"].map(Cell::new));
        for RevertedPod {
            namespace,
            pod,
            failed,
        } in &self.pods
        {
            let done = match failed {
                None => Cell::new("has its original resources"),
                Some(error) => style.bad(Cell::new(format!("failed: {error}"))),
            };
            table.add_row([Cell::new(format!("{namespace}/{pod}")), done]);
        }
        writeln!(to, "{}", fit_to_width(&table))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_that_cannot_be_read_is_left_where_it_is_asked_for() {
        let list = json!([{"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "odd", "namespace": "shop"}, "spec": {"containers": 5}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain", "namespace": "shop"}}]);
        let left = |names: &[&str]| {
            let pods: Vec<LenientObject<WatchedPod>> =
                serde_json::from_str(&list.to_string()).expect("each is read by itself");
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let mut found = RevertSelection {
                missing: BTreeSet::from(["plain".to_owned(), "gone".to_owned()]),
                ..RevertSelection::default()
            };
            for pod in pods {
                found.take(pod, &names);
            }
            assert_eq!(found.missing, BTreeSet::from(["gone".to_owned()]));
            assert!(found.resized.is_empty());
            let left = found.unreadable.into_iter().map(RevertedPod::from);
            left.map(|pod| pod.pod).collect::<Vec<String>>()
        };
        assert_eq!(left(&[]), ["odd"]);
        assert_eq!(left(&["odd", "plain"]), ["odd"]);
        assert!(left(&["plain"]).is_empty());
    }
}
