//! Admission by the API server itself, as far as Pods and namespaces depend on it: namespaces
//! exist, service accounts exist, priorities are looked up, addresses are given.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api_request::ApiRequest;
use crate::error::{ApiError, Cause, StatusReason};
use crate::meta;
use crate::rules::pod;
use crate::state::Api;
use crate::store::{ObjectKey, WritePrecondition};
use evenkeel_quantity::Quantity;

const PRIORITY_CLASSES: &str = "priorityclasses.scheduling.k8s.io";
/// Addresses of Services: 10.96.0.0/12, the first for `kubernetes`.
const SERVICE_NETWORK: [u8; 4] = [10, 96, 0, 0];
const SERVICE_ADDRESSES: u32 = 1 << 20;
/// Taint of every new node, until its lifecycle controller finds it ready.
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// Refuses new objects in namespaces that are missing or being deleted.
pub(crate) fn namespace_exists(call: &ApiRequest) -> Result<(), ApiError> {
    let Some(namespace) = call.namespace.as_deref() else {
        return Ok(());
    };
    let found = call
        .api
        .store
        .get("namespaces", &ObjectKey::new("", namespace));
    let Some(found) = found else {
        let error = ApiError::new(
            StatusReason::NotFound,
            format!("namespaces {namespace:?} not found"),
        );
        return Err(error);
    };
    if meta::is_deleting(&found.value) {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        return Err(call
            .resource
            .forbidden(call.name.as_deref().unwrap_or_default(), &why));
    }
    Ok(())
}

/// Completes a new object before webhooks see it.
pub(crate) fn on_create(call: &ApiRequest, object: &mut Value) -> Result<(), ApiError> {
    match &*call.resource.collection {
        "pods" => {
            service_account(call, object)?;
            priority(call, object)?;
            pod::tolerate_lost_nodes(object);
        }
        "nodes" => taint(object),
        PRIORITY_CLASSES => meta::default(object, "preemptionPolicy", "PreemptLowerPriority"),
        _ => {}
    }
    Ok(())
}

fn service_account(call: &ApiRequest, object: &mut Value) -> Result<(), ApiError> {
    let name = meta::name(object).to_owned();
    let spec = meta::child(object, "spec");
    meta::default(spec, "serviceAccountName", "default");
    let account = meta::text(spec, "/serviceAccountName").to_owned();
    spec["serviceAccount"] = account.as_str().into();
    let namespace = call.namespace.clone().unwrap_or_default();
    let key = ObjectKey::new(namespace.as_str(), account.as_str());
    if call.api.store.get("serviceaccounts", &key).is_none() {
        let why = format!(
            "error looking up service account {namespace}/{account}: serviceaccount {account:?} not found"
        );
        return Err(call.resource.forbidden(&name, &why));
    }
    Ok(())
}

fn priority(call: &ApiRequest, object: &mut Value) -> Result<(), ApiError> {
    let name = meta::name(object).to_owned();
    let spec = meta::child(object, "spec");
    let wanted = meta::text(spec, "/priorityClassName").to_owned();
    let store = &call.api.store;
    let class = if wanted.is_empty() {
        let (classes, _) = store.list(PRIORITY_CLASSES, None);
        let mut classes = classes.into_iter();
        classes.find(|class| class.value["globalDefault"] == true)
    } else {
        let found = store.get(PRIORITY_CLASSES, &ObjectKey::new("", wanted.as_str()));
        if found.is_none() {
            let why = format!("no PriorityClass with name {wanted} was found");
            return Err(call.resource.forbidden(&name, &why));
        }
        found
    };
    let value = class
        .as_ref()
        .map_or(json!(0), |class| class.value["value"].clone());
    let given = spec["priority"].clone();
    if !given.is_null() && given != value {
        let why = "the integer value of priority must not be provided in pod spec; priority admission controller computed a different value from the given PriorityClass name";
        return Err(call.resource.forbidden(&name, why));
    }
    spec["priority"] = value;
    let policy = match &class {
        Some(class) => {
            spec["priorityClassName"] = class.value["metadata"]["name"].clone();
            class.value["preemptionPolicy"].clone()
        }
        None => Value::Null,
    };
    let usual = json!("PreemptLowerPriority");
    meta::default(
        spec,
        "preemptionPolicy",
        if policy.is_null() { usual } else { policy },
    );
    Ok(())
}

