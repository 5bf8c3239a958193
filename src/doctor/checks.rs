//! The checks, in the order in which a reader wants their findings: the installation, the writes, the
//! calls, the measurements, and the Pods that are held back.

mod api_services;
mod calls;
mod certificate;
mod choices;
mod conflicts;
mod custom_kinds;
mod evidence;
mod install;
mod leftovers;
mod measuring;
mod namespaces;
mod network;
mod outside;
mod rights;
mod rotation;
mod scheduler;
mod signals;
mod waiting;
mod webhook;
mod wording;
mod writing;

use self::evidence::{Evidence, Found};
use super::Finding;
use super::observation::Observation;

const CHECKS: &[fn(&Evidence<'_>) -> Found] = &[
    install::server_version,
    install::program_version,
    install::configuration,
    install::deployment,
    install::spread,
    writing::leader,
    writing::kill_switch,
    writing::guard,
    writing::record_guard,
    writing::clean_up,
    rights::check,
    custom_kinds::check,
    webhook::registration,
    certificate::signer,
    rotation::check,
    certificate::serving,
    certificate::trusted,
    webhook::endpoints,
    webhook::trial,
    network::check,
    scheduler::address,
    scheduler::called,
    scheduler::whole_nodes,
    scheduler::names,
    calls::check,
    choices::told,
    measuring::fresh,
    measuring::names,
    measuring::capacity,
    signals::served,
    api_services::check,
    namespaces::opted_in,
    namespaces::annotations,
    namespaces::mirror,
    conflicts::conflicts,
    conflicts::problems,
    waiting::check,
    leftovers::check,
];

/// Runs all checks: at least one finding for each, or the one that Evenkeel is in another namespace.
#[must_use]
pub fn check(observation: &Observation) -> Vec<Finding> {
    let evidence = Evidence::new(observation);
    if let Some(elsewhere) = install::elsewhere(&evidence) {
        return vec![elsewhere];
    }
    let run =
        |check: &fn(&Evidence<'_>) -> Found| check(&evidence).unwrap_or_else(|blind| vec![blind]);
    CHECKS.iter().flat_map(run).collect()
}
