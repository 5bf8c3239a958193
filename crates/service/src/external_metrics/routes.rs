//! The paths of the group. Every caller behind the front proxy gets discovery, because it says
//! nothing about the cluster. Other paths are answered 404, as are documents of OpenAPI, without
//! which the API server manages.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use evenkeel_clock::Clock;
use evenkeel_objects::api_group;
use evenkeel_objects::kinds::Kind;
use evenkeel_scaling::external_metrics;
use evenkeel_scaling::external_metrics::{EXPECTED_LOAD, ExternalMetricsRefusal};
use jiff::SignedDuration;
use k8s_openapi::api::authentication::v1::UserInfo;
use k8s_openapi::api::authorization::v1::ResourceAttributes;
use serde::Serialize;

use crate::aggregation::{
    AccessDeniedError, EVERY, Introductions, Rights, StatusErrorResponse, UnknownCallerError,
    endpoint, is_read, parameters, routes,
};
use crate::controller::scaling::ServedLoads;
use crate::server::{Routes, paths};

#[derive(Debug)]
pub struct ExternalMetrics {
    pub introductions: Introductions,
    pub rights: Arc<Rights>,
    pub loads: ServedLoads,
    pub clock: Clock,
    /// The age up to which a load counts as that of now.
    pub max_age: SignedDuration,
}

impl ExternalMetrics {
    /// Adds the paths of the group.
    pub fn routes(self, all: Routes) -> Routes {
        let shared = Arc::new(self);
        let state = || Arc::clone(&shared);
        routes(
            all,
            [
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

    fn reader(&self, request: &Parts) -> Result<UserInfo, StatusErrorResponse> {
        let caller = self.introductions.caller(request);
        let caller = caller
            .map_err(|UnknownCallerError(why)| ExternalMetricsRefusal::Unauthenticated(why))?;
        if is_read(request) {
            Ok(caller)
        } else {
            Err(ExternalMetricsRefusal::NotListed.into())
        }
    }

    fn discovered<T: Serialize>(
        &self,
        request: &Parts,
        document: impl FnOnce() -> T,
    ) -> Result<Response, StatusErrorResponse> {
        self.reader(request)?;
        Ok(Json(document()).into_response())
    }

    /// Checks that `user` may list `metric` in `namespace`.
    async fn authorise(
        &self,
        user: UserInfo,
        namespace: &str,
        metric: &str,
    ) -> Result<(), ExternalMetricsRefusal> {
        let name = user.username.clone().unwrap_or_default();
        let attempt = ResourceAttributes {
            group: Some(Kind::ExternalMetrics.group().to_owned()),
            version: Some(Kind::ExternalMetrics.version().to_owned()),
            resource: Some(metric.to_owned()),
            namespace: Some(namespace.to_owned()),
            verb: Some("list".to_owned()),
            ..ResourceAttributes::default()
        };
        let checked = self.rights.check(user, attempt).await;
        checked.map_err(|denied| match denied {
            AccessDeniedError::Forbidden => ExternalMetricsRefusal::Forbidden {
                user: name,
                metric: metric.to_owned(),
                namespace: namespace.to_owned(),
            },
            AccessDeniedError::Unreviewed => ExternalMetricsRefusal::Unreviewed(denied.to_string()),
        })
    }
}

type ExternalMetricsState = State<Arc<ExternalMetrics>>;

async fn group(
    State(shared): ExternalMetricsState,
    request: Request,
) -> Result<Response, StatusErrorResponse> {
    let (parts, _) = request.into_parts();
    shared.discovered(&parts, || api_group::group(Kind::ExternalMetrics))
}

async fn resources(
    State(shared): ExternalMetricsState,
    request: Request,
) -> Result<Response, StatusErrorResponse> {
    let (parts, _) = request.into_parts();
    shared.discovered(&parts, || {
        api_group::resources(Kind::ExternalMetrics, EXPECTED_LOAD)
    })
}

async fn values(
    State(shared): ExternalMetricsState,
    Path((namespace, metric)): Path<(String, String)>,
    request: Request,
) -> Result<Response, StatusErrorResponse> {
    let (parts, _) = request.into_parts();
    let user = shared.reader(&parts)?;
    shared.authorise(user, &namespace, &metric).await?;
    let mut parameters = parameters(&parts).into_iter();
    let selector = parameters.find(|(name, _)| name == "labelSelector");
    let selector = selector.map(|(_, text)| text).unwrap_or_default();
    let newest = shared
        .loads
        .newest()
        .ok_or(ExternalMetricsRefusal::Starting)?;
    let of_namespace = newest.get(namespace.as_str());
    let of_namespace = of_namespace.map_or(&[][..], Vec::as_slice);
    let at = (shared.clock.now(), shared.max_age);
    let list = external_metrics::list(&metric, &selector, of_namespace, at)?;
    Ok(Json(list).into_response())
}

impl From<ExternalMetricsRefusal> for StatusErrorResponse {
    fn from(refusal: ExternalMetricsRefusal) -> Self {
        refusal.status().into()
    }
}
