//! Changes of objects, and the writes that plans ask for: a change with its reason.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use evenkeel_units::words;
use serde_json::Value;

use super::conditional_patch::ConditionalPatch;
use crate::object_ref::ObjectRef;

#[derive(Debug, Clone, PartialEq)]
pub enum WriteOperation {
    /// A JSON merge patch. With `metadata.resourceVersion` it fails if the object has changed.
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
    pub const fn new(purpose: Purpose, target: ObjectRef, operation: WriteOperation) -> Self {
        Self {
            purpose,
            target,
            operation,
            gap: 0,
        }
    }

    /// A number that is another where the write was decided on something else, or for something
    /// else: its reason, the tests of a conditional patch with the direction of its bounds, and all of
    /// any other write but the version of its object. So a raise that is refused holds up neither the
    /// way down nor a restore.
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

words! {
    /// The reason of a write, from a closed set: the label of metrics and logs.
    pub enum Purpose {
        MirrorNamespace = "mirror_namespace",
        /// Refused Pods are woken because a node has headroom again.
        WakePods = "wake_pods",
        /// An Event warns a user of an annotation with a value that is not accepted.
        AnnotationWarning = "notice",
        /// The bounds of a target follow what is predicted, or are put back.
        ScalingBounds = "scaling_bounds",
        /// The replicas of a workload follow what was decided.
        ScalingReplicas = "scaling_replicas",
        /// An object's bounds are restored and all other traces are removed.
        Restore = "restore",
        /// The status of a target is kept, and the record of bounds that stay as they are.
        ScalingStatus = "scaling_status",
        /// A user is told of what was decided for a target.
        ScalingEvent = "scaling_event",
        /// A HorizontalPortrait, or the CronJob that makes one, follows what names it.
        Portrait = "portrait",
        /// An overloaded node is tainted, or a taint is taken away.
        OverloadTaint = "overload_taint",
        /// An Event tells of a taint that was set or taken away.
        OverloadEvent = "overload_event",
        /// The score labels of a node follow its load.
        ScoreLabel = "score_label",
        /// Deletion costs are written on Pods of a ReplicaSet that is scaled in, or removed from
        /// them.
        DeletionCost = "deletion_cost",
        /// An Event tells which Pods go first, or why none were given a cost.
        DeletionCostEvent = "deletion_cost_event",
        /// A running Pod is given other resources, or what it was made with.
        Resize = "resize",
        /// An Event tells of a resize, or the status of a workload what its Pods are told to have.
        ResizeEvent = "resize_event",
        /// The state of a Pod is written on it, or taken away.
        PodState = "pod_state",
        /// An Event reports which Pods take traffic, and what a ReplicaProfile cannot have.
        PodStateEvent = "pod_state_event",
        /// An Event tells of a limit of disk I/O that was set, or why none is.
        DiskIoEvent = "disk_io_event",
        /// An Event warns operators of a configuration file that is refused.
        Configuration = "configuration",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kind;
    use crate::meta::Meta;

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
