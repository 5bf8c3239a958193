//! Paths of the HTTPS listener, each with its handler and its limits.

use std::num::NonZeroUsize;

use axum::handler::Handler;
use axum::routing::MethodRouter;
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
        Routes::new(metrics)
            .caller(
                "admission",
                settings.admission_budget,
                [self.handled(mutate, admission::mutate)],
            )
            .caller(
                "extender",
                settings.extender_budget,
                [
                    self.handled(filter, extender::filter),
                    self.handled(prioritize, extender::prioritize),
                    self.handled(preempt, extender::preempt),
                    self.handled(bind, extender::bind),
                ],
            )
    }

    fn handled<H, T>(&self, endpoint: RouteEndpoint, handler: H) -> (RouteEndpoint, MethodRouter)
    where
        H: Handler<T, Self>,
        T: 'static,
    {
        let handler = traced(&self.recorder, endpoint.path, handler);
        (endpoint, handler.with_state(self.clone()))
    }
}
