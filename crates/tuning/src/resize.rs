//! The patch of a Pod's subresource `resize` for given resources, or the reason why there is none.
//! Tuning and standby Pods of staged replicas use it. The rules are those of the API server and
//! kubelet: the class of service stays, no absent value is added and no present value is removed.

mod refusal;

use evenkeel_objects::annotations::RESIZED;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use evenkeel_objects::qos_class::QosClass;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use evenkeel_units::request_and_limit::RequestAndLimit;
use jiff::Timestamp;
use serde_json::Value;

use crate::resizable_pod::{ContainerPlace, ResizablePod};
use crate::resize_record::{
    ContainerValues, Marks, RefusedRecord, ResizeRecord, Resizer, differences,
};

pub use refusal::ResizeRefusal;

/// The resizes that a cluster and the owner of a workload allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResizeRules {
    /// True where containers may be resized that are started anew for it.
    pub may_restart: bool,
    /// True if the API server accepts a lower memory limit of a running container (Kubernetes 1.34
    /// on). Otherwise that part of a resize is left out.
    pub may_lower_memory_limits: bool,
}

/// The values for containers, held to the rules, without those that change nothing.
///
/// # Errors
/// The Pod is not resized, and why.
pub fn check(
    pod: &ResizablePod,
    wanted: &ContainerValues,
    rules: ResizeRules,
) -> Result<ContainerValues, ResizeRefusal> {
    if let Some(obstacle) = pod.obstacle {
        return Err(obstacle.into());
    }
    if pod.is_skipped {
        return Err(ResizeRefusal::Skipped);
    }
    if let Some(resize) = &pod.resize {
        return Err(ResizeRefusal::UnderWay(resize.phase));
    }
    checked(pod, wanted, rules)
}

/// The same for a Pod with a resize under way that is to be withdrawn.
fn checked(
    pod: &ResizablePod,
    wanted: &ContainerValues,
    rules: ResizeRules,
) -> Result<ContainerValues, ResizeRefusal> {
    let mut changes = ContainerValues::new();
    for (name, wanted) in wanted {
        let container = pod.container(name);
        let container = container.ok_or_else(|| ResizeRefusal::NoSuchContainer(name.clone()))?;
        let before = container.values;
        let after = allowed(before, *wanted, rules, container.restarts);
        for (field, resource, amount) in differences(&before, &after) {
            let (container, of) = (name.clone(), container);
            if matches!(of.place, ContainerPlace::Init(_)) {
                return Err(ResizeRefusal::InitContainer(container));
            }
            if amount.is_none() || is_absent(&before[resource], field) {
                return Err(ResizeRefusal::Absent {
                    container,
                    field,
                    resource,
                });
            }
            if of.restarts[resource] && !rules.may_restart {
                return Err(ResizeRefusal::Restarts {
                    container,
                    resource,
                });
            }
        }
        above_limit(name, &after)?;
        if after != before {
            changes.insert(name.clone(), after);
        }
    }
    let (before, after) = (pod.class(), class_with(pod, &changes));
    if before != after {
        return Err(ResizeRefusal::ClassChanges(before, after));
    }
    Ok(changes)
}

/// The wanted values without lower memory limits that the API server would refuse. If the limit
/// stays, its request stays too.
fn allowed(
    before: CpuMemory<RequestAndLimit>,
    mut wanted: CpuMemory<RequestAndLimit>,
    rules: ResizeRules,
    restarts: CpuMemory<bool>,
) -> CpuMemory<RequestAndLimit> {
    let lowers = wanted.memory.limit < before.memory.limit;
    if lowers && !rules.may_lower_memory_limits && !restarts.memory {
        wanted.memory = before.memory;
    }
    wanted
}

fn is_absent(values: &RequestAndLimit, field: &str) -> bool {
    match field {
        "requests" => values.request.is_none(),
        _ => values.limit.is_none(),
    }
}

