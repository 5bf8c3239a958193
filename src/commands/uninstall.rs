//! `evenkeel uninstall`: reverts Evenkeel's writes on foreign objects, and lists its own objects.

mod report;

use anyhow::Context as _;
use evenkeel_clock as clock;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde::Serialize;

use evenkeel_service::cluster::server_time;
use evenkeel_service::config::{CONFIGURATION_FILE, CONFIGURATION_MAP, Config, ConfigError};
use evenkeel_service::controller::switch::Writes;
use evenkeel_service::uninstall;
use evenkeel_service::uninstall::{
    Election, Inventory, Judgement, ListFailure, NamespaceMismatch, OnPods,
};
use evenkeel_service::uninstall_plan::Extent;
use evenkeel_terminal::cluster_args::ClusterArgs;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format};
use evenkeel_terminal::runtime::runtime;
use evenkeel_terminal::settings::ConfigArgs;

const EXAMPLES: &str = "\
Examples:
  evenkeel uninstall --check                   # what is left of Evenkeel; exit code 1 if anything is
  kubectl delete apiservice v1beta1.external.metrics.k8s.io    # if it points to Evenkeel
  kubectl -n evenkeel-system scale deploy/evenkeel --replicas=0
  evenkeel uninstall                           # put bounds back, remove annotations and labels
  kubectl delete -k deploy/
  evenkeel uninstall --expired                 # put back what no replica has renewed for an hour

What it undoes:
  - bounds of HPAs and ScaledObjects, and replicas that CronHPAs set: your own values return,
    including your later edits
  - a workload that mode direct scaled to zero gets one replica
  - taints of overloaded nodes, score labels, Pod deletion costs, annotations and labels that
    Evenkeel wrote
  - Pods that Evenkeel resized get their original resources back

What stays:
  - annotations that you wrote, such as evenkeel.dev/enabled; they are listed
  - what admission wrote on Pods, until they are replaced; nothing reads it
  - objects with a record that Evenkeel did not write or that is invalid; they are listed

It refuses to run:
  - while a leader holds the Lease, because the leader would write again: scale the Deployment to 0.
    Under `writes: disabled` and `writes: restore` the leader writes nothing new, and --force is safe
  - if -n names a namespace without a Lease, or another one than the webhook configuration does

If you run `kubectl delete` first, the replicas undo everything before they lose their rights. If no
replica runs any more, the deletion waits until you run this command with --force.

The kinds of custom resources come from scaling.kinds in the file of --config, otherwise in the
ConfigMap evenkeel: run uninstall before you delete it. Before you remove a kind from scaling.kinds,
set evenkeel.dev/scaling: off on its objects.

The CronJob evenkeel-restore runs with --expired. By the API server's clock, it
  - puts bounds and replica counts of CronHPAs back if their record expired an hour ago, even while
    a leader runs
  - opens the readiness gate of a new Pod after five minutes
  - removes score labels of nodes if no leader has renewed the Lease for ten minutes
  - restores resized Pods, brings Pods back into traffic, and removes taints and Pod deletion costs
    if no leader has renewed the Lease for an hour
Under `writes: disabled` it writes nothing.

Exit codes:
  0  nothing is left for it to do (with --check: nothing is left at all)
  1  something is left that it could not undo, or the cluster cannot be reached
  2  the command line is wrong";

/// The objects that are not looked at if the configuration cannot be read.
const BLIND: &str = "custom resources of scaling.kinds";

/// Undo what Evenkeel wrote on other objects, bring Pods back into traffic, and show what is left
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only list everything that is left, and change nothing
    #[arg(long)]
    check: bool,

    /// Write even while a leader holds the Lease, or if none can be found
    #[arg(long, conflicts_with = "check")]
    force: bool,

    /// Only put back what no replica has renewed for an hour
    #[arg(long, conflicts_with_all = ["check", "force"])]
    expired: bool,

    #[command(flatten)]
    cluster: ClusterArgs,

    #[command(flatten)]
    config: ConfigArgs,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// Everything of Evenkeel that is left in a cluster, or all that has lapsed.
#[derive(Debug, Serialize)]
struct Leftovers {
    /// Nothing was changed: only looked at.
    check: bool,
    /// Only bounds that no replica has renewed for an hour were looked for.
    expired: bool,
    #[serde(flatten)]
    inventory: Inventory,
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let left = runtime()?.block_on(Box::pin(look_and_act(args)))?;
    output::print(&left, args.output)?;
    left.verdict()
}

