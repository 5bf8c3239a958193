//! The admission webhook: a pure function from an AdmissionReview and a snapshot to a response. The
//! patch only adds annotations and, if configured, the scheduler's name and the readiness gate of a
//! ReplicaProfile. The API server refuses a Pod if its patch does not apply, under any failure
//! policy, so Evenkeel applies the patch here before it sends it. A second review of the patched
//! Pod changes nothing.

pub mod patch;
pub mod review;
pub mod wire;

pub use review::{
    AdmissionContext, AdmissionOutcome, AdmissionReviewResult, Gates, review, ungated,
};
pub use wire::{AdmissionRequestView, WireError};
