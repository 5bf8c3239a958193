//! `POST /mutate`.

use axum::extract::State;
use axum::response::Response;

use super::{Api, json_body, unreadable};
use crate::admission::{self, Request, wire};
use crate::server::{ApiError, Call, Load};

pub(super) async fn mutate(State(api): State<Api>, call: Call) -> Result<Response, ApiError> {
    let request = Request::parse(&call.body).map_err(|error| {
        api.metrics.admission(error.reason());
        unreadable(error.reason(), &error)
    })?;
    if call.load == Load::Shed {
        api.metrics.admission("shed");
        return Ok(json_body(wire::answer(&request.uid, None, &[])));
    }
    let reviewed = admission::review(&request, &api.cluster.snapshot(), &api.policy);
    api.metrics.admission(reviewed.outcome.as_str());
    if let Some(profile) = &reviewed.profile {
        api.metrics.profile(profile);
    }
    Ok(json_body(reviewed.body))
}
