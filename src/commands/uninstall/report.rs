//! The printed list of the objects that are left of an installation.

use std::io;
use std::io::Write;

use comfy_table::Cell;
use evenkeel_certificates::api_service;
use evenkeel_objects::bounds::ObjectBounds;
use evenkeel_objects::kinds::Kind;
use evenkeel_service::uninstall::{
    Inventory, InventoryObjectRef, ModifiedObject, UninstallOutcome,
};
use evenkeel_terminal::output::{CliFailure, Report, Style, fit_to_width};

use super::Leftovers;

/// Overlays that add objects to the base, with the kind (and, if needed, the name) of one.
const OVERLAYS: [(&str, &str, &str); 10] = [
    ("cert-manager", "Certificate", ""),
    ("prometheus-operator", "ServiceMonitor", ""),
    ("second-scheduler", "Deployment", "evenkeel-scheduler"),
    (
        "external-metrics",
        "ClusterRole",
        "evenkeel-external-metrics",
    ),
    (
        "metrics-provider",
        "ClusterRole",
        "evenkeel-metrics-provider",
    ),
    ("custom-kinds", "ClusterRole", "evenkeel-custom-kinds"),
    (
        "scale-in-balance",
        "ClusterRole",
        "evenkeel-scale-in-balance",
    ),
    (
        "replica-profiles",
        "ClusterRole",
        "evenkeel-replica-profiles",
    ),
    // With cgroupfs as well: its objects have the same names.
    ("node-agent", "ClusterRole", "evenkeel-agent"),
    ("in-place-tuning", "ClusterRole", "evenkeel-in-place-tuning"),
];

impl Leftovers {
    /// The command that deletes the objects of the installation, by the overlay that they are of.
    fn deletion(&self) -> String {
        let is_there = |kind: &str, name: &str| {
            let mut objects = self.inventory.objects.iter();
            objects.any(|one| one.kind == kind && (name.is_empty() || one.name == name))
        };
        let overlays = OVERLAYS.into_iter();
        let applied: Vec<&str> = overlays
            .filter(|(_, kind, name)| is_there(kind, name))
            .map(|(overlay, ..)| overlay)
            .collect();
        let installation = match *applied {
            [] => "kubectl delete -k deploy/".to_owned(),
            [overlay] => format!("kubectl delete -k deploy/overlays/{overlay}"),
            _ => format!(
                "kubectl delete -k FOLDER, the folder of your overlay with the components {}",
                applied.join(", ")
            ),
        };
        // First, since one that leads nowhere hampers the deletion of the namespace.
        let led = [api_service::EXTERNAL_METRICS, api_service::METRICS_PROVIDER];
        let led = led
            .into_iter()
            .filter(|name| is_there(Kind::ApiService.as_str(), name));
        let led: Vec<&str> = led.collect();
        if !led.is_empty() {
            return format!(
                "kubectl delete apiservice {}; {installation}",
                led.join(" ")
            );
        }
        installation
    }

    pub(super) fn verdict(&self) -> Result<(), CliFailure> {
        let Inventory {
            marks,
            objects,
            unseen,
            ..
        } = &self.inventory;
        if self.check {
            return match marks.len() + objects.len() {
                0 if unseen.is_empty() => Ok(()),
                0 => Err(CliFailure::work("not everything could be read")),
                1 => Err(CliFailure::work("1 thing is left")),
                left => Err(CliFailure::work(format_args!("{left} things are left"))),
            };
        }
        let stuck = marks.iter().filter(|mark| is_stuck(mark)).count();
        match (stuck, unseen.len()) {
            (0, 0) => Ok(()),
            (0, _) => Err(CliFailure::work("not everything could be read")),
            (1, _) => Err(CliFailure::work("1 object could not be put back")),
            (stuck, _) => Err(CliFailure::work(format_args!(
                "{stuck} objects could not be put back"
            ))),
        }
    }
}

fn is_stuck(mark: &ModifiedObject) -> bool {
    use UninstallOutcome::{Failed, LeftAlone, Refused};
    matches!(mark.outcome, Some(LeftAlone | Failed(_) | Refused(_)))
}

fn lines(mark: &ModifiedObject) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(user), Some(now)) = (mark.user_bounds, mark.bounds_now) {
        let what = if now.is_count() { "replicas" } else { "bounds" };
        lines.push(format!("{what} {}, the user's {}", range(now), range(user)));
    }
    if let Some(damaged) = &mark.damaged {
        lines.push(damaged.clone());
    }
    lines.extend(
        mark.annotations
            .iter()
            .map(|key| format!("annotation {key}")),
    );
    lines.extend(mark.label.map(|key| format!("label {key}")));
    lines.extend(
        mark.shut_gate
            .map(|key| format!("readiness gate {key}, not open")),
    );
    lines.extend(mark.taints.iter().map(|taint| format!("taint {taint}")));
    lines.extend(mark.score_labels.iter().map(|key| format!("label {key}")));
    lines
}

