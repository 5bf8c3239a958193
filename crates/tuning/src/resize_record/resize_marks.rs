//! The other facts in a resize record: a foreign change, a lack of memory, failed kinds of change.
//! They are on the Pod, because a new leader would otherwise repeat a failed change.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::request_and_limit::RequestAndLimit;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::values::ContainerValues;

/// The rest of a kind of change after its first failure; doubled with each further one.
const REST: SignedDuration = SignedDuration::from_mins(30);
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// The doublings after which a rest is the longest, whatever it would be.
const DOUBLED: u32 = 6;

/// Kinds of change with separate causes of failure: lack of room, limits that kubelet cannot set,
/// or memory in use (caches included).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ResizeKind {
    Raise,
    CpuCut,
    MemoryCut,
}

/// How often a kind of change has failed in a row, and until when it rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResizeBackoff {
    pub times: u32,
    pub until: Timestamp,
}

/// The facts in the record beside amounts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Marks {
    /// True if another writer has changed the Pod's resources: Evenkeel then leaves the Pod to it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// The containers that lacked memory below what they were made with.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub lacked: BTreeSet<Box<str>>,
    /// The kinds of change that have failed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rests: BTreeMap<ResizeKind, ResizeBackoff>,
}

impl Marks {
    pub fn rests_until(&self, change: ResizeKind, now: Timestamp) -> Option<Timestamp> {
        let rest = self.rests.get(&change)?;
        (now < rest.until).then_some(rest.until)
    }

    /// Takes note that what leads from the one to the other has failed.
    pub fn fail(&mut self, from: &ContainerValues, to: &ContainerValues, now: Timestamp) {
        for change in changes(from, to) {
            let before = self.rests.get(&change).map_or(0, |rest| rest.times);
            let times = before.saturating_add(1);
            let rest = REST.saturating_mul(1 << before.min(DOUBLED)).min(LONGEST);
            let until = now.checked_add(rest).unwrap_or(Timestamp::MAX);
            self.rests.insert(change, ResizeBackoff { times, until });
        }
    }

    /// The same without the failures of what leads from the one to the other, which has been done.
    pub fn after_success(&self, from: &ContainerValues, to: &ContainerValues) -> Self {
        let mut marks = self.clone();
        for change in changes(from, to) {
            marks.rests.remove(&change);
        }
        marks
    }

    /// True where nothing has to be remembered of a Pod that has what it was made with.
    pub fn is_nothing(&self) -> bool {
        self.lacked.is_empty() && self.rests.is_empty() && !self.left
    }
}

/// The kinds of change that lead from the one to the other.
pub fn changes(from: &ContainerValues, to: &ContainerValues) -> BTreeSet<ResizeKind> {
    let all = to.iter().flat_map(|(name, after)| {
        let before = from.get(name).copied().unwrap_or(*after);
        let after = *after;
        TunedResource::ALL
            .into_iter()
            .filter_map(move |resource| change(resource, before[resource], after[resource]))
    });
    all.collect()
}

/// The kind of change of one resource of a container; `None` where it stays.
pub fn change(
    resource: TunedResource,
    before: RequestAndLimit,
    after: RequestAndLimit,
) -> Option<ResizeKind> {
    if before == after {
        return None;
    }
    let grows = after.limit > before.limit || after.request > before.request;
    Some(match resource {
        _ if grows => ResizeKind::Raise,
        TunedResource::Cpu => ResizeKind::CpuCut,
        TunedResource::Memory => ResizeKind::MemoryCut,
    })
}
