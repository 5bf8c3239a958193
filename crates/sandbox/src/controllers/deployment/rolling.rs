//! One step of a rolling update, by the deployment controller's arithmetic: the newest ReplicaSet
//! grows within `maxSurge`; the older ones lose unavailable Pods first, then what `maxUnavailable`
//! allows.

use evenkeel_objects::rolling_update::{RollingBounds, RollingUpdate};
use k8s_openapi::api::apps::v1::{DeploymentSpec, RollingUpdateDeployment};

/// A ReplicaSet in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) wanted: i32,
    pub(super) available: i32,
}

pub(super) fn bounds(spec: &DeploymentSpec, desired: i32) -> RollingBounds {
    let strategy = spec.strategy.as_ref();
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.clone());
    let RollingUpdateDeployment {
        max_surge,
        max_unavailable,
    } = rolling.unwrap_or_default();
    let update = RollingUpdate {
        max_surge,
        max_unavailable,
    };
    update.bounds(desired)
}

/// The next replicas of the newest set and of the old ones, the oldest first.
pub(super) fn next(
    desired: i32,
    bounds: RollingBounds,
    newest: Set,
    old: &[Set],
) -> (i32, Vec<i32>) {
    let wanted: Vec<i32> = old.iter().map(|set| set.wanted).collect();
    let grown = grow(desired, bounds, newest, &wanted);
    if grown != newest.wanted {
        return (grown, wanted);
    }
    (grown, shrink(desired, bounds, newest, old))
}

fn grow(desired: i32, bounds: RollingBounds, newest: Set, old: &[i32]) -> i32 {
    if newest.wanted >= desired {
        return desired;
    }
    let total = newest.wanted + old.iter().sum::<i32>();
    let room = (desired + bounds.surge - total).max(0);
    newest.wanted + room.min(desired - newest.wanted)
}

fn shrink(desired: i32, bounds: RollingBounds, newest: Set, old: &[Set]) -> Vec<i32> {
    let mut wanted: Vec<i32> = old.iter().map(|set| set.wanted).collect();
    let all = newest.wanted + wanted.iter().sum::<i32>();
    let least = desired - bounds.unavailable;
    let mut left = all - least - (newest.wanted - newest.available);
    for (set, wanted) in old.iter().zip(&mut wanted) {
        let unhealthy = (*wanted - set.available).clamp(0, left.max(0));
        *wanted -= unhealthy;
        left -= unhealthy;
    }
    let available: i32 = old.iter().map(|set| set.available).sum();
    let mut spare = newest.available + available - least;
    for wanted in &mut wanted {
        let gone = (*wanted).min(spare.max(0)).min(left.max(0));
        *wanted -= gone;
        spare -= gone;
        left -= gone;
    }
    wanted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn set(wanted: i32, available: i32) -> Set {
        Set { wanted, available }
    }

    #[test]
    fn bounds_are_rounded_apart_and_never_both_nothing() {
        for (surge, unavailable, desired, expected) in [
            (json!("25%"), json!("25%"), 10, (3, 2)),
            (json!(1), json!(0), 10, (1, 0)),
            (json!("0%"), json!("0%"), 10, (0, 1)),
            (json!("25%"), json!("25%"), 1, (1, 0)),
            (json!(0), json!(50), 3, (0, 3)),
        ] {
            let spec: DeploymentSpec = serde_json::from_value(json!({
                "selector": {}, "template": {},
                "strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}},
            }))
            .unwrap();
            let RollingBounds { surge, unavailable } = super::bounds(&spec, desired);
            assert_eq!((surge, unavailable), expected);
        }
    }

    #[test]
    fn steps_are_those_of_the_deployment_controller() {
        let quarter = RollingBounds {
            surge: 3,
            unavailable: 2,
        };
        for (newest, old, expected) in [
            // First the surge, then what may be unavailable, then as the new Pods come up.
            (set(0, 0), set(10, 10), (3, 10)),
            (set(3, 0), set(10, 10), (3, 8)),
            (set(3, 0), set(8, 8), (5, 8)),
            (set(5, 0), set(8, 8), (5, 8)),
            (set(5, 2), set(8, 8), (5, 6)),
            (set(10, 10), set(2, 2), (10, 0)),
            // Unavailable Pods go first.
            (set(3, 0), set(10, 6), (3, 8)),
        ] {
            let (grown, shrunk) = next(10, quarter, newest, &[old]);
            assert_eq!((grown, shrunk[0]), expected, "{newest:?} {old:?}");
        }
    }

    proptest! {
        /// However Pods come up, the bounds hold and the update ends.
        #[test]
        fn a_rollout_keeps_its_bounds_and_ends(
            desired in 1_i32..30,
            surge in 0_i32..10,
            unavailable in 0_i32..10,
            ready in proptest::collection::vec(0_i32..10, 400),
        ) {
            let unavailable = if surge == 0 { unavailable.max(1) } else { unavailable };
            let bounds = RollingBounds { surge, unavailable: unavailable.min(desired) };
            let (mut newest, mut old) = (set(0, 0), set(desired, desired));
            for become_ready in ready {
                let (grown, shrunk) = next(desired, bounds, newest, &[old]);
                newest.wanted = grown;
                old.wanted = shrunk[0];
                old.available = old.available.min(old.wanted);
                prop_assert!(newest.wanted + old.wanted <= desired + surge);
                prop_assert!(newest.available + old.available >= desired - bounds.unavailable);
                newest.available = (newest.available + become_ready).min(newest.wanted);
            }
            newest.available = newest.wanted;
            for _ in 0..100 {
                let (grown, shrunk) = next(desired, bounds, newest, &[old]);
                newest = set(grown, grown);
                old = set(shrunk[0], shrunk[0]);
            }
            prop_assert_eq!((newest.wanted, old.wanted), (desired, 0));
        }
    }
}
