//! Bodies of answers.

use std::fmt::Display;

use axum::response::{IntoResponse, Response};
use hyper::header::CONTENT_TYPE;

use crate::server::ApiError;
use evenkeel_kubernetes::json;

pub(crate) fn json_body(body: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

/// Answer to a body that cannot be read: both callers treat it as a miss.
pub(super) fn unreadable(reason: &'static str, error: &dyn Display) -> ApiError {
    ApiError::bad_request(reason, error.to_string())
}

impl From<json::ParseError> for ApiError {
    fn from(error: json::ParseError) -> Self {
        unreadable(error.reason(), &error)
    }
}
