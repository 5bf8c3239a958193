//! The paths of the service, each behind the same guard: allowed callers, concurrency, size of
//! bodies. Every answer is counted, and a panic becomes an answer. Over its concurrency limit a
//! path answers at once with 200: the handler fails open ([`Load::Shed`](super::Load::Shed)), as if
//! the service were not there. A request counts against the limit from when its body is there, so
//! clients that withhold theirs delay no other. A budget for each caller bounds all bodies: floods
//! of reviews take nothing from kube-scheduler.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use evenkeel_clock as clock;
use evenkeel_units::Bytes;
use futures::FutureExt;
use hyper::body::Body as _;
use jiff::Timestamp;

use super::body::refuse;
use super::budget::{BodyBudget, Charge};
use super::error::ApiError;
use super::metrics::{GaugeGuard, ListenerMetrics, PathMetrics};
use super::path_limits::{Arrival, ConcurrencyLimiter, PathLimits};
use super::tls::{Authority, Peer, PeerAuthorisationError};

/// A path of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteEndpoint {
    pub path: &'static str,
    pub limits: PathLimits,
    /// The authority of the clients that may call, if it is configured; `None` for every client.
    pub authority: Option<Authority>,
}

/// Collects the paths of a listener.
#[derive(Debug)]
pub struct Routes {
    router: Router,
    metrics: ListenerMetrics,
}

impl Routes {
    /// No path yet.
    pub fn new(metrics: ListenerMetrics) -> Self {
        Self {
            router: Router::new(),
            metrics,
        }
    }

    /// Adds the paths that `caller` calls, each with its handler, which takes a
    /// `BufferedRequest`; their bodies share `budget`.
    pub fn caller(
        mut self,
        caller: &'static str,
        budget: Bytes,
        paths: impl IntoIterator<Item = (RouteEndpoint, MethodRouter)>,
    ) -> Self {
        let budget = Arc::new(BodyBudget::new(caller, budget, &self.metrics));
        for (endpoint, handler) in paths {
            let guard = Guard::new(endpoint, Arc::clone(&budget), &self.metrics);
            let guarded = handler
                .fallback(method_not_allowed)
                .layer(from_fn_with_state(Arc::new(guard), Guard::middleware));
            self.router = self.router.route(endpoint.path, guarded);
        }
        self
    }

    /// The router, which answers 404 to all other paths.
    pub fn into_router(self) -> Router {
        self.router.fallback(not_found)
    }
}

async fn not_found(request: Request) -> ApiError {
    let error = ApiError::new(StatusCode::NOT_FOUND, "NotFound", "there is no such path");
    refuse(error, request.into_body()).await
}

async fn method_not_allowed(request: Request) -> ApiError {
    let message = "the path does not accept this method";
    let error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message);
    refuse(error, request.into_body()).await
}

#[derive(Debug)]
struct Guard {
    endpoint: RouteEndpoint,
    budget: Arc<BodyBudget>,
    metrics: PathMetrics,
    turns: Arc<ConcurrencyLimiter>,
}

impl Guard {
    fn new(endpoint: RouteEndpoint, budget: Arc<BodyBudget>, metrics: &ListenerMetrics) -> Self {
        let metrics = metrics.path(endpoint.path);
        let turns = ConcurrencyLimiter::new(endpoint.limits.concurrency, metrics.shed.clone());
        Self {
            endpoint,
            budget,
            metrics,
            turns: Arc::new(turns),
        }
    }

    async fn middleware(State(guard): State<Arc<Self>>, request: Request, next: Next) -> Response {
        let counted = RequestMetricsGuard::new(&guard.metrics);
        let response = guard.answer(request, next, counted.started).await;
        counted.answered(&response);
        response
    }

    async fn answer(&self, mut request: Request, next: Next, started: Instant) -> Response {
        if let Err(refusal) = self.authorise(&request, clock::now()) {
            return refuse(refusal.into(), request.into_body())
                .await
                .into_response();
        }
        let charge = Charge::default();
        request.extensions_mut().insert(Arrival {
            limits: self.endpoint.limits,
            budget: Arc::clone(&self.budget),
            turns: Arc::clone(&self.turns),
            charge: charge.clone(),
            started,
        });
        let mut response = match AssertUnwindSafe(next.run(request)).catch_unwind().await {
            Ok(response) => response,
            Err(panic) => self.panicked(&*panic).into_response(),
        };
        let length = response.body().size_hint().exact();
        charge.keep(length.unwrap_or(u64::MAX).max(1));
        // The connection hangs it on the bytes that it sends.
        response.extensions_mut().insert(charge);
        response
    }

    fn authorise(&self, request: &Request, now: Timestamp) -> Result<(), PeerAuthorisationError> {
        let Some(authority) = self.endpoint.authority else {
            return Ok(());
        };
        match request.extensions().get::<Arc<Peer>>() {
            Some(peer) => peer.authorise(authority, now),
            None => Err(PeerAuthorisationError::NoCertificate(authority)),
        }
    }

    fn panicked(&self, panic: &(dyn Any + Send)) -> ApiError {
        self.metrics.panics.inc();
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        tracing::error!(
            path = self.endpoint.path,
            panic = message,
            "a handler panicked"
        );
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        // The rest of the body is gone with the handler.
        ApiError::new(status, "Panic", "the request could not be answered").closing()
    }
}

impl From<PeerAuthorisationError> for ApiError {
    fn from(refusal: PeerAuthorisationError) -> Self {
        let status = match refusal {
            PeerAuthorisationError::NoCertificate(_) => StatusCode::UNAUTHORIZED,
            PeerAuthorisationError::OutOfDate
            | PeerAuthorisationError::OtherAuthority(_)
            | PeerAuthorisationError::OtherName(_)
            | PeerAuthorisationError::NoAuthority(_) => StatusCode::FORBIDDEN,
        };
        Self::new(status, refusal.reason(), refusal.to_string())
    }
}

/// A request that is counted whether it is answered or its client leaves first.
struct RequestMetricsGuard<'a> {
    metrics: &'a PathMetrics,
    _in_flight: GaugeGuard,
    started: Instant,
    answered: bool,
}

impl<'a> RequestMetricsGuard<'a> {
    fn new(metrics: &'a PathMetrics) -> Self {
        Self {
            metrics,
            _in_flight: metrics.begin(),
            started: clock::instant(),
            answered: false,
        }
    }

    fn answered(mut self, response: &Response) {
        let after = clock::instant().saturating_duration_since(self.started);
        self.metrics.answered(response.status(), after);
        self.answered = true;
    }
}

impl Drop for RequestMetricsGuard<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.metrics.cancelled.inc();
        }
    }
}
