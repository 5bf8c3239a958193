//! Changes of objects, and the writes that plans ask for: a change with its reason.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::conditional_patch::ConditionalPatch;
use crate::json::merge_patch;
use crate::kinds::Kind;
use crate::meta::Meta;
use crate::object_ref::ObjectRef;

#[derive(Debug, Clone, PartialEq)]
pub enum WriteOperation {
    /// A JSON merge patch with `metadata.resourceVersion`, so that it fails if the object has
    /// changed.
    Merge(Value),
    /// A patch that fails where what it was decided on has changed since.
    Conditional(ConditionalPatch),
    /// A new object; that it exists already is as good.
    Create(Value),
    /// The end of the object with this UID.
    Delete { uid: String },
}

/// A change of one object, for a caller that makes it itself, only for its own task.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectChange {
    pub target: ObjectRef,
    pub operation: WriteOperation,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// The reason, which also decides how urgent the write is.
    pub purpose: Purpose,
    pub target: ObjectRef,
    pub operation: WriteOperation,
    /// The replicas that the object has too few of: of two bounds the larger gap goes first.
    pub gap: u32,
}

impl Write {
    #[must_use]
    pub const fn new(purpose: Purpose, target: ObjectRef, operation: WriteOperation) -> Self {
        Self {
            purpose,
            target,
            operation,
            gap: 0,
        }
    }

    /// The write that turns the object's status into this one, removed fields included; `None` if
    /// equal.
    #[must_use]
    pub fn status<S: Serialize>(
        kind: Kind,
        metadata: &Meta,
        before: Option<&S>,
        after: &S,
    ) -> Option<Self> {
        let (namespace, name) = (metadata.namespace.as_deref()?, metadata.name.as_deref()?);
        let before = serde_json::to_value(before).ok()?;
        let changes = merge_patch(&before, &serde_json::to_value(after).ok()?);
        if changes.as_object().is_none_or(Map::is_empty) {
            return None;
        }
        let body = json!({
            "metadata": {"resourceVersion": metadata.resource_version},
            "status": changes,
        });
        let target = ObjectRef::in_namespace(kind, namespace, name).status();
        Some(Self::new(
            Purpose::ScalingStatus,
            target,
            WriteOperation::Merge(body),
        ))
    }

    /// A hash of the basis of a write: its reason, the tests of a conditional patch and the
    /// direction of its bounds, or all of any other write but the version. So a refused raise holds
    /// up neither the way down nor a restore.
    #[must_use]
    pub fn basis(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.purpose.hash(&mut hasher);
        match &self.operation {
            WriteOperation::Conditional(patch) => {
                (self.gap > 0).hash(&mut hasher);
                for test in patch.tests() {
                    test.to_string().hash(&mut hasher);
                }
            }
            WriteOperation::Merge(body) | WriteOperation::Create(body) => {
                let mut body = body.clone();
                if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
                    metadata.remove("resourceVersion");
                }
                body.hash(&mut hasher);
            }
            WriteOperation::Delete { uid } => uid.hash(&mut hasher),
        }
        hasher.finish()
    }
}

