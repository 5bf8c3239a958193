//! The caller's identity, as the API server's front proxy states it. Without the proxy's
//! certificate, any client could have written its headers.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use k8s_openapi::api::authentication::v1::UserInfo;

use super::front_proxy::CallerHeaders;
use crate::server::tls::{Authority, Peer};
use evenkeel_clock as clock;

#[derive(Debug, Clone)]
pub struct Introductions(CallerHeaders);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownCallerError(pub String);

impl Introductions {
    pub const fn new(headers: CallerHeaders) -> Self {
        Self(headers)
    }

    /// The caller that the front proxy introduces.
    ///
    /// # Errors
    /// A connection that is not the front proxy's, or a caller without a name.
    pub(crate) fn caller(&self, request: &Parts) -> Result<UserInfo, UnknownCallerError> {
        let refused = |why: &str| UnknownCallerError(why.to_owned());
        let peer = request.extensions.get::<Arc<Peer>>();
        let peer = peer.ok_or_else(|| refused("callers must present a certificate over TLS"))?;
        peer.authorise(Authority::FrontProxy, clock::now())
            .map_err(|error| refused(&error.to_string()))?;
        let names = self.0.names();
        let names =
            names.ok_or_else(|| refused("the API server passes no headers about callers"))?;
        let caller = names.caller(&texts(&request.headers));
        caller.ok_or_else(|| refused("the front proxy names no user"))
    }
}

fn texts(headers: &HeaderMap) -> Vec<(&str, &str)> {
    let texts = headers.iter().filter_map(|(name, value)| {
        let value = std::str::from_utf8(value.as_bytes()).ok()?;
        Some((name.as_str(), value))
    });
    texts.collect()
}
