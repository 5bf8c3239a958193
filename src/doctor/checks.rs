//! The checks, in the order in which a reader wants their findings: the installation, the writes, the
//! calls, the measurements, and the Pods that are held back.

mod annotations;
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
mod node_autoscaler;
mod outside;
mod own_objects;
mod rights;
mod rotation;
mod scaling_mode;
mod scheduler;
mod series;
mod signals;
mod unreadable;
mod waiting;
mod webhook;
mod wording;
mod writing;

use self::evidence::{Evidence, Found};
use super::Finding;
use super::observation::Observation;

/// One check: its name, what it looks at in words, and the function.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    /// The name in findings, and the anchor on the page about them.
    pub id: &'static str,
    /// What is looked at, in words.
    pub subject: &'static str,
    run: fn(&Evidence<'_>) -> Found,
}

const fn row(id: &'static str, subject: &'static str, run: fn(&Evidence<'_>) -> Found) -> Check {
    Check { id, subject, run }
}

/// All checks, in the order of their findings.
pub const CHECKS: &[Check] = &[
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
    row(writing::LEADER, "one replica leads", writing::leader),
    row(writing::SWITCH, "writes are enabled", writing::kill_switch),
    row(
        writing::GUARD,
        "the admission policy that restricts Evenkeel's writes",
        writing::guard,
    ),
    row(
        writing::RECORD_GUARD,
        "the admission policy that guards the records of resizes",
        writing::record_guard,
    ),
    row(
        writing::CLEAN_UP,
        "the CronJob that restores bounds if all replicas are lost",
        writing::clean_up,
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
        calls::ANSWERS,
        "calls of the API server and kube-scheduler are answered",
        calls::check,
    ),
    row(
        choices::NOTICES,
        "kube-scheduler reports its choices",
        choices::told,
    ),
    row(
        measuring::FRESH,
        "the load of every node is measured",
        measuring::fresh,
    ),
    row(
        series::SERIES,
        "Prometheus has the series that loads are made of",
        series::check,
    ),
    row(
        measuring::NAMES,
        "measurements carry names of nodes",
        measuring::names,
    ),
    row(
        measuring::CAPACITY,
        "the network and disk capacities of nodes are known",
        measuring::capacity,
    ),
    row(
        signals::SERVED,
        "the metrics APIs that HPAs scale by are served",
        signals::served,
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
        unreadable::UNREADABLE,
        "the objects of the cluster can be read",
        unreadable::check,
    ),
    row(
        waiting::REFUSED,
        "Pods that wait for headroom",
        waiting::check,
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

/// Runs all checks: at least one finding for each, or the one that Evenkeel is in another namespace.
#[must_use]
pub fn check(observation: &Observation) -> Vec<Finding> {
    let evidence = Evidence::new(observation);
    if let Some(elsewhere) = install::elsewhere(&evidence) {
        return vec![elsewhere];
    }
    let run = |check: &Check| (check.run)(&evidence).unwrap_or_else(|blind| vec![blind]);
    CHECKS.iter().flat_map(run).collect()
}
