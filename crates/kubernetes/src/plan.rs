//! What is to be written, decided from what is seen: pure functions from observation to writes.
//!
//! A plan never writes; the one writer of the leader does. Each write names the resourceVersion
//! that its decision was taken on, so that a leader that has lost touch overwrites nothing, and no
//! plan asks for a write that would change nothing.

pub mod ca_bundle;
pub mod certificate_secret;
pub mod election;
pub mod mirror;
pub mod notice;
pub mod rotation;
pub mod scaling;
pub mod uninstall;
pub mod wake;

use serde_json::Value;

/// The object that a write is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// A Namespace by name.
    Namespace(String),
    /// A Node by name.
    Node(String),
    /// The MutatingWebhookConfiguration by name.
    Webhook(String),
    /// A Secret by namespace and name.
    Secret(String, String),
    /// A HorizontalPodAutoscaler by namespace and name.
    HorizontalPodAutoscaler(String, String),
    /// A KEDA ScaledObject by namespace and name.
    ScaledObject(String, String),
    /// A Deployment by namespace and name.
    Deployment(String, String),
    /// A StatefulSet by namespace and name.
    StatefulSet(String, String),
    /// A new Event in a namespace; `name` makes the same event the same object.
    Event {
        /// Where the Event is kept: its object's namespace, or `default` for cluster objects.
        namespace: String,
        /// The Event's name.
        name: String,
    },
}

/// What is done to the target.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// A JSON merge patch. It holds `metadata.resourceVersion`, so that it fails when the object
    /// has changed since.
    Merge(Value),
    /// A new object; that it exists already is as good.
    Create(Value),
}

/// One write for the leader to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// Why, from a closed set: the label of metrics and logs.
    pub purpose: Purpose,
    /// Which object.
    pub target: Target,
    /// What to do to it.
    pub operation: Operation,
}

/// Why something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The namespace's opt-in annotation is mirrored to a label.
    MirrorNamespace,
    /// Refused Pods are woken because a node has headroom again.
    WakePods,
    /// The webhook configuration trusts the serving certificate.
    CaBundle,
    /// The Secret gets rotated certificates.
    Certificates,
    /// A user is told of a value that is not understood.
    Notice,
    /// The bounds of a target follow what is predicted, or are put back.
    ScalingBounds,
    /// The status of a target is kept, and the record of bounds that stay as they are.
    ScalingStatus,
    /// A user is told of what was decided for a target.
    ScalingEvent,
}

impl Purpose {
    /// The name in metrics and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MirrorNamespace => "mirror_namespace",
            Self::WakePods => "wake_pods",
            Self::CaBundle => "ca_bundle",
            Self::Certificates => "certificates",
            Self::Notice => "notice",
            Self::ScalingBounds => "scaling_bounds",
            Self::ScalingStatus => "scaling_status",
            Self::ScalingEvent => "scaling_event",
        }
    }
}
