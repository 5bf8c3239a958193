//! The paths of the service, each behind the same guard: who may call it, how many at a time, how
//! large a body; every answer is counted, and a panic becomes an answer.
//!
//! Over its concurrency limit a path goes on answering, at once and with 200: the handler is told
//! to fail open ([`Load::Shed`]), which leaves the cluster to go on as if the service were not
//! there. Beyond a multiple of the limit, requests wait unread for a moment and are then refused,
//! so that nobody waits behind clients that withhold their bodies. What all bodies take together is
//! bounded by the [`BodyBudget`].

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
use futures::FutureExt;
use jiff::Timestamp;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::arrival::{Arrival, Limits, Load};
use super::body::refuse;
use super::budget::{BodyBudget, WAIT, overloaded};
use super::error::ApiError;
use super::metrics::{Metrics, Open, PathMetrics};
use super::tls::{Authority, Peer, Unauthorised};
use evenkeel_clock as clock;
use evenkeel_core::units::Bytes;

/// Requests that are shed are cheap but still hold their body: so many for each that is not.
const SHED_FOR_EACH: usize = 2;

/// A path of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// The path, also in metrics.
    pub path: &'static str,
    pub limits: Limits,
    /// Authority whose clients may call, where it is configured; `None` for everybody.
    pub authority: Option<Authority>,
}

/// Collects the paths of a listener.
#[derive(Debug)]
pub struct Routes {
    router: Router,
    budget: Arc<BodyBudget>,
    metrics: Metrics,
}

impl Routes {
    /// No path yet; the bodies of all paths may take `body_budget` together.
    pub fn new(body_budget: Bytes, metrics: Metrics) -> Self {
        Self {
            router: Router::new(),
            budget: Arc::new(BodyBudget::new(body_budget, &metrics)),
            metrics,
        }
    }

    /// Adds a path with its handler, which takes a [`Call`](super::Call).
    #[must_use]
    pub fn with(self, endpoint: Endpoint, handler: MethodRouter) -> Self {
        let guard = Arc::new(Guard::new(
            endpoint,
            Arc::clone(&self.budget),
            &self.metrics,
        ));
        let guarded = handler
            .fallback(method_not_allowed)
            .layer(from_fn_with_state(guard, Guard::middleware));
        Self {
            router: self.router.route(endpoint.path, guarded),
            budget: self.budget,
            metrics: self.metrics,
        }
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
    let message = "the path takes another method";
    let error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message);
    refuse(error, request.into_body()).await
}

/// The checks before a handler.
#[derive(Debug)]
struct Guard {
    endpoint: Endpoint,
    budget: Arc<BodyBudget>,
    metrics: PathMetrics,
    normal: Semaphore,
    shed: Semaphore,
}

impl Guard {
    fn new(endpoint: Endpoint, budget: Arc<BodyBudget>, metrics: &Metrics) -> Self {
        let concurrency = endpoint.limits.concurrency.get().min(MOST);
        Self {
            endpoint,
            budget,
            metrics: metrics.path(endpoint.path),
            normal: Semaphore::new(concurrency),
            shed: Semaphore::new(concurrency * SHED_FOR_EACH),
        }
    }

    async fn middleware(State(guard): State<Arc<Self>>, request: Request, next: Next) -> Response {
        let counted = Counted::new(&guard.metrics);
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
        let (load, _permit) = match self.turn().await {
            Ok(turn) => turn,
            Err(refusal) => return refuse(refusal, request.into_body()).await.into_response(),
        };
        request.extensions_mut().insert(Arrival {
            limits: self.endpoint.limits,
            budget: Arc::clone(&self.budget),
            load,
            started,
        });
        match AssertUnwindSafe(next.run(request)).catch_unwind().await {
            Ok(response) => response,
            Err(panic) => self.panicked(&*panic).into_response(),
        }
    }

    fn authorise(&self, request: &Request, now: Timestamp) -> Result<(), Unauthorised> {
        let Some(authority) = self.endpoint.authority else {
            return Ok(());
        };
        match request.extensions().get::<Arc<Peer>>() {
            Some(peer) => peer.authorise(authority, now),
            None => Err(Unauthorised::NoCertificate(authority)),
        }
    }

    async fn turn(&self) -> Result<(Load, SemaphorePermit<'_>), ApiError> {
        if let Ok(permit) = self.normal.try_acquire() {
            return Ok((Load::Normal, permit));
        }
        self.metrics.shed.inc();
        let Ok(permit) = tokio::time::timeout(WAIT, self.shed.acquire()).await else {
            self.metrics.overloaded.inc();
            return Err(overloaded());
        };
        Ok((Load::Shed, permit.expect("the semaphore is never closed")))
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
        // What was left of the body is gone with the handler.
        ApiError::new(status, "Panic", "the request could not be answered").closing()
    }
}

/// More than any machine answers at a time, and little enough for a semaphore.
const MOST: usize = 1 << 20;

impl From<Unauthorised> for ApiError {
    fn from(refusal: Unauthorised) -> Self {
        let status = match refusal {
            Unauthorised::NoCertificate(_) => StatusCode::UNAUTHORIZED,
            Unauthorised::OutOfDate | Unauthorised::OtherAuthority(_) => StatusCode::FORBIDDEN,
        };
        Self::new(status, refusal.reason(), refusal.to_string())
    }
}

/// A request that is counted whether it is answered or its client leaves first.
struct Counted<'a> {
    metrics: &'a PathMetrics,
    _in_flight: Open,
    started: Instant,
    answered: bool,
}

impl<'a> Counted<'a> {
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

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.metrics.cancelled.inc();
        }
    }
}
