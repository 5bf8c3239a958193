//! `POST /mutate`: the mutating webhook.

use axum::extract::State;
use axum::response::Response;
use evenkeel_clock as clock;
use evenkeel_placement::admission;
use evenkeel_placement::admission::{AdmissionRequestView, wire};

use super::Handlers;
use super::answer::{json_body, unreadable};
use super::fail_open::failed_review;
use crate::server::{ApiError, BufferedRequest, LoadShedDecision, paths};

pub(super) async fn mutate(
    State(handlers): State<Handlers>,
    call: BufferedRequest,
) -> Result<Response, ApiError> {
    let request = AdmissionRequestView::parse(&call.body).map_err(|error| {
        handlers.metrics.admission(error.reason());
        let refusal = unreadable(error.reason(), &error);
        handlers
            .fail_open
            .unreadable(paths::MUTATE, &refusal, &call);
        refusal
    })?;
    if call.load == LoadShedDecision::Shed {
        handlers.metrics.admission("shed");
        handlers.fail_open.warn(paths::MUTATE, "shed", &call);
        return Ok(json_body(wire::answer(&request.uid, None, &[])));
    }
    let known = admission::AdmissionContext {
        snapshot: &handlers.cluster.snapshot(),
        policy: &handlers.policy,
        gates: &|namespace, pod| {
            let now = clock::instant();
            handlers.cluster.gives_gate(namespace, pod, now)
        },
        now: handlers.cluster.now(),
    };
    let reviewed = admission::review(&request, &known);
    handlers.metrics.admission(reviewed.outcome.as_str());
    if let Some(cause) = failed_review(reviewed.outcome) {
        handlers.fail_open.warn(paths::MUTATE, cause, &call);
    }
    if let Some(profile) = &reviewed.profile {
        handlers.metrics.profile(profile);
    }
    Ok(json_body(reviewed.body))
}
