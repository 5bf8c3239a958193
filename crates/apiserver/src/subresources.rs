//! The subresources that are more than a part of the object: scale, binding, eviction.

use std::sync::Arc;

use serde_json::{Value, json};

use super::call::Call;
use super::error::{ApiError, Cause, Reason};
use super::meta;
use super::patch::Patch;
use super::query::DeleteOptions;
use super::remove;
use super::resource::{Resource, ScalePaths, Subresource};
use super::selector::{self, Selection};
use super::webhook::{self, Operation};
use super::write::{self, Part};

/// The `autoscaling/v1` Scale of an object.
pub(crate) fn scale(resource: &Resource, object: &Value) -> Value {
    let paths = resource.scale.as_ref();
    let number = |pointer: Option<&str>| {
        pointer
            .and_then(|pointer| meta::number(object, pointer))
            .unwrap_or_default()
    };
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {},
        "spec": {}, "status": {"replicas": number(paths.map(|paths| paths.status.as_str()))},
    });
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        meta::put(
            &mut scale["metadata"],
            field,
            object["metadata"].get(field).cloned(),
        );
    }
    let replicas = number(paths.map(|paths| paths.spec.as_str()));
    if replicas != 0 {
        scale["spec"]["replicas"] = replicas.into();
    }
    let selector = paths.and_then(|paths| object.pointer(paths.selector.as_deref()?));
    match selector {
        Some(Value::String(text)) => scale["status"]["selector"] = text.as_str().into(),
        Some(object) => scale["status"]["selector"] = selector::to_text(object).into(),
        None => {}
    }
    scale
}

/// Changes the replicas through a Scale.
pub(crate) async fn update_scale(
    call: &Call,
    change: &(dyn Fn(&Value) -> Result<Value, ApiError> + Send + Sync),
) -> Result<Value, ApiError> {
    let resource = &call.resource;
    let paths = resource.scale.as_ref().ok_or_else(ApiError::no_such_path)?;
    let edited = |object: &Value| {
        let wanted = change(&scale(resource, object))?;
        let mut object = object.clone();
        let version = wanted["metadata"].get("resourceVersion").cloned();
        if version.as_ref().is_some_and(|version| version != "") {
            meta::put(&mut object["metadata"], "resourceVersion", version);
        }
        set_replicas(call, paths, &wanted, &mut object)?;
        Ok(object)
    };
    let written = write::update(call, Part::Main, &edited).await?;
    Ok(scale(resource, written.value()))
}

fn set_replicas(
    call: &Call,
    paths: &ScalePaths,
    scale: &Value,
    object: &mut Value,
) -> Result<(), ApiError> {
    let given = &scale["spec"]["replicas"];
    let replicas = if given.is_null() {
        Some(0)
    } else {
        given.as_i64()
    };
    let Some(replicas) = replicas.filter(|replicas| *replicas >= 0) else {
        let why = "must be greater than or equal to 0";
        let cause = Cause::invalid("spec.replicas", given, why);
        return Err(ApiError::invalid(
            &call.resource,
            meta::name(object),
            &[cause],
        ));
    };
    let mut node = object;
    for step in paths.spec.split('/').filter(|step| !step.is_empty()) {
        if !node.is_object() {
            *node = json!({});
        }
        node = &mut node[step];
    }
    *node = replicas.into();
    Ok(())
}

/// The Scale after a patch or a replacement.
pub(crate) fn patched_scale(patch: &Patch, scale: &Value) -> Result<Value, ApiError> {
    match patch {
        Patch::Apply(_) => Err(ApiError::unsupported("server-side apply of a scale")),
        patch => patch.apply(scale),
    }
}

/// Assigns a Pod to a node.
pub(crate) async fn bind(call: &Call, binding: &Value) -> Result<(), ApiError> {
    let node = meta::text(binding, "/target/name");
    let kind = meta::text(binding, "/target/kind");
    let name = call.key().name;
    if node.is_empty() || !matches!(kind, "" | "Node") {
        let cause = if node.is_empty() {
            Cause::required("target.name", "")
        } else {
            Cause::unsupported("target.kind", &kind.into(), "\"Node\", \"\"")
        };
        return Err(ApiError::invalid(&call.resource, &name, &[cause]));
    }
    let request = webhook::Request {
        operation: Operation::Create,
        object: Some(binding),
        old: None,
    };
    webhook::mutate(call, &request).await?;
    let bound = |pod: &Value| bound(call, pod, binding, node);
    let mut quiet = Call::new(Arc::clone(&call.api), Arc::clone(&call.resource)).about(&call.key());
    quiet.dry_run = call.dry_run;
    quiet.agent.clone_from(&call.agent);
    write::update(&quiet, Part::Whole, &bound).await?;
    Ok(())
}

