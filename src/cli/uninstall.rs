//! `evenkeel uninstall`: takes back Evenkeel's writes on objects of others, and lists its own
//! objects in the cluster.

use std::io::{self, Write};

use anyhow::Context as _;
use comfy_table::{Cell, ContentArrangement};
use kube::Client;
use serde::Serialize;

use super::connect::Cluster;
use super::output::{self, Failure, Format, Report, Style};
use super::settings::ConfigArgs;
use crate::config::{Config, Writes};
use crate::uninstall::{self, Extent, Inventory, Mark, Object, Outcome};
use evenkeel_clock as clock;
use evenkeel_core::scaling::ObjectBounds;

const EXAMPLES: &str = "\
Examples:
  evenkeel uninstall --check                     what is left of Evenkeel; exit code 1 if anything is
  kubectl -n evenkeel-system scale deploy/evenkeel --replicas=0
  evenkeel uninstall                             put bounds back, take annotations and labels away
  kubectl delete -k deploy/
  evenkeel uninstall --expired                   put back bounds that nobody has held for an hour

Bounds of HPAs and ScaledObjects become the user's again, later edits of them included. Annotations
that you wrote yourself, such as evenkeel.dev/enabled, are shown and stay. Pods keep what admission
wrote on them until they are replaced; nothing reads it. It refuses while a leader holds the Lease,
since that would write anew what is taken back: scale the Deployment to 0. Under `writes: disabled` and
`writes: restore` it leads and writes nothing anew, so that --force is right there.
A record of bounds counts only where the API server says that Evenkeel wrote it and it makes sense; other
objects are named and left alone. --expired is what the CronJob evenkeel-restore runs: it writes on HPAs
and ScaledObjects alone, beside a leader too, and nothing while `writes: disabled` freezes everything.
Exit codes: 0 nothing is left to do for it (with --check: nothing is left at all); 1 something is left
that it could not take away, or the cluster cannot be reached; 2 the call is wrong.";

/// Take back what Evenkeel wrote on other objects, and show what is left of it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only look: list everything that is left, and change nothing
    #[arg(long)]
    check: bool,

    /// Write even while a leader holds the Lease
    #[arg(long, conflicts_with = "check")]
    force: bool,

    /// Only put back bounds that nobody has held for an hour, whoever leads
    #[arg(long, conflicts_with_all = ["check", "force"])]
    expired: bool,

    #[command(flatten)]
    cluster: Cluster,

    #[command(flatten)]
    config: ConfigArgs,

    /// Format of the findings
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

/// Everything of Evenkeel that is left in a cluster.
#[derive(Debug, Serialize)]
struct Leftovers {
    /// Nothing was changed: only looked at.
    check: bool,
    #[serde(flatten)]
    inventory: Inventory,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let left = runtime.block_on(Box::pin(look_and_act(args)))?;
    output::print(&left, args.output)?;
    left.verdict()
}

async fn look_and_act(args: &Args) -> Result<Leftovers, Failure> {
    let client = args.cluster.connect().await.map_err(Failure::Call)?;
    let version = client.apiserver_version().await;
    version
        .context("the API server cannot be reached")
        .map_err(Failure::Work)?;
    if args.expired {
        return expired(&client, args).await;
    }
    if !args.check {
        mind_leader(&client, args).await?;
    }
    let mut inventory = uninstall::gather(&client, &args.cluster.namespace, clock::now()).await;
    if !args.check {
        restore(&client, &mut inventory, Extent::All).await;
    }
    Ok(Leftovers {
        check: args.check,
        inventory,
    })
}

/// Puts back what nobody holds any more, unless the kill switch freezes it.
async fn expired(client: &Client, args: &Args) -> Result<Leftovers, Failure> {
    let (writes, refused) = Config::switch(&args.config.clone().sources([]));
    if let Some(error) = refused {
        output::warn(&format!(
            "{error}; this needs of the configuration only whether writes are disabled, and goes on"
        ));
    }
    let inventory = if writes == Writes::Disabled {
        output::warn("writes are disabled: nothing is put back");
        Inventory::default()
    } else {
        let mut lapsed = uninstall::lapsed(client, clock::now()).await;
        restore(client, &mut lapsed, Extent::Lapsed).await;
        lapsed
    };
    Ok(Leftovers {
        check: false,
        inventory,
    })
}

async fn restore(client: &Client, inventory: &mut Inventory, extent: Extent) {
    for mark in &mut inventory.marks {
        let outcome = uninstall::restore(client, mark, extent, clock::now()).await;
        mark.outcome = Some(outcome);
    }
}

/// Refuses to write beside a leader; who writes all the same is told what becomes of it.
async fn mind_leader(client: &Client, args: &Args) -> Result<(), Failure> {
    let namespace = &args.cluster.namespace;
    let leader = uninstall::living_leader(client, namespace, clock::now()).await;
    if args.force {
        if let Ok(Some(leader)) = leader {
            output::warn(&format!(
                "{leader} leads and will write anew what is taken back now, until it is stopped"
            ));
        }
        return Ok(());
    }
    let leader = leader
        .context("the leader's Lease cannot be read")
        .map_err(Failure::Work)?;
    let Some(leader) = leader else { return Ok(()) };
    Err(Failure::work(format_args!(
        "{leader} leads and would write anew what is taken back; stop it first: \
         kubectl -n {namespace} scale deploy/evenkeel --replicas=0 \
         (--force writes all the same, as is right under `writes: disabled`)"
    )))
}

