//! `POST /mutate`.

use axum::extract::State;
use axum::response::Response;

use super::fail_open::failed_review;
use super::{Api, json_body, paths, unreadable};
use crate::server::{ApiError, Call, Load};
use evenkeel_kubernetes::admission::{self, Request, wire};

pub(super) async fn mutate(State(api): State<Api>, call: Call) -> Result<Response, ApiError> {
    let request = Request::parse(&call.body).map_err(|error| {
        api.metrics.admission(error.reason());
        api.fail_open
            .unreadable(paths::MUTATE, error.reason(), &error, &call);
        unreadable(error.reason(), &error)
    })?;
    if call.load == Load::Shed {
        api.metrics.admission("shed");
        api.fail_open.warn(paths::MUTATE, "shed", &call);
        return Ok(json_body(wire::answer(&request.uid, None, &[])));
    }
    let reviewed = admission::review(&request, &api.cluster.snapshot(), &api.policy);
    api.metrics.admission(reviewed.outcome.as_str());
    if let Some(cause) = failed_review(reviewed.outcome) {
        api.fail_open.warn(paths::MUTATE, cause, &call);
    }
    if let Some(profile) = &reviewed.profile {
        api.metrics.profile(profile);
    }
    Ok(json_body(reviewed.body))
}
