//! Evenkeel on a real control plane: the shipped manifests, and the built program with the rights of its
//! ServiceAccount alone. Nodes have no machines, and a test sets the measurements.
//!
//! Needs `KUBEBUILDER_ASSETS` (see `crates/apiserver/tests/support/control_plane/assets.rs`) and `kubectl`,
//! with the kustomize that an operator installs with. Each scenario has a control plane of its own.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::process::ExitCode;

use libtest_mimic::Arguments;

mod support {
    pub(crate) mod control_plane;
    #[allow(dead_code)] // other test programs use the rest
    pub(crate) mod custom_kind;
    #[allow(dead_code)] // other test programs use the rest
    pub(crate) mod dev_api;
    #[allow(dead_code)] // other test programs use the rest
    pub(crate) mod load;
    pub(crate) mod overlay;
    pub(crate) mod trial;
}

mod scenarios {
    pub(crate) mod admission;
    pub(crate) mod between;
    pub(crate) mod cron;
    pub(crate) mod custom;
    pub(crate) mod direct;
    pub(crate) mod doctor;
    pub(crate) mod explain_hpa;
    pub(crate) mod external_metrics;
    pub(crate) mod gangs;
    pub(crate) mod guard;
    pub(crate) mod harness;
    mod hpa_situations;
    pub(crate) mod idle_extender;
    pub(crate) mod ihpa;
    pub(crate) mod jobs;
    pub(crate) mod leadership;
    pub(crate) mod metrics_provider;
    pub(crate) mod outage;
    pub(crate) mod own_rights;
    pub(crate) mod placement;
    pub(crate) mod portrait_rules;
    pub(crate) mod preemption;
    pub(crate) mod put_back;
    pub(crate) mod replica_profile;
    pub(crate) mod resource_metrics;
    pub(crate) mod scale_in;
    pub(crate) mod scaling;
    pub(crate) mod score_label_rates;
    pub(crate) mod second_scheduler;
    pub(crate) mod shapes;
    pub(crate) mod signals;
    pub(crate) mod storm;
    pub(crate) mod tenants;
    pub(crate) mod throughput;
    pub(crate) mod tuning;
    pub(crate) mod volumes;
    pub(crate) mod waiting;
    pub(crate) mod world;
}

/// Each half on the server in memory and on a control plane that they share.
mod whole {
    pub(crate) mod scaling_store;
    pub(crate) mod writes;
}

/// Scenarios wait more than they compute, so more of them run than there are cores.
const SIDE_BY_SIDE: usize = 3;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(SIDE_BY_SIDE);
    let suites = [
        scenarios::admission::suite(),
        scenarios::cron::suite(),
        scenarios::custom::suite(),
        scenarios::direct::suite(),
        scenarios::doctor::suite(),
        scenarios::explain_hpa::suite(),
        scenarios::external_metrics::suite(),
        scenarios::gangs::suite(),
        scenarios::guard::suite(),
        scenarios::harness::suite(),
        scenarios::ihpa::suite(),
        scenarios::jobs::suite(),
        scenarios::leadership::suite(),
        scenarios::metrics_provider::suite(),
        scenarios::outage::suite(),
        scenarios::own_rights::suite(),
        scenarios::placement::suite(),
        scenarios::portrait_rules::suite(),
        scenarios::preemption::suite(),
        scenarios::put_back::suite(),
        scenarios::replica_profile::suite(),
        scenarios::scale_in::suite(),
        scenarios::scaling::suite(),
        scenarios::score_label_rates::suite(),
        scenarios::second_scheduler::suite(),
        scenarios::shapes::suite(),
        scenarios::signals::suite(),
        scenarios::storm::suite(),
        scenarios::tenants::suite(),
        scenarios::throughput::suite(),
        scenarios::tuning::suite(),
        scenarios::waiting::suite(),
        whole::scaling_store::suite(),
        whole::writes::suite(),
    ];
    let ended = support::trial::run(&arguments, suites.into_iter().flatten().collect());
    support::control_plane::stop_shared();
    ended
}
