//! What a Pod would rather have of its node. kube-scheduler's own plugins score it, and may outvote an extender.

use serde::Deserialize;

use super::Pod;
use super::provisioning::any_item;
use crate::json::null_is_default;

/// The kinds of controllers whose Pods kube-scheduler spreads where they say nothing of it themselves.
const SPREAD_BY_DEFAULT: [&str; 3] = ["ReplicaSet", "StatefulSet", "ReplicationController"];

/// What attracts a Pod to nodes and keeps it away from them, as far as it only prefers it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Affinity {
    #[serde(rename = "nodeAffinity", deserialize_with = "null_is_default")]
    nodes: Terms,
    #[serde(rename = "podAffinity", deserialize_with = "null_is_default")]
    pods: Terms,
    #[serde(rename = "podAntiAffinity", deserialize_with = "null_is_default")]
    no_pods: Terms,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Terms {
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "any_item"
    )]
    prefers: bool,
}

impl Pod {
    /// How many of the plugins NodeAffinity, InterPodAffinity and PodTopologySpread score nodes by what it would
    /// rather have.
    #[must_use]
    pub fn preferences(&self) -> u8 {
        let affinity = &self.spec.affinity;
        let constraints = &self.spec.topology_spread_constraints;
        let is_spread = if constraints.is_empty() {
            let owner = self.metadata.controller();
            owner.is_some_and(|owner| SPREAD_BY_DEFAULT.contains(&&*owner.kind))
        } else {
            constraints.iter().any(|constraint| !constraint.is_hard)
        };
        let by_pods = affinity.pods.prefers || affinity.no_pods.prefers;
        let kinds = [affinity.nodes.prefers, by_pods, is_spread];
        kinds.into_iter().map(u8::from).sum()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_plugin_that_scores_a_preference_counts_once() {
        let preferred = json!({"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}]});
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": [{}],
            "preferredDuringSchedulingIgnoredDuringExecution": []});
        let spread = |when: &str| json!([{"topologyKey": "zone", "whenUnsatisfiable": when}]);
        for (spec, owner, count) in [
            (json!({}), None, 0),
            (json!({"affinity": null}), None, 0),
            (
                json!({"affinity": {"nodeAffinity": required, "podAffinity": null}}),
                None,
                0,
            ),
            (json!({"affinity": {"nodeAffinity": preferred}}), None, 1),
            (
                json!({"affinity": {"podAffinity": preferred, "podAntiAffinity": preferred}}),
                None,
                1,
            ),
            (
                json!({"topologySpreadConstraints": spread("ScheduleAnyway")}),
                None,
                1,
            ),
            (
                json!({"topologySpreadConstraints": spread("DoNotSchedule")}),
                Some("ReplicaSet"),
                0,
            ),
            (json!({}), Some("StatefulSet"), 1),
            (json!({}), Some("Job"), 0),
            (
                json!({"affinity": {"nodeAffinity": preferred, "podAffinity": preferred}}),
                Some("ReplicaSet"),
                3,
            ),
        ] {
            let owners = owner.map_or(
                Value::Null,
                |kind| json!([{"kind": kind, "name": "a", "controller": true}]),
            );
            let pod = json!({"metadata": {"ownerReferences": owners}, "spec": spec});
            let pod: Pod = serde_json::from_value(pod).unwrap();
            assert_eq!(pod.preferences(), count, "{spec} {owner:?}");
        }
    }
}
