//! Deletes Pods of gone nodes; the API server collects objects without owner.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use kube::{Api, Client, ResourceExt as _};
use tracing::debug;

use super::resync::ResyncSignal;
use crate::store::Stores;

pub(super) async fn run(client: Client, stores: Stores) {
    let mut turns = ResyncSignal::of(&stores);
    loop {
        let nodes = stores.nodes.list();
        let nodes: HashSet<String> = nodes.iter().map(|node| node.name_any()).collect();
        for pod in stores.pods.list() {
            if is_homeless(&pod, &nodes) {
                let namespace = pod.namespace().unwrap_or_default();
                let api: Api<Pod> = Api::namespaced(client.clone(), &namespace);
                let at_once = DeleteParams::default().grace_period(0);
                if let Err(error) = api.delete(&pod.name_any(), &at_once).await {
                    debug!(%error, pod = pod.name_any(), "a Pod could not be collected");
                }
            }
        }
        turns.next().await;
    }
}

/// The Pod's node is not among `nodes`; false while `nodes` is empty, because then no node has been
/// listed yet.
fn is_homeless(pod: &Pod, nodes: &HashSet<String>) -> bool {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref());
    !nodes.is_empty() && node.is_some_and(|node| !nodes.contains(node))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_pods_of_nodes_that_are_gone_are_homeless() {
        let pod = |spec: Value| -> Pod {
            serde_json::from_value(json!({"metadata": {"name": "a"}, "spec": spec})).unwrap()
        };
        let bound = pod(json!({"containers": [], "nodeName": "n"}));
        let nodes = |name: &str| HashSet::from([name.to_owned()]);
        assert!(is_homeless(&bound, &nodes("m")));
        assert!(!is_homeless(&bound, &nodes("n")));
        assert!(!is_homeless(&bound, &HashSet::new()));
        assert!(!is_homeless(&pod(json!({"containers": []})), &nodes("m")));
    }
}
