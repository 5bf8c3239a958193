//! What the server answers when it does not do what was asked: a `Status` object worded the way
//! kube-apiserver words it, because kubectl prints the message and clients branch on the reason.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::resource::Resource;

/// The closed set of reasons, each with its HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The request cannot be read.
    BadRequest,
    /// Credentials are asked for and none were given.
    Unauthorized,
    /// An admission rule refuses.
    Forbidden,
    /// There is no such object or resource.
    NotFound,
    /// The verb is not served for this resource.
    MethodNotAllowed,
    /// None of the accepted media types can be produced.
    NotAcceptable,
    /// There is an object of that name.
    AlreadyExists,
    /// Somebody else changed the object, or owns the field.
    Conflict,
    /// The version asked for is no longer in the history.
    Expired,
    /// The body's media type cannot be used here.
    UnsupportedMediaType,
    /// The object breaks a rule of its kind.
    Invalid,
    /// A disruption budget has nothing left.
    TooManyRequests,
    /// A webhook or the server failed.
    InternalError,
    /// Kubernetes can do this and this server cannot.
    NotImplemented,
    /// What would answer is not there.
    ServiceUnavailable,
}

impl Reason {
    /// The HTTP status and the word in the `Status` object.
    const fn wire(self) -> (u16, &'static str) {
        match self {
            Self::BadRequest => (400, "BadRequest"),
            Self::Unauthorized => (401, "Unauthorized"),
            Self::Forbidden => (403, "Forbidden"),
            Self::NotFound => (404, "NotFound"),
            Self::MethodNotAllowed => (405, "MethodNotAllowed"),
            Self::NotAcceptable => (406, "NotAcceptable"),
            Self::AlreadyExists => (409, "AlreadyExists"),
            Self::Conflict => (409, "Conflict"),
            Self::Expired => (410, "Expired"),
            Self::UnsupportedMediaType => (415, "UnsupportedMediaType"),
            Self::Invalid => (422, "Invalid"),
            Self::TooManyRequests => (429, "TooManyRequests"),
            Self::InternalError => (500, "InternalError"),
            Self::NotImplemented => (501, "NotImplemented"),
            Self::ServiceUnavailable => (503, "ServiceUnavailable"),
        }
    }
}

/// One thing that is wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The kind of mistake, such as `FieldValueRequired`.
    pub reason: &'static str,
    /// The path of the field.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

impl Cause {
    /// A field that has to be there.
    pub(crate) fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {why}")
        };
        Self::new("FieldValueRequired", field, message)
    }

    /// A value that is not accepted.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self::new("FieldValueInvalid", field, message)
    }

    /// A value outside a closed set.
    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, accepted: &str) -> Self {
        let message = format!("Unsupported value: {value}: supported values: {accepted}");
        Self::new("FieldValueNotSupported", field, message)
    }

    /// A value that may be there only once.
    pub(crate) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::new(
            "FieldValueDuplicate",
            field,
            format!("Duplicate value: {value}"),
        )
    }

    /// A change or combination that is not allowed.
    pub(crate) fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {why}"))
    }

    fn new(reason: &'static str, field: impl Into<String>, message: String) -> Self {
        Self {
            reason,
            field: field.into(),
            message,
        }
    }
}

/// A refused request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    why: Reason,
    status: u16,
    message: String,
    details: Option<Value>,
    seconds: Option<u64>,
}

impl ApiError {
    /// A refusal without details.
    pub(crate) fn new(why: Reason, message: impl Into<String>) -> Self {
        Self {
            why,
            status: why.wire().0,
            message: message.into(),
            details: None,
            seconds: None,
        }
    }

    /// A request that cannot be understood.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    /// There is no object of that name.
    pub(crate) fn not_found(resource: &Resource, name: &str) -> Self {
        let qualified = resource.qualified();
        Self::about(
            Reason::NotFound,
            resource,
            name,
            format!("{qualified} {name:?} not found"),
        )
    }

    /// Nothing is served under that path.
    pub(crate) fn no_such_path() -> Self {
        let mut error = Self::new(
            Reason::NotFound,
            "the server could not find the requested resource",
        );
        error.details = Some(json!({}));
        error
    }

