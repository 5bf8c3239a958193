//! An answer with its head; the body is read within the call's time limit and a size limit.

use std::pin::Pin;

use http::response::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::time::Sleep;

use crate::Error;

/// Before the body is read.
#[derive(Debug)]
pub struct Response {
    head: Parts,
    body: Incoming,
    deadline: Pin<Box<Sleep>>,
}

impl Response {
    pub(crate) fn new(answer: http::Response<Incoming>, deadline: Pin<Box<Sleep>>) -> Self {
        let (head, body) = answer.into_parts();
        Self {
            head,
            body,
            deadline,
        }
    }

    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The whole body, of at most `limit` bytes.
    ///
    /// # Errors
    /// A longer body, of which no more is read, one that does not end in time, or a broken
    /// connection.
    pub async fn bytes(mut self, limit: usize) -> Result<Vec<u8>, Error> {
        let announced = self.body.size_hint().exact().unwrap_or(0);
        let announced = usize::try_from(announced).unwrap_or(usize::MAX);
        if announced > limit {
            return Err(Error::TooLarge { limit });
        }
        let mut read = Vec::with_capacity(announced);
        loop {
            let frame = tokio::select! {
                biased;
                () = &mut self.deadline => return Err(Error::Timeout),
                frame = self.body.frame() => frame,
            };
            let Some(frame) = frame else { return Ok(read) };
            let frame = frame.map_err(|error| Error::Broken(error.into()))?;
            let Ok(chunk) = frame.into_data() else {
                continue; // trailers
            };
            if chunk.len() > limit - read.len() {
                return Err(Error::TooLarge { limit });
            }
            read.extend_from_slice(&chunk);
        }
    }

    /// As [`Response::bytes`], for text.
    ///
    /// # Errors
    /// Those of [`Response::bytes`], and bytes that are not UTF-8.
    pub async fn text(self, limit: usize) -> Result<String, Error> {
        let bytes = self.bytes(limit).await?;
        String::from_utf8(bytes).map_err(|_| Error::NotText)
    }
}
