//! Finds what Evenkeel has left in a cluster, and takes back what it wrote on the objects of
//! others.
//!
//! The objects of the installation are listed and left to `kubectl delete`.
//! [`evenkeel_kubernetes::plan::uninstall`] decides the writes. Each names the object version that
//! it was decided on, and a write that comes too late is decided anew.
//!
//! The same code puts back abandoned bounds ([`lapsed`]), beside a leader that lives or without
//! one.

mod inventory;
mod inventory_reader;
mod leader;
mod namespace_check;
mod release;
mod resize;
mod restore;
mod single;

pub use evenkeel_kubernetes::plan::uninstall::Extent;
pub use inventory::{
    Inventory, InventoryObjectRef, ListFailure, ModifiedObject, UninstallOutcome, UserAnnotations,
};
pub use inventory_reader::{OnPods, gather, lapsed, marks};
pub use leader::{Election, Judgement};
pub use namespace_check::{NamespaceMismatch, misplaced};
pub use release::{FINALIZER, ReleaseError, is_awaited, release, release_own_rights};
pub use resize::{NotPutBack, put_resources_back};
pub use restore::{restore, restore_all};
