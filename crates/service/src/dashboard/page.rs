//! The page: a bundle of static files in the binary, under a policy by which a browser runs and loads
//! nothing else.

use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// The only sources of scripts, styles and data are this listener's. No text becomes markup, because
/// names from the cluster are not trusted.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const SVG: &str = "image/svg+xml";
const TEXT: &str = "text/plain; charset=utf-8";

/// One file of the bundle.
struct PageFile {
    path: &'static str,
    content_type: &'static str,
    content: &'static [u8],
}

macro_rules! page_files {
    ($($path:literal: $content_type:expr),+ $(,)?) => {
        [$(PageFile {
            path: concat!("/page/", $path),
            content_type: $content_type,
            content: include_bytes!(concat!("../../page/", $path)),
        }),+]
    };
}

/// The files; the first one is the front page.
static FILES: [PageFile; 21] = page_files![
    "index.html": HTML,
    "icon.svg": SVG,
    "style.css": CSS,
    "advice.js": JAVASCRIPT,
    "api.js": JAVASCRIPT,
    "app.js": JAVASCRIPT,
    "calendar.js": JAVASCRIPT,
    "chart.js": JAVASCRIPT,
    "details.js": JAVASCRIPT,
    "dom.js": JAVASCRIPT,
    "explain.js": JAVASCRIPT,
    "format.js": JAVASCRIPT,
    "hpas.js": JAVASCRIPT,
    "nodes.js": JAVASCRIPT,
    "placements.js": JAVASCRIPT,
    "replay.js": JAVASCRIPT,
    "state.js": JAVASCRIPT,
    "workloads.js": JAVASCRIPT,
    "vendor/uplot/LICENSE": TEXT,
    "vendor/uplot/uPlot.iife.min.js": JAVASCRIPT,
    "vendor/uplot/uPlot.min.css": CSS,
];

static TAGS: LazyLock<Vec<HeaderValue>> = LazyLock::new(|| {
    let tags = FILES.iter().map(|file| {
        let digest = Sha256::digest(file.content);
        let digits = BASE64_URL_SAFE_NO_PAD.encode(&digest[..12]);
        HeaderValue::try_from(format!("\"{digits}\"")).expect("base64 has no control characters")
    });
    tags.collect()
});

/// The paths of all files.
pub(super) fn routes() -> Router {
    let files = FILES.iter().enumerate();
    files.fold(Router::new(), |router, (number, file)| {
        let answer = async move |headers: HeaderMap| answer(number, &headers);
        router.route(file.path, get(answer))
    })
}

/// The front page.
pub(super) fn front(headers: &HeaderMap) -> Response {
    answer(0, headers)
}

fn answer(number: usize, headers: &HeaderMap) -> Response {
    let (file, tag) = (&FILES[number], &TAGS[number]);
    let known = headers.get_all(header::IF_NONE_MATCH).iter();
    let is_known = known.filter_map(|value| value.to_str().ok()).any(|value| {
        let mut tags = value
            .split(',')
            .map(|one| one.trim().trim_start_matches("W/"));
        tags.any(|one| one == "*" || one.as_bytes() == tag.as_bytes())
    });
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let content_type = [(header::CONTENT_TYPE, file.content_type)];
        (content_type, file.content).into_response()
    };
    let fixed: [(HeaderName, &'static str); 6] = [
        // The browser asks each time, so that a new version of the service shows its own page.
        (header::CACHE_CONTROL, "no-cache"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ];
    let all = response.headers_mut();
    for (name, value) in fixed {
        all.insert(name, HeaderValue::from_static(value));
    }
    all.insert(header::ETAG, tag.clone());
    response
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt as _;

    use super::*;

    /// The largest bundle, uncompressed, which is stricter than the same compressed.
    const MOST_BYTES: usize = 300 * 1024;

    async fn asked(path: &str, tag: Option<&str>) -> Response {
        let mut request = Request::get(path);
        if let Some(tag) = tag {
            request = request.header(header::IF_NONE_MATCH, tag);
        }
        let request = request.body(Body::empty()).unwrap();
        routes().oneshot(request).await.unwrap()
    }

    #[tokio::test]
    async fn each_file_has_its_type_and_a_strict_policy() {
        for file in &FILES {
            let answer = asked(file.path, None).await;
            assert_eq!(answer.status(), StatusCode::OK, "{}", file.path);
            let header = |name: HeaderName| answer.headers()[name].to_str().unwrap();
            assert_eq!(header(header::CONTENT_TYPE), file.content_type);
            assert_eq!(header(header::X_CONTENT_TYPE_OPTIONS), "nosniff");
            let policy = header(header::CONTENT_SECURITY_POLICY);
            assert!(policy.starts_with("default-src 'none'; script-src 'self';"));
            assert!(!policy.contains("unsafe"), "{policy}");
        }
    }

    #[tokio::test]
    async fn a_browser_that_has_a_file_gets_no_second_copy() {
        let first = asked("/page/style.css", None).await;
        let tag = first.headers()[header::ETAG].to_str().unwrap();
        for known in [tag, &format!("\"other\", W/{tag}"), "*"] {
            let second = asked("/page/style.css", Some(known)).await;
            assert_eq!(second.status(), StatusCode::NOT_MODIFIED, "{known}");
            assert!(
                second
                    .headers()
                    .contains_key(header::CONTENT_SECURITY_POLICY)
            );
        }
        let other = asked("/page/style.css", Some("\"other\"")).await;
        assert_eq!(other.status(), StatusCode::OK);
    }

    /// A script or a style in the markup would not run under the policy.
    #[test]
    fn the_markup_has_no_script_and_no_style_of_its_own() {
        for file in FILES.iter().filter(|file| file.content_type == HTML) {
            let text = std::str::from_utf8(file.content).unwrap();
            for part in ["<style", "style=", " onclick", " onload", "javascript:"] {
                assert!(!text.contains(part), "{part} in {}", file.path);
            }
            for script in text.split("<script").skip(1) {
                assert!(
                    script.contains("></script>"),
                    "a script with a text of its own"
                );
            }
        }
    }

    /// A text from the cluster that became markup could act for its reader.
    #[test]
    fn no_script_of_the_page_makes_markup_from_text() {
        let own = |file: &&PageFile| !file.path.contains("/vendor/");
        let scripts = FILES.iter().filter(|file| file.content_type == JAVASCRIPT);
        for file in scripts.filter(own) {
            let text = std::str::from_utf8(file.content).unwrap();
            for part in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
            ] {
                assert!(!text.contains(part), "{part} in {}", file.path);
            }
        }
    }

    #[test]
    fn the_bundle_is_small_and_complete() {
        let bytes: usize = FILES.iter().map(|file| file.content.len()).sum();
        assert!(bytes <= MOST_BYTES, "{bytes} bytes of at most {MOST_BYTES}");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let mut open = vec![folder.clone()];
        while let Some(next) = open.pop() {
            for entry in std::fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                    continue;
                }
                let inner = path.strip_prefix(&folder).unwrap().to_str().unwrap();
                let is_served = FILES
                    .iter()
                    .any(|file| file.path == format!("/page/{inner}"));
                assert!(
                    is_served || inner == "README.md",
                    "{inner} is in the folder and not served"
                );
            }
        }
    }
}
