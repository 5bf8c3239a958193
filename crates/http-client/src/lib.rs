//! A small HTTP/1.1 client on hyper and rustls, the libraries of kube's own client.
//!
//! It follows no redirect and uses no proxy of the environment: either would send a bearer token to
//! a server outside of the configuration. A call has a time limit for the whole answer, and a body
//! a size limit, so a server that hangs or floods ends in a distinct error.

mod error;
mod hosts;
mod response;
mod tls;
mod uri;

pub use error::Error;
pub use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
pub use response::Response;
pub use tls::{Identity, TlsError, TrustAnchors, config as tls_config};
pub use uri::{AddressError, form, join, server_address};

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;

use hosts::Hosts;

/// A connection pool; clones share it.
#[derive(Debug, Clone)]
pub struct PooledHttpClient {
    http: legacy::Client<HttpsConnector<HttpConnector<Hosts>>, Full<Bytes>>,
}

impl PooledHttpClient {
    /// Trusts servers by `trust`, and shows `identity` if a server asks for a client certificate.
    ///
    /// # Errors
    /// An unusable certificate or key, or a system without a certificate store.
    pub fn new(trust: TrustAnchors<'_>, identity: Option<Identity<'_>>) -> Result<Self, TlsError> {
        Ok(Self::with_tls(tls::config(trust, identity)?, system()))
    }

    /// For `http://` addresses. Over TLS it trusts no server.
    pub fn plain() -> Self {
        Self::with_tls(tls::nobody(), system())
    }

    /// Connects to `address` for every host of a request, except an IP address. It still sends the
    /// host, and a server needs that name in its certificate. Without `trust`, it trusts no server
    /// over TLS.
    ///
    /// # Errors
    /// Those of [`PooledHttpClient::new`].
    pub fn pinned(address: IpAddr, trust: Option<TrustAnchors<'_>>) -> Result<Self, TlsError> {
        let config = match trust {
            Some(trust) => tls::config(trust, None)?,
            None => tls::nobody(),
        };
        Ok(Self::with_tls(config, Hosts::At(address)))
    }

    fn with_tls(config: ClientConfig, hosts: Hosts) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(hosts);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(connector);
        Self { http }
    }

    /// `request` needs an absolute address. `limit` is the time for all of it, including the
    /// answer's body.
    ///
    /// # Errors
    /// No connection, no answer in time, or a broken connection.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
        limit: Duration,
    ) -> Result<Response, Error> {
        let mut deadline = Box::pin(tokio::time::sleep(limit));
        let answer = tokio::select! {
            biased;
            answer = self.http.request(request) => answer.map_err(Error::of_request)?,
            () = &mut deadline => return Err(Error::Timeout),
        };
        Ok(Response::new(answer, deadline))
    }

    /// GET by [`PooledHttpClient::send`].
    ///
    /// # Errors
    /// An invalid address, and those of [`PooledHttpClient::send`].
    pub async fn get(
        &self,
        address: impl TryInto<Uri, Error: Into<http::Error>>,
        limit: Duration,
    ) -> Result<Response, Error> {
        let request = Request::get(address).body(Full::default());
        self.send(request.map_err(Error::Request)?, limit).await
    }
}

fn system() -> Hosts {
    Hosts::System(GaiResolver::new())
}

#[cfg(test)]
mod tests;
