//! The life of a resize, from the decision to its end. The Pod itself shows its stage, so a new
//! leader continues. A decision becomes a record on the Pod ([`begin`]), and the record becomes the
//! resize ([`follow`]). A resize that kubelet has not done is reported and later withdrawn. If
//! tuning is switched off, Evenkeel undoes the resize.

mod context;
mod events;
mod memory_rescue;
mod partial_resize;
mod status;
mod workload;

use evenkeel_objects::plan::write::{Purpose, Write};
use evenkeel_objects::tuning_mode::TuningMode;
use jiff::{SignedDuration, Timestamp};

use super::resize::{ResizeRefusal, annotate, check, own, put_back, record, resize, withdraw};
use crate::resizable_pod::{ResizablePod, ResizePhase};
use crate::resize_record::{ContainerValues, RefusedRecord, ResizeRecord, Resizer};

pub use context::TuningContext;
pub use events::PodResizeEvent;
use memory_rescue::{is_rescue, rescue};
use partial_resize::portion;
pub use status::{PendingResize, TunedContainer, TuningStatus};
pub use workload::{TunedWorkload, scaled_by, scaled_by_metrics};

/// The time for which a record waits for its resize to be written: the API server may refuse it.
const UNASKED: SignedDuration = SignedDuration::from_mins(2);

#[derive(Debug, Default, PartialEq)]
pub struct PodResizePlan {
    pub writes: Vec<Write>,
    /// The news about its resize, if there is any.
    pub told: Option<PodResizeEvent>,
    /// The resize that is under way, with its age.
    pub pending: Option<PendingResize>,
}

impl PodResizePlan {
    fn of(write: Option<Write>) -> Self {
        Self {
            writes: write.into_iter().collect(),
            ..Self::default()
        }
    }

    fn telling(
        mut self,
        pod: &ResizablePod,
        told: PodResizeEvent,
        context: &TuningContext<'_>,
    ) -> Self {
        self.writes.push(told.event(pod, context));
        self.told = Some(told);
        self
    }
}

/// Begins a resize of as much as is asked for at once: the write of its record.
///
/// # Errors
/// The Pod is not resized, and why.
pub fn begin(
    pod: &ResizablePod,
    changes: &ContainerValues,
    context: &TuningContext<'_>,
) -> Result<Option<Write>, ResizeRefusal> {
    own(pod, Resizer::Tuning)?;
    let changes = check(pod, &portion(pod, changes, context.now)?, context.rules)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let record = record(pod, Resizer::Tuning, &changes, context.now)?;
    Ok(annotate(pod, Some(&record), Purpose::Resize))
}

pub fn follow(pod: &ResizablePod, context: &TuningContext<'_>) -> PodResizePlan {
    if context.mode != TuningMode::On || pod.is_skipped {
        return undo(pod, context);
    }
    match own(pod, Resizer::Tuning) {
        Ok(None)
        | Err(ResizeRefusal::ResizedOtherwise | ResizeRefusal::Record(RefusedRecord::Foreign)) => {
            PodResizePlan::default()
        }
        Ok(Some(record)) => match rescue(pod, record, context) {
            Some(rescue) => PodResizePlan::of(annotate(pod, Some(&rescue), Purpose::Resize))
                .telling(pod, PodResizeEvent::MemoryPutBack, context),
            None if record.is_done(&pod.values()) => done(pod, record, context),
            None => ask(pod, record, context),
        },
        Err(refusal) => leave(pod, refusal, context),
    }
}

/// Leaves a Pod alone for its lifetime because another writer has changed it: nothing is decided or
/// put back. An unreadable record stays for the version that wrote it.
fn leave(pod: &ResizablePod, refusal: ResizeRefusal, context: &TuningContext<'_>) -> PodResizePlan {
    if let Some(stands) = stands_partly(pod) {
        return PodResizePlan::of(annotate(pod, Some(&stands), Purpose::Resize));
    }
    let left = match &pod.record {
        Some(Ok(record)) if record.marks.left => return PodResizePlan::default(),
        Some(Ok(record)) => {
            let mut left = record.clone();
            left.marks.left = true;
            annotate(pod, Some(&left), Purpose::Resize)
        }
        _ => None,
    };
    PodResizePlan::of(left).telling(pod, PodResizeEvent::LeftAlone(refusal), context)
}

/// The record of a Pod that was partly put back and is tuned again: its present values are the
/// start, and its original values are kept.
fn stands_partly(pod: &ResizablePod) -> Option<ResizeRecord> {
    let record = pod.record.as_ref()?.as_ref().ok()?;
    let asked = pod.values();
    if record.marks.left || !record.is_partly_put_back(&asked) {
        return None;
    }
    let mut stands = asked;
    stands.retain(|name, _| record.original.contains_key(name));
    Some(ResizeRecord {
        from: stands.clone(),
        to: stands,
        ..ResizeRecord::clone(record)
    })
}

