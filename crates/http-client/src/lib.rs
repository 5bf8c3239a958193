//! A small HTTP/1.1 client on hyper and rustls, the libraries of kube's own client.
//!
//! It follows no redirect and uses no proxy of the environment: either would send a bearer token to
//! a server outside of the configuration. Every call has a time limit for the whole answer, and
//! every body a size limit. So a server that hangs or floods ends in a distinct error.

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

/// A pool of connections; clones share it.
#[derive(Debug, Clone)]
pub struct PooledHttpClient {
    http: legacy::Client<HttpsConnector<HttpConnector<Hosts>>, Full<Bytes>>,
}

impl PooledHttpClient {
    /// A client that believes servers as `trust` says, and shows them `identity` where they ask
    /// for a client certificate.
    ///
    /// # Errors
    /// A certificate or key that cannot be used, or a system without a store of certificates.
    pub fn new(trust: TrustAnchors<'_>, identity: Option<Identity<'_>>) -> Result<Self, TlsError> {
        Ok(Self::with_tls(tls::config(trust, identity)?, system()))
    }

    /// A client for `http://` addresses. Over TLS it trusts no server.
    #[must_use]
    pub fn plain() -> Self {
        Self::with_tls(tls::nobody(), system())
    }

    /// A client that connects to `address` for every host of a request. It still sends that host,
    /// and a server needs its name in the certificate. Over TLS it trusts no server if `trust` is
    /// `None`. If the host is itself an IP address, the client connects to that address.
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

    /// Sends `request`, which needs an absolute address. `limit` is the time for all of it,
    /// including the body of the answer.
    ///
    /// # Errors
    /// No connection, no answer in time, or a connection that breaks.
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

    /// Asks for `address` with GET, as [`PooledHttpClient::send`] does.
    ///
    /// # Errors
    /// An address that is none, and those of [`PooledHttpClient::send`].
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
