//! Answers that are made and written on the blocking pool: ten thousand targets are some 10 MB, and
//! judging a Pod on 5,000 nodes takes milliseconds.

use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::server::ApiError;
use crate::server::handlers::json_body;

pub(super) async fn json_answer<T: Serialize>(
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<Response, ApiError> {
    json_result(move || Ok(make())).await
}

/// The same of something that may be refused.
pub(super) async fn json_result<T: Serialize>(
    make: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let written = tokio::task::spawn_blocking(move || make().map(|made| serde_json::to_vec(&made)));
    match written.await {
        Ok(Ok(Ok(body))) => Ok(json_body(body)),
        Ok(Err(refusal)) => Err(refusal),
        _ => Err(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "NotWritten",
            "the answer could not be written",
        )),
    }
}