async fn look_and_act(args: &Args) -> Result<Leftovers, CliFailure> {
    let client = args.cluster.connect().await.map_err(CliFailure::Call)?;
    let version = client.apiserver_version().await;
    version
        .context("the API server cannot be reached")
        .map_err(CliFailure::Work)?;
    // Records are dated by the cluster's clock, which in `dev` is far from this machine's.
    let now = server_time(&client).await.unwrap_or_else(clock::now);
    if args.expired {
        return expired(&client, args, now).await;
    }
    let config = configuration(&client, args).await;
    if !args.check {
        let election = election(&client, args, &config);
        mind_place(&client, args, &election).await?;
        mind_leader(args, &election).await?;
    }
    let (kinds, blind) = match config {
        Ok(config) => (config.kinds, None),
        Err(blind) => (Vec::new(), Some(blind)),
    };
    let namespace = &args.cluster.namespace;
    let mut inventory = uninstall::gather(&client, namespace, &kinds, now).await;
    inventory.unseen.extend(blind);
    if !args.check {
        uninstall::restore_all(&client, &mut inventory, Extent::All, now).await;
        release(&client, args, &inventory).await;
    }
    Ok(Leftovers {
        check: args.check,
        expired: false,
        inventory,
    })
}

/// Reverts the writes that no replica holds any more, unless writes are disabled.
async fn expired(client: &Client, args: &Args, now: Timestamp) -> Result<Leftovers, CliFailure> {
    let (writes, refused) = switch(client, args).await?;
    if let Some(error) = refused {
        output::warn(&format!(
            "{error}; this command only needs to know whether writes are disabled, and continues"
        ));
    }
    let inventory = if writes == Writes::Disabled {
        output::warn("writes are disabled: nothing is put back");
        Inventory::default()
    } else {
        let namespace = &args.cluster.namespace;
        let config = configuration(client, args).await;
        let judged = election(client, args, &config).judge(now).await;
        let (Judgement { extent, now }, unread) = match judged {
            Ok(judged) => (judged, None),
            Err(error) => {
                let extent = Extent::Lapsed;
                (Judgement { extent, now }, Some(error.to_string()))
            }
        };
        let on_pods = on_pods(&config);
        let mut lapsed = uninstall::lapsed(client, extent, on_pods, now).await;
        lapsed.unseen.extend(unread.map(|why| ListFailure {
            what: format!("Lease of the leader, without which taints stay, -n {namespace}"),
            why,
        }));
        uninstall::restore_all(client, &mut lapsed, extent, now).await;
        lapsed
    };
    Ok(Leftovers {
        check: false,
        expired: true,
        inventory,
    })
}

/// The position of the kill switch: by the named file, else the replicas' ConfigMap, with flags and
/// variables over it.
async fn switch(client: &Client, args: &Args) -> Result<(Writes, Option<ConfigError>), CliFailure> {
    let mut sources = args.config.clone().sources([]);
    if sources.file.is_some() {
        return Ok(Config::switch(&sources));
    }
    let namespace = &args.cluster.namespace;
    let file = installed_file(client, namespace).await;
    let file = file
        .with_context(|| format!("ConfigMap {namespace}/{CONFIGURATION_MAP} cannot be read"))
        .map_err(CliFailure::Work)?;
    match file {
        Some(text) => {
            sources.file = Some(CONFIGURATION_FILE.into());
            Ok(Config::switch_in(&text, &sources))
        }
        None if sources.names("writes") => Ok(Config::switch(&sources)),
        None => Err(CliFailure::call(format_args!(
            "the ConfigMap {namespace}/{CONFIGURATION_MAP}, which says whether writes are \
             disabled, does not exist or has no {CONFIGURATION_FILE}: check that -n names the \
             namespace that Evenkeel runs in, or give --config FILE or --set writes=enabled"
        ))),
    }
}

/// The file in the ConfigMap that the replicas read.
async fn installed_file(client: &Client, namespace: &str) -> kube::Result<Option<String>> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let map = maps.get_opt(CONFIGURATION_MAP).await?;
    Ok(map.and_then(|map| map.data?.remove(CONFIGURATION_FILE)))
}

/// The election of the installation's leader.
fn election(client: &Client, args: &Args, config: &Result<Config, ListFailure>) -> Election {
    let configured = config.as_ref().ok();
    let name = configured.map(|config| config.leader_election.lease_name.as_str());
    Election::of(client, &args.cluster.namespace, name)
}

/// The writes on Pods that the configuration enables; without any, the clean-up has no right to
/// look at Pods. With an unreadable configuration, it looks at Pods and reports errors.
fn on_pods(configuration: &Result<Config, ListFailure>) -> OnPods {
    configuration.as_ref().map_or(OnPods::ALL, OnPods::of)
}

