//! Memory for containers that were killed for want of it below what they were made with, or do not start there:
//! they get that back at once, and keep it.
//!
//! Nothing else would: what does not run is not measured, and without samples nothing is decided.

use super::context::Context;
use crate::plan::resize::withdraw;
use crate::plan::write::Purpose;
use crate::resizable_pod::{ResizableContainer, ResizablePod};
use crate::resize_record::{Change, ContainerValues, ResizeRecord};

/// The record of what gives such containers their memory back; `None` where there is none of them, it is asked
/// for already, or cannot be.
pub(super) fn rescue(
    pod: &ResizablePod,
    record: &ResizeRecord,
    context: &Context<'_>,
) -> Option<ResizeRecord> {
    let mut from = pod.values();
    from.retain(|name, _| record.original.contains_key(name));
    let mut to = from.clone();
    let mut marks = record.marks.clone();
    marks.withdrawn = false;
    for container in pod.containers.iter().filter(|one| lacks(record, one)) {
        let (name, original) = (&container.name, record.original.get(&container.name)?);
        marks.lacked.insert(name.clone());
        to.entry(name.clone())
            .and_modify(|values| values.memory = original.memory);
    }
    let is_news = to != record.to && to != from;
    if !is_news || marks.rests_until(Change::Raise, context.now).is_some() {
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

/// True for a container that lacks memory while it has less than it was made with.
fn lacks(record: &ResizeRecord, container: &ResizableContainer) -> bool {
    let original = record.original.get(&container.name);
    let is_lowered = original
        .is_some_and(|original| is_below(container.values.memory.limit, original.memory.limit));
    is_lowered && (container.lacks_memory || record.marks.lacked.contains(&container.name))
}

/// True for a record that gives a container its memory back, which is not withdrawn however long it takes.
pub(super) fn is_rescue(record: &ResizeRecord) -> bool {
    let memory =
        |all: &ContainerValues, name: &str| all.get(name).and_then(|values| values.memory.limit);
    let mut lacked = record.marks.lacked.iter();
    lacked.any(|name| {
        let original = memory(&record.original, name);
        memory(&record.to, name) == original && is_below(memory(&record.from, name), original)
    })
}

fn is_below<T: PartialOrd>(one: Option<T>, other: Option<T>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one < other)
}
