//! Tokens of ServiceAccounts: JWTs with account and expiry, unsigned because this server
//! authenticates no request by them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::api_request::ApiRequest;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::state::stamp;

/// Default and shortest life of a token, in seconds.
const LIFE: i64 = 3600;
const SHORTEST: i64 = 600;

const OWN_AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

pub(crate) fn create(call: &ApiRequest, mut request: Value) -> Result<Value, ApiError> {
    let key = call.key();
    let account = call.current()?;
    let life = meta::number(&request, "/spec/expirationSeconds").unwrap_or(LIFE);
    if life < SHORTEST {
        let why = "may not specify a duration less than 10 minutes";
        let cause = Cause::invalid("spec.expirationSeconds", &life.into(), why);
        return Err(call.resource.invalid(&key.name, &[cause]));
    }
    let mut audiences = meta::list(&request, "/spec/audiences").to_vec();
    if audiences.is_empty() {
        audiences.push(OWN_AUDIENCE.into());
    }
    let now = call.api.now();
    let ends = now.saturating_add(SignedDuration::from_secs(life));
    let ends = ends.unwrap_or(now);
    let namespace = call.namespace.as_deref().unwrap_or_default();
    let claims = json!({
        "aud": audiences, "iat": now.as_second(), "exp": ends.as_second(),
        "sub": format!("system:serviceaccount:{namespace}:{}", key.name),
        "kubernetes.io": {"serviceaccount": {"name": key.name, "uid": meta::uid(&account.value)}},
    });
    let part = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let head = part(&json!({"alg": "none", "typ": "JWT"}));
    request["apiVersion"] = "authentication.k8s.io/v1".into();
    request["kind"] = "TokenRequest".into();
    request["metadata"] = json!({"name": key.name, "namespace": namespace,
        "creationTimestamp": stamp(now)});
    request["spec"]["audiences"] = Value::Array(audiences);
    request["spec"]["expirationSeconds"] = life.into();
    request["status"] = json!({
        "token": format!("{head}.{}.", part(&claims)),
        "expirationTimestamp": stamp(ends),
    });
    Ok(request)
}
