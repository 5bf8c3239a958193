//! Whether a cluster is set up right for Evenkeel, and what to do where it is not.
//!
//! [`gather`] reads everything once into an [`Observation`], in which a read that failed is data
//! like any other; [`check`] is a pure function of that. It judges what the tiers above declare
//! (rights, paths, metric names, the shipped webhook), so it stands below them, and it writes
//! nothing: the Pod that tries the webhook is created as a dry run.

mod checks;
mod finding;
pub mod gather;
mod observation;
mod trust;

pub use checks::check;
pub use finding::{Finding, Severity};
pub use observation::{
    Observation, PodOfDryRun, Replica, Right, Seen, ServedCertificate, Unseen, WebhookTrial,
};
