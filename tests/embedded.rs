//! The service whole, on the embedded API server: the cluster of `dev`, the scaling loop with its
//! faults, the signer, and what `uninstall` leaves.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

#[allow(dead_code)] // the real control plane's tests use the rest
mod support {
    pub(crate) mod checker;
    pub(crate) mod collector;
    pub(crate) mod control_plane;
    pub(crate) mod custom_kind;
    pub(crate) mod dev_api;
    pub(crate) mod load;
    pub(crate) mod metrics_stand_in;
    pub(crate) mod overlay;
}

mod whole {
    mod dev_cluster;
    mod node_lifecycle;
    mod record;
    mod release;
    mod replay;
    mod scaling_loop;
    mod signer;
    mod uninstall;
    mod upgrade;
}
