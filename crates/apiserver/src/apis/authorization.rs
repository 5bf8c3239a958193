//! `authorization.k8s.io`: access reviews, which allow everything because this server refuses no
//! user; `reason` says so.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use crate::error::{ApiError, Cause, StatusReason};
use crate::wire::reply::Reply;

pub(crate) const GROUP: &str = "authorization.k8s.io";

/// Plural and kind.
pub(crate) const REVIEWS: [(&str, &str); 3] = [
    ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    ("subjectaccessreviews", "SubjectAccessReview"),
    ("selfsubjectrulesreviews", "SelfSubjectRulesReview"),
];

const REASON: &str = "this API server authorises nobody and refuses nobody";

pub(crate) fn answer(method: &Method, plural: &str, mut review: Value) -> Result<Reply, ApiError> {
    let mut known = REVIEWS.into_iter();
    let (_, kind) = known
        .find(|(known, _)| *known == plural)
        .ok_or_else(ApiError::no_such_path)?;
    if *method != Method::POST {
        return Err(ApiError::method_not_allowed());
    }
    check(kind, &review["spec"])?;
    review["kind"] = kind.into();
    review["apiVersion"] = format!("{GROUP}/v1").into();
    review["status"] = match kind {
        "SelfSubjectRulesReview" => json!({
            "incomplete": false,
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }),
        _ => json!({"allowed": true, "reason": REASON}),
    };
    Ok(Reply::value(&review).with_status(StatusCode::CREATED))
}

/// Refuses a review without attributes, and a SubjectAccessReview without a user or group.
fn check(kind: &str, spec: &Value) -> Result<(), ApiError> {
    let given = |field: &str| !spec[field].is_null();
    let cause = match kind {
        "SelfSubjectRulesReview" => None,
        _ if given("resourceAttributes") == given("nonResourceAttributes") => {
            let why =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            Some(Cause::invalid("spec.resourceAttributes", &Value::Null, why))
        }
        "SubjectAccessReview" if !given("user") && !given("groups") => {
            let why = "at least one of user or group must be specified";
            Some(Cause::invalid("spec.user", &json!(""), why))
        }
        _ => None,
    };
    let Some(cause) = cause else { return Ok(()) };
    let message = format!(
        "{kind}.{GROUP} \"\" is invalid: {}: {}",
        cause.field, cause.message
    );
    Err(ApiError::new(StatusReason::Invalid, message).with_causes(&[cause]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_have_to_be_whole() {
        let ask = |plural: &str, spec: Value| answer(&Method::POST, plural, json!({"spec": spec}));
        let about = json!({"verb": "get", "resource": "pods"});
        let who = json!({"user": "eve", "resourceAttributes": about});
        assert!(ask("subjectaccessreviews", who).is_ok());
        let nobody = json!({"resourceAttributes": about});
        assert!(ask("subjectaccessreviews", nobody.clone()).is_err());
        assert!(ask("selfsubjectaccessreviews", nobody).is_ok());
        assert!(ask("selfsubjectaccessreviews", json!({})).is_err());
        assert!(ask("selfsubjectrulesreviews", json!({"namespace": "a"})).is_ok());
        assert!(ask("others", json!({})).is_err());
    }
}
