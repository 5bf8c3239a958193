//! A cluster of any size, with measurements, and what the API server and kube-scheduler would send
//! of it.

use std::sync::Arc;

use evenkeel_clock as clock;
use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::node::Node;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_service::cluster::owners::Owner;
use evenkeel_service::cluster::{ClusterState, ScalingObject};
use evenkeel_units::{Amount, Resources};
use jiff::{SignedDuration, Timestamp};

/// The namespace of all Pods.
pub(crate) const NAMESPACE: &str = "shop";

/// How many Pods ask in turn: each is asked about anew only after all others.
pub(crate) const ASKING: usize = 256;

/// The HPA of a service.
fn autoscaler(number: usize) -> Autoscaler {
    let name = service_name(number);
    let resource = |name: &str| {
        serde_json::json!({"type": "Resource", "resource": {
            "name": name, "target": {"type": "Utilization", "averageUtilization": 80}}})
    };
    let hpa = serde_json::json!({
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": name},
        "spec": {"maxReplicas": 500, "scaleTargetRef": {
            "apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "metrics": [resource("cpu"), resource("memory")]},
        "status": {"currentReplicas": 15, "desiredReplicas": 15},
    });
    serde_json::from_value(hpa).expect("an HPA")
}

/// The name of a node.
pub(crate) fn node_name(number: usize) -> String {
    format!(
        "ip-10-{:03}-{:03}.eu-central-1.compute.internal",
        number / 256,
        number % 256
    )
}

/// A node object of some 6 KB, as kube-scheduler sends it.
pub(crate) fn node_json(number: usize) -> String {
    let name = node_name(number);
    let images: Vec<String> = (0..24)
        .map(|image| {
            format!(
                r#"{{"names":["registry.example/team-{image:02}/service@sha256:{number:064x}","registry.example/team-{image:02}/service:v1.{number}"],"sizeBytes":{}}}"#,
                40_000_000 + image * 1_000_000 + number
            )
        })
        .collect();
    let conditions: Vec<String> = ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
        .iter()
        .map(|kind| {
            let status = if *kind == "Ready" { "True" } else { "False" };
            format!(
                r#"{{"type":"{kind}","status":"{status}","lastHeartbeatTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"KubeletHas","message":"kubelet \"is\" well"}}"#
            )
        })
        .collect();
    format!(
        r#"{{"metadata":{{"name":"{name}","uid":"00000000-0000-0000-0000-{number:012}","resourceVersion":"{number}","creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"kubernetes.io/hostname":"{name}","topology.kubernetes.io/zone":"z{zone}"}},"annotations":{{"evenkeel.dev/network-capacity":"10Gbps","evenkeel.dev/disk-io-capacity":"1GB/s","node.alpha.kubernetes.io/ttl":"0"}},"managedFields":[{{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{".":{{}},"f:kubernetes.io/hostname":{{}}}}}}}}}}]}},"spec":{{"podCIDR":"10.0.0.0/24","providerID":"aws:///z{zone}/i-{number:016x}"}},"status":{{"capacity":{{"cpu":"16","memory":"64Gi","ephemeral-storage":"200Gi","pods":"110"}},"allocatable":{{"cpu":"15890m","memory":"62Gi","ephemeral-storage":"184Gi","pods":"110"}},"conditions":[{conditions}],"addresses":[{{"type":"InternalIP","address":"10.0.0.1"}},{{"type":"Hostname","address":"{name}"}}],"daemonEndpoints":{{"kubeletEndpoint":{{"Port":10250}}}},"nodeInfo":{{"machineID":"{number:032x}","systemUUID":"{number:032x}","bootID":"{number:032x}","kernelVersion":"6.1.0","osImage":"Linux","containerRuntimeVersion":"containerd://2.0.0","kubeletVersion":"v1.36.2","kubeProxyVersion":"","operatingSystem":"linux","architecture":"amd64"}},"images":[{images}]}}}}"#,
        zone = number % 3,
        conditions = conditions.join(","),
        images = images.join(","),
    )
}

/// A running Pod on a node.
pub(crate) fn bound_pod(number: usize, node: usize) -> Pod {
    let started = clock::now() - SignedDuration::from_hours(1);
    let pod = serde_json::json!({
        "metadata": {
            "name": pod_name(number), "namespace": NAMESPACE, "uid": pod_uid(number),
            "creationTimestamp": started.to_string(),
            "labels": {"app.kubernetes.io/name": service_name(number), "pod-template-hash": "7c64bcd48c"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": true,
                "name": format!("{}-7c64bcd48c", service_name(number)), "uid": set_uid(number)}],
        },
        "spec": {
            "nodeName": node_name(node),
            "containers": [{"name": "app", "resources": {"requests": {
                "cpu": format!("{}m", 50 + number % 200), "memory": "512Mi"}}}],
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True",
                "lastTransitionTime": started.to_string()}],
            "containerStatuses": [
                {"name": "app", "state": {"running": {"startedAt": started.to_string()}}}],
        },
    });
    serde_json::from_value(pod).expect("a Pod")
}

