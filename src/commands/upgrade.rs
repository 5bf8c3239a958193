//! `evenkeel upgrade --check`: what applying the manifests would change in a cluster.

mod live_objects;

use std::io::{self, Write};

use anyhow::Context as _;
use comfy_table::Cell;
use evenkeel_manifests::changed_fields;
use evenkeel_units::words;
use serde::Serialize;
use serde_json::Value;

use super::install::ManifestArgs;
use evenkeel_service::uninstall::{InventoryObjectRef, ListFailure};
use evenkeel_terminal::cluster_args::ClusterArgs;
use evenkeel_terminal::output;
use evenkeel_terminal::output::{CliFailure, Format, Report, Style, fit_to_width};
use evenkeel_terminal::runtime::runtime;
use live_objects::{LiveObjects, names};

const EXAMPLES: &str = "\
Examples:
  evenkeel upgrade --check
  evenkeel upgrade --check --with cert-manager --set metrics.source=metrics-api
  evenkeel upgrade --check -o json | jq '.objects[] | select(.change != \"unchanged\")'

Give the options that you give to evenkeel install. It reads the objects from the cluster and compares the fields that
the manifests set; it changes nothing. kubectl apply deletes nothing: delete objects that are no longer shipped yourself.

Exit codes:
  0  nothing would change
  1  something would change, or the cluster cannot be reached
  2  the command line or the configuration is wrong";

const NAMED_FIELDS: usize = 3;

/// Show what evenkeel install | kubectl apply would change in a cluster
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Only compare, and change nothing; this command does nothing else
    #[arg(long, required = true)]
    check: bool,

    #[command(flatten)]
    manifests: ManifestArgs,

    #[command(flatten)]
    cluster: ClusterArgs,

    /// Output format
    #[arg(long, short, value_enum, default_value_t, value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, Serialize)]
struct UpgradeReport {
    objects: Vec<ComparedObject>,
    /// Kinds that could not be listed; their objects are not compared.
    unseen: Vec<ListFailure>,
}

#[derive(Debug, Serialize)]
struct ComparedObject {
    change: ManifestChange,
    #[serde(flatten)]
    object: InventoryObjectRef,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
}

words! {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    enum ManifestChange {
        New = "new",
        Changed = "changed",
        Unchanged = "unchanged",
        NoLongerShipped = "no longer shipped",
    }
}

pub(super) fn run(args: &Args) -> Result<(), CliFailure> {
    let Args {
        check: _,
        manifests,
        cluster,
        output,
    } = args;
    let shipped = manifests.objects(&cluster.namespace)?;
    let live = runtime()?.block_on(async {
        let client = cluster.connect().await.map_err(CliFailure::Call)?;
        let version = client.apiserver_version().await;
        version
            .context("the API server cannot be reached")
            .map_err(CliFailure::Work)?;
        Ok::<_, CliFailure>(LiveObjects::read(&client, &cluster.namespace, &shipped).await)
    })?;
    let comparison = compare(&shipped, live);
    output::print(&comparison, *output)?;
    comparison.verdict()
}

fn compare(shipped: &[Value], mut live: LiveObjects) -> UpgradeReport {
    let mut objects = Vec::new();
    for desired in shipped {
        let object = names(desired);
        let there = live.objects.remove(&object);
        if live.unseen_kinds.contains(&object.kind) {
            continue;
        }
        let (change, fields) = match there {
            None => (ManifestChange::New, Vec::new()),
            Some(there) => {
                let fields = changed_fields(desired, &there);
                let is_same = fields.is_empty();
                (
                    if is_same {
                        ManifestChange::Unchanged
                    } else {
                        ManifestChange::Changed
                    },
                    fields,
                )
            }
        };
        objects.push(ComparedObject {
            change,
            object,
            fields,
        });
    }
    // If only a part of a kind has been read, its objects are not reported.
    let (unseen_kinds, left) = (live.unseen_kinds, live.objects.into_keys());
    let left = left.filter(|object| !unseen_kinds.contains(&object.kind));
    let gone = left.map(|object| ComparedObject {
        change: ManifestChange::NoLongerShipped,
        object,
        fields: Vec::new(),
    });
    objects.extend(gone);
    UpgradeReport {
        objects,
        unseen: live.unseen,
    }
}

impl UpgradeReport {
    fn count(&self, change: ManifestChange) -> usize {
        let same = |object: &&ComparedObject| object.change == change;
        self.objects.iter().filter(same).count()
    }

    fn verdict(&self) -> Result<(), CliFailure> {
        let differing = self.objects.len() - self.count(ManifestChange::Unchanged);
        match (differing, self.unseen.len()) {
            (0, 0) => Ok(()),
            (0, _) => Err(CliFailure::work("not all objects could be compared")),
            (1, _) => Err(CliFailure::work("1 object differs")),
            (several, _) => Err(CliFailure::work(format_args!("{several} objects differ"))),
        }
    }
}

impl Report for UpgradeReport {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let mut table = style.table(["CHANGE", "OBJECT", "FIELDS"].map(Cell::new));
        for compared in &self.objects {
            let InventoryObjectRef {
                kind,
                namespace,
                name,
            } = &compared.object;
            let place = namespace
                .as_ref()
                .map_or(String::new(), |place| format!("{place}/"));
            let change = Cell::new(compared.change.as_str());
            table.add_row([
                match compared.change {
                    ManifestChange::Unchanged => change,
                    ManifestChange::New
                    | ManifestChange::Changed
                    | ManifestChange::NoLongerShipped => style.bold(change),
                },
                Cell::new(format!("{kind} {place}{name}")),
                Cell::new(few(&compared.fields)),
            ]);
        }
        writeln!(to, "{}", fit_to_width(&table))?;
        let counts =
            ManifestChange::ALL.map(|change| format!("{} {}", self.count(change), change.as_str()));
        writeln!(to, "\n{}", counts.join(", "))?;
        for ListFailure { what, why } in &self.unseen {
            writeln!(to, "not compared: {what}: {why}")?;
        }
        Ok(())
    }
}

/// The first fields, a line each, and how many more there are.
fn few(fields: &[String]) -> String {
    let mut lines: Vec<String> = fields.iter().take(NAMED_FIELDS).cloned().collect();
    if let Some(more) = fields
        .len()
        .checked_sub(NAMED_FIELDS)
        .filter(|more| *more > 0)
    {
        lines.push(format!("and {more} more (-o json)"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_told_of_a_kind_of_which_a_part_could_not_be_read() {
        let object = |kind: &str, name: &str| json!({"kind": kind, "metadata": {"name": name}});
        let shipped = [object("ClusterRole", "evenkeel"), object("Secret", "a")];
        let there = [&shipped[0], &shipped[1], &object("ClusterRole", "other")];
        let live = LiveObjects {
            objects: there.map(|one| (names(one), one.clone())).into(),
            unseen: Vec::new(),
            unseen_kinds: ["ClusterRole".to_owned()].into(),
        };
        let comparison = compare(&shipped, live);
        let told = comparison.objects.iter();
        let told: Vec<_> = told.map(|one| (&*one.object.kind, one.change)).collect();
        assert_eq!(told, [("Secret", ManifestChange::Unchanged)]);
    }
}
