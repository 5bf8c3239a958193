//! The checks, in a reader's order: the installation, the writes, the calls, the measurements, and
//! held Pods.

mod annotations;
mod api_services;
mod bind_calls;
mod call_failures;
mod certificate;
mod cluster_writes;
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

const fn row(
    id: &'static str,
    subject: &'static str,
    run: fn(&Evidence<'_>) -> CheckFindings,
) -> DoctorCheck {
    DoctorCheck { id, subject, run }
}

pub const CHECKS: &[DoctorCheck] = &[
    row(
        install::NAMESPACE,
        "Evenkeel is in the namespace that was named",
        install::namespace,
    ),
    row(
        install::SERVER,
        "the version of Kubernetes",
        install::server_version,
    ),
    row(
        install::PROGRAM,
        "the version of the replicas and of this program",
        install::program_version,
    ),
    row(
        install::CONFIGURATION,
        "the configuration, and whether the replicas accept it",
        install::configuration,
    ),
    row(
        install::DEPLOYMENT,
        "the replicas are ready",
        install::deployment,
    ),
    row(
        install::SPREAD,
        "the replicas run on several nodes",
        install::spread,
    ),
    row(
        cluster_writes::LEADER,
        "one replica leads",
        cluster_writes::leader,
    ),
    row(
        cluster_writes::SWITCH,
        "writes are enabled",
        cluster_writes::kill_switch,
    ),
    row(
        cluster_writes::GUARD,
        "the admission policy that restricts Evenkeel's writes",
        cluster_writes::guard,
    ),
    row(
        cluster_writes::RECORD_GUARD,
        "the admission policy that guards the records of resizes",
        cluster_writes::record_guard,
    ),
    row(
        cluster_writes::CLEAN_UP,
        "the CronJob that restores bounds if all replicas are lost",
        cluster_writes::clean_up,
    ),
    row(
        rights::RIGHTS,
        "the rights of the ServiceAccounts",
        rights::check,
    ),
    row(
        custom_kinds::CUSTOM_KINDS,
        "the custom resources of scaling.kinds can be scaled",
        custom_kinds::check,
    ),
    row(
        webhook::REGISTRATION,
        "the webhook is registered as shipped",
        webhook::registration,
    ),
    row(
        certificate::SIGNER,
        "the signer of certificates runs",
        certificate::signer,
    ),
    row(
        rotation::ROTATION_GOES_ON,
        "a rotation of keys in progress",
        rotation::check,
    ),
    row(
        certificate::SERVING,
        "the serving certificate is valid",
        certificate::serving,
    ),
    row(
        certificate::TRUST,
        "the API server trusts the serving certificate",
        certificate::trusted,
    ),
    row(
        webhook::ENDPOINTS,
        "the Services have ready Pods",
        webhook::endpoints,
    ),
    row(
        webhook::TRIAL,
        "the API server calls the webhook for a new Pod",
        webhook::trial,
    ),
    row(
        network::NETWORK,
        "NetworkPolicies allow the required traffic",
        network::check,
    ),
    row(
        scheduler::ADDRESS,
        "the certificate covers the extender's address",
        scheduler::address,
    ),
    row(
        scheduler::CALLED,
        "kube-scheduler calls the extender",
        scheduler::called,
    ),
    row(
        scheduler::WHOLE_NODES,
        "kube-scheduler sends names of nodes only",
        scheduler::whole_nodes,
    ),
    row(
        scheduler::NAMES,
        "Pods wait for a scheduler that calls Evenkeel",
        scheduler::names,
    ),
    row(
        call_failures::ANSWERS,
        "calls of the API server and kube-scheduler are answered",
        call_failures::check,
    ),
    row(
        bind_calls::NOTICES,
        "kube-scheduler reports its choices",
        bind_calls::told,
    ),
    row(
        node_measurements::FRESH,
        "the load of every node is measured",
        node_measurements::fresh,
    ),
    row(
        load_series::SERIES,
        "Prometheus has the series that loads are made of",
        load_series::check,
    ),
    row(
        node_measurements::NAMES,
        "measurements carry names of nodes",
        node_measurements::names,
    ),
    row(
        node_measurements::CAPACITY,
        "the network and disk capacities of nodes are known",
        node_measurements::capacity,
    ),
    row(
        hpa_metrics::SERVED,
        "the metrics APIs that HPAs scale by are served",
        hpa_metrics::served,
    ),
    row(
        api_services::EXTERNAL,
        "the APIService of external metrics",
        api_services::external_metrics,
    ),
    row(
        api_services::PROVIDER,
        "the APIService of the metrics provider",
        api_services::metrics_provider,
    ),
    row(
        namespaces::OPTED_IN,
        "namespaces that have opted in",
        namespaces::opted_in,
    ),
    row(
        namespaces::NOT_OPTED_IN,
        "objects that ask for Evenkeel in namespaces that have not opted in",
        namespaces::not_opted_in,
    ),
    row(
        annotations::ANNOTATIONS,
        "annotations have names and values that are accepted",
        annotations::check,
    ),
    row(
        namespaces::MIRROR,
        "the label of a namespace follows its annotation",
        namespaces::mirror,
    ),
    row(
        scaling_mode::MODE,
        "scaling acts on some target, and does not only recommend",
        scaling_mode::check,
    ),
    row(
        conflicts::CONFLICT,
        "nothing else scales what Evenkeel scales",
        conflicts::conflicts,
    ),
    row(
        conflicts::PROBLEM,
        "targets can be scaled as requested, and have room for it",
        conflicts::problems,
    ),
    row(
        own_objects::OBJECTS,
        "CronHPAs, IHPAs, HorizontalPortraits and ReplicaProfiles are followed",
        own_objects::check,
    ),
    row(
        unreadable_objects::UNREADABLE,
        "the objects of the cluster can be read",
        unreadable_objects::check,
    ),
    row(
        held_pods::REFUSED,
        "Pods that wait for headroom",
        held_pods::check,
    ),
    row(
        node_autoscaler::CONFLICT,
        "a node autoscaler sees the Pods that Evenkeel refuses",
        node_autoscaler::check,
    ),
    row(
        leftovers::LEFTOVERS,
        "objects of another installation",
        leftovers::check,
    ),
];

/// Runs all checks: at least one finding each, or the one that Evenkeel is elsewhere.
#[must_use]
pub fn check(observation: &DoctorObservation) -> Vec<DoctorFinding> {
    let evidence = Evidence::new(observation);
    if let Some(elsewhere) = install::elsewhere(&evidence) {
        return vec![elsewhere];
    }
    let run = |check: &DoctorCheck| (check.run)(&evidence).unwrap_or_else(|blind| vec![blind]);
    CHECKS.iter().flat_map(run).collect()
}
