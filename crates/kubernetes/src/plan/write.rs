//! One write that a plan asks for: the object, the change and the reason.

use serde_json::Value;

use crate::object_ref::ObjectRef;

/// The change that a write makes.
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
    /// The reason, which also decides how urgent the write is.
    pub purpose: Purpose,
    /// The object that is changed.
    pub target: ObjectRef,
    pub operation: Operation,
}

/// The reason of a write, from a closed set: the label of metrics and logs.
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
    /// An Event warns a user of an annotation whose value is not accepted.
    AnnotationWarning,
    /// The bounds of a target follow what is predicted, or are put back.
    ScalingBounds,
    /// The status of a target is kept, and the record of bounds that stay as they are.
    ScalingStatus,
    /// A user is told of what was decided for a target.
    ScalingEvent,
    /// An Event warns operators of a configuration file that is refused.
    Configuration,
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
            Self::AnnotationWarning => "notice",
            Self::ScalingBounds => "scaling_bounds",
            Self::ScalingStatus => "scaling_status",
            Self::ScalingEvent => "scaling_event",
            Self::Configuration => "configuration",
        }
    }
}
