//! `/` lists the paths of the dashboard's listener; other unknown paths get a hint at that list.

use std::collections::BTreeMap;

use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use serde::Serialize;

use crate::api;
use crate::server::ApiError;
use crate::server::handlers::json_body;

/// Each path with the information that it gives and the parameters that it takes.
const PATHS: [(&str, &str); 3] = [
    (
        api::SCALING,
        "every scaling target with its decision; ?namespace= for one namespace",
    ),
    (
        api::SCALING_HISTORY,
        "the recent history of one target: ?namespace=&name=, and &kind=&resource= if it is not a \
         HorizontalPodAutoscaler by cpu",
    ),
    (
        api::EXPLAIN,
        "why a Pod went to its node: ?namespace=&pod=, or a POST of any Pod",
    ),
];

#[derive(Serialize)]
struct Index {
    paths: BTreeMap<&'static str, &'static str>,
}

/// Answers `/` and every path that no other router has.
pub fn index() -> Router {
    Router::new()
        .route("/", get(list))
        .fallback(async || -> ApiError {
            let message = "there is no such path; / lists all paths";
            ApiError::new(StatusCode::NOT_FOUND, "NotFound", message)
        })
}

async fn list() -> Result<Response, ApiError> {
    let index = Index {
        paths: PATHS.into_iter().collect(),
    };
    let body = serde_json::to_vec_pretty(&index).map_err(|error| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiError::new(status, "NotWritten", error.to_string())
    })?;
    Ok(json_body(body))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt as _;

    use super::*;

    async fn asked(path: &str) -> (StatusCode, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = index().oneshot(request).await.unwrap();
        let status = answer.status();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 16).await;
        (status, String::from_utf8(body.unwrap().into()).unwrap())
    }

    #[tokio::test]
    async fn a_browser_finds_the_paths() {
        let (status, text) = asked("/").await;
        assert_eq!(status, StatusCode::OK);
        for path in [api::SCALING, api::SCALING_HISTORY, api::EXPLAIN] {
            assert!(text.contains(&format!("\"{path}\":")), "{text}");
        }
        let (status, text) = asked("/nothing").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(text.contains("/ lists all"), "{text}");
    }
}
