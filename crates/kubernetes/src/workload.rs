//! Deployments and StatefulSets, with what scaling reads of them.

use serde::{Deserialize, Deserializer};

use super::json::null_is_default;
use super::meta::Meta;

/// The kinds of workload that are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WorkloadKind {
    /// `apps/v1` Deployment.
    Deployment,
    /// `apps/v1` StatefulSet.
    StatefulSet,
}

impl WorkloadKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Deployment, Self::StatefulSet];

    /// The name in Kubernetes.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
        }
    }
}

/// A Deployment or a StatefulSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Name and annotations.
    pub metadata: Meta,
    /// Which of the kinds it is.
    pub kind: WorkloadKind,
    /// `spec.replicas`, which is 1 where it is not set.
    pub replicas: i32,
}

impl Workload {
    /// The workload of a known kind; objects in lists do not name theirs.
    ///
    /// # Errors
    /// Those of the deserializer, where what is read has the wrong type.
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        kind: WorkloadKind,
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
        Workload::deserialize(WorkloadKind::StatefulSet, value).unwrap()
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
            assert_eq!(found.kind, WorkloadKind::StatefulSet);
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
