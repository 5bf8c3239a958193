//! Watched objects as the API server sends them: an object is read or refused, and what rules derive
//! from it never panics.

#![no_main]

use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_metrics::pod_metrics;
use evenkeel_objects::capacities::Capacities;
use evenkeel_objects::node::{Node, node_facts};
use evenkeel_objects::pod::Pod;
use evenkeel_placement::demand::demand;
use evenkeel_scaling::targets::scaled_object::ScaledObject;
use evenkeel_service::watched_types::{WatchedDeployment, WatchedStatefulSet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    if let Ok(autoscaler) = serde_json::from_slice::<Autoscaler>(body) {
        let spec = autoscaler.spec.hpa();
        assert_eq!(spec.max_replicas, autoscaler.spec.max_replicas);
        let _ = (
            autoscaler.spec.scale_target_group(),
            autoscaler.scaled_object(),
        );
    }
    if let Ok(node) = serde_json::from_slice::<Node>(body) {
        let _ = node_facts(&node, &Capacities::default());
    }
    if let Ok(pod) = serde_json::from_slice::<Pod>(body) {
        let _ = demand(&pod, true);
    }
    let _ = serde_json::from_slice::<WatchedDeployment>(body);
    let _ = serde_json::from_slice::<WatchedStatefulSet>(body);
    if let Ok(object) = serde_json::from_slice::<ScaledObject>(body) {
        let _ = object.is_paused();
    }
    let _ = pod_metrics::for_each(body, drop);
});