/// Refuses a resize if the Pod's node does not exist or could never hold it.
pub(crate) fn node_can_hold(call: &ApiRequest, old: &Value, new: &Value) -> Result<(), ApiError> {
    let name = meta::name(old);
    let node = meta::text(old, "/spec/nodeName");
    if node.is_empty() {
        return Ok(());
    }
    let Some(found) = call.api.store.get("nodes", &ObjectKey::new("", node)) else {
        let why = format!("node {node:?} not found");
        return Err(call.resource.forbidden(name, &why));
    };
    let allocatable = &found.value["status"]["allocatable"];
    for resource in ["cpu", "memory"] {
        let containers = meta::list(new, "/spec/containers").iter();
        let requested: u64 = containers
            .map(|container| amount(&container["resources"]["requests"], resource))
            .sum();
        let can = amount(allocatable, resource);
        if requested > can {
            let why = format!(
                "node didn't have enough allocatable resources: {resource}, requested: {requested}, allocatable: {can}"
            );
            let cause = Cause {
                reason: "NodeCapacity",
                field: String::new(),
                message: String::new(),
            };
            return Err(call.resource.forbidden(name, &why).with_causes(&[cause]));
        }
    }
    Ok(())
}

/// Millicores of `cpu`, bytes of anything else.
fn amount(amounts: &Value, resource: &str) -> u64 {
    let quantity: Option<Quantity> = meta::text(amounts, &format!("/{resource}")).parse().ok();
    quantity.map_or(0, |quantity| match resource {
        "cpu" => quantity.milli_ceil(),
        _ => quantity.ceil(),
    })
}

fn taint(node: &mut Value) {
    let spec = meta::child(node, "spec");
    let tainted = meta::list(spec, "/taints")
        .iter()
        .any(|taint| taint["key"] == NOT_READY);
    if tainted {
        return;
    }
    let taint = json!({"key": NOT_READY, "effect": "NoSchedule"});
    match spec["taints"].as_array_mut() {
        Some(taints) => taints.push(taint),
        None => spec["taints"] = json!([taint]),
    }
}

pub(crate) fn allocate(call: &ApiRequest, object: &mut Value) {
    let is_service = &*call.resource.collection == "services";
    let kind = meta::text(object, "/spec/type");
    if !is_service || kind == "ExternalName" {
        return;
    }
    let given = meta::text(object, "/spec/clusterIP").to_owned();
    let address = if given.is_empty() {
        let (services, _) = call.api.store.list("services", None);
        let taken: Vec<&str> = services
            .iter()
            .map(|service| meta::text(&service.value, "/spec/clusterIP"))
            .collect();
        let free = (1..SERVICE_ADDRESSES).map(service_address);
        free.into_iter()
            .find(|address| !taken.contains(&address.as_str()))
            .unwrap_or_default()
    } else {
        given
    };
    object["spec"]["clusterIP"] = address.as_str().into();
    object["spec"]["clusterIPs"] = json!([address]);
}

fn service_address(index: u32) -> String {
    std::net::Ipv4Addr::from(u32::from_be_bytes(SERVICE_NETWORK) + index).to_string()
}

/// Creates the `default` ServiceAccount of a new namespace, before a Pod can need it.
pub(crate) fn default_service_account(api: &Api, namespace: &str) {
    let account = json!({
        "kind": "ServiceAccount", "apiVersion": "v1",
        "metadata": {"name": "default", "namespace": namespace, "uid": api.identities.uid(),
            "creationTimestamp": api.stamp()},
    });
    // A conflict means that another call made the same account first.
    let _ = api.store.commit(
        &Arc::from("serviceaccounts"),
        WritePrecondition::Absent,
        account,
    );
}
