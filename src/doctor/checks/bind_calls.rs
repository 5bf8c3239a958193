//! Where kube-scheduler's choices go: it is to tell each of them, and then to bind by itself.

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::about;
use crate::doctor::DoctorFinding;
use evenkeel_service::metrics::exposition::Exposition;

pub(super) const NOTICES: &str = "extender-notices";

/// So many choices with the same bad end in a row are no accident.
const SEVERAL: f64 = 5.0;

/// A good end must be so many seconds older than the newest bad one to be of the past: an answering
/// and a notified replica see a binding at the same time.
const MARGIN: f64 = 60.0;

struct BadEnd {
    /// How many ended so in a row.
    in_a_row: f64,
    /// Seconds since a choice ended well, at any replica.
    well: Option<f64>,
}

pub(super) fn told(evidence: &Evidence<'_>) -> CheckFindings {
    let pages = evidence.pages(NOTICES, "whether kube-scheduler reports its choices")?;
    let unbound = ending(pages, "unbound").as_ref().map(not_bound);
    let untold = ending(pages, "untold").as_ref().map(not_told);
    let mut found: Vec<DoctorFinding> = unbound.into_iter().chain(untold).collect();
    if found.is_empty() {
        found.push(match since(pages, "told") {
            Some(_) => DoctorFinding::ok(NOTICES, "kube-scheduler reports which nodes it chooses"),
            None => DoctorFinding::ok(NOTICES, "no scored Pod has been bound yet"),
        });
    }
    Ok(found)
}

/// The replica with `end` for its newest choices, if no replica had a better end for as long.
fn ending(pages: &[(&str, Exposition)], end: &str) -> Option<BadEnd> {
    let well = since(pages, "told");
    pages.iter().find_map(|page| {
        let labels = [("end", end)];
        let in_a_row = page.1.sum("evenkeel_extender_choices_in_a_row", &labels)?;
        let last = since(std::slice::from_ref(page), end)?;
        let is_past = well.is_none_or(|well| well > last + MARGIN);
        (in_a_row >= SEVERAL && is_past).then_some(BadEnd { in_a_row, well })
    })
}

/// Seconds since a choice ended so, at the replica where it is the shortest.
fn since(pages: &[(&str, Exposition)], end: &str) -> Option<f64> {
    let labels = [("end", end)];
    let name = "evenkeel_extender_seconds_since_last_choice";
    let pages = pages.iter();
    pages
        .flat_map(|(_, page)| page.values(name, &labels))
        .filter(|seconds| *seconds >= 0.0)
        .min_by(f64::total_cmp)
}

fn ago(well: Option<f64>) -> String {
    well.map_or_else(
        || "none since the replicas started".to_owned(),
        |seconds| {
            let ago = about(jiff::SignedDuration::from_secs_f64(seconds));
            format!("the last one {ago} ago")
        },
    )
}

fn not_told(end: &BadEnd) -> DoctorFinding {
    let BadEnd { in_a_row, well } = end;
    DoctorFinding::warning(
        NOTICES,
        format!(
            "kube-scheduler does not report which nodes it chooses: it bound the last {in_a_row} \
             scored Pods without a bind call (bind calls: {}); until it does, each Pod counts on \
             its best-scored node",
            ago(*well)
        ),
        "add `bindVerb: bind` and `preemptVerb: preempt` to the extender in every kube-scheduler's \
         configuration, as evenkeel certs scheduler-config prints it, unless another extender \
         binds; if they are set, its log says why the bind call fails",
    )
}

fn not_bound(end: &BadEnd) -> DoctorFinding {
    let BadEnd { in_a_row, well } = end;
    DoctorFinding::error(
        NOTICES,
        format!(
            "kube-scheduler reported its last {in_a_row} choices and bound none of these Pods \
             (reported and bound: {})",
            ago(*well)
        ),
        "set `ignorable: true` for the extender in every kube-scheduler's configuration, as \
         evenkeel certs scheduler-config prints it: Evenkeel answers bind with an error, so that \
         kube-scheduler binds by itself; if it is set, kubectl get events -A --field-selector \
         reason=FailedScheduling says why binding fails",
    )
}
