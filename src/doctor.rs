//! Checks that a cluster is set up right for Evenkeel, and tells what mends it where it is not.
//!
//! [`gather`] reads everything once into an [`Observation`], in which a read that failed is data
//! like any other; [`check`] is a pure function of that. Nothing is written: the Pod that tries the
//! webhook is created as a dry run.

mod checks;
mod finding;
pub mod gather;
mod observation;
pub(crate) mod registration;
mod trust;

pub use checks::{CHECKS, Check, check};
pub use finding::{Finding, Severity, link};
pub(crate) use observation::{CONFIGURATION_FILE, CONFIGURATION_MAP};
pub use observation::{
    ObjectsOfKind, Observation, PodOfDryRun, Replica, Right, Seen, ServedCertificate, Unseen,
    WebhookTrial,
};
