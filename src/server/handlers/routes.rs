//! Paths of the HTTPS listener, each with its handler and its limits.

use std::num::NonZeroUsize;
use std::time::Duration;

use axum::Router;
use axum::routing::post;

use super::{Handlers, admission, extender};
use crate::server::tls::Authority;
use crate::server::{Endpoint, Limits, Metrics, Routes, paths};
use evenkeel_core::units::Bytes;

/// Limits of the two callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Largest AdmissionReview; the API server itself takes objects of 3 MiB.
    pub admission_body: Bytes,
    /// Largest extender request: 5,000 whole nodes are some 30 MB.
    pub extender_body: Bytes,
    /// AdmissionReviews answered at a time.
    pub admission_concurrency: NonZeroUsize,
    /// Extender calls answered at a time.
    pub extender_concurrency: NonZeroUsize,
    /// Time that a body may take to arrive.
    pub body_time: Duration,
    /// Memory that the bodies of all requests may take together.
    pub body_budget: Bytes,
}

impl Settings {
    fn admission(&self) -> Limits {
        Limits {
            body: self.admission_body,
            body_time: self.body_time,
            concurrency: self.admission_concurrency,
        }
    }

    fn extender(&self) -> Limits {
        Limits {
            body: self.extender_body,
            body_time: self.body_time,
            concurrency: self.extender_concurrency,
        }
    }
}

impl Handlers {
    /// Router of the HTTPS listener.
    pub fn routes(&self, settings: &Settings, metrics: Metrics) -> Router {
        let mutate = Endpoint {
            path: paths::MUTATE,
            limits: settings.admission(),
            authority: None,
        };
        let filter = Endpoint {
            path: paths::FILTER,
            limits: settings.extender(),
            authority: Some(Authority::Scheduler),
        };
        let prioritize = Endpoint {
            path: paths::PRIORITIZE,
            ..filter
        };
        Routes::new(settings.body_budget, metrics)
            .with(mutate, post(admission::mutate).with_state(self.clone()))
            .with(filter, post(extender::filter).with_state(self.clone()))
            .with(
                prioritize,
                post(extender::prioritize).with_state(self.clone()),
            )
            .into_router()
    }
}
