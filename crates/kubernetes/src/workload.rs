//! Deployments, StatefulSets and others like them, with the fields that scaling reads.

use serde::{Deserialize, Deserializer};

use super::json::null_is_default;
use super::kinds::Kind;
use super::meta::Meta;

/// A workload that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    pub metadata: Meta,
    /// One of [`Kind::WORKLOADS`].
    pub kind: Kind,
    /// `spec.replicas`, which is 1 where it is not set.
    pub replicas: i32,
}

impl Workload {
    /// The workload of a known kind; objects in lists do not name theirs.
    ///
    /// # Errors
    /// Those of the deserializer, where what is read has the wrong type.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        kind: Kind,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        let Written { metadata, spec } = Written::deserialize(deserializer)?;
        Ok(Self {
            metadata,
            kind,
            replicas: spec.replicas.unwrap_or(1),
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    #[serde(deserialize_with = "null_is_default")]
    metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec {
    replicas: Option<i32>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn workload(value: Value) -> Workload {
        Workload::deserialize(Kind::StatefulSet, value).unwrap()
    }

    #[test]
    fn replicas_are_one_unless_said_otherwise() {
        for (object, replicas) in [
            (json!({}), 1),
            (json!({"spec": null, "metadata": null}), 1),
            (json!({"spec": {"replicas": null, "template": 5}}), 1),
            (
                json!({"spec": {"replicas": 0}, "status": {"replicas": 3}}),
                0,
            ),
            (json!({"spec": {"replicas": 7}}), 7),
        ] {
            let found = workload(object.clone());
            assert_eq!(found.replicas, replicas, "{object}");
            assert_eq!(found.kind, Kind::StatefulSet);
        }
    }

    #[test]
    fn annotations_of_scaling_are_kept() {
        let found = workload(json!({"metadata": {
            "name": "db", "annotations": {"evenkeel.dev/predict": "auto", "a": "b"}}}));
        assert_eq!(
            found.metadata.annotation("evenkeel.dev/predict"),
            Some("auto")
        );
        assert_eq!(found.metadata.annotations.len(), 1);
    }
}
