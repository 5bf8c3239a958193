//! How many Pods of a workload may be unavailable, as the deployment and stateful set controllers
//! compute it.

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;

use crate::json::{lenient, null_is_default};
use crate::kinds::Kind;
use crate::rollout_progress::PodReplacementSpec;

/// The value of either bound of a Deployment where it does not say.
const DEFAULT: &str = "25%";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rollout {
    /// The most Pods that may be unavailable, and those that may be too many.
    limit: Limit,
    /// True where it makes and deletes no Pod while another one is not ready.
    pub is_ordered: bool,
    /// For how long a Pod has to be ready before it counts as available.
    pub min_ready: SignedDuration,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Limit {
    /// It sets none.
    #[default]
    None,
    /// A Deployment that replaces all Pods at once counts as available with all of them alone.
    All,
    Rolling(RollingUpdate),
    StatefulSet(IntOrString),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RollingUpdate {
    #[serde(deserialize_with = "lenient")]
    pub max_surge: Option<IntOrString>,
    #[serde(deserialize_with = "lenient")]
    pub max_unavailable: Option<IntOrString>,
}

/// How many Pods may be too many, and how many too few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RollingBounds {
    pub surge: i32,
    pub unavailable: i32,
}

impl RollingUpdate {
    /// The bounds of a Deployment of `desired` Pods: surge is rounded up, unavailable down; if both
    /// are 0, one Pod may be unavailable.
    pub fn bounds(&self, desired: i32) -> RollingBounds {
        let default = IntOrString::String(DEFAULT.to_owned());
        let of = |bound: &Option<IntOrString>, round| {
            resolve(bound.as_ref().unwrap_or(&default), desired, round)
        };
        let surge = of(&self.max_surge, 99);
        let unavailable = of(&self.max_unavailable, 0);
        RollingBounds {
            surge,
            unavailable: if surge == 0 && unavailable == 0 {
                1
            } else {
                unavailable.min(desired)
            },
        }
    }
}

/// A number, or hundredths of `total`; `round` is 99 to round up and 0 to round down.
fn resolve(bound: &IntOrString, total: i32, round: i64) -> i32 {
    let text = match bound {
        IntOrString::Int(number) => return (*number).max(0),
        IntOrString::String(text) => text,
    };
    let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
    let share = (percent.max(0) * i64::from(total) + round) / 100;
    i32::try_from(share).unwrap_or(i32::MAX)
}

impl Rollout {
    /// The most Pods of `replicas` that may be unavailable; `None` without a limit.
    pub fn max_unavailable(&self, replicas: i32) -> Option<u32> {
        let most = match &self.limit {
            Limit::None => return None,
            Limit::All => 0,
            // Without replicas there is nothing that could be missing.
            Limit::Rolling(_) if replicas <= 0 => 0,
            Limit::Rolling(update) => update.bounds(replicas).unavailable,
            Limit::StatefulSet(bound) => resolve(bound, replicas, 99).max(1),
        };
        u32::try_from(most).ok()
    }
}

/// The parts of a workload's spec that say it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct WrittenRollout {
    #[serde(deserialize_with = "lenient")]
    strategy: Option<Strategy>,
    #[serde(deserialize_with = "lenient")]
    update_strategy: Option<UpdateStrategy>,
    #[serde(deserialize_with = "null_is_default")]
    paused: bool,
    #[serde(deserialize_with = "lenient")]
    pod_management_policy: Option<String>,
    #[serde(deserialize_with = "lenient")]
    min_ready_seconds: Option<u32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Strategy {
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    kind: String,
    #[serde(deserialize_with = "null_is_default")]
    rolling_update: RollingUpdate,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct UpdateStrategy {
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    kind: String,
    #[serde(deserialize_with = "null_is_default")]
    rolling_update: StatefulSetUpdate,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct StatefulSetUpdate {
    #[serde(deserialize_with = "lenient")]
    max_unavailable: Option<IntOrString>,
    #[serde(deserialize_with = "lenient")]
    partition: Option<i32>,
}

impl WrittenRollout {
    pub(crate) fn replaced(&self) -> PodReplacementSpec {
        let update = self.update_strategy.as_ref();
        let partition = update.and_then(|update| update.rolling_update.partition);
        PodReplacementSpec {
            paused: self.paused,
            on_delete: update.is_some_and(|update| update.kind == "OnDelete"),
            partition: partition.unwrap_or(0),
        }
    }

    pub(crate) fn of(self, kind: Kind) -> Rollout {
        let Self {
            strategy,
            update_strategy,
            pod_management_policy,
            min_ready_seconds,
            paused: _,
        } = self;
        let strategy = strategy.unwrap_or_default();
        let update = update_strategy.unwrap_or_default().rolling_update;
        let limit = match kind {
            Kind::Deployment if strategy.kind == "Recreate" => Limit::All,
            Kind::Deployment => Limit::Rolling(strategy.rolling_update),
            Kind::StatefulSet => update
                .max_unavailable
                .map_or(Limit::None, Limit::StatefulSet),
            _ => Limit::None,
        };
        let is_parallel = pod_management_policy.as_deref() == Some("Parallel");
        Rollout {
            limit,
            is_ordered: kind == Kind::StatefulSet && !is_parallel,
            min_ready: SignedDuration::from_secs(min_ready_seconds.unwrap_or(0).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rollout(kind: Kind, spec: Value) -> Rollout {
        serde_json::from_value::<WrittenRollout>(spec)
            .unwrap()
            .of(kind)
    }

    #[test]
    fn what_may_be_unavailable_is_what_the_controllers_say() {
        let unavailable =
            |most: Value| json!({"strategy": {"rollingUpdate": {"maxUnavailable": most}}});
        let none = json!({"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}});
        let stateful = json!({"updateStrategy": {"rollingUpdate": {"maxUnavailable": "30%"}}});
        for (kind, spec, replicas, most) in [
            (Kind::Deployment, json!({}), 10, Some(2)),
            (Kind::Deployment, json!({}), 3, Some(0)),
            (Kind::Deployment, json!({"strategy": null}), 4, Some(1)),
            (Kind::Deployment, unavailable(json!(3)), 10, Some(3)),
            (Kind::Deployment, unavailable(json!(30)), 10, Some(10)),
            (Kind::Deployment, unavailable(json!("50%")), 5, Some(2)),
            (Kind::Deployment, unavailable(json!([])), 8, Some(2)),
            (Kind::Deployment, none, 10, Some(1)),
            (Kind::Deployment, json!({}), 0, Some(0)),
            (
                Kind::Deployment,
                json!({"strategy": {"type": "Recreate"}}),
                10,
                Some(0),
            ),
            (Kind::StatefulSet, json!({}), 10, None),
            (Kind::StatefulSet, stateful, 10, Some(3)),
            (Kind::ReplicaSet, json!({}), 10, None),
        ] {
            let found = rollout(kind, spec.clone()).max_unavailable(replicas);
            assert_eq!(found, most, "{kind:?} {spec} {replicas}");
        }
    }

    #[test]
    fn what_is_replaced_is_read_beside_what_may_be_unavailable() {
        let spec = json!({"paused": true, "minReadySeconds": 30, "updateStrategy": {
            "type": "OnDelete", "rollingUpdate": {"partition": 3, "maxUnavailable": 2}}});
        let read: WrittenRollout = serde_json::from_value(spec.clone()).unwrap();
        let replaced = read.replaced();
        assert!(replaced.paused && replaced.on_delete);
        assert_eq!(replaced.partition, 3);
        let rollout = rollout(Kind::StatefulSet, spec);
        assert_eq!(rollout.max_unavailable(9), Some(2));
        assert_eq!(rollout.min_ready.as_secs(), 30);
    }

    #[test]
    fn a_stateful_set_is_ordered_unless_it_says_otherwise() {
        for (kind, policy, ordered) in [
            (Kind::StatefulSet, json!(null), true),
            (Kind::StatefulSet, json!("OrderedReady"), true),
            (Kind::StatefulSet, json!("Parallel"), false),
            (Kind::Deployment, json!(null), false),
        ] {
            let found = rollout(kind, json!({"podManagementPolicy": policy}));
            assert_eq!(found.is_ordered, ordered, "{kind:?} {policy}");
        }
    }
}
