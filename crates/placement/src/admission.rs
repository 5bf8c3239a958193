//! The admission webhook: a pure function from an AdmissionReview and a snapshot to a response. The
//! patch only adds annotations and, if configured, the scheduler's name, preferred node terms and the
//! readiness gate of a ReplicaProfile. The API server refuses a Pod if its patch does not apply, under any failure
//! policy, so Evenkeel applies the patch here before it sends it. A second review of the patched
//! Pod changes nothing.

pub mod patch;
pub mod review;
pub mod score_terms;
pub mod wire;

pub use review::{
    AdmissionContext, AdmissionOutcome, AdmissionReviewResult, Gates, review, ungated,
};
pub use score_terms::{
    ScoreTermInputs, ScoreTermSource, new_pod_shape, nothing_carried, outcome_for_new,
};
pub use wire::{AdmissionRequestView, WireError};