/// The configuration of the installation: the named file, else that of the ConfigMap. Without
/// either, the uninstall goes on.
///
/// # Errors
/// The configuration is unreadable, so that the kinds of custom resources are not known.
async fn configuration(client: &Client, args: &Args) -> Result<Config, ListFailure> {
    let blind = |why: String| ListFailure {
        what: BLIND.to_owned(),
        why,
    };
    let mut sources = args.config.clone().sources([]);
    let namespace = &args.cluster.namespace;
    let config = if sources.file.is_some() {
        Config::load(&sources)
    } else {
        match installed_file(client, namespace).await {
            Ok(Some(text)) => {
                sources.file = Some(CONFIGURATION_FILE.into());
                Config::parse(&text, &sources)
            }
            Ok(None) => Config::load(&sources),
            Err(_) if sources.names("scaling.kinds") => Config::load(&sources),
            Err(error) => {
                let map = format!("ConfigMap {namespace}/{CONFIGURATION_MAP}");
                return Err(blind(format!("{map} cannot be read: {error}")));
            }
        }
    };
    config.map_err(|error| blind(error.to_string()))
}

/// Removes the finalizers that delay the deletion, once everything is undone. With `--force`, also
/// if the API server refuses changes of some objects.
async fn release(client: &Client, args: &Args, inventory: &Inventory) {
    let refused: Vec<_> = inventory
        .refused()
        .map(|mark| mark.object.to_string())
        .collect();
    let is_due = inventory.has_tried_all() && (args.force || refused.is_empty());
    let why = if is_due {
        let released = uninstall::release(client, &args.cluster.namespace).await;
        released.err().map(|error| error.to_string())
    } else {
        Some("not everything is undone".to_owned())
    };
    let finalizer = uninstall::FINALIZER;
    if let Some(why) = why {
        output::warn(&format!(
            "the finalizer {finalizer} stays, and kubectl delete waits for it: {why}"
        ));
    } else if !refused.is_empty() {
        output::warn(&format!(
            "the finalizer {finalizer} is removed, and these objects keep Evenkeel's changes: {}",
            refused.join(", ")
        ));
    }
}

/// Refuses to write where an installation cannot be seen, since its leader would not be either.
async fn mind_place(client: &Client, args: &Args, election: &Election) -> Result<(), CliFailure> {
    let found = uninstall::misplaced(client, &args.cluster.namespace, election).await;
    if args.force {
        if let Ok(Some(misplaced)) = found {
            output::warn(&format!(
                "{misplaced}; a leader in another namespace will write again what is undone now"
            ));
        }
        return Ok(());
    }
    let found = found
        .context("whether Evenkeel is installed there cannot be read")
        .map_err(CliFailure::Work)?;
    Err(match found {
        None => return Ok(()),
        Some(NamespaceMismatch::Elsewhere { registered }) => CliFailure::work(format_args!(
            "the webhook configuration names the namespace {registered}, whose leader would write \
             again what is undone: evenkeel uninstall -n {registered} (--force writes all the \
             same)"
        )),
        Some(misplaced @ NamespaceMismatch::NoLease { .. }) => CliFailure::work(format_args!(
            "{misplaced}, so it is unknown whether a leader runs: name the namespace that Evenkeel \
             runs in with -n; if its objects are already deleted, use --force"
        )),
    })
}

/// Refuses to write beside a leader. With `--force` it only warns that the leader will write again.
async fn mind_leader(args: &Args, election: &Election) -> Result<(), CliFailure> {
    let namespace = &args.cluster.namespace;
    let leader = election.living_leader(clock::now()).await;
    if args.force {
        if let Ok(Some(leader)) = leader {
            output::warn(&format!(
                "{leader} leads and will write again what is undone now, until it is stopped"
            ));
        }
        return Ok(());
    }
    let leader = leader
        .context("the leader's Lease cannot be read")
        .map_err(CliFailure::Work)?;
    let Some(leader) = leader else { return Ok(()) };
    Err(CliFailure::work(format_args!(
        "{leader} leads and would write again what is undone; stop it first: kubectl -n \
         {namespace} scale deploy/evenkeel --replicas=0 (--force writes all the same, which is \
         safe under `writes: disabled`)"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_service::config::ConfigSources;

    #[test]
    fn pods_are_looked_at_unless_the_configuration_says_that_nothing_is_on_them() {
        let parse = |text: &str| {
            let config = Config::parse(text, &ConfigSources::default());
            config.map_err(|error| ListFailure {
                what: BLIND.to_owned(),
                why: error.to_string(),
            })
        };
        for (text, costs, states, resources) in [
            ("scheduling: {scaleIn: off}", false, false, false),
            ("scheduling: {scaleIn: balance}", true, false, false),
            ("scaling: {replicaProfiles: on}", false, true, false),
            ("tuning: {resize: true}", false, false, true),
            ("scheduling: {scaleIn: perhaps}", true, true, true),
        ] {
            let expected = OnPods {
                costs,
                states,
                resources,
            };
            assert_eq!(on_pods(&parse(text)), expected, "{text}");
        }
    }
}
