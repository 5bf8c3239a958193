//! Refusals: the `Status` object that answers a request that is not done, worded the way
//! kube-apiserver words it, because kubectl prints the message and clients branch on the reason.

use hyper::StatusCode;
use serde_json::{Value, json};

/// The closed set of reasons, each with its HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusReason {
    /// The request cannot be read.
    BadRequest,
    /// A token is asked for, and none or another one was given.
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
    /// Another client changed the object, or another manager owns the field.
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
    /// A service that would answer is not there.
    ServiceUnavailable,
}

impl StatusReason {
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
pub(crate) struct Cause {
    /// The kind of mistake, such as `FieldValueRequired`.
    pub(crate) reason: &'static str,
    /// The path of the field.
    pub(crate) field: String,
    /// The mistake in words.
    pub(crate) message: String,
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

    /// The cause as the `details` of a `Status` list it.
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

/// The refusal of a request, with everything that the client is told.
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
    /// A refusal without details.
    pub(crate) fn new(why: StatusReason, message: impl Into<String>) -> Self {
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
        Self::new(StatusReason::BadRequest, message)
    }

    /// Nothing is served under that path.
    pub(crate) fn no_such_path() -> Self {
        let mut error = Self::new(
            StatusReason::NotFound,
            "the server could not find the requested resource",
        );
        error.details = Some(json!({}));
        error
    }

    /// The verb is not served here.
    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            StatusReason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        )
    }

    /// Kubernetes can do this, this server cannot.
    pub(crate) fn unsupported(what: &str) -> Self {
        Self::new(
            StatusReason::NotImplemented,
            format!("this API server does not implement {what}"),
        )
    }

    /// A refusal that concerns one object: `name`, and the plural of its resource with its group.
    pub(crate) fn about(why: StatusReason, details: Value, message: String) -> Self {
        Self {
            details: Some(details),
            ..Self::new(why, message)
        }
    }

    /// The same refusal with another HTTP status, as a webhook may choose one.
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// The same refusal with causes in its details.
    pub(crate) fn with_causes(mut self, causes: &[Cause]) -> Self {
        let details = self.details.get_or_insert_with(|| json!({}));
        details["causes"] = causes.iter().map(Cause::to_value).collect();
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

    /// The reason as it stands in the `Status`, such as `NotFound`.
    pub(crate) const fn reason(&self) -> &'static str {
        self.why.wire().1
    }

    /// The reason as a member of the closed set.
    pub(crate) const fn kind(&self) -> StatusReason {
        self.why
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The `Status` object that is answered.
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
