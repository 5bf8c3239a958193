//! A VerticalPodAutoscaler, reduced to whether it changes a workload's Pods: it and Evenkeel's
//! tuning would undo each other's changes.

use evenkeel_objects::json::{lenient, null_is_default};
use evenkeel_objects::meta::Meta;
use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct VerticalPodAutoscaler {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    spec: VpaSpec,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct VpaSpec {
    #[serde(deserialize_with = "lenient")]
    target_ref: Option<VpaTargetRef>,
    #[serde(deserialize_with = "lenient")]
    update_policy: Option<UpdatePolicy>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct VpaTargetRef {
    #[serde(deserialize_with = "null_is_default")]
    kind: String,
    #[serde(deserialize_with = "null_is_default")]
    name: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct UpdatePolicy {
    #[serde(deserialize_with = "lenient")]
    update_mode: Option<String>,
}

impl VerticalPodAutoscaler {
    /// The kind and name of the workload that it changes; `None` in mode `Off`. The default is
    /// `Auto`.
    pub fn changes(&self) -> Option<(&str, &str)> {
        let policy = self.spec.update_policy.as_ref();
        let mode = policy.and_then(|policy| policy.update_mode.as_deref());
        let target = self.spec.target_ref.as_ref()?;
        (mode != Some("Off")).then_some((target.kind.as_str(), target.name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_modes_but_off_change_pods() {
        let changes = |spec: serde_json::Value| {
            let object: VerticalPodAutoscaler =
                serde_json::from_value(json!({"metadata": {"name": "vpa"}, "spec": spec})).unwrap();
            object
                .changes()
                .map(|(kind, name)| format!("{kind} {name}"))
        };
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
        for (policy, expected) in [
            (json!(null), true),
            (json!({}), true),
            (json!({"updateMode": "InPlaceOrRecreate"}), true),
            (json!({"updateMode": "Initial"}), true),
            (json!({"updateMode": "Off"}), false),
        ] {
            let found = changes(json!({"targetRef": target, "updatePolicy": policy}));
            assert_eq!(found.is_some(), expected, "{policy}");
            assert!(found.is_none_or(|found| found == "Deployment web"));
        }
        assert_eq!(changes(json!({})), None);
    }
}
