//! The paths of the group, each behind the front proxy.
//!
//! Discovery is answered to whomever the front proxy introduces: it says nothing of the cluster. What is
//! no path of the group is answered 404, documents of OpenAPI too, without which the API server does.

use std::num::NonZeroUsize;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use evenkeel_clock::Clock;
use jiff::SignedDuration;
use serde::Serialize;

use super::access::Access;
use crate::controller::scaling::ServedLoads;
use crate::server::{BodyPace, Endpoint, Limits, Routes, paths};
use evenkeel_core::units::Bytes;
use evenkeel_kubernetes::external_metrics::{self, Refusal};

/// No body is read of any request, and its bounds are those of none.
const NO_BODY: Bytes = Bytes(0);
const LIMITS: Limits = Limits {
    body: NO_BODY,
    body_pace: BodyPace {
        grace: std::time::Duration::ZERO,
        rate: Bytes(1),
        longest: std::time::Duration::ZERO,
    },
    concurrency: NonZeroUsize::MIN,
};

/// Handlers take every method, so that a refusal is one of the API.
const EVERY: MethodFilter = MethodFilter::GET
    .or(MethodFilter::HEAD)
    .or(MethodFilter::POST)
    .or(MethodFilter::PUT)
    .or(MethodFilter::PATCH)
    .or(MethodFilter::DELETE)
    .or(MethodFilter::OPTIONS);

/// The external metrics of one replica.
#[derive(Debug)]
pub struct ExternalMetrics {
    pub access: Access,
    pub loads: ServedLoads,
    /// The clock by which loads are measured.
    pub clock: Clock,
    /// The age up to which a load counts as that of now.
    pub max_age: SignedDuration,
}

impl ExternalMetrics {
    /// Adds the paths of the group.
    #[must_use]
    pub fn routes(self, routes: Routes) -> Routes {
        let shared = Arc::new(self);
        let endpoint = |path| Endpoint {
            path,
            limits: LIMITS,
            // Asked by the handlers, which say in the words of the API why a caller is refused.
            authority: None,
        };
        let state = || Arc::clone(&shared);
        routes.caller(
            "aggregator",
            NO_BODY,
            [
                (
                    endpoint(paths::GROUPS),
                    on(EVERY, groups).with_state(state()),
                ),
                (
                    endpoint(paths::EXTERNAL_METRICS),
                    on(EVERY, group).with_state(state()),
                ),
                (
                    endpoint(paths::EXTERNAL_METRICS_VERSION),
                    on(EVERY, resources).with_state(state()),
                ),
                (
                    endpoint(paths::EXTERNAL_METRIC),
                    on(EVERY, values).with_state(state()),
                ),
            ],
        )
    }

    fn discovered<T: Serialize>(
        &self,
        request: &Parts,
        document: impl FnOnce() -> T,
    ) -> Result<Response, Refused> {
        self.access.caller(request)?;
        is_read(request)?;
        Ok(Json(document()).into_response())
    }
}

type Shared = State<Arc<ExternalMetrics>>;

async fn groups(State(shared): Shared, request: Request) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    shared.discovered(&parts, external_metrics::groups)
}

async fn group(State(shared): Shared, request: Request) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    shared.discovered(&parts, external_metrics::group)
}

async fn resources(State(shared): Shared, request: Request) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    shared.discovered(&parts, external_metrics::resources)
}

async fn values(
    State(shared): Shared,
    Path((namespace, metric)): Path<(String, String)>,
    request: Request,
) -> Result<Response, Refused> {
    let (parts, _) = request.into_parts();
    let ExternalMetrics {
        access,
        loads,
        clock,
        max_age,
    } = &*shared;
    let user = access.caller(&parts)?;
    is_read(&parts)?;
    access.authorise(user, &namespace, &metric).await?;
    let selector = parameter(&parts, "labelSelector").unwrap_or_default();
    let newest = loads.newest().ok_or(Refusal::Starting)?;
    let of_namespace = newest.get(namespace.as_str());
    let of_namespace = of_namespace.map_or(&[][..], Vec::as_slice);
    let at = (clock.now(), *max_age);
    let list = external_metrics::list(&metric, &selector, of_namespace, at)?;
    Ok(Json(list).into_response())
}

/// Refuses what would change or watch something.
fn is_read(request: &Parts) -> Result<(), Refused> {
    let watches = parameter(request, "watch").is_some_and(|watch| watch != "false" && watch != "0");
    if request.method != Method::GET && request.method != Method::HEAD || watches {
        return Err(Refusal::NotListed.into());
    }
    Ok(())
}

/// The first value of a parameter of the query.
fn parameter(request: &Parts, name: &str) -> Option<String> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&request.uri).ok()?;
    let found = pairs.into_iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value)
}

/// A refusal as it is answered.
struct Refused(Refusal);

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self(refusal)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let code = StatusCode::from_u16(self.0.code());
        let code = code.expect("the codes of refusals are those of HTTP");
        (code, Json(self.0.status())).into_response()
    }
}
