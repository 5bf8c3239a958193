//! Finds what Evenkeel has left in a cluster, and takes back what it wrote on objects that are not
//! its own.
//!
//! The objects of the installation are listed and left to `kubectl delete`. The writes are decided
//! by [`evenkeel_kubernetes::plan::uninstall`]; each names the version that it was decided on, and
//! one that comes too late is decided anew on the object as it then is.

mod gather;
mod inventory;
mod leader;
mod restore;

pub use gather::gather;
pub use inventory::{Inventory, Mark, Object, Outcome, Unlisted, UserAnnotations};
pub use leader::living_leader;
pub use restore::restore;
