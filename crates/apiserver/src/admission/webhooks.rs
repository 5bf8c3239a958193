//! Mutating admission webhooks, called like kube-apiserver does: over TLS, in the order of their
//! configurations' names, and again if they ask for that and a later one changed the object.
//! `failurePolicy` is for webhooks that are unreachable or answer nonsense. A patch that does not
//! apply, or leaves no object of the kind, refuses the request whatever the policy.

mod caller;
mod matching;
mod request;
mod review;

use serde_json::Value;

use crate::api_request::ApiRequest;
use crate::error::{ApiError, StatusReason};
use crate::meta;
use crate::resources::decode;
use crate::resources::resource::Resource;

use self::request::Webhook;
pub(crate) use self::request::{AdmissionOperation, AdmissionRequest};

const CONFIGURATIONS: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";

/// Calls all matching webhooks; returns the object if any changed it.
pub(crate) async fn mutate(
    call: &ApiRequest,
    request: &AdmissionRequest<'_>,
) -> Result<Option<Value>, ApiError> {
    let (configurations, _) = call.api.store.list(CONFIGURATIONS, None);
    if configurations.is_empty() || call.resource.group == "admissionregistration.k8s.io" {
        return Ok(None);
    }
    let webhooks: Vec<Webhook> = configurations
        .iter()
        .flat_map(|stored| meta::list(&stored.value, "/webhooks"))
        .map(Webhook::new)
        .collect();
    let mut object = request.object.cloned();
    let mut called = Vec::new();
    let mut changed_after = None;
    for (index, webhook) in webhooks.iter().enumerate() {
        if ask(call, request, webhook, &mut object)
            .await?
            .is_some_and(|changed| {
                called.push(index);
                changed
            })
        {
            changed_after = Some(index);
        }
    }
    let Some(last_change) = changed_after else {
        return Ok(None);
    };
    for index in called.into_iter().filter(|index| *index < last_change) {
        let webhook = &webhooks[index];
        if webhook.value["reinvocationPolicy"] == "IfNeeded" {
            ask(call, request, webhook, &mut object).await?;
        }
    }
    Ok(object)
}

/// `None` if it does not match, else whether it changed the object.
async fn ask(
    call: &ApiRequest,
    request: &AdmissionRequest<'_>,
    webhook: &Webhook,
    object: &mut Option<Value>,
) -> Result<Option<bool>, ApiError> {
    let now = AdmissionRequest {
        object: object.as_ref(),
        ..*request
    };
    let Some(seen_as) = matching::matched(call, &now, &webhook.value) else {
        return Ok(None);
    };
    let uid = call.api.identities.uid();
    let body = review::request(call, &seen_as, &now, &uid);
    let answer = caller::call(&call.api, webhook, &body).await;
    let outcome = answer.and_then(|answer| review::read(&answer, &uid));
    let response = match outcome {
        Ok(response) => response,
        Err(failure) if webhook.value["failurePolicy"] == "Ignore" => {
            tracing::warn!(webhook = webhook.name, error = %failure, "admission webhook ignored");
            return Ok(Some(false));
        }
        Err(failure) => {
            let name = &webhook.name;
            return Err(internal(&format!(
                "failed calling webhook {name:?}: failed to call webhook: {failure}"
            )));
        }
    };
    for warning in response.warnings {
        call.warn(warning);
    }
    if let Some(denied) = response.denied {
        return Err(denied.into_error(&webhook.name));
    }
    let (Some(patch), Some(before)) = (response.patch, object.as_ref()) else {
        return Ok(Some(false));
    };
    let after = patched(call, &seen_as, before, &patch)?;
    let changed = after != *before;
    *object = Some(after);
    Ok(Some(changed))
}

fn internal(why: &str) -> ApiError {
    ApiError::new(
        StatusReason::InternalError,
        format!("Internal error occurred: {why}"),
    )
}

/// Applies a webhook's patch to the version that it saw; returns the stored form.
fn patched(
    call: &ApiRequest,
    seen_as: &Resource,
    before: &Value,
    patch: &json_patch::Patch,
) -> Result<Value, ApiError> {
    let mut object = seen_as.to_served_version(before);
    json_patch::patch(&mut object, patch).map_err(|error| internal(&error.to_string()))?;
    if matching::is_binding(call) {
        return Ok(object);
    }
    let decoded = |resource: &Resource, object: Value| {
        let decoded = decode::decode_as(resource, object);
        decoded
            .map(|(object, _)| object)
            .map_err(|error| internal(&error.to_string()))
    };
    let mut object = decoded(seen_as, object)?;
    let stored_as = call.stored_as();
    if let Some(conversion) = seen_as.conversion {
        object = (conversion.to_storage)(object);
        object["apiVersion"] = stored_as.api_version().into();
        object = decoded(&stored_as, object)?;
    }
    (stored_as.rules.defaults)(&mut object);
    Ok(object)
}
