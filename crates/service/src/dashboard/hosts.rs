//! The host names that the dashboard answers to. A web page can resolve its own name to a loopback
//! address, and then read what listens there through a visitor's browser (DNS rebinding). Such a
//! request has the page's name in its `Host` header, so the dashboard answers only to loopback
//! names and configured hosts. Ports are not compared, because `kubectl port-forward` and tunnels
//! change them and no page can make a browser send `localhost`.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};

use crate::server::ApiError;

/// Loopback, and the hosts of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Hosts(Arc<BTreeSet<String>>);

impl Hosts {
    /// Loopback and `configured`, which are names or addresses without a port.
    pub fn new(configured: &[String]) -> Self {
        Self(Arc::new(
            configured.iter().map(|host| normal(host)).collect(),
        ))
    }

    /// `router`, which answers requests to these hosts only.
    pub fn guard(self, router: Router) -> Router {
        router.layer(from_fn_with_state(self, check))
    }

    fn contains(&self, host: &str) -> bool {
        let host = normal(host);
        let address = host.trim_start_matches('[').trim_end_matches(']').parse();
        let loopback = address.is_ok_and(|address: IpAddr| address.to_canonical().is_loopback());
        host == "localhost" || loopback || self.0.contains(&host)
    }

    /// Checks every place in which a request names its host.
    fn check(&self, request: &Request) -> Result<(), ApiError> {
        let mut given = request.headers().get_all(HOST).iter();
        let (Some(header), None) = (given.next(), given.next()) else {
            let message = "one Host header is required";
            return Err(ApiError::bad_request("HostMissing", message));
        };
        let header = Authority::try_from(header.as_bytes()).map_err(|error| {
            ApiError::bad_request("HostMalformed", format!("the Host header: {error}"))
        })?;
        for named in [Some(&header), request.uri().authority()] {
            let Some(named) = named else { continue };
            if named.as_str().contains('@') || !self.contains(named.host()) {
                let message = format!(
                    "{:?} is not a host of the dashboard; accepted: localhost, a loopback address, \
                     or one of server.dashboardHosts",
                    named.as_str()
                );
                let status = StatusCode::MISDIRECTED_REQUEST;
                return Err(ApiError::new(status, "HostNotServed", message));
            }
        }
        Ok(())
    }
}

/// A host as it is compared: in small letters, without the dot that ends a whole name.
fn normal(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

async fn check(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    match hosts.check(&request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use tower::ServiceExt as _;

    use super::*;

    async fn asked(target: &str, hosts: &[&str]) -> (u16, String) {
        let configured = ["Keel.example.org".to_owned(), "192.0.2.7".to_owned()];
        let router = Router::new().route("/", get(async || "told"));
        let router = router.fallback(async || "nothing");
        let mut request = Request::get(target);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let request = request.body(Body::empty()).unwrap();
        let guarded = Hosts::new(&configured).guard(router);
        let answer = guarded.oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 16).await;
        (status, String::from_utf8(body.unwrap().into()).unwrap())
    }

    /// The hosts that users have: the shown address, a forwarded port, a tunnel, a configured name.
    #[tokio::test]
    async fn loopback_at_any_port_and_configured_hosts_are_answered() {
        for host in [
            "localhost:8081",
            "LOCALHOST",
            "localhost.:9000",
            "127.0.0.1:8081",
            "127.0.0.2",
            "[::1]:18081",
            "[::ffff:127.0.0.1]:1",
            "keel.example.org",
            "KEEL.example.org.:443",
            "192.0.2.7:8081",
        ] {
            assert_eq!(
                asked("/", &[host]).await,
                (200, "told".to_owned()),
                "{host}"
            );
        }
        let forwarded = asked("http://localhost:8081/", &["localhost:8081"]).await;
        assert_eq!(forwarded.0, 200);
    }

    #[tokio::test]
    async fn a_page_whose_name_leads_to_loopback_is_refused() {
        for host in [
            "evil.example:8081",
            "localhost.evil.example",
            "127.0.0.1.evil.example:8081",
            "10.0.0.1:8081",
            "0.0.0.0:8081",
            "[::2]",
            "localhost@evil.example",
            "evil@localhost",
        ] {
            for target in ["/", "/nothing"] {
                let (status, text) = asked(target, &[host]).await;
                assert_eq!(status, 421, "{host}: {text}");
                assert!(text.contains("server.dashboardHosts"), "{text}");
            }
        }
        let absolute = asked("http://evil.example/", &["localhost"]).await;
        assert_eq!(absolute.0, 421);
    }

    #[tokio::test]
    async fn a_request_says_once_whom_it_is_for() {
        for hosts in [
            &[][..],
            &["localhost", "evil.example"],
            &["local host"],
            &[""],
        ] {
            let (status, text) = asked("/", hosts).await;
            assert_eq!(status, 400, "{hosts:?}: {text}");
        }
    }
}
