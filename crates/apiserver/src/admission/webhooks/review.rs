//! The AdmissionReview of a request and that of an answer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use json_patch::Patch;
use serde_json::{Value, json};

use crate::admission::webhooks::request::{AdmissionOperation, AdmissionRequest, WebhookFailure};
use crate::api_request::ApiRequest;
use crate::error::{ApiError, StatusReason};
use crate::meta;
use crate::resources::resource::{Resource, Subresource};

/// Compact JSON with `<`, `>` and `&` escaped and a newline at the end, as of Go's encoder.
pub(super) fn request(
    call: &ApiRequest,
    seen_as: &Resource,
    request: &AdmissionRequest<'_>,
    uid: &str,
) -> String {
    let shown = |object: Option<&Value>| object.map(|object| seen_as.to_served_version(object));
    let mut asked = json!({
        "uid": uid, "kind": kind(call, seen_as), "resource": plural(seen_as),
        "requestKind": kind(call, &call.resource), "requestResource": plural(&call.resource),
        "operation": request.operation.as_str(),
        "userInfo": {"username": call.user.name, "groups": call.user.groups},
        "object": shown(request.object), "oldObject": shown(request.old),
        "dryRun": call.dry_run, "options": options(call, request.operation),
    });
    let of = request.object.or(request.old).unwrap_or(&Value::Null);
    let name = call.name.as_deref().unwrap_or_else(|| meta::name(of));
    let text = |text: &str| (!text.is_empty()).then(|| Value::from(text));
    meta::put(&mut asked, "name", text(name));
    meta::put(
        &mut asked,
        "namespace",
        call.namespace.as_deref().and_then(text),
    );
    if let Some(subresource) = call.subresource {
        asked["subResource"] = subresource.name().into();
        asked["requestSubResource"] = subresource.name().into();
    }
    let review = json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": asked,
    });
    escaped(&review.to_string())
}

/// The resource's kind, or that of its part.
fn kind(call: &ApiRequest, resource: &Resource) -> Value {
    let (group, version, kind) = match call.subresource {
        Some(Subresource::Binding) => ("", "v1", "Binding"),
        Some(Subresource::Eviction) => ("policy", "v1", "Eviction"),
        Some(Subresource::Scale) => ("autoscaling", "v1", "Scale"),
        _ => (&*resource.group, &*resource.version, &*resource.kind),
    };
    json!({"group": group, "version": version, "kind": kind})
}

fn plural(resource: &Resource) -> Value {
    json!({
        "group": resource.group, "version": resource.version, "resource": resource.plural,
    })
}

fn options(call: &ApiRequest, operation: AdmissionOperation) -> Value {
    let kind = match operation {
        AdmissionOperation::Create => "CreateOptions",
        AdmissionOperation::Update if call.is_patch => "PatchOptions",
        AdmissionOperation::Update => "UpdateOptions",
        AdmissionOperation::Delete => "DeleteOptions",
    };
    let mut options = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    for name in ["fieldManager", "fieldValidation"] {
        match call.query.text(name) {
            "" => {}
            text => options[name] = text.into(),
        }
    }
    if call.dry_run {
        options["dryRun"] = json!(["All"]);
    }
    options
}

fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len() + 1);
    for c in json.chars() {
        match c {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            c => text.push(c),
        }
    }
    text.push('\n');
    text
}

#[derive(Debug)]
pub(super) struct AdmissionResponse {
    pub(super) denied: Option<Denial>,
    pub(super) patch: Option<Patch>,
    pub(super) warnings: Vec<String>,
}

/// With the webhook's status, if any.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Denial {
    code: u16,
    message: String,
}

impl Denial {
    fn read(status: &Value) -> Self {
        let code = status["code"]
            .as_u64()
            .and_then(|code| u16::try_from(code).ok());
        let message = match meta::text(status, "/message") {
            "" => meta::text(status, "/reason"),
            message => message,
        };
        Self {
            code: code.filter(|code| *code >= 400).unwrap_or(400),
            message: message.to_owned(),
        }
    }

