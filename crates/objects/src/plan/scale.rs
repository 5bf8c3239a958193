//! The write of a replica count, through the subresource `scale`. It tests the count and the UID,
//! not the version: a workload's status changes with each of its Pods. If another writer has set
//! another count meanwhile, the API server refuses the write, and the decision is taken anew.

use serde_json::Value;

use super::conditional_patch::ConditionalPatch;
use super::write::{Purpose, Write, WriteOperation};
use crate::meta::Meta;
use crate::object_ref::ObjectRef;

const REPLICAS: [&str; 2] = ["spec", "replicas"];

/// Sets the replicas of an object; `None` if they are the same. `metadata` is the object's own: its
/// Scale has the same UID.
pub fn set_replicas(object: ObjectRef, metadata: &Meta, from: i32, to: i32) -> Option<Write> {
    if from == to {
        return None;
    }
    let mut patch = ConditionalPatch::of(metadata);
    // A Scale leaves out a count of 0.
    let found = (from != 0).then_some(from);
    patch.expect(&REPLICAS, Value::from(found));
    patch.change(&REPLICAS, found.is_some(), Value::from(to));
    let operation = WriteOperation::Conditional(patch);
    let write = Write::new(Purpose::ScalingReplicas, object.scale(), operation);
    Some(Write {
        gap: u32::try_from(to.saturating_sub(from)).unwrap_or(0),
        ..write
    })
}

/// The count that a write sets through `scale`; `None` of any other write.
pub fn replicas_written(write: &Write) -> Option<i32> {
    let WriteOperation::Conditional(patch) = &write.operation else {
        return None;
    };
    let count = patch.changed(&REPLICAS)?.as_i64()?;
    let is_scale = write.purpose == Purpose::ScalingReplicas;
    is_scale.then(|| i32::try_from(count).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::Kind;
    use crate::plan::conditional_patch::apply;

    fn set(scale: &Value, from: i32, to: i32) -> Option<Value> {
        let metadata: Meta = serde_json::from_value(json!({"name": "web", "uid": "u"})).unwrap();
        let web = ObjectRef::in_namespace(Kind::Deployment, "shop", "web");
        let write = set_replicas(web, &metadata, from, to).unwrap();
        assert_eq!(write.target.to_string(), "deployments.apps/scale shop/web");
        let WriteOperation::Conditional(patch) = &write.operation else {
            panic!("{:?}", write.operation);
        };
        assert_eq!(replicas_written(&write), Some(to));
        let mut scale = scale.clone();
        apply(&mut scale, patch).ok()?;
        Some(scale["spec"]["replicas"].clone())
    }

    fn scale(uid: &str, spec: &Value) -> Value {
        json!({"metadata": {"uid": uid, "resourceVersion": "7"}, "spec": spec})
    }

    #[test]
    fn a_count_is_set_where_it_is_the_one_that_was_decided_on() {
        let three = scale("u", &json!({"replicas": 3}));
        let none = scale("u", &json!({}));
        assert_eq!(set(&three, 3, 5), Some(json!(5)));
        assert_eq!(set(&three, 3, 0), Some(json!(0)));
        assert_eq!(set(&none, 0, 5), Some(json!(5)));
        assert_eq!(set(&three, 4, 5), None, "another writer was here");
        assert_eq!(set(&three, 0, 5), None);
        assert_eq!(set(&none, 3, 5), None);
        let successor = scale("v", &json!({"replicas": 3}));
        assert_eq!(set(&successor, 3, 5), None, "made anew under its name");
    }

    #[test]
    fn nothing_is_written_without_a_change_and_the_gap_is_what_is_missing() {
        let web = || ObjectRef::in_namespace(Kind::StatefulSet, "shop", "web");
        let gap = |from, to| set_replicas(web(), &Meta::default(), from, to).map(|one| one.gap);
        assert_eq!([gap(3, 3), gap(3, 9), gap(9, 3)], [None, Some(6), Some(0)]);
    }
}