/// The reason of a write, from a closed set: the label of metrics and logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    MirrorNamespace,
    /// Refused Pods are woken because a node has headroom again.
    WakePods,
    /// An Event warns a user of an annotation with a value that is not accepted.
    AnnotationWarning,
    /// The bounds of a target follow what is predicted, or are put back.
    ScalingBounds,
    /// The replicas of a workload follow what was decided.
    ScalingReplicas,
    /// An object's bounds are restored and all other traces are removed.
    Restore,
    /// The status of a target is kept, and the record of bounds that stay as they are.
    ScalingStatus,
    /// A user is told of what was decided for a target.
    ScalingEvent,
    /// A HorizontalPortrait, or the CronJob that makes one, follows what names it.
    Portrait,
    /// An overloaded node is tainted, or a taint is taken away.
    OverloadTaint,
    /// An Event tells of a taint that was set or taken away.
    OverloadEvent,
    /// Deletion costs are written on Pods of a ReplicaSet that is scaled in, or removed from them.
    DeletionCost,
    /// An Event tells which Pods go first, or why none were given a cost.
    DeletionCostEvent,
    /// A running Pod is given other resources, or what it was made with.
    Resize,
    /// An Event tells of a resize, or the status of a workload what its Pods are told to have.
    ResizeEvent,
    /// The state of a Pod is written on it, or taken away.
    PodState,
    /// An Event reports which Pods take traffic, and what a ReplicaProfile cannot have.
    PodStateEvent,
    /// An Event tells of a limit of disk I/O that was set, or why none is.
    DiskIoEvent,
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
            Self::AnnotationWarning => "notice",
            Self::ScalingBounds => "scaling_bounds",
            Self::ScalingReplicas => "scaling_replicas",
            Self::Restore => "restore",
            Self::ScalingStatus => "scaling_status",
            Self::ScalingEvent => "scaling_event",
            Self::Portrait => "portrait",
            Self::OverloadTaint => "overload_taint",
            Self::OverloadEvent => "overload_event",
            Self::DeletionCost => "deletion_cost",
            Self::DeletionCostEvent => "deletion_cost_event",
            Self::Resize => "resize",
            Self::ResizeEvent => "resize_event",
            Self::PodState => "pod_state",
            Self::PodStateEvent => "pod_state_event",
            Self::DiskIoEvent => "disk_io_event",
            Self::Configuration => "configuration",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct HoldSettings {
        hold: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        inner: Option<Inner>,
    }

    #[derive(Serialize)]
    struct Inner {
        name: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        hold: Option<i32>,
    }

    #[test]
    fn a_status_is_written_down_to_what_is_in_it_no_more() {
        let metadata: Meta = serde_json::from_value(
            json!({"namespace": "shop", "name": "web", "resourceVersion": "7"}),
        )
        .unwrap();
        let told = |hold, inner: Option<Option<i32>>| HoldSettings {
            hold,
            inner: inner.map(|hold| Inner { name: "a", hold }),
        };
        let all = [
            told(Some(1), Some(Some(2))),
            told(Some(1), Some(None)),
            told(None, Some(Some(3))),
            told(None, None),
        ];
        for (before, after) in all
            .iter()
            .flat_map(|one| all.iter().map(move |other| (one, other)))
        {
            let is = json!(before);
            let write = Write::status(Kind::Ihpa, &metadata, Some(before), after);
            assert_eq!(write.is_some(), is != json!(after), "{is} {}", json!(after));
            let Some(write) = write else { continue };
            let WriteOperation::Merge(body) = write.operation else {
                panic!("{write:?}");
            };
            assert_eq!(body["metadata"], json!({"resourceVersion": "7"}));
            let mut status = is;
            json_patch::merge(&mut status, &body["status"]);
            let mut wanted = json!(after);
            for one in [&mut status, &mut wanted] {
                let fields = one.as_object_mut().unwrap();
                fields.retain(|_, value| !value.is_null());
            }
            assert_eq!(status, wanted);
        }
        assert!(Write::status(Kind::Ihpa, &metadata, None, &all[1]).is_some());
    }

    #[test]
    fn a_refused_raise_holds_up_neither_the_way_down_nor_a_restore() {
        let write = |purpose, gap| {
            let target = ObjectRef::in_namespace(Kind::HorizontalPodAutoscaler, "shop", "web");
            let patch = ConditionalPatch::of(&Meta::default());
            let write = Write::new(purpose, target, WriteOperation::Conditional(patch));
            Write { gap, ..write }.basis()
        };
        let raise = write(Purpose::ScalingBounds, 10);
        // Another height is the same raise: it changes with every tick.
        assert_eq!(raise, write(Purpose::ScalingBounds, 12));
        assert_ne!(raise, write(Purpose::ScalingBounds, 0));
        assert_ne!(write(Purpose::ScalingBounds, 0), write(Purpose::Restore, 0));
    }
}
