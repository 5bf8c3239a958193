//! Paths of the HTTPS listener, each with its handler and its limits.

use std::num::NonZeroUsize;

use axum::routing::{MethodRouter, post};
use evenkeel_units::Bytes;

use super::spans::traced;
use super::{Handlers, admission, extender};
use crate::server::tls::Authority;
use crate::server::{BodyPace, ListenerMetrics, PathLimits, RouteEndpoint, Routes, paths};

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
    pub body_pace: BodyPace,
    /// Memory that the bodies of AdmissionReviews may take together.
    pub admission_budget: Bytes,
    /// Memory that the bodies of extender calls may take together.
    pub extender_budget: Bytes,
}

impl Settings {
    fn admission(&self) -> PathLimits {
        PathLimits {
            body: self.admission_body,
            body_pace: self.body_pace,
            concurrency: self.admission_concurrency,
        }
    }

    fn extender(&self) -> PathLimits {
        PathLimits {
            body: self.extender_body,
            body_pace: self.body_pace,
            concurrency: self.extender_concurrency,
        }
    }
}

impl Handlers {
    /// Paths of webhook and extender.
    pub fn routes(&self, settings: &Settings, metrics: ListenerMetrics) -> Routes {
        let mutate = RouteEndpoint {
            path: paths::MUTATE,
            limits: settings.admission(),
            authority: None,
        };
        let filter = RouteEndpoint {
            path: paths::FILTER,
            limits: settings.extender(),
            authority: Some(Authority::Scheduler),
        };
        let prioritize = RouteEndpoint {
            path: paths::PRIORITIZE,
            ..filter
        };
        let preempt = RouteEndpoint {
            path: paths::PREEMPT,
            ..filter
        };
        let bind = RouteEndpoint {
            path: paths::BIND,
            ..filter
        };
        let handled = |endpoint: RouteEndpoint, handler: MethodRouter<Self>| {
            let handler = handler.with_state(self.clone());
            (endpoint, traced(&self.recorder, endpoint.path, handler))
        };
        Routes::new(metrics)
            .caller(
                "admission",
                settings.admission_budget,
                [handled(mutate, post(admission::mutate))],
            )
            .caller(
                "extender",
                settings.extender_budget,
                [
                    handled(filter, post(extender::filter)),
                    handled(prioritize, post(extender::prioritize)),
                    handled(preempt, post(extender::preempt)),
                    handled(bind, post(extender::bind)),
                ],
            )
    }
}
