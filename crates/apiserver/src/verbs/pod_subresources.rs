//! Binding and eviction of Pods.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::admission::webhooks::{self, AdmissionOperation};
use crate::api_request::ApiRequest;
use crate::error::{ApiError, Cause, StatusReason};
use crate::meta;
use crate::selector::ListSelector;
use crate::verbs::delete;
use crate::verbs::update::{self, UpdateScope};
use crate::wire::query::DeleteOptions;

pub(crate) async fn bind(call: &ApiRequest, binding: &Value) -> Result<(), ApiError> {
    let node = meta::text(binding, "/target/name");
    let kind = meta::text(binding, "/target/kind");
    let name = call.key().name;
    if node.is_empty() || !matches!(kind, "" | "Node") {
        let cause = if node.is_empty() {
            Cause::required("target.name", "")
        } else {
            Cause::unsupported("target.kind", &kind.into(), "\"Node\", \"\"")
        };
        return Err(call.resource.invalid(&name, &[cause]));
    }
    let request = webhooks::AdmissionRequest {
        operation: AdmissionOperation::Create,
        object: Some(binding),
        old: None,
    };
    webhooks::mutate(call, &request).await?;
    let bound = |pod: &Value| bound(call, pod, binding, node);
    let mut quiet =
        ApiRequest::new(Arc::clone(&call.api), Arc::clone(&call.resource)).about(&call.key());
    quiet.dry_run = call.dry_run;
    quiet.agent.clone_from(&call.agent);
    update::update(&quiet, UpdateScope::Whole, &bound).await?;
    Ok(())
}

fn bound(call: &ApiRequest, pod: &Value, binding: &Value, node: &str) -> Result<Value, ApiError> {
    let name = meta::name(pod);
    let refuse = |why: String| {
        let error = call.resource.conflict(name, &why);
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

/// If its disruption budget allows that.
pub(crate) async fn evict(call: &ApiRequest, eviction: &Value) -> Result<(), ApiError> {
    let pod = call.current()?;
    let request = webhooks::AdmissionRequest {
        operation: AdmissionOperation::Create,
        object: Some(eviction),
        old: None,
    };
    webhooks::mutate(call, &request).await?;
    let mut options = DeleteOptions::read(&call.query, &eviction["deleteOptions"])?;
    options.dry_run |= call.dry_run;
    let phase = meta::text(&pod.value, "/status/phase");
    let counts =
        !matches!(phase, "Pending" | "Succeeded" | "Failed") && !meta::is_deleting(&pod.value);
    if counts {
        spend_budget(call, &pod.value, options.dry_run).await?;
    }
    let mut one =
        ApiRequest::new(Arc::clone(&call.api), Arc::clone(&call.resource)).about(&call.key());
    one.user.clone_from(&call.user);
    delete::delete(&one, &options).await?;
    Ok(())
}

/// Takes one disruption from the Pod's budget, if there is one.
async fn spend_budget(call: &ApiRequest, pod: &Value, dry_run: bool) -> Result<(), ApiError> {
    const COLLECTION: &str = "poddisruptionbudgets.policy";
    let api = &call.api;
    let (budgets, _) = api.store.list(COLLECTION, call.namespace.as_deref());
    let mut matching = budgets
        .iter()
        .filter(|budget| ListSelector::from_object(&budget.value["spec"]["selector"]).matches(pod));
    let Some(budget) = matching.next() else {
        return Ok(());
    };
    if matching.next().is_some() {
        let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(ApiError::new(StatusReason::InternalError, why));
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
    let call = ApiRequest::new(Arc::clone(api), resource).about(&budget.key());
    update::update(&call, UpdateScope::Status, &spent)
        .await
        .map(drop)
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
        ApiError::new(StatusReason::TooManyRequests, why).with_causes(&[cause])
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