fn bound(call: &Call, pod: &Value, binding: &Value, node: &str) -> Result<Value, ApiError> {
    let name = meta::name(pod);
    let refuse = |why: String| {
        let error = ApiError::conflict(&call.resource, name, &why);
        Err(error)
    };
    let uid = meta::uid(binding);
    if !uid.is_empty() && uid != meta::uid(pod) {
        let is = meta::uid(pod);
        return refuse(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {is}"
        ));
    }
    let on = meta::text(pod, "/spec/nodeName");
    if !on.is_empty() {
        return refuse(format!("pod {name} is already assigned to node {on:?}"));
    }
    if meta::is_deleting(pod) {
        return refuse(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        ));
    }
    if !meta::list(pod, "/spec/schedulingGates").is_empty() {
        return refuse(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    let mut pod = pod.clone();
    pod["spec"]["nodeName"] = node.into();
    let metadata = meta::child(&mut pod, "metadata");
    for field in ["labels", "annotations"] {
        for (key, value) in meta::map(&binding["metadata"], &format!("/{field}"))
            .into_iter()
            .flatten()
        {
            meta::child(metadata, field)[key.as_str()] = value.clone();
        }
    }
    let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null,
        "lastTransitionTime": call.api.stamp()});
    let status = meta::child(&mut pod, "status");
    let mut conditions: Vec<Value> = meta::list(status, "/conditions").to_vec();
    conditions.retain(|condition| condition["type"] != "PodScheduled");
    conditions.push(condition);
    status["conditions"] = Value::Array(conditions);
    Ok(pod)
}

/// Deletes a Pod if its disruption budget allows that.
pub(crate) async fn evict(call: &Call, eviction: &Value) -> Result<(), ApiError> {
    let pod = call.current()?;
    let request = webhook::Request {
        operation: Operation::Create,
        object: Some(eviction),
        old: None,
    };
    webhook::mutate(call, &request).await?;
    let mut options = DeleteOptions::read(&call.query, &eviction["deleteOptions"])?;
    options.dry_run |= call.dry_run;
    let phase = meta::text(&pod.value, "/status/phase");
    let counts =
        !matches!(phase, "Pending" | "Succeeded" | "Failed") && !meta::is_deleting(&pod.value);
    if counts {
        spend_budget(call, &pod.value, options.dry_run).await?;
    }
    let mut one = Call::new(Arc::clone(&call.api), Arc::clone(&call.resource)).about(&call.key());
    one.user.clone_from(&call.user);
    remove::delete(&one, &options).await?;
    Ok(())
}

/// Takes one disruption from the budget that the Pod is under, if there is one.
async fn spend_budget(call: &Call, pod: &Value, dry_run: bool) -> Result<(), ApiError> {
    const COLLECTION: &str = "poddisruptionbudgets.policy";
    let api = &call.api;
    let (budgets, _) = api.store.list(COLLECTION, call.namespace.as_deref());
    let mut matching = budgets
        .iter()
        .filter(|budget| Selection::from_object(&budget.value["spec"]["selector"]).matches(pod));
    let Some(budget) = matching.next() else {
        return Ok(());
    };
    if matching.next().is_some() {
        let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(ApiError::new(Reason::InternalError, why));
    }
    allows_disruption(&budget.value)?;
    let Some(resource) = api.registry.of_collection(COLLECTION).filter(|_| !dry_run) else {
        return Ok(());
    };
    let spent = |budget: &Value| {
        let mut budget = budget.clone();
        let left = meta::number(&budget, "/status/disruptionsAllowed").unwrap_or_default() - 1;
        budget["status"]["disruptionsAllowed"] = left.max(0).into();
        let pods = meta::child(&mut budget["status"], "disruptedPods");
        pods[meta::name(pod)] = api.stamp().into();
        Ok(budget)
    };
    let call = Call::new(Arc::clone(api), resource).about(&budget.key());
    write::update(&call, Part::Status, &spent).await.map(drop)
}

fn allows_disruption(budget: &Value) -> Result<(), ApiError> {
    let name = meta::name(budget);
    let number = |pointer: &str| meta::number(budget, pointer).unwrap_or_default();
    let refused = |message: String| {
        let cause = Cause {
            reason: "DisruptionBudget",
            field: String::new(),
            message,
        };
        let why = "Cannot evict pod as it would violate the pod's disruption budget.";
        ApiError::new(Reason::TooManyRequests, why).with_causes(&[cause])
    };
    if number("/status/observedGeneration") < number("/metadata/generation") {
        let message =
            format!("The disruption budget {name} is still being processed by the server.");
        return Err(refused(message).retry_after(10));
    }
    if number("/status/disruptionsAllowed") <= 0 {
        let needs = number("/status/desiredHealthy");
        let has = number("/status/currentHealthy");
        return Err(refused(format!(
            "The disruption budget {name} needs {needs} healthy pods and has {has} currently"
        )));
    }
    Ok(())
}

/// Refuses a part that only a kubelet or an issuer of tokens could serve.
pub(crate) fn refused(subresource: Subresource) -> ApiError {
    ApiError::unsupported(&format!("the {:?} subresource", subresource.name()))
}
