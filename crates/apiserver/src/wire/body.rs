//! From bodies in JSON, YAML or protobuf to a JSON value; and headers.

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{AsHeaderName, CONTENT_TYPE};
use serde_json::{Value, json};

use crate::error::{ApiError, StatusReason};
use crate::wire::protobuf;

/// Empty if it is missing or no text.
pub(crate) fn header(headers: &HeaderMap, name: impl AsHeaderName) -> &str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// In the format of `Content-Type`, by default JSON; an empty body is an empty object.
///
/// # Errors
/// 400 if the body does not parse, 415 for another format.
pub(crate) fn read(headers: &HeaderMap, body: &Bytes) -> Result<Value, ApiError> {
    if body.is_empty() {
        return Ok(json!({}));
    }
    let media = header(headers, CONTENT_TYPE)
        .split(';')
        .next()
        .unwrap_or_default();
    match media {
        "" | "application/json" | "*/*" => serde_json::from_slice(body).map_err(|error| {
            ApiError::bad_request(format!(
                "couldn't get version/kind; json parse error: {error}"
            ))
        }),
        protobuf::MEDIA => {
            protobuf::to_json(body).map_err(|error| ApiError::bad_request(error.to_string()))
        }
        "application/yaml" => {
            let text =
                std::str::from_utf8(body).map_err(|e| ApiError::bad_request(e.to_string()))?;
            serde_saphyr::from_str(text).map_err(|e| ApiError::bad_request(e.to_string()))
        }
        other => Err(ApiError::new(
            StatusReason::UnsupportedMediaType,
            format!(
                "the body of the request was in an unknown format ({other}) - accepted media types include: application/json, application/yaml"
            ),
        )),
    }
}
