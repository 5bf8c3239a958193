//! The checks, in a reader's order: the installation, the writes, the calls, the measurements, and
//! held Pods.

mod annotations;
mod api_services;
mod bind_calls;
mod call_failures;
mod certificate;
mod cluster_writes;
mod command_line;
mod conflicts;
mod custom_kinds;
mod evidence;
mod external_instance;
mod finding_text;
mod held_pods;
mod hpa_metrics;
mod install;
mod leftovers;
mod load_series;
mod namespaces;
mod network;
mod node_autoscaler;
mod node_measurements;
mod own_objects;
mod rights;
mod rotation;
mod scaling_mode;
mod scheduler;
mod score_labels;
mod unreadable_objects;
mod webhook;

use self::evidence::{CheckFindings, Evidence};
use super::DoctorFinding;
use super::observation::DoctorObservation;

/// One check: its name, what it looks at in words, and the function.
#[derive(Debug, Clone, Copy)]
pub struct DoctorCheck {
    /// The name in findings, and the anchor on the page about them.
    pub id: &'static str,
    pub subject: &'static str,
    run: fn(&Evidence<'_>) -> CheckFindings,
}

macro_rules! checks {
    ($($id:path, $subject:literal, $run:path;)*) => {
        &[$(DoctorCheck { id: $id, subject: $subject, run: $run }),*]
    };
}

/// All checks, in the order of their findings.
pub const CHECKS: &[DoctorCheck] = checks! {
    install::NAMESPACE, "Evenkeel is in the namespace that was named", install::namespace;
    install::SERVER, "the version of Kubernetes", install::server_version;
    install::PROGRAM, "the version of the replicas and of this program", install::program_version;
    install::CONFIGURATION, "the configuration, and whether the replicas accept it", install::configuration;
    install::DEPLOYMENT, "the replicas are ready", install::deployment;
    install::SPREAD, "the replicas run on several nodes", install::spread;
    cluster_writes::LEADER, "one replica leads", cluster_writes::leader;
    cluster_writes::SWITCH, "writes are enabled", cluster_writes::kill_switch;
    cluster_writes::GUARD, "the admission policy that restricts Evenkeel's writes", cluster_writes::guard;
    cluster_writes::RECORD_GUARD, "the admission policy that guards the records of resizes", cluster_writes::record_guard;
    cluster_writes::CLEAN_UP, "the CronJob that restores bounds if all replicas are lost", cluster_writes::clean_up;
    rights::RIGHTS, "the rights of the ServiceAccounts", rights::check;
    custom_kinds::CUSTOM_KINDS, "the custom resources of scaling.kinds can be scaled", custom_kinds::check;
    webhook::REGISTRATION, "the webhook is registered as shipped", webhook::registration;
    certificate::SIGNER, "the signer of certificates runs", certificate::signer;
    rotation::ROTATION_GOES_ON, "a rotation of keys in progress", rotation::check;
    certificate::SERVING, "the serving certificate is valid", certificate::serving;
    certificate::TRUST, "the API server trusts the serving certificate", certificate::trusted;
    webhook::ENDPOINTS, "the Services have ready Pods", webhook::endpoints;
    webhook::TRIAL, "the API server calls the webhook for a new Pod", webhook::trial;
    network::NETWORK, "NetworkPolicies allow the required traffic", network::check;
    scheduler::ADDRESS, "the certificate covers the extender's address", scheduler::address;
    scheduler::CALLED, "kube-scheduler calls the extender", scheduler::called;
    scheduler::WHOLE_NODES, "kube-scheduler sends names of nodes only", scheduler::whole_nodes;
    scheduler::NAMES, "Pods wait for a scheduler that calls Evenkeel", scheduler::names;
    call_failures::ANSWERS, "calls of the API server and kube-scheduler are answered", call_failures::check;
    bind_calls::NOTICES, "kube-scheduler reports its choices", bind_calls::told;
    node_measurements::FRESH, "the load of every node is measured", node_measurements::fresh;
    load_series::SERIES, "Prometheus has the series that loads are made of", load_series::check;
    node_measurements::NAMES, "measurements carry names of nodes", node_measurements::names;
    node_measurements::CAPACITY, "the network and disk capacities of nodes are known", node_measurements::capacity;
    hpa_metrics::SERVED, "the metrics APIs that HPAs scale by are served", hpa_metrics::served;
    api_services::EXTERNAL, "the APIService of external metrics", api_services::external_metrics;
    api_services::PROVIDER, "the APIService of the metrics provider", api_services::metrics_provider;
    namespaces::OPTED_IN, "namespaces that have opted in", namespaces::opted_in;
    namespaces::NOT_OPTED_IN, "objects that ask for Evenkeel in namespaces that have not opted in", namespaces::not_opted_in;
    annotations::ANNOTATIONS, "annotations have names and values that are accepted", annotations::check;
    namespaces::MIRROR, "the label of a namespace follows its annotation", namespaces::mirror;
    scaling_mode::MODE, "scaling acts on some target, and does not only recommend", scaling_mode::check;
    conflicts::CONFLICT, "nothing else scales what Evenkeel scales", conflicts::conflicts;
    conflicts::PROBLEM, "targets can be scaled as requested, and have room for it", conflicts::problems;
    own_objects::OBJECTS, "CronHPAs, IHPAs, HorizontalPortraits and ReplicaProfiles are followed", own_objects::check;
    unreadable_objects::UNREADABLE, "the objects of the cluster can be read", unreadable_objects::check;
    held_pods::REFUSED, "Pods that wait for headroom", held_pods::check;
    node_autoscaler::CONFLICT, "a node autoscaler sees the Pods that Evenkeel refuses", node_autoscaler::check;
    score_labels::LABELS, "nodes have score labels", score_labels::written;
    score_labels::NEIGHBOURS, "cluster-autoscaler, Karpenter and the descheduler beside score labels", score_labels::neighbours;
    leftovers::LEFTOVERS, "objects of another installation", leftovers::check;
};

/// Runs all checks: at least one finding each, or the one that Evenkeel is elsewhere.
pub fn check(observation: &DoctorObservation) -> Vec<DoctorFinding> {
    let evidence = Evidence::new(observation);
    if let Some(elsewhere) = install::elsewhere(&evidence) {
        return vec![elsewhere];
    }
    let run = |check: &DoctorCheck| (check.run)(&evidence).unwrap_or_else(|blind| vec![blind]);
    CHECKS.iter().flat_map(run).collect()
}