/// Action that was taken, or is to be taken.
fn next(mark: &ModifiedObject) -> String {
    match &mark.outcome {
        Some(UninstallOutcome::Restored) if mark.user_bounds.is_some() => {
            let is_count = mark.bounds_now.is_some_and(ObjectBounds::is_count);
            let what = if is_count { "replicas" } else { "bounds" };
            format!("{what} put back, annotations removed")
        }
        Some(UninstallOutcome::Restored) => "taken away".to_owned(),
        Some(UninstallOutcome::Gone) => "gone already".to_owned(),
        Some(UninstallOutcome::Failed(error)) => format!("failed: {error}"),
        Some(UninstallOutcome::Refused(error)) => format!("refused: {error}"),
        Some(UninstallOutcome::LeftAlone) => by_hand(mark),
        None if mark.damaged.is_some() => by_hand(mark),
        None => "evenkeel uninstall".to_owned(),
    }
}

fn by_hand(mark: &ModifiedObject) -> String {
    let InventoryObjectRef {
        kind,
        namespace,
        name,
    } = &mark.object;
    let place = namespace
        .as_ref()
        .map_or(String::new(), |namespace| format!(" -n {namespace}"));
    format!(
        "left alone: set the bounds by hand, then kubectl{place} annotate {} {name} {}-",
        kind.to_lowercase(),
        evenkeel_objects::annotations::BOUNDS
    )
}

fn range(bounds: ObjectBounds) -> String {
    let min = bounds.min.map_or("unset".to_owned(), |min| min.to_string());
    if bounds.is_count() {
        return min;
    }
    format!("{min} to {}", bounds.max)
}

impl Report for Leftovers {
    fn print(&self, to: &mut dyn Write, style: Style) -> io::Result<()> {
        let Inventory {
            marks,
            objects,
            yours,
            unseen,
        } = &self.inventory;
        match (self.inventory.is_clean(), self.expired) {
            (true, false) => writeln!(to, "Nothing is left of Evenkeel.")?,
            (true, true) => writeln!(to, "Nothing was put back.")?,
            (false, _) => {}
        }
        if !marks.is_empty() {
            let last = if self.check { "REMOVED BY" } else { "DONE" };
            let mut table = style.table(["OBJECT", "LEFT ON IT", last].map(Cell::new));
            for mark in marks {
                let next = Cell::new(next(mark));
                let stuck = is_stuck(mark) || mark.damaged.is_some();
                table.add_row([
                    Cell::new(&mark.object),
                    Cell::new(lines(mark).join("\n")),
                    if stuck { style.bad(next) } else { next },
                ]);
            }
            writeln!(to, "{}\n", fit_to_width(&table))?;
        }
        if !objects.is_empty() {
            writeln!(to, "{}", style.emphasis("Objects of the installation:"))?;
            for object in objects {
                writeln!(to, "  {object}")?;
            }
            writeln!(to)?;
        }
        for blind in unseen {
            writeln!(to, "Not read: {}: {}", blind.what, blind.why)?;
        }
        if !yours.is_empty() {
            writeln!(to, "Your own annotations, which stay:")?;
        }
        for yours in yours {
            writeln!(to, "  {}: {}", yours.object, yours.annotations.join(", "))?;
        }
        if !objects.is_empty() {
            writeln!(
                to,
                "To delete the objects of the installation: {}",
                self.deletion()
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The harm: what no folder that is named holds stays, such as the rights to custom resources.
    #[test]
    fn each_overlay_that_adds_objects_is_named_for_its_deletion() {
        for (overlay, kind, name) in OVERLAYS {
            let object = InventoryObjectRef {
                kind: kind.to_owned(),
                namespace: None,
                name: name.to_owned(),
            };
            let left = Leftovers {
                check: true,
                expired: false,
                inventory: Inventory {
                    objects: vec![object],
                    ..Inventory::default()
                },
            };
            let folder = format!("deploy/overlays/{overlay}");
            assert_eq!(left.deletion(), format!("kubectl delete -k {folder}"));
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
            assert!(root.join(&folder).is_dir(), "{folder}");
        }
        let named: Vec<_> = OVERLAYS.iter().map(|(overlay, ..)| *overlay).collect();
        assert!(named.contains(&"custom-kinds"), "{named:?}");
    }
}
