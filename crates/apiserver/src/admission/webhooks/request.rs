//! The operation that webhooks review, and a webhook's configuration.

use serde_json::Value;

use crate::meta;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdmissionOperation {
    Create,
    Update,
    Delete,
}

impl AdmissionOperation {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// With the object after and before it; the kind is that of the call, or of its subresource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdmissionRequest<'a> {
    pub(crate) operation: AdmissionOperation,
    pub(crate) object: Option<&'a Value>,
    pub(crate) old: Option<&'a Value>,
}

/// Why a webhook gave no usable answer; `failurePolicy` decides what follows.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WebhookFailure(pub(super) String);

/// An entry of a MutatingWebhookConfiguration.
#[derive(Debug, Clone)]
pub(super) struct Webhook {
    pub(super) value: Value,
    pub(super) name: String,
}

impl Webhook {
    pub(super) fn new(value: &Value) -> Self {
        Self {
            name: meta::text(value, "/name").to_owned(),
            value: value.clone(),
        }
    }
}