/// The workloads that Pods belong to, each with an HPA.
pub(crate) const SERVICES: usize = 10_000;

fn service_name(number: usize) -> String {
    format!("service-{:04}", number % SERVICES)
}

fn pod_name(number: usize) -> String {
    format!("{}-7c64bcd48c-{number:06}", service_name(number))
}

fn set_uid(number: usize) -> String {
    format!("3b5e0000-8a01-4c1d-9d5e-{:012}", number % SERVICES)
}

fn pod_uid(number: usize) -> String {
    format!("7d1f0000-1557-4d55-b783-{number:012}")
}

/// A fresh measurement of every node, 20 to 70 % full, and of every Pod.
pub(crate) fn sample(nodes: usize, pods: usize, now: Timestamp) -> UsageSample {
    let measured = |number: usize| {
        let share = |salt: u64, full: u64| {
            let spread = (number as u64)
                .wrapping_mul(2_654_435_761)
                .wrapping_add(salt * 97)
                % 500;
            Some(NodeSample {
                value: Amount::new(full / 1000 * (200 + spread)),
                at: now,
                window: SignedDuration::from_mins(1),
            })
        };
        Resources::new([
            share(1, 16_000),
            share(2, 62 << 30),
            share(3, 1_250_000_000),
            share(4, 1_000_000_000),
            share(5, 184 << 30),
        ])
    };
    let used = Resources::new([90, 300 << 20, 100_000, 10_000, 50 << 20]);
    let mut sample = UsageSample::default();
    for node in 0..nodes {
        sample.insert_node(node_name(node), &measured(node));
    }
    for pod in 0..pods {
        let name = PodName::new(NAMESPACE, &pod_name(pod));
        sample.insert_pod(&name, &used.map(|amount| Some(Amount::new(amount))));
    }
    sample
}

/// Fills a cluster with nodes and Pods in a namespace that has opted in.
pub(crate) fn fill(cluster: &ClusterState, nodes: usize, pods: usize) {
    let now = clock::now();
    for number in 0..nodes {
        let node: Node = serde_json::from_str(&node_json(number)).expect("a node");
        cluster.apply_node(&node, now);
    }
    for number in 0..SERVICES.min(pods) {
        let deployment = Owner::new("apps/v1", "Deployment", &service_name(number));
        let set = ControllerKey::new(NAMESPACE, &set_uid(number));
        cluster.apply_owner(Kind::ReplicaSet, &set, Some(deployment));
        cluster.apply_scaling_object(ScalingObject::Autoscaler(Arc::new(autoscaler(number))));
    }
    for number in 0..pods {
        cluster.apply_pod(&bound_pod(number, number % nodes.max(1)), now);
    }
    cluster.apply_sample(Arc::new(sample(nodes, pods, now)), now);
}

/// The Pod of a recorded request, made into one of many.
fn asking_pod(number: usize) -> serde_json::Value {
    const RECORDED: &str = include_str!("../../tests/fixtures/extender/filter-3-rich-pod.json");
    let (pod, _) = RECORDED
        .split_once(r#","Nodes":"#)
        .expect("the form of a request");
    let mut pod: serde_json::Value = serde_json::from_str(&format!("{pod}}}")).expect("a request");
    let metadata = &mut pod["Pod"]["metadata"];
    metadata["uid"] = format!("a5ce0000-1557-4d55-b783-{number:012}").into();
    metadata["name"] = format!("asking-{number:06}").into();
    metadata["namespace"] = NAMESPACE.into();
    pod["Pod"].take()
}

/// The same Pod with a demand that no node has room for.
fn refused_pod(number: usize) -> serde_json::Value {
    let mut pod = asking_pod(number);
    pod["metadata"]["annotations"]["evenkeel.dev/network-io"] = "1100MB/s".into();
    pod
}

/// Bodies that name the first `nodes` nodes, each for another Pod.
pub(crate) fn by_names(nodes: usize, pods: usize) -> Vec<bytes::Bytes> {
    bodies(nodes, (0..pods).map(asking_pod))
}

/// The same for Pods that are refused everywhere.
pub(crate) fn refused(nodes: usize, pods: usize) -> Vec<bytes::Bytes> {
    bodies(nodes, (0..pods).map(refused_pod))
}

fn bodies(nodes: usize, pods: impl Iterator<Item = serde_json::Value>) -> Vec<bytes::Bytes> {
    let names: Vec<String> = (0..nodes).map(node_name).collect();
    let names = serde_json::to_string(&names).expect("names");
    let body = |pod| format!(r#"{{"Pod":{pod},"Nodes":null,"NodeNames":{names}}}"#).into();
    pods.map(body).collect()
}

/// A body with the whole objects of the first `nodes` nodes.
pub(crate) fn with_nodes(nodes: usize) -> bytes::Bytes {
    let items: Vec<String> = (0..nodes).map(node_json).collect();
    let items = items.join(",");
    let pod = asking_pod(0);
    format!(r#"{{"Pod":{pod},"Nodes":{{"metadata":{{}},"items":[{items}]}},"NodeNames":null}}"#)
        .into()
}
