//! Tests that need certain programs or rights: built overlays, a real Prometheus, rules that
//! promtool evaluates, limits that the kernel takes. The tests beside them are here too.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::process::ExitCode;

use libtest_mimic::Arguments;

#[allow(dead_code)] // other test programs use the rest
mod support {
    pub(crate) mod control_plane;
    pub(crate) mod custom_kind;
    pub(crate) mod dev_api;
    pub(crate) mod load;
    pub(crate) mod metrics_exporter;
    pub(crate) mod metrics_server;
    pub(crate) mod metrics_stand_in;
    pub(crate) mod node_tree;
    pub(crate) mod overlay;
    pub(crate) mod trial;
}

mod machine {
    pub(crate) mod alerts;
    pub(crate) mod assess;
    pub(crate) mod dashboards;
    pub(crate) mod installs;
    pub(crate) mod manifests;
    pub(crate) mod metrics_agent;
    pub(crate) mod metrics_prometheus;
    pub(crate) mod node_agent;
    pub(crate) mod node_exporter_texts;
    pub(crate) mod page;
    pub(crate) mod recorded_exporters;
}

fn main() -> ExitCode {
    let suites = [
        machine::alerts::suite(),
        machine::assess::suite(),
        machine::assess::queries::suite(),
        machine::dashboards::suite(),
        machine::installs::suite(),
        machine::manifests::suite(),
        machine::metrics_agent::suite(),
        machine::metrics_prometheus::suite(),
        machine::node_agent::suite(),
        machine::node_agent::real::suite(),
        machine::node_exporter_texts::suite(),
        machine::page::suite(),
        machine::recorded_exporters::suite(),
    ];
    let trials = suites.into_iter().flatten().collect();
    support::trial::run(&Arguments::from_args(), trials)
}
