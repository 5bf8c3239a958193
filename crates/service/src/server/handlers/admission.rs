//! `POST /mutate`: the mutating webhook.

use axum::extract::State;
use axum::response::Response;
use evenkeel_clock as clock;
use evenkeel_placement::admission;
use evenkeel_placement::admission::{AdmissionRequestView, wire};

use super::Handlers;
use super::answer::{json_body, unreadable};
use super::fail_open::failed_review;
use super::spans;
use crate::server::{ApiError, BufferedRequest, LoadShedDecision, paths};
use crate::telemetry::spans::text;

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
    call.span.set(|| {
        let namespace = request.namespace.as_deref().unwrap_or_default();
        let review = [
            text("evenkeel.admission.uid", &request.uid),
            text("k8s.namespace.name", namespace),
        ];
        review.into_iter().chain(spans::new_pod(request.object))
    });
    if call.load == LoadShedDecision::Shed {
        call.span.set(|| spans::outcome("shed", true));
        handlers.metrics.admission("shed");
        handlers.fail_open.warn(paths::MUTATE, "shed", &call);
        return Ok(json_body(wire::answer(&request.uid, None, &[])));
    }
    let now = handlers.cluster.now();
    let known = admission::AdmissionContext {
        snapshot: &handlers.cluster.snapshot(),
        policy: &handlers.policy,
        gates: &|namespace, pod| {
            let now = clock::instant();
            handlers.cluster.gives_gate(namespace, pod, now)
        },
        score_terms: &|namespace, pod| handlers.score_term_inputs(namespace, pod),
        now,
    };
    let reviewed = admission::review(&request, &known);
    handlers.metrics.admission(reviewed.outcome.as_str());
    let failure = failed_review(reviewed.outcome);
    call.span
        .set(|| spans::outcome(reviewed.outcome.as_str(), failure.is_some()));
    if let Some(cause) = failure {
        handlers.fail_open.warn(paths::MUTATE, cause, &call);
    }
    if let Some(outcome) = reviewed.score_terms {
        handlers.metrics.score_terms(outcome.as_str());
    }
    if let Some(profile) = &reviewed.profile {
        handlers.metrics.profile(profile);
        call.span.set(|| [text("evenkeel.profile", profile)]);
    }
    Ok(json_body(reviewed.body))
}
