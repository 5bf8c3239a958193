//! Pages of other sites, which a browser lets send requests here without the right to read the answers.
//! They could hold all streams, or have the API server read. A link to a path is followed.

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};

use crate::server::ApiError;

/// `router`, which refuses requests that a page of another site makes in the background.
pub(super) fn refuse(router: Router) -> Router {
    router.layer(from_fn(check))
}

async fn check(request: Request, next: Next) -> Response {
    if is_foreign(request.headers()) {
        let message = "a page of another site may not ask here";
        return ApiError::new(StatusCode::FORBIDDEN, "OtherSite", message).into_response();
    }
    next.run(request).await
}

fn is_foreign(headers: &HeaderMap) -> bool {
    let is = |name, values: &[&str]| {
        let given = headers.get(name).map(HeaderValue::as_bytes);
        given.map(|given| values.iter().any(|value| value.as_bytes() == given))
    };
    // A browser calls another port of the same host the same site.
    let is_own = is("sec-fetch-site", &["same-origin", "none"]) != Some(false);
    let is_link = is("sec-fetch-dest", &["document"]) == Some(true);
    !is_own && !is_link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_background_requests_of_other_sites_are_foreign() {
        for (site, destination, foreign) in [
            (None, None, false),
            (Some("none"), Some("document"), false),
            (Some("same-origin"), Some("empty"), false),
            (Some("same-site"), Some("empty"), true),
            (Some("cross-site"), None, true),
            (Some("cross-site"), Some("iframe"), true),
            (Some("cross-site"), Some("document"), false),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [("sec-fetch-site", site), ("sec-fetch-dest", destination)] {
                if let Some(value) = value {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            assert_eq!(is_foreign(&headers), foreign, "{site:?} {destination:?}");
        }
    }
}
