//! The operation that webhooks are asked about, and a webhook as it is configured.

use serde_json::Value;

use crate::meta;

/// The operation that is about to be done.
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

/// The operation with the object after and before it; the kind is that of the call, or of its
/// subresource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdmissionRequest<'a> {
    pub(crate) operation: AdmissionOperation,
    pub(crate) object: Option<&'a Value>,
    pub(crate) old: Option<&'a Value>,
}

/// The reason for which a webhook gave no usable answer; `failurePolicy` says what follows.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WebhookFailure(pub(super) String);

/// One entry of a MutatingWebhookConfiguration.
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