    /// There is an object of that name.
    pub(crate) fn already_exists(resource: &Resource, name: &str) -> Self {
        let qualified = resource.qualified();
        Self::about(
            Reason::AlreadyExists,
            resource,
            name,
            format!("{qualified} {name:?} already exists"),
        )
    }

    /// The object is not as the request takes it to be.
    pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let qualified = resource.qualified();
        Self::about(
            Reason::Conflict,
            resource,
            name,
            format!("Operation cannot be fulfilled on {qualified} {name:?}: {why}"),
        )
    }

    /// The object changed since it was read.
    pub(crate) fn modified(resource: &Resource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// An admission rule refuses.
    pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let qualified = resource.qualified();
        Self::about(
            Reason::Forbidden,
            resource,
            name,
            format!("{qualified} {name:?} is forbidden: {why}"),
        )
    }

    /// The object breaks rules of its kind.
    pub(crate) fn invalid(resource: &Resource, name: &str, causes: &[Cause]) -> Self {
        let lines: Vec<String> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        let list = match lines.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let kind = match resource.group.as_str() {
            "" => resource.kind.clone(),
            group => format!("{}.{group}", resource.kind),
        };
        let mut error = Self::new(
            Reason::Invalid,
            format!("{kind} {name:?} is invalid: {list}"),
        );
        let causes: Vec<Value> = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "field": cause.field, "message": cause.message}))
            .collect();
        error.details = Some(json!({
            "name": name, "group": resource.group, "kind": resource.kind, "causes": causes,
        }));
        error
    }

    /// The verb is not served here.
    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        )
    }

    /// Kubernetes can do this, this server cannot.
    pub(crate) fn unsupported(what: &str) -> Self {
        Self::new(
            Reason::NotImplemented,
            format!("the development API server does not implement {what}"),
        )
    }

    fn about(why: Reason, resource: &Resource, name: &str, message: String) -> Self {
        let mut error = Self::new(why, message);
        error.details = Some(json!({
            "name": name, "group": resource.group, "kind": resource.plural,
        }));
        error
    }

    /// The same refusal with another HTTP status, as a webhook may choose one.
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same refusal with causes in its details.
    pub(crate) fn with_causes(mut self, causes: &[Cause]) -> Self {
        let causes: Vec<Value> = causes
            .iter()
            .map(|cause| json!({"reason": cause.reason, "field": cause.field, "message": cause.message}))
            .collect();
        let details = self.details.get_or_insert_with(|| json!({}));
        details["causes"] = Value::Array(causes);
        self
    }

    /// The same refusal with a time after which to try again.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.seconds = Some(seconds);
        self
    }

    /// Seconds for the `Retry-After` header.
    pub(crate) const fn retry_seconds(&self) -> Option<u64> {
        self.seconds
    }

    /// The reason's word.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        self.why.wire().1
    }

    /// What kind of refusal it is.
    pub(crate) const fn kind(&self) -> Reason {
        self.why
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The `Status` object.
    pub(crate) fn body(&self) -> Value {
        let mut body = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason(), "code": self.status,
        });
        if let Some(details) = &self.details {
            body["details"] = details.clone();
        }
        if let Some(seconds) = self.seconds {
            body["details"]["retryAfterSeconds"] = seconds.into();
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    #[test]
    fn messages_are_those_that_kubectl_users_know() {
        let deployments = catalog::find("apps", "deployments");
        let pods = catalog::find("", "pods");
        let cause = Cause::required("spec.selector", "");
        for (error, message, code) in [
            (
                ApiError::not_found(&pods, "web"),
                "pods \"web\" not found",
                404,
            ),
            (
                ApiError::already_exists(&deployments, "web"),
                "deployments.apps \"web\" already exists",
                409,
            ),
            (
                ApiError::invalid(&deployments, "web", &[cause]),
                "Deployment.apps \"web\" is invalid: spec.selector: Required value",
                422,
            ),
        ] {
            assert_eq!(error.body()["message"], message);
            assert_eq!(error.body()["code"], code);
            assert_eq!(error.body()["kind"], "Status");
        }
    }
}