    pub(super) fn into_error(self, webhook: &str) -> ApiError {
        let said = match self.message.as_str() {
            "" => " without explanation".to_owned(),
            message => format!(": {message}"),
        };
        let reason = if self.code == 403 {
            StatusReason::Forbidden
        } else {
            StatusReason::BadRequest
        };
        let message = format!("admission webhook {webhook:?} denied the request{said}");
        ApiError::new(reason, message).with_status(self.code)
    }
}

pub(super) fn read(body: &[u8], uid: &str) -> Result<AdmissionResponse, WebhookFailure> {
    let review: Value = serde_json::from_slice(body).map_err(|error| {
        WebhookFailure(format!(
            "couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    if review["apiVersion"] != "admission.k8s.io/v1" || review["kind"] != "AdmissionReview" {
        return Err(WebhookFailure(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview".to_owned(),
        ));
    }
    let response = &review["response"];
    if !response.is_object() {
        return Err(WebhookFailure("webhook response was absent".to_owned()));
    }
    if response["uid"] != uid {
        return Err(WebhookFailure(format!("expected response.uid={uid:?}")));
    }
    let allowed = response["allowed"] == true;
    let warnings = meta::list(response, "/warnings")
        .iter()
        .filter_map(Value::as_str);
    Ok(AdmissionResponse {
        denied: (!allowed).then(|| Denial::read(&response["status"])),
        patch: patch(response)?,
        warnings: warnings.map(str::to_owned).collect(),
    })
}

fn patch(response: &Value) -> Result<Option<Patch>, WebhookFailure> {
    let encoded = meta::text(response, "/patch");
    let kind = meta::text(response, "/patchType");
    if encoded.is_empty() && kind.is_empty() {
        return Ok(None);
    }
    if encoded.is_empty() || kind != "JSONPatch" {
        return Err(WebhookFailure(
            "webhook returned response.patch but not response.patchType=JSONPatch, or the reverse"
                .to_owned(),
        ));
    }
    let bytes = STANDARD
        .decode(encoded)
        .map_err(|error| WebhookFailure(format!("patch is not base64: {error}")))?;
    serde_json::from_slice::<Option<Patch>>(&bytes)
        .map_err(|error| WebhookFailure(format!("patch is not a JSON patch: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(response: &Value) -> Result<AdmissionResponse, WebhookFailure> {
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": response});
        read(review.to_string().as_bytes(), "u")
    }

    #[test]
    fn nonsense_is_a_failure() {
        for response in [
            json!(null),
            json!({"uid": "other", "allowed": true}),
            json!({"uid": "u", "allowed": true, "patch": "W10="}),
            json!({"uid": "u", "allowed": true, "patchType": "JSONPatch"}),
            json!({"uid": "u", "allowed": true, "patch": "W10=", "patchType": "MergePatch"}),
            json!({"uid": "u", "allowed": true, "patch": "%", "patchType": "JSONPatch"}),
            json!({"uid": "u", "allowed": true, "patch": "e30=", "patchType": "JSONPatch"}),
        ] {
            assert!(answer(&response).is_err(), "{response}");
        }
        assert!(read(b"null", "u").is_err());
        assert!(read(b"{", "u").is_err());
    }

    #[test]
    fn empty_patches_and_denials_are_understood() {
        for patch in ["W10=", "bnVsbA=="] {
            let response =
                json!({"uid": "u", "allowed": true, "patch": patch, "patchType": "JSONPatch"});
            assert!(answer(&response).is_ok(), "{patch}");
        }
        let denied = |status: Value| {
            let response = answer(&json!({"uid": "u", "allowed": false, "status": status}));
            response
                .ok()
                .and_then(|response| response.denied)
                .expect("denied")
                .into_error("w")
        };
        let error = denied(json!({"code": 403, "message": "no"}));
        assert_eq!(error.status(), 403);
        assert_eq!(
            error.to_string(),
            "admission webhook \"w\" denied the request: no"
        );
        let error = denied(Value::Null);
        assert_eq!(error.status(), 400);
        assert_eq!(
            error.to_string(),
            "admission webhook \"w\" denied the request without explanation"
        );
    }

    #[test]
    fn bodies_are_escaped_as_go_does() {
        assert_eq!(
            escaped("{\"a\":\"<&>\"}"),
            "{\"a\":\"\\u003c\\u0026\\u003e\"}\n"
        );
    }
}
