//! Deployments, StatefulSets and others like them, with the fields that scaling reads.

use evenkeel_label_selector::{LabelSelector, Selector};
use serde::{Deserialize, Deserializer};

use super::custom_kind::{CustomKind, CustomObject};
use super::json::{lenient, null_is_default};
use super::kinds::Kind;
use super::meta::Meta;
use super::rolling_update::{Rollout, WrittenRollout};
use super::rollout_progress::WrittenStatus;
use super::selector::WrittenSelector;
use crate::rollout::RolloutProgress;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    pub metadata: Meta,
    /// One of [`Kind::WORKLOADS`], or a custom resource.
    pub kind: Kind,
    /// `spec.replicas`, by default 1; of a custom resource the count of its Scale, by default 0.
    pub replicas: i32,
    /// `spec.selector` in query form, such as `app=web,tier in (a,b)`, or that of a custom
    /// resource's Scale; `None` if missing or invalid.
    pub selector: Option<Box<str>>,
    /// How it replaces and waits for its Pods.
    pub rollout: Rollout,
    /// How far it has brought its version out.
    pub progress: RolloutProgress,
    pub custom: Option<CustomScale>,
}

/// The Scale of a custom resource, beside the count that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CustomScale {
    /// True if the object has the count's field: without it the API server has no Scale of it.
    pub has_count: bool,
    pub pods: i32,
}

impl Workload {
    /// The workload of a known kind; objects in lists do not name theirs.
    ///
    /// # Errors
    /// Those of the deserializer, where what is read has the wrong type.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        kind: Kind,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        if let Kind::Custom(custom) = kind {
            let object = CustomObject::deserialize(deserializer)?;
            return Ok(Self::of_custom(custom, object));
        }
        let WorkloadJson {
            metadata,
            spec,
            status,
        } = WorkloadJson::deserialize(deserializer)?;
        let replicas = spec.replicas.unwrap_or(1);
        let progress =
            status.progress(kind, metadata.generation, replicas, spec.rollout.replaced());
        let selector = spec.selector.map(LabelSelector::from);
        let selector = selector.and_then(|selector| Selector::try_from(&selector).ok());
        Ok(Self {
            metadata,
            kind,
            replicas,
            selector: selector.map(|selector| selector.to_string().into()),
            rollout: spec.rollout.of(kind),
            progress,
            custom: None,
        })
    }

    /// A custom resource, read by the paths of its definition.
    pub fn of_custom(kind: CustomKind, object: CustomObject) -> Self {
        let paths = kind.paths();
        let replicas = object.count(&paths.replicas);
        let selector = paths.selector.as_deref().and_then(|path| object.text(path));
        let selector = selector.and_then(|text| Selector::parse(text).ok());
        let selector = selector.map(|selector| selector.to_string());
        Self {
            kind: Kind::Custom(kind),
            replicas: replicas.unwrap_or(0),
            // An empty selector selects all Pods of the namespace; the controller may not have set
            // it yet.
            selector: selector.filter(|text| !text.is_empty()).map(Into::into),
            rollout: Rollout::default(),
            progress: RolloutProgress::Complete,
            custom: Some(CustomScale {
                has_count: replicas.is_some(),
                pods: object.count(&paths.status_replicas).unwrap_or(0),
            }),
            metadata: object.metadata,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkloadJson {
    #[serde(deserialize_with = "null_is_default")]
    metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    spec: WorkloadSpec,
    #[serde(deserialize_with = "null_is_default")]
    status: WrittenStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkloadSpec {
    replicas: Option<i32>,
    #[serde(deserialize_with = "lenient")]
    selector: Option<WrittenSelector>,
    #[serde(flatten)]
    rollout: WrittenRollout,
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
    fn the_selector_is_kept_in_the_form_of_queries() {
        for (selector, text) in [
            (json!(null), None),
            (json!(5), None),
            (
                json!({"matchLabels": {"b": "1", "app": "web"}, "matchExpressions": [
                    {"key": "tier", "operator": "In", "values": ["b", "a"]}]}),
                Some("app=web,b=1,tier in (a,b)"),
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "Like"}]}),
                None,
            ),
        ] {
            let found = workload(json!({"spec": {"selector": selector}}));
            assert_eq!(found.selector.as_deref(), text, "{selector}");
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
