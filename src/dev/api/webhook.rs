//! Mutating admission webhooks, called as kube-apiserver calls them: over TLS, one after the
//! other in the order of their configurations' names, again when a later one changed the object
//! and they ask for that.
//!
//! A webhook that cannot be reached or answers nonsense is what `failurePolicy` is for; a patch
//! that does not apply, or leaves no object of the kind, refuses the request whatever it says.

mod client;
mod matching;
mod review;

use std::sync::Arc;

use serde_json::Value;

use super::call::Call;
use super::decode;
use super::error::{ApiError, Reason};
use super::meta;

pub(crate) use self::client::Webhooks;

const CONFIGURATIONS: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";

/// What is about to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// What webhooks are asked about; the kind is the call's, or its subresource's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) operation: Operation,
    pub(crate) object: Option<&'a Value>,
    pub(crate) old: Option<&'a Value>,
}

/// Why one webhook did not answer usefully.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failure(String);

/// One configured webhook.
#[derive(Debug, Clone)]
struct Webhook {
    value: Value,
    name: String,
}

/// Asks all webhooks that match; the object if any changed it.
pub(crate) async fn mutate(call: &Call, request: &Request<'_>) -> Result<Option<Value>, ApiError> {
    let (configurations, _) = call.api.store.list(CONFIGURATIONS, None);
    if configurations.is_empty() || call.resource.group == "admissionregistration.k8s.io" {
        return Ok(None);
    }
    let webhooks: Vec<Webhook> = configurations
        .iter()
        .flat_map(|stored| meta::list(&stored.value, "/webhooks"))
        .map(|value| Webhook {
            name: meta::text(value, "/name").to_owned(),
            value: value.clone(),
        })
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

/// `None` when the webhook does not match, else whether it changed the object.
async fn ask(
    call: &Call,
    request: &Request<'_>,
    webhook: &Webhook,
    object: &mut Option<Value>,
) -> Result<Option<bool>, ApiError> {
    let now = Request {
        object: object.as_ref(),
        ..*request
    };
    if !matching::matches(call, &now, &webhook.value) {
        return Ok(None);
    }
    let uid = call.api.identities.uid();
    let body = review::request(call, &now, &uid);
    let answer = call.api.webhooks.send(webhook, &body).await;
    let outcome = answer.and_then(|answer| review::read(&answer, &uid));
    let verdict = match outcome {
        Ok(verdict) => verdict,
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
    for warning in verdict.warnings {
        call.warn(warning);
    }
    if let Some(denied) = verdict.denied {
        return Err(denied.into_error(&webhook.name));
    }
    let (Some(patch), Some(before)) = (verdict.patch, object.as_ref()) else {
        return Ok(Some(false));
    };
    let after = patched(call, before, &patch)?;
    let changed = after != *before;
    *object = Some(after);
    Ok(Some(changed))
}

fn internal(why: &str) -> ApiError {
    ApiError::new(
        Reason::InternalError,
        format!("Internal error occurred: {why}"),
    )
}

/// Applies a webhook's patch and makes an object of the kind of the result.
fn patched(call: &Call, before: &Value, patch: &json_patch::Patch) -> Result<Value, ApiError> {
    let mut object = before.clone();
    json_patch::patch(&mut object, patch).map_err(|error| internal(&error.to_string()))?;
    if matching::is_binding(call) {
        return Ok(object);
    }
    let resource = match call.resource.conversion {
        Some(_) => call.api.registry.of_collection(&call.resource.collection),
        None => None,
    };
    let resource = resource.unwrap_or_else(|| Arc::clone(&call.resource));
    let (mut object, _) =
        decode::decode_as(&resource, object).map_err(|error| internal(&error.to_string()))?;
    (resource.rules.defaults)(&mut object);
    Ok(object)
}
