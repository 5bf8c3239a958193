//! Answers on their way out: status, media type, body, and what has to stand in headers.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use hyper::{Response, StatusCode};
use serde_json::Value;

use crate::error::ApiError;

/// The body of an answer: whole, or the lines of a watch as they come.
pub(crate) type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// A body that is known as a whole.
pub(crate) fn whole(bytes: Bytes) -> ResponseBody {
    Full::new(bytes).boxed_unsync()
}

/// The longest text that a `Warning` header carries.
const LONGEST_WARNING: usize = 256;
/// All warnings of an answer together.
const MOST_WARNINGS: usize = 4_096;

/// A status, a media type and a body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) media: &'static str,
    pub(crate) body: ResponseBody,
}

impl Reply {
    /// 200 with a body that is JSON.
    pub(crate) fn json(body: Bytes) -> Self {
        Self {
            status: StatusCode::OK,
            media: "application/json",
            body: whole(body),
        }
    }

    /// 200 with a value.
    pub(crate) fn value(value: &Value) -> Self {
        Self::json(value.to_string().into())
    }

    /// The same with another status.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// The same with another media type.
    pub(crate) fn with_media(mut self, media: &'static str) -> Self {
        self.media = media;
        self
    }

    /// As an HTTP response with warnings.
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

/// `299 - "text"`, quoted as the header wants it.
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

/// A refusal as an HTTP response.
pub(crate) fn refusal(error: &ApiError) -> Response<ResponseBody> {
    let reply = Reply::value(&error.body()).with_status(error.status());
    let mut response = reply.into_response(&[]);
    if let Some(seconds) = error.retry_seconds() {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}
