//! Restores the original memory of containers that were killed for lack of it, or do not start with
//! less. A container that does not run has no samples, so tuning would decide nothing.

use evenkeel_objects::plan::write::Purpose;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::request_and_limit::RequestAndLimit;

use super::context::TuningContext;
use crate::resizable_pod::{ResizableContainer, ResizablePod};
use crate::resize::withdraw;
use crate::resize_record::{ContainerValues, ResizeKind, ResizeRecord};
use crate::tuning_policy::TuningPolicy;

/// The record that restores their memory; `None` if there are none, or it is already asked for, or
/// impossible.
pub(super) fn rescue(
    pod: &ResizablePod,
    record: &ResizeRecord,
    context: &TuningContext<'_>,
) -> Option<ResizeRecord> {
    let mut from = pod.values();
    from.retain(|name, _| record.original.contains_key(name));
    let mut to = from.clone();
    let mut marks = record.marks.clone();
    marks.withdrawn = false;
    let lacking = pod.containers.iter();
    for container in lacking.filter(|one| lacks(record, one, context)) {
        let (name, memory) = (&container.name, wanted(record, &container.name, context)?);
        marks.lacked.insert(name.clone());
        to.entry(name.clone())
            .and_modify(|values| values.memory = memory);
    }
    let is_news = to != record.to && to != from;
    // Why cpu could not grow says nothing about memory: only attempts for lack of memory rest.
    let was_tried = marks.lacked == record.marks.lacked;
    let rests = || marks.rests_until(ResizeKind::Raise, context.now).is_some();
    if !is_news || was_tried && rests() {
        return None;
    }
    let can_be_asked =
        withdraw(pod, &to, context.rules, Purpose::Resize).is_ok_and(|write| write.is_some());
    can_be_asked.then(|| ResizeRecord {
        by: record.by,
        original: record.original.clone(),
        from,
        to,
        marks,
        at: context.now,
    })
}

/// The memory that a container was made with, as far as its owner allows as much.
fn wanted(
    record: &ResizeRecord,
    name: &str,
    context: &TuningContext<'_>,
) -> Option<RequestAndLimit> {
    let RequestAndLimit { request, limit } = record.original.get(name)?.memory;
    let allowed = |policy: &TuningPolicy| policy.allowed(name, TunedResource::Memory).most;
    let most = context.policy.and_then(allowed);
    let within = |amount: Amount| most.map_or(amount, |most| amount.min(most));
    Some(RequestAndLimit {
        request: request.map(within),
        limit: limit.map(within),
    })
}

/// True for a container that lacks memory while it has less than it was made with.
fn lacks(
    record: &ResizeRecord,
    container: &ResizableContainer,
    context: &TuningContext<'_>,
) -> bool {
    let wanted = wanted(record, &container.name, context);
    let is_lowered =
        wanted.is_some_and(|wanted| is_below(container.values.memory.limit, wanted.limit));
    is_lowered && (container.lacks_memory || record.marks.lacked.contains(&container.name))
}

/// True for a record that restores a container's memory, which is never withdrawn for slowness.
pub(super) fn is_rescue(record: &ResizeRecord, context: &TuningContext<'_>) -> bool {
    let memory =
        |all: &ContainerValues, name: &str| all.get(name).and_then(|values| values.memory.limit);
    let mut lacked = record.marks.lacked.iter();
    lacked.any(|name| {
        let wanted = wanted(record, name, context).and_then(|wanted| wanted.limit);
        memory(&record.to, name) == wanted && is_below(memory(&record.from, name), wanted)
    })
}

fn is_below<T: PartialOrd>(one: Option<T>, other: Option<T>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one < other)
}
