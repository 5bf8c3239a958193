//! Finds what Evenkeel has left in a cluster, and undoes its writes on foreign objects. The
//! installation's own objects are listed and left to `kubectl delete`.
//! [`crate::uninstall_plan`] decides the writes; each names the object version of
//! its decision, and one that comes too late is decided anew. The same code restores abandoned
//! bounds ([`lapsed`]), beside a living leader or without one.

mod inventory;
mod inventory_reader;
mod leader;
mod namespace_check;
pub mod release;
mod resize;
mod restore;
mod shallow_object;
mod single;

pub use crate::uninstall_plan::Extent;
pub use inventory::{
    Inventory, InventoryObjectRef, ListFailure, ModifiedObject, UninstallOutcome, UserAnnotations,
};
pub use inventory_reader::{OnPods, gather, lapsed, marks};
pub use leader::{Election, Judgement};
pub use namespace_check::{NamespaceMismatch, misplaced};
pub use release::{FINALIZER, ReleaseError, is_awaited, release, release_own_rights};
pub use resize::{NotPutBack, put_resources_back};
pub use restore::{restore, restore_all};
