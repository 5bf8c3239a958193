//! The record, in a Pod's annotation, of its original and its resized resources. Evenkeel restores
//! the originals by it, and recognises changes by other writers. The record is written before the
//! resize, so containers have either `from` or `to`; any other values are another writer's.

mod resize_marks;
mod values;

use std::collections::BTreeMap;
use std::fmt;

use evenkeel_objects::pod::ResourceRequirements;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};
use evenkeel_units::request_and_limit::RequestAndLimit;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use resize_marks::{Marks, ResizeBackoff, ResizeKind, change, changes};
pub use values::ContainerValues;

/// The part of Evenkeel that resizes a Pod, and alone puts its resources back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resizer {
    Tuning,
    /// Stages of replicas: a Pod that is kept ready without load.
    Standby,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResizeRecord {
    pub by: Resizer,
    pub original: ContainerValues,
    pub from: ContainerValues,
    /// The resources that they are to have.
    pub to: ContainerValues,
    pub marks: Marks,
    pub at: Timestamp,
}

/// The longest record, in bytes: half a kilobyte for a container with the longest name. An
/// annotation may be eight times as long.
const LONGEST: usize = 32 * 1024;

/// A text that is no usable record of a resize; Evenkeel ignores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusedRecord {
    /// Another writer wrote it, by `managedFields`: it came with a template, a copy or a backup.
    #[error("another writer wrote the annotation evenkeel.dev/resized")]
    Foreign,
    #[error(
        "this version cannot read the annotation evenkeel.dev/resized, and keeps it for the \
         version that wrote it"
    )]
    Unreadable,
}

impl ResizeRecord {
    /// # Errors
    /// The text is no record, or longer than any.
    pub fn parse(text: &str) -> Result<Self, RefusedRecord> {
        if text.len() > LONGEST {
            return Err(RefusedRecord::Unreadable);
        }
        let written: ResizeRecordJson =
            serde_json::from_str(text).map_err(|_| RefusedRecord::Unreadable)?;
        let ResizeRecordJson {
            by,
            original,
            from,
            to,
            marks,
            at,
        } = written;
        let read = |all: BTreeMap<Box<str>, ResourceRequirements>| {
            let read = |(name, resources): (_, ResourceRequirements)| (name, resources.tuned());
            all.into_iter().map(read).collect()
        };
        Ok(Self {
            by,
            original: read(original),
            from: read(from),
            to: read(to),
            marks,
            at,
        })
    }

    /// The same of these containers alone: of others there is nothing to put back.
    pub fn of_containers(mut self, is_there: impl Fn(&str) -> bool) -> Self {
        for values in [&mut self.original, &mut self.from, &mut self.to] {
            values.retain(|name, _| is_there(name));
        }
        self.marks.lacked.retain(|name| is_there(name));
        self
    }

    /// True for one that would not be read again.
    pub fn is_too_long(&self) -> bool {
        self.to_string().len() > LONGEST
    }

    /// True if each container asks for its values from before or after the resize: anything else is
    /// another writer's.
    pub fn explains(&self, asked: &ContainerValues) -> bool {
        asked.iter().all(|(name, values)| {
            let original = self.original.get(name);
            let values = Some(values);
            original.is_none() || values == self.to.get(name) || values == self.from.get(name)
        })
    }

    /// True if each resource has its original value, or its value from before or after the resize:
    /// the API server took part of a restore, and the rest is still due.
    pub fn is_partly_put_back(&self, asked: &ContainerValues) -> bool {
        let known = [&self.original, &self.from, &self.to];
        asked.iter().all(|(name, values)| {
            let mut resources = values.iter();
            let is_known = |(resource, values): (TunedResource, &RequestAndLimit)| {
                let mut known = known.iter().filter_map(|known| known.get(name));
                known.any(|known| known[resource] == *values)
            };
            !self.original.contains_key(name) || resources.all(is_known)
        })
    }

    pub fn is_put_back(&self, asked: &ContainerValues) -> bool {
        holds(&self.original, asked)
    }

    pub fn is_done(&self, asked: &ContainerValues) -> bool {
        holds(&self.to, asked)
    }
}

fn holds(wanted: &ContainerValues, asked: &ContainerValues) -> bool {
    let mut wanted = wanted.iter();
    wanted.all(|(name, values)| asked.get(name).is_none_or(|asked| asked == values))
}

#[derive(Deserialize)]
struct ResizeRecordJson {
    by: Resizer,
    original: BTreeMap<Box<str>, ResourceRequirements>,
    from: BTreeMap<Box<str>, ResourceRequirements>,
    to: BTreeMap<Box<str>, ResourceRequirements>,
    #[serde(default)]
    marks: Marks,
    at: Timestamp,
}

impl fmt::Display for ResizeRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            by,
            original,
            from,
            to,
            marks,
            at,
        } = self;
        let mut written = serde_json::json!({
            "by": by,
            "original": written(original),
            "from": written(from),
            "to": written(to),
            "at": at,
        });
        if *marks != Marks::default() {
            written["marks"] = serde_json::json!(marks);
        }
        written.fmt(f)
    }
}

/// Requests and limits as an object holds them.
pub fn written(all: &ContainerValues) -> serde_json::Value {
    let resources = |values: &CpuMemory<RequestAndLimit>| resources(values);
    let all = all.iter();
    let all = all.map(|(name, values)| (name.to_string(), resources(values)));
    all.collect::<serde_json::Map<_, _>>().into()
}

/// The `resources` of a container with these values.
pub fn resources(values: &CpuMemory<RequestAndLimit>) -> serde_json::Value {
    let mut written = serde_json::Map::new();
    for (field, of) in FIELDS {
        let amounts = values.iter().filter_map(|(resource, values)| {
            let amount = of(values)?;
            let text = resource.quantity(amount).to_string();
            Some((resource.as_str().to_owned(), text.into()))
        });
        let amounts: serde_json::Map<_, _> = amounts.collect();
        if !amounts.is_empty() {
            written.insert(field.to_owned(), amounts.into());
        }
    }
    written.into()
}

type AmountAccessor = fn(&RequestAndLimit) -> Option<Amount>;

/// The two fields of `resources`.
pub(crate) const FIELDS: [(&str, AmountAccessor); 2] = [
    ("requests", |values| values.request),
    ("limits", |values| values.limit),
];

/// The fields of two values that differ: the list, the resource and the new amount.
pub(crate) fn differences(
    before: &CpuMemory<RequestAndLimit>,
    after: &CpuMemory<RequestAndLimit>,
) -> Vec<(&'static str, TunedResource, Option<Amount>)> {
    let mut found = Vec::new();
    for resource in TunedResource::ALL {
        for (field, of) in FIELDS {
            let (before, after) = (of(&before[resource]), of(&after[resource]));
            if before != after {
                found.push((field, resource, after));
            }
        }
    }
    found
}