pub fn undo(pod: &ResizablePod, context: &TuningContext<'_>) -> PodResizePlan {
    if !pod.is_resized_by(Resizer::Tuning) {
        return PodResizePlan::default();
    }
    let write = match put_back(pod, context.rules, Purpose::Resize) {
        Ok(write) => write,
        Err(refusal) => {
            return PodResizePlan::default().telling(
                pod,
                PodResizeEvent::NotPutBack(refusal),
                context,
            );
        }
    };
    let is_resize = write
        .as_ref()
        .is_some_and(|write| write.target.subresource.is_some());
    let followed = PodResizePlan::of(write);
    if is_resize {
        followed.telling(pod, PodResizeEvent::PutBack, context)
    } else {
        followed
    }
}

/// The containers are asked to have what was decided: kubelet does it, or is waited for.
fn done(pod: &ResizablePod, record: &ResizeRecord, context: &TuningContext<'_>) -> PodResizePlan {
    let Some(under_way) = &pod.resize else {
        return PodResizePlan::of(settle(pod, record));
    };
    let since = since(under_way.since, record.at, context);
    let age = context.now.duration_since(since);
    let pending = PendingResize {
        pod: pod.name.to_string(),
        phase: under_way.phase.as_str().into(),
        since,
        message: under_way.message.to_string(),
    };
    let may_go = record.from != record.to && !record.marks.withdrawn && !is_rescue(record, context);
    let may_go = may_go && age >= context.withdraw_after;
    let mut followed = if may_go {
        take_back(pod, record, under_way.phase, context)
    } else if is_told(under_way.phase) {
        let told = PodResizeEvent::UnderWay(pending.clone());
        PodResizePlan::default().telling(pod, told, context)
    } else {
        PodResizePlan::default()
    };
    followed.pending = Some(pending);
    followed
}

/// Kubelet has done it: the change counts as no longer failed, and if the original values stand
/// again with nothing to remember, the record goes.
fn settle(pod: &ResizablePod, record: &ResizeRecord) -> Option<Write> {
    let marks = if record.marks.withdrawn {
        record.marks.clone()
    } else {
        record.marks.after_success(&record.from, &record.to)
    };
    let is_over = record.is_put_back(&pod.values()) && marks.is_nothing();
    let settled = ResizeRecord {
        marks,
        ..record.clone()
    };
    annotate(pod, (!is_over).then_some(&settled), Purpose::Resize)
}

/// Since when a resize waits: since kubelet reports it, or since the decision. A decision in the
/// future was dated by a wrong clock; without other data, it has waited long enough.
fn since(told: Option<Timestamp>, decided: Timestamp, context: &TuningContext<'_>) -> Timestamp {
    let decided = Some(decided).filter(|at| context.now.duration_since(*at) > -UNASKED);
    let long_ago = context.now.checked_sub(context.withdraw_after);
    told.max(decided)
        .unwrap_or_else(|| long_ago.unwrap_or(context.now))
}

/// True for what a user would want to know of before it is withdrawn.
const fn is_told(phase: ResizePhase) -> bool {
    matches!(
        phase,
        ResizePhase::Deferred | ResizePhase::Infeasible | ResizePhase::Error
    )
}

/// Withdraws a resize: what the containers have is asked for again. The record says so first.
fn take_back(
    pod: &ResizablePod,
    record: &ResizeRecord,
    phase: ResizePhase,
    context: &TuningContext<'_>,
) -> PodResizePlan {
    let mut back = ResizeRecord {
        by: record.by,
        original: record.original.clone(),
        from: record.to.clone(),
        to: record.from.clone(),
        marks: record.marks.clone(),
        at: context.now,
    };
    back.marks.withdrawn = true;
    back.marks.fail(&record.from, &record.to, context.now);
    let told = PodResizeEvent::Withdrawn(phase, context.withdraw_after);
    PodResizePlan::of(annotate(pod, Some(&back), Purpose::Resize)).telling(pod, told, context)
}

/// The record is there; the resize is to be written, also over one that was withdrawn.
fn ask(pod: &ResizablePod, record: &ResizeRecord, context: &TuningContext<'_>) -> PodResizePlan {
    let write = if pod.resize.is_some() {
        withdraw(pod, &record.to, context.rules, Purpose::Resize)
    } else {
        resize(pod, &record.to, context.rules, Purpose::Resize)
    };
    let waited = context.now.duration_since(record.at);
    match write {
        Ok(Some(write)) if waited.abs() < UNASKED => PodResizePlan::of(Some(write)).telling(
            pod,
            PodResizeEvent::Resized(record.clone()),
            context,
        ),
        // The API server has refused it, or the rules leave nothing of it: the present values stay.
        Ok(_) => give_up(pod, record, PodResizeEvent::Refused(None), context),
        Err(refusal) => give_up(pod, record, PodResizeEvent::Refused(Some(refusal)), context),
    }
}

/// Gives up a resize that cannot be asked for: the record gets the Pod's values and the failure.
fn give_up(
    pod: &ResizablePod,
    record: &ResizeRecord,
    told: PodResizeEvent,
    context: &TuningContext<'_>,
) -> PodResizePlan {
    let mut stands = ResizeRecord {
        to: record.from.clone(),
        ..record.clone()
    };
    stands.marks.fail(&record.from, &record.to, context.now);
    PodResizePlan::of(annotate(pod, Some(&stands), Purpose::Resize)).telling(pod, told, context)
}

#[cfg(test)]
mod tests;
