//! The part of a decision to ask for at once: raises before cuts, and cuts of cpu apart from
//! memory. Kubelet does all of a resize or nothing: a memory limit that it cannot lower would keep
//! the cpu from growing.

use evenkeel_units::cpu_memory::CpuMemory;
use jiff::Timestamp;

use crate::resizable_pod::ResizablePod;
use crate::resize::ResizeRefusal;
use crate::resize_record::{ContainerValues, Marks, ResizeKind, change, changes};

/// The values that are asked for now, of those that are wanted.
///
/// # Errors
/// All kinds of change among them have failed and rest.
pub(super) fn portion(
    pod: &ResizablePod,
    wanted: &ContainerValues,
    now: Timestamp,
) -> Result<ContainerValues, ResizeRefusal> {
    let has = pod.values();
    let record = pod.record.as_ref().and_then(|record| record.as_ref().ok());
    let none = Marks::default();
    let marks = record.map_or(&none, |record| &record.marks);
    let all = changes(&has, wanted);
    let rest = |kind: &ResizeKind| marks.rests_until(*kind, now);
    let may: Vec<ResizeKind> = all
        .iter()
        .copied()
        .filter(|kind| rest(kind).is_none())
        .collect();
    let last = record.map(|record| changes(&record.from, &record.to));
    let was_last = |kind: ResizeKind| last.as_ref().is_some_and(|last| last.contains(&kind));
    let chosen = match may[..] {
        [] => {
            let until = all.iter().filter_map(rest).min();
            return until.map_or_else(
                || Ok(ContainerValues::new()),
                |until| Err(ResizeRefusal::Rests(until)),
            );
        }
        [one] => one,
        [ResizeKind::Raise, ..] => ResizeKind::Raise,
        // Each kind of cut has its turn.
        _ if was_last(ResizeKind::MemoryCut) => ResizeKind::CpuCut,
        _ => ResizeKind::MemoryCut,
    };
    let parts = wanted.iter().filter_map(|(name, wanted)| {
        let has = *has.get(name)?;
        let values = CpuMemory::from_fn(|resource| {
            let (before, after) = (has[resource], wanted[resource]);
            let is_chosen = change(resource, before, after) == Some(chosen);
            if is_chosen { after } else { before }
        });
        (values != has).then(|| (name.clone(), values))
    });
    Ok(parts.collect())
}
