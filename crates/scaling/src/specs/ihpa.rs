//! IntelligentHorizontalPodAutoscalers as read: the rules of each are checked once for each version of the
//! object.

pub mod check;
mod rules;

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_objects::annotations::{InvalidAnnotation, RESUME};
use evenkeel_objects::json::{lenient, null_is_default};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::check::{IhpaError, check};
pub use self::rules::{
    CheckRule, Criterion, Endpoint, ExternalCheck, IhpaRules, PortraitSource, PredictiveRules,
    Provider, ReactiveRules, ScaleMode,
};
use evenkeel_api::ihpa::spec::IhpaSpec;
use evenkeel_api::ihpa::status::IhpaStatus;

/// An IntelligentHorizontalPodAutoscaler as it is watched.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Ihpa {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    pub spec: IhpaSpec,
    /// The last status; `None` if there is none, or if it cannot be read.
    #[serde(deserialize_with = "lenient")]
    pub status: Option<IhpaStatus>,
}

impl Ihpa {
    /// An object of a kind that is made for it in its namespace, and goes with it.
    pub fn owned(&self, kind: Kind, name: &str, spec: &impl Serialize) -> Value {
        json!({
            "apiVersion": kind.api_version(),
            "kind": kind.as_str(),
            "metadata": {
                "name": name,
                "namespace": self.metadata.namespace,
                "ownerReferences": [self.owner_reference()],
            },
            "spec": spec,
        })
    }

    /// The owner reference that such an object carries.
    fn owner_reference(&self) -> Value {
        json!({
            "apiVersion": Kind::Ihpa.api_version(),
            "kind": Kind::Ihpa.as_str(),
            "name": self.metadata.name,
            "uid": self.metadata.uid,
            "controller": true,
        })
    }

    /// The time at which a user asked Evenkeel to continue a held change; `None` if no user did.
    ///
    /// # Errors
    /// An annotation that is no time.
    pub fn resume(&self) -> Result<Option<Timestamp>, InvalidAnnotation> {
        resume(&self.metadata.annotations)
    }
}

/// The same by the annotations alone.
///
/// # Errors
/// An annotation that is no time.
pub fn resume(
    annotations: &BTreeMap<String, String>,
) -> Result<Option<Timestamp>, InvalidAnnotation> {
    let Some(text) = annotations.get(RESUME) else {
        return Ok(None);
    };
    let accepted = "a time such as 2026-11-23T08:00:00Z";
    let refused = || InvalidAnnotation::new(RESUME, text, accepted);
    text.trim().parse().map(Some).map_err(|_| refused())
}

/// An IntelligentHorizontalPodAutoscaler with its rules, or with the reason why it has none.
#[derive(Debug)]
pub struct CheckedIhpa {
    pub object: Arc<Ihpa>,
    rules: Arc<Result<IhpaRules, IhpaError>>,
}

impl CheckedIhpa {
    /// Checks the rules of an object; those of the version `before` stand where its spec is the same,
    /// as it is after each write of the status.
    pub fn new(object: Arc<Ihpa>, before: Option<&Self>) -> Self {
        let same_spec = |before: &&Self| {
            let (old, new) = (&before.object, &object);
            old.metadata.uid == new.metadata.uid && old.spec == new.spec
        };
        let rules = before.filter(same_spec).map_or_else(
            || Arc::new(check(&object.spec)),
            |before| Arc::clone(&before.rules),
        );
        Self { object, rules }
    }

    /// The rules in the spec.
    ///
    /// # Errors
    /// The reason why the spec is not accepted.
    pub fn rules(&self) -> Result<&IhpaRules, &IhpaError> {
        (*self.rules).as_ref()
    }
}
