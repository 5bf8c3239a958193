//! KEDA's `keda.sh/v1alpha1` ScaledObjects, with the fields that scaling reads. KEDA writes the
//! bounds of its HPA, so bounds are read and raised in the ScaledObject.

use evenkeel_objects::json::null_is_default;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use serde::Deserialize;

const PAUSED: &str = "autoscaling.keda.sh/paused";
const PAUSED_REPLICAS: &str = "autoscaling.keda.sh/paused-replicas";

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ScaledObject {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    pub spec: ScaledObjectSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScaledObjectSpec {
    #[serde(deserialize_with = "null_is_default")]
    pub scale_target_ref: ScaledObjectTarget,
    /// The least replicas while active; KEDA's default is 0, and its HPA gets at least 1.
    pub min_replica_count: Option<i32>,
    /// The most replicas; KEDA takes 100 where there is none.
    pub max_replica_count: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ScaledObjectTarget {
    /// The kind, a Deployment where there is none.
    #[serde(deserialize_with = "kind")]
    pub kind: String,
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
}

impl Default for ScaledObjectTarget {
    fn default() -> Self {
        Self {
            kind: Kind::Deployment.as_str().to_owned(),
            name: String::new(),
        }
    }
}

fn kind<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let given = Option::<String>::deserialize(deserializer)?;
    Ok(given
        .filter(|kind| !kind.is_empty())
        .unwrap_or_else(|| Kind::Deployment.as_str().to_owned()))
}

impl ScaledObject {
    /// True if paused, as KEDA reads the annotations: by a count of replicas, or by any word except
    /// those for false.
    pub fn is_paused(&self) -> bool {
        const FALSE: [&str; 6] = ["0", "f", "F", "false", "FALSE", "False"];
        let paused = self.metadata.annotation(PAUSED);
        self.metadata.annotation(PAUSED_REPLICAS).is_some()
            || paused.is_some_and(|word| !FALSE.contains(&word))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn scaled_object(value: Value) -> ScaledObject {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn target_and_bounds_are_read() {
        let found = scaled_object(json!({
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "scaleTargetRef": {"name": "web"}, "minReplicaCount": 2, "maxReplicaCount": 10,
                "pollingInterval": 30, "triggers": [{"type": "cron", "metadata": {"start": "0 8 * * *"}}],
            },
            "status": {"hpaName": "keda-hpa-web"},
        }));
        let spec = &found.spec;
        assert_eq!(
            (
                spec.scale_target_ref.kind.as_str(),
                spec.scale_target_ref.name.as_str()
            ),
            ("Deployment", "web")
        );
        assert_eq!(
            (spec.min_replica_count, spec.max_replica_count),
            (Some(2), Some(10))
        );
        let target = json!({"spec": {"scaleTargetRef": {"kind": "StatefulSet", "name": "db"}}});
        assert_eq!(
            scaled_object(target).spec.scale_target_ref.kind,
            "StatefulSet"
        );
    }

    #[test]
    fn null_equals_absent() {
        let nulls = scaled_object(json!({"metadata": null, "spec": {
            "scaleTargetRef": {"kind": null, "name": null}, "minReplicaCount": null,
            "maxReplicaCount": null}}));
        assert_eq!(nulls, ScaledObject::default());
        assert_eq!(
            scaled_object(json!({"spec": null})),
            ScaledObject::default()
        );
    }

    #[test]
    fn it_is_paused_as_keda_reads_it() {
        for (key, value, paused) in [
            ("paused", "true", true),
            ("paused", "yes", true),
            ("paused", "", true),
            ("paused", "false", false),
            ("paused", "0", false),
            ("paused-replicas", "3", true),
            ("paused-scale-in", "true", false),
        ] {
            let key = format!("autoscaling.keda.sh/{key}");
            let found = scaled_object(json!({"metadata": {"annotations": {key.as_str(): value}}}));
            assert_eq!(found.is_paused(), paused, "{key}: {value}");
        }
        assert!(!ScaledObject::default().is_paused());
    }
}
