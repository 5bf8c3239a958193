//! The admission webhook: it makes a response from an AdmissionReview and a snapshot.
//!
//! A review is a pure function. Its patch only adds annotations and, if they are configured, the scheduler's name
//! and the readiness gate of a ReplicaProfile. No operation of the patch can fail on this Pod. Evenkeel still
//! applies it here before it sends it: the API server refuses the Pod if the patch does not apply, under any
//! failure policy. A second review of the patched Pod changes nothing.

pub mod patch;
pub mod review;
pub mod wire;

pub use review::{
    AdmissionContext, AdmissionOutcome, AdmissionReviewResult, Gates, review, ungated,
};
pub use wire::{AdmissionRequestView, WireError};
