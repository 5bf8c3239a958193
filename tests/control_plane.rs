//! Evenkeel on a real control plane: the shipped manifests, the built program with the rights that
//! its ServiceAccount has and no others, nodes without machines, and measurements that a test sets.
//!
//! Needs `KUBEBUILDER_ASSETS` (see `tests/support/control_plane/assets.rs`) and `kubectl`, whose
//! kustomize is what an operator installs with.

mod support {
    pub mod control_plane;
}

mod scenarios {
    mod admission;
    mod doctor;
    mod guard;
    mod harness;
    mod leadership;
    mod outage;
    mod placement;
    mod waiting;
    mod world;
}
