//! `/api/v1` lists the paths of the dashboard's listener. `/` is the page for a browser, and the same
//! list for other callers. Other unknown paths get a hint at that list.

use std::collections::BTreeMap;

use axum::Router;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::get;
use serde::Serialize;

use super::page;
use crate::api;
use crate::server::ApiError;
use crate::server::handlers::json_body;

/// Each path with the information that it gives and the parameters that it takes.
const PATHS: [(&str, &str); 10] = [
    ("/", "the page for a browser; this list for other callers"),
    (
        api::NODES,
        "each node with load and capacity of five resources",
    ),
    (
        api::PLACEMENTS,
        "the newest placements with their reasons; ?namespace= for one namespace",
    ),
    (
        api::CALENDAR,
        "CronHPAs, portraits and tuned workloads, as far as they are in memory",
    ),
    (
        api::STREAM,
        "server-sent events with what changes on nodes, placements, targets and the calendar",
    ),
    (
        api::SCALING,
        "every scaling target with its decision; ?namespace= for one namespace, and &name= for one \
         target",
    ),
    (
        api::SCALING_HISTORY,
        "the recent history of one target: ?namespace=&name=, and &kind=&resource= if it is not a \
         HorizontalPodAutoscaler by cpu",
    ),
    (
        api::HPAS,
        "the HPAs of all namespaces, as they report themselves",
    ),
    (
        api::HPA_EXPLANATION,
        "why an HPA has its count: ?namespace=&name=",
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
pub(super) fn index() -> Router {
    Router::new()
        .route("/", get(page_or_list))
        .route(api::INDEX, get(list))
        .fallback(async || -> ApiError {
            let message = "there is no such path; /api/v1 lists all paths";
            ApiError::new(StatusCode::NOT_FOUND, "NotFound", message)
        })
}

/// A browser asks for HTML by name; other callers take anything, or ask for JSON.
async fn page_or_list(headers: HeaderMap) -> Result<Response, ApiError> {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let mut accepted = accepted.filter_map(|value| value.to_str().ok());
    let mut response = if accepted.any(|value| value.contains("text/html")) {
        page::front(&headers)
    } else {
        list().await?
    };
    let vary = HeaderValue::from_static("accept");
    response.headers_mut().insert(header::VARY, vary);
    Ok(response)
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

    async fn asked(path: &str, accept: &str) -> (StatusCode, String) {
        let request = Request::get(path).header(header::ACCEPT, accept);
        let request = request.body(Body::empty()).unwrap();
        let answer = index().oneshot(request).await.unwrap();
        let status = answer.status();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 16).await;
        (status, String::from_utf8(body.unwrap().into()).unwrap())
    }

    #[tokio::test]
    async fn programs_find_the_paths_and_browsers_the_page() {
        for (path, accept) in [
            ("/", "*/*"),
            ("/", "application/json"),
            ("/api/v1", "text/html,*/*;q=0.8"),
        ] {
            let (status, text) = asked(path, accept).await;
            assert_eq!(status, StatusCode::OK);
            for (path, _) in PATHS {
                assert!(text.contains(&format!("\"{path}\":")), "{text}");
            }
        }
        let (status, text) = asked("/", "text/html,application/xhtml+xml,*/*;q=0.8").await;
        assert_eq!(status, StatusCode::OK);
        assert!(text.starts_with("<!doctype html>"), "{text}");
        let (status, text) = asked("/nothing", "*/*").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert!(text.contains("/api/v1 lists all"), "{text}");
    }
}
