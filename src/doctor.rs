//! Checks that a cluster is set up right for Evenkeel, and reports fixes. `gather` reads
//! everything once into an [`DoctorObservation`], in which a failed read is data; [`check`] is a
//! pure function of that. Nothing is written: the Pod that tries the webhook is a dry run.

mod checks;
pub mod collector;
mod finding;
mod observation;
mod trust;

pub use checks::{CHECKS, DoctorCheck, check};
pub use finding::{DoctorFinding, FindingSeverity, link};
pub use observation::{
    DoctorObservation, ObjectsOfKind, PodOfDryRun, Replica, Right, ServedCertificate, WebhookTrial,
};
