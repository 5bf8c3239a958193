//! The findings of the self-check in words, each with what mends it.

use std::fmt;

use evenkeel_units::Resource;

use super::MetricsFinding;
use crate::metrics::query::UsageQuery;

/// The finding about disks, which are measured in a way of their own.
const DISK_UNMEASURED: &str = "disk is measured on no node: the log shows why the kubelets do not \
    report it (the right nodes/stats, port 10250, a certificate that metrics.kubelet.caFile \
    signed: serverTLSBootstrap), or set metrics.prometheus.queries.nodeDisk and podDisk, or \
    metrics.disk: none";

/// node_exporter is not in every cluster, and the agent is Evenkeel's own.
const DISK_IO_UNMEASURED: &str = "diskIo is measured on no node: make Prometheus scrape \
    node_exporter, or Evenkeel's own agents (evenkeel install [your options] --with node-agent | \
    kubectl apply -f -), or set metrics.prometheus.queries.nodeDiskIo";

/// Names of interfaces are many, and only the operator knows an uncommon one.
const NETWORK_UNMEASURED: &str = "node_exporter is not scraped there, excludes the interfaces \
    (--collector.netdev.device-exclude), or shows no interface that is hardware by its name or \
    kernel data; set metrics.prometheus.queries.nodeNetworkIo and networkCapacity";

/// The most names that a finding repeats.
const NAMES_SHOWN: usize = 5;

impl fmt::Display for MetricsFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSeries => f.write_str(
                "Prometheus has neither node_uname_info (node_exporter) nor machine_memory_bytes \
                 (the kubelet's cAdvisor): check that it scrapes both, and that \
                 metrics.prometheus.url is the Prometheus of this cluster",
            ),
            Self::Unmeasured { nodes, of } => write!(
                f,
                "{} of {of} nodes have no measurement and are scheduled by estimates: {}",
                nodes.len(),
                listed(nodes)
            ),
            Self::ResourceUnmeasured { resource } => unmeasured(f, *resource),
            Self::ResourcePartlyUnmeasured {
                resource,
                nodes,
                of,
            } => partly_unmeasured(f, *resource, nodes, *of),
            Self::PodResourceUnmeasured { resource } => pods_unmeasured(f, *resource),
            Self::ClockOff { nodes, of, minutes } => clock_off(f, nodes, *of, *minutes),
            Self::Unmatched { names } => write!(
                f,
                "{} measured names match no node of this cluster: {}",
                names.len(),
                listed(names)
            ),
            Self::UseLabel { label, names, of } => write!(
                f,
                "the label {label:?} holds the names of {names} of {of} nodes: set \
                 metrics.prometheus.nodeLabel: {label}"
            ),
            Self::AddressOnly {
                label,
                value,
                node,
                kind,
            } => write!(
                f,
                "{label}={value:?} is the {kind} of node {node:?}, but no label holds the node's \
                 name: set one in the scrape job (relabel __meta_kubernetes_pod_node_name to \
                 node), or leave metrics.prometheus.nodeLabel out if instance holds the \
                 InternalIP, which then identifies the node"
            ),
            Self::SeveralSeries { others, queries } => write!(
                f,
                "{others} series describe nodes or Pods that another series also describes ({}): \
                 the largest of the newest values is used; set metrics.prometheus.matchers to the \
                 jobs that scrape node_exporter and cAdvisor, so that other jobs do not count",
                listed(queries)
            ),
            Self::PartialAnswers { first, queries } => write!(
                f,
                "the metrics source warns that its answers may be incomplete ({}): {first}; \
                 present values are used, and missing values are estimated once they are too old",
                listed(queries)
            ),
        }
    }
}

fn unmeasured(f: &mut fmt::Formatter<'_>, resource: Resource) -> fmt::Result {
    match resource {
        Resource::Disk => f.write_str(DISK_UNMEASURED),
        Resource::DiskIo => f.write_str(DISK_IO_UNMEASURED),
        Resource::NetworkIo => write!(f, "networkIo is measured on no node: {NETWORK_UNMEASURED}"),
        Resource::Cpu | Resource::Memory => write!(
            f,
            "{resource} is measured on no node: check that the exporter of its query is scraped, \
             or set metrics.prometheus.queries.{}",
            UsageQuery::Node(resource).as_str()
        ),
    }
}

fn partly_unmeasured(
    f: &mut fmt::Formatter<'_>,
    resource: Resource,
    nodes: &[String],
    of: usize,
) -> fmt::Result {
    let (count, names) = (nodes.len(), listed(nodes));
    write!(
        f,
        "{resource} is not measured on {count} of {of} nodes, and is estimated there: {names}: "
    )?;
    match resource {
        Resource::NetworkIo => f.write_str(NETWORK_UNMEASURED),
        Resource::Cpu | Resource::Memory | Resource::DiskIo | Resource::Disk => write!(
            f,
            "check the exporter of metrics.prometheus.queries.{} there",
            UsageQuery::Node(resource).as_str()
        ),
    }
}

fn pods_unmeasured(f: &mut fmt::Formatter<'_>, resource: Resource) -> fmt::Result {
    let why = match resource {
        Resource::NetworkIo => {
            "CRI-O exports network series of Pods only if [crio.stats] included_pod_metrics \
             contains \"network\""
        }
        Resource::DiskIo => {
            "kubelets with statistics from the container runtime (PodAndContainerStatsFromCRI) \
             export no container_fs series; install Evenkeel's agents (evenkeel install [your \
             options] --with node-agent | kubectl apply -f -)"
        }
        Resource::Cpu | Resource::Memory | Resource::Disk => {
            "make Prometheus scrape kubelets at /metrics/cadvisor"
        }
    };
    write!(
        f,
        "{resource} is measured for no Pod, so Pods have no history of it: {why}, or set \
         metrics.prometheus.queries.{}",
        UsageQuery::Pod(resource).as_str()
    )
}

fn clock_off(f: &mut fmt::Formatter<'_>, nodes: &[String], of: usize, minutes: i64) -> fmt::Result {
    let (count, names) = (nodes.len(), listed(nodes));
    let when = if minutes < 0 { "ahead" } else { "old" };
    write!(
        f,
        "the newest measurement of {count} of {of} nodes is {} minutes {when}, although the source \
         answers ({names}): a clock is wrong, or samples reach the source late; compare the clocks \
         of this replica, of the nodes and of the metrics source (chronyc tracking). Until then, \
         these nodes count with their last measurement or their requests, whichever is larger",
        minutes.unsigned_abs()
    )
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_SHOWN).cloned().collect::<Vec<_>>();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
