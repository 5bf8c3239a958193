//! A real Kubernetes control plane on loopback, and Evenkeel as an operator runs it there. The
//! control plane is started by the conformance tests of the API server in memory.

#[path = "../../crates/apiserver/tests/support/control_plane.rs"]
mod plane;

pub(crate) use self::plane::*;

pub(crate) mod evenkeel;
pub(crate) mod link;
pub(crate) mod manifests;
pub(crate) mod nodes;
pub(crate) mod objects;
pub(crate) mod page;
pub(crate) mod prometheus;
pub(crate) mod signer;
pub(crate) mod stream;
mod volume;
