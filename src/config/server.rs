//! `server`: where the service listens, and how much it takes at once.

use std::net::SocketAddr;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::value::{Count, Text};
use evenkeel_core::units::Bytes;

/// `server` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct ServerFile {
    https: Text,
    http: Text,
    dashboard: Text,
    admission_body_limit: Text,
    extender_body_limit: Text,
    body_budget: Text,
    concurrency: ConcurrencyFile,
    keep_alive: Text,
    drain_timeout: Text,
}

/// `server.concurrency` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct ConcurrencyFile {
    admission: Count,
    extender: Count,
}

impl Default for ServerFile {
    fn default() -> Self {
        Self {
            https: "0.0.0.0:8443".into(),
            http: "0.0.0.0:8080".into(),
            dashboard: "127.0.0.1:8081".into(),
            // The API server takes objects up to 3 MiB.
            admission_body_limit: "4Mi".into(),
            // 5,000 whole Node objects are about 30 MB.
            extender_body_limit: "64Mi".into(),
            // Four such requests, and a fifth of the memory that the deployment grants.
            body_budget: "128Mi".into(),
            concurrency: ConcurrencyFile::default(),
            // Longer than the 90 s after which the callers' own client drops an idle connection,
            // so that it is never this side that closes one in use.
            keep_alive: "120s".into(),
            drain_timeout: "20s".into(),
        }
    }
}

impl Default for ConcurrencyFile {
    fn default() -> Self {
        Self {
            admission: Count(32),
            extender: Count(16),
        }
    }
}

/// Where the service listens, and how much it takes at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Admission and extender, over TLS.
    pub https: SocketAddr,
    /// Probes and metrics.
    pub http: SocketAddr,
    /// What people look at; without authentication, so on loopback.
    pub dashboard: SocketAddr,
    /// The largest body of an admission review.
    pub admission_body_limit: Bytes,
    /// The largest body of an extender call.
    pub extender_body_limit: Bytes,
    /// What all bodies in memory may take together; a larger one is refused, others wait a moment.
    pub body_budget: Bytes,
    /// Admission reviews at once, above which they are let through unread.
    pub admission_concurrency: u32,
    /// Extender calls at once, above which every node passes.
    pub extender_concurrency: u32,
    /// How long an idle connection is kept.
    pub keep_alive: SignedDuration,
    /// How long requests in flight may take after SIGTERM.
    pub drain_timeout: SignedDuration,
}

impl ServerFile {
    pub(crate) fn check(&self, check: &mut Checker) -> Server {
        let Self {
            https,
            http,
            dashboard,
            admission_body_limit,
            extender_body_limit,
            body_budget,
            concurrency,
            keep_alive,
            drain_timeout,
        } = self;
        let ConcurrencyFile {
            admission,
            extender,
        } = concurrency;
        let dashboard = check.listen("server.dashboard", dashboard);
        if !dashboard.ip().is_loopback() {
            check.refuse_value(
                "server.dashboard",
                dashboard,
                "a loopback address such as 127.0.0.1:8081, since it asks nobody who they are",
            );
        }
        Server {
            https: check.listen("server.https", https),
            http: check.listen("server.http", http),
            dashboard,
            admission_body_limit: check.size("server.admissionBodyLimit", admission_body_limit),
            extender_body_limit: check.size("server.extenderBodyLimit", extender_body_limit),
            body_budget: check.size("server.bodyBudget", body_budget),
            admission_concurrency: check.at_least_one("server.concurrency.admission", *admission),
            extender_concurrency: check.at_least_one("server.concurrency.extender", *extender),
            keep_alive: check.duration("server.keepAlive", keep_alive),
            drain_timeout: check.duration("server.drainTimeout", drain_timeout),
        }
    }
}
