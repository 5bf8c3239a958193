//! Answers to requests that no handler's rules decide: a small JSON object that says what is wrong.
//! Never with `Retry-After`, for which the API server would hold the request back until its
//! timeout, and never a redirect, which it would follow.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A refusal or a failure, as the caller sees it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ApiError {
    status: StatusCode,
    reason: &'static str,
    message: Cow<'static, str>,
    connection: ConnectionPersistence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionPersistence {
    Stays,
    Closes,
}

/// Marks an answer after which its HTTP/1.1 connection is unusable, because the request was not
/// read to its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct CloseConnection;

/// Names the reason of an error on its answer, for the span.
#[derive(Debug, Clone, Copy)]
pub(super) struct ErrorReason(pub(super) &'static str);

#[derive(Serialize)]
struct ErrorResponseBody<'a> {
    error: &'a str,
    reason: &'static str,
}

impl ApiError {
    /// An answer with `status`, a `reason` from a closed set, and a `message` for people.
    pub fn new(
        status: StatusCode,
        reason: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            status,
            reason,
            message: message.into(),
            connection: ConnectionPersistence::Stays,
        }
    }

    /// 400: what was sent is not what is expected here.
    pub fn bad_request(reason: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason, message)
    }

    pub(super) fn closing(mut self) -> Self {
        self.connection = ConnectionPersistence::Closes;
        self
    }

    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The short name of what is wrong.
    pub const fn reason(&self) -> &'static str {
        self.reason
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self {
            status,
            reason,
            message,
            connection,
        } = self;
        let body = Json(ErrorResponseBody {
            error: &message,
            reason,
        });
        let mut response = (status, body).into_response();
        response.extensions_mut().insert(ErrorReason(reason));
        if connection == ConnectionPersistence::Closes {
            response.extensions_mut().insert(CloseConnection);
        }
        response
    }
}

/// A listener that could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is taken, or is none of this machine.
    #[error("{address} cannot be bound")]
    Bind {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
}

impl ServerError {
    /// A short name for metrics and conditions.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Bind { .. } => "AddressUnavailable",
        }
    }
}
