//! The namespace annotation that opts in, mirrored to a label. A webhook's selector reads only
//! labels, so the mirror spares calls for other namespaces. Only Evenkeel's label is touched.

use evenkeel_objects::annotations::ENABLED;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use serde_json::{Value, json};

/// A namespace as far as the mirror needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MirroredNamespace<'a> {
    pub name: &'a str,
    /// The version that this was read at.
    pub resource_version: &'a str,
    pub enabled: bool,
    pub label: Option<&'a str>,
}

pub fn plan(namespace: &MirroredNamespace<'_>) -> Option<Write> {
    let wanted = namespace.enabled.then_some("true");
    (namespace.label != wanted).then(|| {
        let patch = json!({
            "metadata": {
                "resourceVersion": namespace.resource_version,
                "labels": { ENABLED: wanted.map_or(Value::Null, Value::from) },
            }
        });
        let target = ObjectRef::of_cluster(Kind::Namespace, namespace.name);
        Write::new(
            Purpose::MirrorNamespace,
            target,
            WriteOperation::Merge(patch),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_follows_the_annotation_and_nothing_else_is_written() {
        for (enabled, label, written) in [
            (true, None, Some(json!("true"))),
            (true, Some("true"), None),
            (true, Some("false"), Some(json!("true"))),
            (false, None, None),
            (false, Some("true"), Some(Value::Null)),
        ] {
            let namespace = MirroredNamespace {
                name: "shop",
                resource_version: "7",
                enabled,
                label,
            };
            let patch = plan(&namespace).map(|write| match write.operation {
                WriteOperation::Merge(patch) => patch,
                other => panic!("{other:?}"),
            });
            let expected = written.map(
                |value| json!({"metadata": {"resourceVersion": "7", "labels": {ENABLED: value}}}),
            );
            assert_eq!(patch, expected, "{enabled} {label:?}");
        }
    }
}
