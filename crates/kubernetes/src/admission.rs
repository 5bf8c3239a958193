//! The admission webhook: from an AdmissionReview and a snapshot to a response.
//!
//! A review is a pure function. Its patch only adds annotations (and, where configured, names the
//! scheduler, and a readiness gate where a ReplicaProfile asks for one), by operations that cannot fail on the Pod at hand; it is nevertheless applied to
//! the Pod here before it is sent, because the API server refuses a Pod whose patch does not
//! apply, whatever the failure policy says. Reviewing the patched Pod again changes nothing.

pub mod patch;
pub mod review;
pub mod wire;

pub use review::{
    AdmissionContext, AdmissionOutcome, AdmissionReviewResult, Gates, review, ungated,
};
pub use wire::{AdmissionRequestView, WireError};
