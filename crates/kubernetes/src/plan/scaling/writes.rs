//! The writes of one target at one tick: bounds and status in one request, and Events.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::Observed;
use super::bounds::{Ledger, Settled};
use super::events::{self, Telling};
use super::memory::Memory;
use super::owner::Owner;
use super::status::{Circumstances, Status};
use super::targets::Resolved;
use crate::annotations::{BOUNDS, SCALING_STATUS};
use crate::plan::{Operation, Purpose, Write};
use evenkeel_core::scaling::Mode;
use evenkeel_core::scaling::tracker::Report;

/// After this time without any measurement there is none to be waited for.
const BEGIN: SignedDuration = SignedDuration::from_mins(3);

/// Who plans, and when.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The time of the tick.
    pub now: Timestamp,
    /// The name of this replica.
    pub reporter: &'a str,
}

/// The writes that bring a target's object in line with what was decided, and those that tell of
/// it. `report` is that of this tick; without one a target stays as it is.
///
/// The plan of what the writes leave behind, at the same time, is empty.
#[must_use]
pub fn plan(
    observed: &Observed,
    resolved: &Resolved,
    report: Option<&Report>,
    memory: &mut Memory,
    context: &Context<'_>,
) -> Vec<Write> {
    let now = context.now;
    memory.begin(now);
    let Some(owner) = Owner::of(observed) else {
        return Vec::new();
    };
    if resolved.target.is_some() && report.is_none() {
        return Vec::new();
    }
    let settled = resolved
        .bounds
        .as_ref()
        .map(|ledger| settle(ledger, resolved, report, now));
    let record = resolved.bounds.as_ref().and_then(Ledger::record);
    let forgotten = settled.as_ref().is_some_and(Settled::forgets);
    let contested = resolved.is_contested();
    memory.see(record.filter(|_| !forgotten), contested);
    let held = owner.status().and_then(Status::from_annotation);
    let previous = memory.status.take().or_else(|| held.clone());
    let status = (resolved.mode != Mode::Off).then(|| {
        let circumstances = Circumstances {
            now,
            previous: previous.as_ref(),
            contester: memory.contester(),
            begins: memory.age(now) < BEGIN,
        };
        Status::of(resolved, report, &circumstances)
    });

    let mut telling = Telling::new(observed, owner, context, memory);
    let note = match report.filter(|_| resolved.mode == Mode::Floor && !contested) {
        Some(report) => report.decision.reason.clone(),
        None => events::put_back(resolved, now),
    };
    telling.floor(settled.as_ref().and_then(Settled::floor_change), &note);
    telling.recommendation(resolved, report);
    if let Some(status) = &status {
        telling.conditions(previous.as_ref(), status);
    }
    let events = telling.writes();

    let mut writes = Vec::new();
    let due = Due {
        owner,
        settled: settled.as_ref(),
        status: status.as_ref(),
        held: held.as_ref(),
    };
    writes.extend(due.write(&observed.namespace, memory, now));
    writes.extend(left_behind(observed, owner));
    memory.status = status;
    writes.extend(events);
    writes
}

fn settle(
    ledger: &Ledger,
    resolved: &Resolved,
    report: Option<&Report>,
    now: Timestamp,
) -> Settled {
    match report.filter(|_| resolved.mode == Mode::Floor && resolved.target.is_some()) {
        Some(report) => ledger.contribute(report.contribution, now),
        None => ledger.restore(),
    }
}

/// What an object is to have, beside what it has.
struct Due<'a> {
    owner: Owner<'a>,
    settled: Option<&'a Settled>,
    status: Option<&'a Status>,
    held: Option<&'a Status>,
}

impl Due<'_> {
    /// The one write that brings the object in line, if it is not.
    fn write(&self, namespace: &str, memory: &mut Memory, now: Timestamp) -> Option<Write> {
        let settled = self.settled.filter(|settled| settled.changes());
        let mut annotations = Map::new();
        if let Some(record) = settled.and_then(Settled::annotation) {
            annotations.insert(BOUNDS.to_owned(), record);
        }
        if let Some(status) = self.status(settled.is_some(), memory, now) {
            annotations.insert(SCALING_STATUS.to_owned(), status);
        }
        let fields = self.owner.kind.bounds_fields().zip(settled);
        let spec = fields
            .map(|(fields, settled)| settled.spec(fields))
            .unwrap_or_default();
        if annotations.is_empty() && spec.is_empty() {
            return None;
        }
        let purpose = match settled {
            Some(settled) if settled.is_urgent() => Purpose::ScalingBounds,
            Some(_) | None => Purpose::ScalingStatus,
        };
        patch(self.owner, namespace, purpose, (annotations, spec))
    }

    /// The status as the annotation is to have it; `None` where it stays.
    fn status(&self, bounds: bool, memory: &mut Memory, now: Timestamp) -> Option<Value> {
        let Some(status) = self.status else {
            memory.status_at = None;
            return self.owner.status().map(|_| Value::Null);
        };
        let at = *memory.status_at.get_or_insert(now);
        let with_bounds = bounds && self.held != Some(status);
        if !with_bounds && !status.is_due(self.held, at, now) {
            return None;
        }
        memory.status_at = Some(now);
        Some(Value::from(status.to_annotation()))
    }
}

/// The status on a workload that an HPA scales by now goes.
fn left_behind(observed: &Observed, owner: Owner<'_>) -> Option<Write> {
    let workload = Owner::workload(observed)?;
    if workload.kind == owner.kind || workload.status().is_none() {
        return None;
    }
    let annotations = Map::from_iter([(SCALING_STATUS.to_owned(), Value::Null)]);
    patch(
        workload,
        &observed.namespace,
        Purpose::ScalingStatus,
        (annotations, Map::new()),
    )
}

fn patch(
    owner: Owner<'_>,
    namespace: &str,
    purpose: Purpose,
    (annotations, spec): (Map<String, Value>, Map<String, Value>),
) -> Option<Write> {
    let mut patch = json!({
        "metadata": { "resourceVersion": owner.metadata.resource_version.as_deref()? }
    });
    if !annotations.is_empty() {
        patch["metadata"]["annotations"] = Value::Object(annotations);
    }
    if !spec.is_empty() {
        patch["spec"] = Value::Object(spec);
    }
    Some(Write {
        purpose,
        target: owner.object(namespace)?,
        operation: Operation::Merge(patch),
    })
}
