//! Bodies of answers.

use std::fmt::Display;

use axum::response::{IntoResponse, Response};
use evenkeel_objects::json;
use evenkeel_objects::truncate::excerpt;
use hyper::header::CONTENT_TYPE;

use crate::server::ApiError;

pub(crate) fn json_body(body: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

/// Characters of an error that may quote the body.
const LONGEST: usize = 300;

/// Answer to an unreadable body, which both callers treat as a miss. It repeats only the beginning
/// of the caller's text.
pub(super) fn unreadable(reason: &'static str, error: &dyn Display) -> ApiError {
    ApiError::bad_request(reason, excerpt(&error.to_string(), LONGEST))
}

impl From<json::ParseError> for ApiError {
    fn from(error: json::ParseError) -> Self {
        unreadable(error.reason(), &error)
    }
}
