//! Bodies of answers.

use std::fmt::Display;

use axum::response::{IntoResponse, Response};
use hyper::header::CONTENT_TYPE;

use crate::server::ApiError;
use evenkeel_kubernetes::json;
use evenkeel_kubernetes::truncate::excerpt;

pub(crate) fn json_body(body: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

/// Characters of an error that may quote the body.
const LONGEST: usize = 300;

/// Answer to a body that cannot be read: both callers treat it as a miss. It repeats no more than the
/// beginning of a text of the caller's.
pub(super) fn unreadable(reason: &'static str, error: &dyn Display) -> ApiError {
    ApiError::bad_request(reason, excerpt(&error.to_string(), LONGEST))
}

impl From<json::ParseError> for ApiError {
    fn from(error: json::ParseError) -> Self {
        unreadable(error.reason(), &error)
    }
}