fn above_limit(container: &str, values: &CpuMemory<RequestAndLimit>) -> Result<(), ResizeRefusal> {
    for (resource, values) in values.iter() {
        if let RequestAndLimit {
            request: Some(request),
            limit: Some(limit),
        } = values
            && request > limit
        {
            return Err(ResizeRefusal::AboveLimit {
                container: container.into(),
                resource,
            });
        }
    }
    Ok(())
}

fn class_with(pod: &ResizablePod, changes: &ContainerValues) -> QosClass {
    QosClass::of(pod.containers.iter().map(|container| {
        let wanted = changes.get(&container.name);
        wanted.unwrap_or(&container.values)
    }))
}

/// The write that asks for these values; `None` where they are asked for already.
///
/// # Errors
/// The Pod is not resized, and why.
pub fn resize(
    pod: &ResizablePod,
    wanted: &ContainerValues,
    rules: ResizeRules,
    purpose: Purpose,
) -> Result<Option<Write>, ResizeRefusal> {
    let changes = check(pod, wanted, rules)?;
    Ok(patch(pod, &changes, purpose))
}

/// The write that withdraws a running resize: containers are asked for their former values.
///
/// # Errors
/// The Pod cannot be resized any more, and why.
pub fn withdraw(
    pod: &ResizablePod,
    before: &ContainerValues,
    rules: ResizeRules,
    purpose: Purpose,
) -> Result<Option<Write>, ResizeRefusal> {
    if let Some(obstacle) = pod.obstacle {
        return Err(obstacle.into());
    }
    // Containers that were allowed to start anew for the one way may for the other.
    let rules = ResizeRules {
        may_restart: true,
        ..rules
    };
    let changes = checked(pod, before, rules)?;
    Ok(patch(pod, &changes, purpose))
}

fn patch(pod: &ResizablePod, changes: &ContainerValues, purpose: Purpose) -> Option<Write> {
    let mut patch = of_version(pod);
    for (name, after) in changes {
        let container = pod.container(name)?;
        let (list, number) = container.place.path();
        let number = number.to_string();
        for (field, resource, amount) in differences(&container.values, after) {
            let value = ["spec", list, &number, "resources", field, resource.as_str()];
            patch.change(&value, true, text(resource, amount));
        }
    }
    if patch.is_empty() {
        return None;
    }
    let operation = WriteOperation::Conditional(patch);
    Some(Write::new(purpose, object(pod).resize(), operation))
}

fn text(resource: TunedResource, amount: Option<Amount>) -> Value {
    amount.map_or(Value::Null, |amount| {
        resource.quantity(amount).to_string().into()
    })
}

/// A patch of the Pod's exact version: it addresses containers by index, and kubelet writes little
/// else than what a resize is based on.
fn of_version(pod: &ResizablePod) -> ConditionalPatch {
    let mut patch = ConditionalPatch::of(&pod.metadata());
    let version = Value::from(&*pod.resource_version);
    patch.expect(&["metadata", "resourceVersion"], version);
    patch
}

/// The record of a resize to these values, on top of the one that stands.
///
/// # Errors
/// The record that stands is another resizer's, or the new one would be too long to be read.
pub fn record(
    pod: &ResizablePod,
    by: Resizer,
    changes: &ContainerValues,
    now: Timestamp,
) -> Result<ResizeRecord, ResizeRefusal> {
    let now_has = |name: &str| pod.container(name).map(|container| container.values);
    let (mut original, mut marks) = match own(pod, by)? {
        Some(standing) => (standing.original.clone(), standing.marks.clone()),
        None => (ContainerValues::new(), Marks::default()),
    };
    marks.withdrawn = false;
    for name in changes.keys() {
        if let Some(values) = now_has(name).filter(|_| !original.contains_key(name)) {
            original.insert(name.clone(), values);
        }
    }
    let names = original.keys();
    let from: ContainerValues = names
        .filter_map(|name| Some((name.clone(), now_has(name)?)))
        .collect();
    let mut to = from.clone();
    to.extend(changes.iter().map(|(name, values)| (name.clone(), *values)));
    let record = ResizeRecord {
        by,
        original,
        from,
        to,
        marks,
        at: now,
    };
    if record.is_too_long() {
        return Err(ResizeRefusal::TooManyContainers);
    }
    Ok(record)
}

