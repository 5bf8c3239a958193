//! Outgoing answers: status, media type, body and headers.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use hyper::{Response, StatusCode};
use serde_json::Value;

use crate::error::ApiError;

/// Whole, or the lines of a watch as they come.
pub(crate) type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

pub(crate) fn whole(bytes: Bytes) -> ResponseBody {
    Full::new(bytes).boxed_unsync()
}

/// Longest text of a `Warning` header.
const LONGEST_WARNING: usize = 256;
/// Most bytes of all warnings of an answer.
const MOST_WARNINGS: usize = 4_096;

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) media: &'static str,
    pub(crate) body: ResponseBody,
}

impl Reply {
    /// 200.
    pub(crate) fn json(body: Bytes) -> Self {
        Self {
            status: StatusCode::OK,
            media: "application/json",
            body: whole(body),
        }
    }

    /// 200 as JSON.
    pub(crate) fn value(value: &Value) -> Self {
        Self::json(value.to_string().into())
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn with_media(mut self, media: &'static str) -> Self {
        self.media = media;
        self
    }

    /// `warnings` become headers.
    pub(crate) fn into_response(self, warnings: &[String]) -> Response<ResponseBody> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media));
        let mut size = 0;
        for warning in warnings {
            let text = warning_text(warning);
            size += text.len();
            if size > MOST_WARNINGS {
                break;
            }
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.append(WARNING, value);
            }
        }
        response
    }
}

/// `299 - "text"`, quoted for the header.
fn warning_text(warning: &str) -> String {
    let printable = warning
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST_WARNING);
    let mut quoted = String::from("299 - \"");
    for c in printable {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

pub(crate) fn refusal(error: &ApiError) -> Response<ResponseBody> {
    let reply = Reply::value(&error.body()).with_status(error.status());
    let mut response = reply.into_response(&[]);
    if let Some(seconds) = error.retry_seconds() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}
