//! Refusals: `Status` objects in the words of kube-apiserver, because kubectl prints the message
//! and clients branch on the reason.

use hyper::StatusCode;
use serde_json::{Value, json};

/// The closed set of reasons, each with its HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusReason {
    BadRequest,
    /// The token is missing or wrong.
    Unauthorized,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    /// No accepted media type can be produced.
    NotAcceptable,
    /// An object of that name exists.
    AlreadyExists,
    /// Another client changed the object, or another manager owns the field.
    Conflict,
    /// The requested version is no longer in the history.
    Expired,
    UnsupportedMediaType,
    /// The object breaks a rule of its kind.
    Invalid,
    /// A disruption budget is used up.
    TooManyRequests,
    /// A webhook or the server failed.
    InternalError,
    /// Kubernetes supports it and this server does not.
    NotImplemented,
    /// The answering service does not exist.
    ServiceUnavailable,
}

impl StatusReason {
    /// HTTP status and word in the `Status`.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    /// For example `FieldValueRequired`.
    pub(crate) reason: &'static str,
    pub(crate) field: String,
    pub(crate) message: String,
}

impl Cause {
    pub(crate) fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {why}")
        };
        Self::new("FieldValueRequired", field, message)
    }

    pub(crate) fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        let message = format!("Invalid value: {value}: {why}");
        Self::new("FieldValueInvalid", field, message)
    }

    /// Not in a closed set.
    pub(crate) fn unsupported(field: impl Into<String>, value: &Value, accepted: &str) -> Self {
        let message = format!("Unsupported value: {value}: supported values: {accepted}");
        Self::new("FieldValueNotSupported", field, message)
    }

    /// Allowed only once.
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

    /// As in `details` of a `Status`.
    pub(crate) fn to_value(&self) -> Value {
        json!({"reason": self.reason, "field": self.field, "message": self.message})
    }

    fn new(reason: &'static str, field: impl Into<String>, message: String) -> Self {
        Self {
            reason,
            field: field.into(),
            message,
        }
    }
}

/// With everything that the client is told.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ApiError {
    why: StatusReason,
    status: u16,
    message: String,
    details: Option<Value>,
    seconds: Option<u64>,
}

impl ApiError {
    /// Without details.
    pub(crate) fn new(why: StatusReason, message: impl Into<String>) -> Self {
        Self {
            why,
            status: why.wire().0,
            message: message.into(),
            details: None,
            seconds: None,
        }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusReason::BadRequest, message)
    }

    pub(crate) fn no_such_path() -> Self {
        let mut error = Self::new(
            StatusReason::NotFound,
            "the server could not find the requested resource",
        );
        error.details = Some(json!({}));
        error
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            StatusReason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        )
    }

    /// Kubernetes supports it, this server does not.
    pub(crate) fn unsupported(what: &str) -> Self {
        Self::new(
            StatusReason::NotImplemented,
            format!("this API server does not implement {what}"),
        )
    }

    /// `details` have the name, and the plural of the resource with its group.
    pub(crate) fn about(why: StatusReason, details: Value, message: String) -> Self {
        Self {
            details: Some(details),
            ..Self::new(why, message)
        }
    }

    /// A webhook may choose another HTTP status.
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn with_causes(mut self, causes: &[Cause]) -> Self {
        let details = self.details.get_or_insert_with(|| json!({}));
        details["causes"] = causes.iter().map(Cause::to_value).collect();
        self
    }

    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.seconds = Some(seconds);
        self
    }

    pub(crate) const fn retry_seconds(&self) -> Option<u64> {
        self.seconds
    }

    /// As in the `Status`, such as `NotFound`.
    pub(crate) const fn reason(&self) -> &'static str {
        self.why.wire().1
    }

    pub(crate) const fn kind(&self) -> StatusReason {
        self.why
    }

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
