//! What of Evenkeel is in a cluster, and taking back what it wrote on objects that are not its own.
//!
//! The objects of the installation are listed and left to `kubectl delete`. What is written is
//! decided by [`evenkeel_kubernetes::plan::uninstall`]; each write names the version that it was decided on, and
//! one that comes too late is decided anew on what there is then.

mod gather;
mod holder;
mod restore;

pub use gather::gather;
pub use holder::{Holder, holder};
pub use restore::restore;

use serde::Serialize;

use crate::doctor::Unseen;
use evenkeel_core::scaling::ownership::ObjectBounds;
use evenkeel_kubernetes::plan::uninstall::Marked;

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Inventory {
    /// What Evenkeel wrote on objects that are not its own.
    pub marks: Vec<Mark>,
    /// The installation's own objects.
    pub objects: Vec<Object>,
    /// The user's own annotations, which stay.
    pub yours: Vec<Yours>,
    /// What could not be looked at.
    pub unseen: Vec<Blind>,
}

impl Inventory {
    /// Whether nothing is left, as far as everything could be looked at.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.marks.is_empty() && self.objects.is_empty() && self.unseen.is_empty()
    }
}

/// One object by its names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Object {
    /// The kind.
    pub kind: String,
    /// The namespace, where it is in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

/// What Evenkeel wrote on one object.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// The object.
    #[serde(flatten)]
    pub object: Object,
    /// What it is as a kind that Evenkeel writes on.
    #[serde(skip)]
    pub kind: Marked,
    /// The user's bounds, where it carries the record of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_bounds: Option<ObjectBounds>,
    /// Its bounds as they are, where it carries the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds_now: Option<ObjectBounds>,
    /// Why its record cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damaged: Option<String>,
    /// Annotations that Evenkeel wrote, beside the record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<&'static str>,
    /// The label that mirrors an annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<&'static str>,
    /// What was done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// What was done about a mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It is gone, and bounds are the user's.
    Restored,
    /// It was gone already, or its object was.
    Gone,
    /// Its record is damaged: nothing was written.
    LeftAlone,
    /// The write failed.
    Failed(String),
}

/// The user's own annotations on one object.
#[derive(Debug, Clone, Serialize)]
pub struct Yours {
    /// The object.
    #[serde(flatten)]
    pub object: Object,
    /// Their names.
    pub annotations: Vec<String>,
}

/// Something that could not be looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Blind {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

impl Blind {
    fn new(what: String, unseen: &Unseen) -> Self {
        let why = match unseen {
            Unseen::Needs(right) => format!("needs {right}"),
            Unseen::Failed(error) => error.clone(),
            Unseen::Without(missing) => format!("without {missing}"),
        };
        Self { what, why }
    }
}