impl Leftovers {
    fn verdict(&self) -> Result<(), Failure> {
        let Inventory {
            marks,
            objects,
            unseen,
            ..
        } = &self.inventory;
        if self.check {
            return match marks.len() + objects.len() {
                0 if unseen.is_empty() => Ok(()),
                0 => Err(Failure::work("not everything could be looked at")),
                1 => Err(Failure::work("1 thing is left")),
                left => Err(Failure::work(format_args!("{left} things are left"))),
            };
        }
        let stuck = marks.iter().filter(|mark| mark.is_stuck()).count();
        match (stuck, unseen.len()) {
            (0, 0) => Ok(()),
            (0, _) => Err(Failure::work("not everything could be looked at")),
            (1, _) => Err(Failure::work("1 object could not be put back")),
            (stuck, _) => Err(Failure::work(format_args!(
                "{stuck} objects could not be put back"
            ))),
        }
    }
}

impl Mark {
    fn is_stuck(&self) -> bool {
        matches!(self.outcome, Some(Outcome::LeftAlone | Outcome::Failed(_)))
    }

    /// Evenkeel's marks on the object, a line each.
    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let (Some(user), Some(now)) = (self.user_bounds, self.bounds_now) {
            lines.push(format!("bounds {}, the user's {}", range(now), range(user)));
        }
        if let Some(damaged) = &self.damaged {
            lines.push(damaged.clone());
        }
        lines.extend(
            self.annotations
                .iter()
                .map(|key| format!("annotation {key}")),
        );
        lines.extend(self.label.map(|key| format!("label {key}")));
        lines
    }

    /// Action that was taken, or is to be taken.
    fn next(&self) -> String {
        match &self.outcome {
            Some(Outcome::Restored) if self.user_bounds.is_some() => {
                "bounds put back, annotations taken away".to_owned()
            }
            Some(Outcome::Restored) => "taken away".to_owned(),
            Some(Outcome::Gone) => "gone already".to_owned(),
            Some(Outcome::Failed(error)) => format!("failed: {error}"),
            Some(Outcome::LeftAlone) => self.by_hand(),
            None if self.damaged.is_some() => self.by_hand(),
            None => "evenkeel uninstall".to_owned(),
        }
    }

    fn by_hand(&self) -> String {
        let Object {
            kind,
            namespace,
            name,
        } = &self.object;
        let place = namespace
            .as_ref()
            .map_or(String::new(), |namespace| format!(" -n {namespace}"));
        format!(
            "left alone: set the bounds by hand, then kubectl{place} annotate {} {name} {}-",
            kind.to_lowercase(),
            evenkeel_kubernetes::annotations::BOUNDS
        )
    }
}

fn range(bounds: ObjectBounds) -> String {
    let min = bounds.min.map_or("unset".to_owned(), |min| min.to_string());
    format!("{min} to {}", bounds.max)
}

/// An object as people name it.
fn shown(object: &Object) -> String {
    let Object {
        kind,
        namespace,
        name,
    } = object;
    match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

impl Report for Leftovers {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let Inventory {
            marks,
            objects,
            yours,
            unseen,
        } = &self.inventory;
        if self.inventory.is_clean() {
            writeln!(to, "Nothing is left of Evenkeel.")?;
        }
        if !marks.is_empty() {
            let last = if self.check { "TAKEN AWAY BY" } else { "DONE" };
            let mut table = style.table(["OBJECT", "LEFT ON IT", last].map(Cell::new));
            table.set_content_arrangement(ContentArrangement::Dynamic);
            for mark in marks {
                let next = Cell::new(mark.next());
                let stuck = mark.is_stuck() || mark.damaged.is_some();
                table.add_row([
                    Cell::new(shown(&mark.object)),
                    Cell::new(mark.lines().join("\n")),
                    if stuck { style.bad(next) } else { next },
                ]);
            }
            writeln!(to, "{}\n", table.trim_fmt())?;
        }
        if !objects.is_empty() {
            writeln!(to, "{}", style.emphasis("Objects of the installation, for kubectl delete -k deploy/ (or the overlay that was applied):"))?;
            for object in objects {
                writeln!(to, "  {}", shown(object))?;
            }
            writeln!(to)?;
        }
        for blind in unseen {
            writeln!(to, "Not looked at: {}: {}", blind.what, blind.why)?;
        }
        if !yours.is_empty() {
            writeln!(to, "Annotations of your own, which stay:")?;
        }
        for yours in yours {
            writeln!(
                to,
                "  {}: {}",
                shown(&yours.object),
                yours.annotations.join(", ")
            )?;
        }
        Ok(())
    }
}
