//! The findings in a cluster, as they are printed.

use std::fmt;

use evenkeel_objects::bounds::ObjectBounds;
use evenkeel_objects::kinds::Kind;
use serde::{Serialize, Serializer};

use crate::cluster::read_outcome::ReadFailure;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// The traces on objects that are not its own.
    pub marks: Vec<ModifiedObject>,
    pub objects: Vec<InventoryObjectRef>,
    /// The user's own annotations, which stay.
    pub yours: Vec<UserAnnotations>,
    /// The kinds that could not be listed.
    pub unseen: Vec<ListFailure>,
}

impl Inventory {
    /// True where nothing is left and everything could be looked at.
    pub fn is_clean(&self) -> bool {
        self.marks.is_empty() && self.objects.is_empty() && self.unseen.is_empty()
    }

    /// True if every kind was listed and no write failed. The API server may have refused some.
    pub fn has_tried_all(&self) -> bool {
        let mut outcomes = self.marks.iter().map(|mark| &mark.outcome);
        let has_failed =
            outcomes.any(|outcome| matches!(outcome, Some(UninstallOutcome::Failed(_))));
        self.unseen.is_empty() && !has_failed
    }

    /// The traces on objects that the API server refuses to change.
    pub fn refused(&self) -> impl Iterator<Item = &ModifiedObject> {
        self.marks.iter().filter(|mark| mark.is_refused())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct InventoryObjectRef {
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
}

impl fmt::Display for InventoryObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            namespace,
            name,
        } = self;
        match namespace {
            Some(namespace) => write!(f, "{kind} {namespace}/{name}"),
            None => write!(f, "{kind} {name}"),
        }
    }
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModifiedObject {
    #[serde(flatten)]
    pub object: InventoryObjectRef,
    #[serde(skip)]
    pub kind: Kind,
    /// The user's bounds, where it carries the record of them.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_bounds"
    )]
    pub user_bounds: Option<ObjectBounds>,
    /// Its bounds as they are, where it carries the record.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_bounds"
    )]
    pub bounds_now: Option<ObjectBounds>,
    /// The error, where its record is taken for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<String>,
    /// True if the process that should have put it back is gone.
    #[serde(skip)]
    pub is_due: bool,
    /// Annotations that Evenkeel wrote, beside the record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<&'static str>,
    /// The label that mirrors an annotation, or says that a Pod is out of traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<&'static str>,
    /// The readiness gate that keeps a Pod out of traffic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shut_gate: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<String>,
    /// The labels of a node with its scores.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub score_labels: Vec<String>,
    /// The outcome, once it was to be taken away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<UninstallOutcome>,
}

impl ModifiedObject {
    #[cfg(test)]
    pub(crate) fn of(kind: Kind, namespace: Option<&str>, name: &str) -> Self {
        let object = InventoryObjectRef {
            kind: kind.as_str().to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        Self {
            object,
            kind,
            user_bounds: None,
            bounds_now: None,
            damaged: None,
            is_due: true,
            annotations: Vec::new(),
            label: None,
            shut_gate: None,
            taints: Vec::new(),
            score_labels: Vec::new(),
            outcome: None,
        }
    }

    pub const fn is_refused(&self) -> bool {
        matches!(self.outcome, Some(UninstallOutcome::Refused(_)))
    }

    pub fn why(&self) -> &str {
        match &self.outcome {
            Some(UninstallOutcome::Failed(why) | UninstallOutcome::Refused(why)) => why,
            _ => self.damaged.as_deref().unwrap_or("it has changed"),
        }
    }
}

/// The outcome of taking the traces on one object away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum UninstallOutcome {
    /// The traces are gone, and bounds are the user's.
    Restored,
    /// The traces were gone already, or the object was.
    Gone,
    /// The record is taken for none: nothing was written.
    LeftAlone,
    /// The API server refuses this change of this object, or others change it all the time.
    Refused(String),
    Failed(String),
}

#[derive(Debug, Clone, Serialize)]
pub struct UserAnnotations {
    #[serde(flatten)]
    pub object: InventoryObjectRef,
    pub annotations: Vec<String>,
}

/// A kind with objects that could not be listed.
#[derive(Debug, Clone, Serialize)]
pub struct ListFailure {
    /// The resource and where it was looked for.
    pub what: String,
    /// The missing right or the error.
    pub why: String,
}

impl ListFailure {
    pub(super) fn new(what: String, unseen: &ReadFailure) -> Self {
        let why = match unseen {
            ReadFailure::Needs(right) => format!("needs {right}"),
            ReadFailure::Failed(error) => error.clone(),
            ReadFailure::Without(missing) => format!("without {missing}"),
        };
        Self { what, why }
    }
}

/// Writes bounds as `{"min": 2, "max": 10}`, without an absent minimum or a count's maximum.
#[allow(clippy::ref_option)] // serde hands the field over like this
fn write_bounds<S: Serializer>(
    bounds: &Option<ObjectBounds>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct BoundsEntry {
        #[serde(skip_serializing_if = "Option::is_none")]
        min: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<i32>,
    }
    let written = bounds.map(|bounds| BoundsEntry {
        min: bounds.min,
        max: (!bounds.is_count()).then_some(bounds.max),
    });
    written.serialize(serializer)
}