/// The record, if it is this resizer's and matches the Pod's resources.
///
/// # Errors
/// The record is another resizer's or writer's, or unreadable, or the resources have changed since.
pub fn own(pod: &ResizablePod, by: Resizer) -> Result<Option<&ResizeRecord>, ResizeRefusal> {
    match &pod.record {
        None => Ok(None),
        Some(Err(refused)) => Err((*refused).into()),
        Some(Ok(record)) if record.by != by => Err(ResizeRefusal::ResizedOtherwise),
        Some(Ok(record)) if record.marks.left || !record.explains(&pod.values()) => {
            Err(ResizeRefusal::ChangedByOthers)
        }
        Some(Ok(record)) => Ok(Some(record)),
    }
}

/// The write of a record, or the one that takes it away; `None` where it stands so.
pub fn annotate(
    pod: &ResizablePod,
    record: Option<&ResizeRecord>,
    purpose: Purpose,
) -> Option<Write> {
    let found = pod.record.as_ref();
    let is_so = match (record, found) {
        (None, None) => true,
        (Some(record), Some(Ok(found))) => *record == **found,
        _ => false,
    };
    if is_so {
        return None;
    }
    let mut patch = of_version(pod);
    patch.annotate(RESIZED, found.is_some(), record.map(ToString::to_string));
    let operation = WriteOperation::Conditional(patch);
    Some(Write::new(purpose, object(pod), operation))
}

/// The write that restores a Pod's original resources, and later removes the record. If another
/// writer has resized the Pod since, only the record goes. Another writer's record stays, and so
/// does an unreadable one: the version that wrote it can use it.
///
/// # Errors
/// A value that cannot be asked for. The record stays, because it is the only memory of the
/// original values.
pub fn put_back(
    pod: &ResizablePod,
    rules: ResizeRules,
    purpose: Purpose,
) -> Result<Option<Write>, ResizeRefusal> {
    let record = match &pod.record {
        None | Some(Err(RefusedRecord::Foreign)) => return Ok(None),
        Some(Err(refused)) => return Err((*refused).into()),
        Some(Ok(record)) => record,
    };
    if !is_owed(record, pod) {
        return Ok(annotate(pod, None, purpose));
    }
    let resized = withdraw(pod, &record.original, rules, purpose)?;
    if resized.is_some() {
        return Ok(resized);
    }
    // Nothing else of what is to be asked for is left out.
    let left = pod.values().iter().find_map(|(name, values)| {
        let original = record.original.get(name)?;
        (original != values).then(|| name.clone())
    });
    Err(ResizeRefusal::MemoryLimitStays(left.unwrap_or_default()))
}

/// The record of a Pod that does not yet ask for its original resources. An obstacle may be gone in
/// a minute, so the Pod owes it as long as it exists.
pub fn owed(pod: &ResizablePod) -> Option<&ResizeRecord> {
    let record = pod.record.as_ref()?.as_ref().ok()?;
    is_owed(record, pod).then_some(record)
}

/// True where a Pod asks for other resources than it was made with, and only because of the record.
fn is_owed(record: &ResizeRecord, pod: &ResizablePod) -> bool {
    let asked = pod.values();
    let is_ours = record.explains(&asked) || record.is_partly_put_back(&asked);
    is_ours && !record.marks.left && !record.is_put_back(&asked)
}

pub fn object(pod: &ResizablePod) -> ObjectRef {
    ObjectRef::in_namespace(Kind::Pod, &*pod.namespace, &*pod.name)
}

#[cfg(test)]
mod tests;
