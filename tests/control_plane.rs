//! Evenkeel on a real control plane: the shipped manifests, the built program with the rights that
//! its ServiceAccount has and no others, nodes without machines, and measurements that a test sets.
//!
//! Needs `KUBEBUILDER_ASSETS` (see `crates/apiserver/tests/support/control_plane/assets.rs`) and `kubectl`, whose
//! kustomize is what an operator installs with.

mod support {
    pub(crate) mod control_plane;
    #[allow(dead_code)] // other test programs use the rest
    pub(crate) mod dev_api;
    #[allow(dead_code)] // other test programs use the rest
    pub(crate) mod load;
    pub(crate) mod overlay;
}

mod scenarios {
    mod admission;
    mod between;
    mod cron;
    mod custom;
    mod direct;
    mod doctor;
    mod external_metrics;
    mod guard;
    mod harness;
    mod idle_extender;
    mod ihpa;
    mod jobs;
    mod leadership;
    mod metrics_provider;
    mod outage;
    mod placement;
    mod portrait_rules;
    mod preemption;
    mod put_back;
    mod replica_profile;
    mod resource_metrics;
    mod scale_in;
    mod scaling;
    mod shapes;
    mod signals;
    mod storm;
    mod tenants;
    mod throughput;
    mod tuning;
    mod volumes;
    mod waiting;
    mod world;
}
