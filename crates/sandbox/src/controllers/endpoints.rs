//! One EndpointSlice for each Service with a selector.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::{Value, json};
use tracing::debug;

use super::replica_set::is_ready;
use super::resync::ResyncSignal;
use crate::objects::typed;
use crate::store::Stores;
use evenkeel_label_selector::Selector;

const MANAGER: &str = "endpointslice-controller.k8s.io";

pub(super) async fn run(client: Client, stores: Stores) {
    let mut turns = ResyncSignal::of(&stores);
    loop {
        for service in stores.services.list() {
            if let Err(error) = reconcile(&client, &stores, &service).await {
                debug!(%error, service = service.name_any(), "endpoints could not be kept");
            }
        }
        turns.next().await;
    }
}

async fn reconcile(client: &Client, stores: &Stores, service: &Service) -> kube::Result<()> {
    let selector = service.spec.as_ref().and_then(|spec| spec.selector.clone());
    // Without a selector, another client writes the endpoints.
    let Some(labels) = selector.filter(|labels| !labels.is_empty()) else {
        return Ok(());
    };
    let selector = Selector::from_labels(&labels);
    let mut pods = stores.pods.list();
    pods.retain(|pod| pod.namespace() == service.namespace() && selector.matches(pod.labels()));
    let namespace = service.namespace().unwrap_or_default();
    let name = format!("{}-pods", service.name_any());
    let (endpoints, ports) = (endpoints(&pods), ports(service, &pods));
    let api: Api<EndpointSlice> = Api::namespaced(client.clone(), &namespace);
    let Some(slice) = stores.slices.get(&namespace, &name) else {
        let slice = slice(service, &name, &endpoints, &ports);
        let made = api.create(&PostParams::default(), &slice).await;
        // Created a moment ago, and not in the watch yet.
        let conflict = matches!(&made, Err(kube::Error::Api(status)) if status.code == 409);
        return if conflict { Ok(()) } else { made.map(drop) };
    };
    if json!(slice.endpoints) == endpoints && json!(slice.ports) == ports {
        return Ok(());
    }
    let patch = Patch::Merge(json!({"endpoints": endpoints, "ports": ports}));
    api.patch(&name, &PatchParams::default(), &patch)
        .await
        .map(drop)
}

fn slice(service: &Service, name: &str, endpoints: &Value, ports: &Value) -> EndpointSlice {
    let owner = service.controller_owner_ref(&());
    typed(json!({
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/service-name": service.name_any(),
                "endpointslice.kubernetes.io/managed-by": MANAGER,
            },
            "ownerReferences": owner.map(|owner| vec![owner]),
        },
        "addressType": "IPv4", "endpoints": endpoints, "ports": ports,
    }))
}

/// Pods with an address, in the stored form.
fn endpoints(pods: &[Arc<Pod>]) -> Value {
    let endpoint = |pod: &Arc<Pod>| {
        let address = pod.status.as_ref()?.pod_ip.clone()?;
        let leaves = pod.metadata.deletion_timestamp.is_some();
        let ready = is_ready(pod);
        Some(json!({
            "addresses": [address],
            "conditions": {"ready": ready && !leaves, "serving": ready, "terminating": leaves},
            "nodeName": pod.spec.as_ref()?.node_name,
            "targetRef": {"kind": "Pod", "namespace": pod.namespace(), "name": pod.name_any(),
                "uid": pod.uid()},
        }))
    };
    pods.iter().filter_map(endpoint).collect()
}

fn ports(service: &Service, pods: &[Arc<Pod>]) -> Value {
    let ports = service
        .spec
        .iter()
        .flat_map(|spec| spec.ports.iter().flatten());
    ports
        .filter_map(|port| {
            Some(json!({
                "name": port.name.clone().unwrap_or_default(),
                "port": number(port, pods)?,
                "protocol": port.protocol.clone().unwrap_or_else(|| "TCP".to_owned()),
            }))
        })
        .collect()
}

/// A number, or that of the container port with the name.
fn number(port: &ServicePort, pods: &[Arc<Pod>]) -> Option<i32> {
    let name = match &port.target_port {
        None | Some(IntOrString::Int(0)) => return Some(port.port),
        Some(IntOrString::Int(number)) => return Some(*number),
        Some(IntOrString::String(name)) => name,
    };
    let containers = pods
        .iter()
        .flat_map(|pod| pod.spec.iter().flat_map(|spec| &spec.containers));
    let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
    let named = ports.find(|port| port.name.as_ref() == Some(name))?;
    Some(named.container_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_of_the_pods_and_only_ready_ones_take_connections() {
        let pod = |ready: &str| -> Arc<Pod> {
            let pod = json!({"metadata": {"name": "a", "namespace": "n", "uid": "u"},
                "spec": {"nodeName": "node", "containers": [{"name": "c",
                    "ports": [{"name": "web", "containerPort": 8080}]}]},
                "status": {"podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": ready}]}});
            Arc::new(serde_json::from_value(pod).unwrap())
        };
        let service: Service = serde_json::from_value(json!({"spec": {"ports": [
            {"name": "http", "port": 80, "targetPort": "web"}, {"name": "tls", "port": 443},
            {"name": "none", "port": 1, "targetPort": "missing"}]}}))
        .unwrap();
        let pods = [pod("True"), pod("False")];
        let found = ports(&service, &pods);
        assert_eq!(
            (found[0]["port"].as_i64(), found[1]["port"].as_i64()),
            (Some(8080), Some(443))
        );
        assert_eq!(found.as_array().map(Vec::len), Some(2));
        let found = endpoints(&pods);
        assert_eq!(found[0]["conditions"]["ready"], true);
        assert_eq!(found[1]["conditions"]["ready"], false);
    }
}
