//! A real Kubernetes control plane on loopback, and Evenkeel as an operator runs it there. The
//! control plane is started by the conformance tests of the API server in memory.

#[path = "../../crates/apiserver/tests/support/control_plane.rs"]
mod plane;

pub use self::plane::*;

pub mod evenkeel;
pub mod manifests;
pub mod nodes;
pub mod objects;
pub mod page;
pub mod prometheus;
mod volume;
