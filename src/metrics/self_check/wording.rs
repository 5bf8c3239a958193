//! The findings of the self-check in words, each with what mends it.

use std::fmt;

use super::Finding;
use crate::metrics::query::Query;
use evenkeel_core::units::Resource;

/// What a finding says of disks, which are measured in a way of their own.
const DISK_UNMEASURED: &str = "\
    disk is measured of no node: the log names what keeps the kubelets from telling it (the right \
    nodes/stats, port 10250, a certificate that metrics.kubelet.caFile signed: serverTLSBootstrap), or \
    set metrics.prometheus.queries.nodeDisk and podDisk, or metrics.disk: none";

/// node_exporter is not in every cluster, and the agent is Evenkeel's own.
const DISK_IO_UNMEASURED: &str = "\
    diskIo is measured of no node: let Prometheus scrape node_exporter, or Evenkeel's own agents (evenkeel \
    install [your options] --with node-agent | kubectl apply -f -), or set metrics.prometheus.queries.nodeDiskIo";

/// Names of interfaces are many, and only the operator knows an uncommon one.
const NETWORK_UNMEASURED: &str = "\
    node_exporter is not scraped there, leaves the interfaces out (--collector.netdev.device-exclude), or shows none \
    whose name or kernel data says that it is hardware; set metrics.prometheus.queries.nodeNetworkIo and \
    networkCapacity to the right ones";

/// The most names that a finding repeats.
const NAMES_SHOWN: usize = 5;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSeries => f.write_str(
                "Prometheus holds neither node_uname_info (node_exporter) nor \
                 machine_memory_bytes (kubelet's cAdvisor): check that it scrapes both, and that \
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
                "{} measured names are no node of this cluster: {}",
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
                 name: have the scrape job set one (relabel __meta_kubernetes_pod_node_name to \
                 node), or leave metrics.prometheus.nodeLabel out where the InternalIP stands in \
                 instance, by which nodes are then found"
            ),
            Self::SeveralSeries { others, queries } => write!(
                f,
                "{others} series speak of nodes or Pods that another one speaks of ({}): of the \
                 newest the largest is taken; set metrics.prometheus.matchers to the jobs that \
                 scrape node_exporter and cAdvisor, so that nobody else is heard",
                listed(queries)
            ),
            Self::PartialAnswers { first, queries } => write!(
                f,
                "the metrics source warns that its answers may lack something ({}): {first}; what \
                 they hold is taken, and what they lack is estimated once it is too old",
                listed(queries)
            ),
        }
    }
}

fn unmeasured(f: &mut fmt::Formatter<'_>, resource: Resource) -> fmt::Result {
    match resource {
        Resource::Disk => f.write_str(DISK_UNMEASURED),
        Resource::DiskIo => f.write_str(DISK_IO_UNMEASURED),
        Resource::NetworkIo => write!(f, "networkIo is measured of no node: {NETWORK_UNMEASURED}"),
        Resource::Cpu | Resource::Memory => write!(
            f,
            "{resource} is measured of no node: check that the exporter behind the query is \
             scraped, or set metrics.prometheus.queries.{}",
            Query::Node(resource).as_str()
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
        "{resource} is not measured of {count} of {of} nodes, and estimated there: {names}: "
    )?;
    match resource {
        Resource::NetworkIo => f.write_str(NETWORK_UNMEASURED),
        Resource::Cpu | Resource::Memory | Resource::DiskIo | Resource::Disk => write!(
            f,
            "check the exporter behind metrics.prometheus.queries.{} there",
            Query::Node(resource).as_str()
        ),
    }
}

fn pods_unmeasured(f: &mut fmt::Formatter<'_>, resource: Resource) -> fmt::Result {
    let why = match resource {
        Resource::NetworkIo => {
            "CRI-O exports no network series of Pods unless [crio.stats] included_pod_metrics holds \
             \"network\""
        }
        Resource::DiskIo => {
            "kubelets that have the figures from the container runtime (PodAndContainerStatsFromCRI) \
             export no container_fs series; install Evenkeel's agents (\
             evenkeel install [your options] --with node-agent | kubectl apply -f -)"
        }
        Resource::Cpu | Resource::Memory | Resource::Disk => {
            "let Prometheus scrape kubelets at /metrics/cadvisor"
        }
    };
    write!(
        f,
        "{resource} is measured of no Pod, so that Pods have no history of it: {why}, or set \
         metrics.prometheus.queries.{}",
        Query::Pod(resource).as_str()
    )
}

fn clock_off(f: &mut fmt::Formatter<'_>, nodes: &[String], of: usize, minutes: i64) -> fmt::Result {
    let (count, names) = (nodes.len(), listed(nodes));
    let when = if minutes < 0 { "ahead" } else { "old" };
    write!(
        f,
        "the newest measurement of {count} of {of} nodes is {} minutes {when}, although the source \
         answers ({names}): a clock is off, or samples reach the source late; compare the clocks of \
         this replica, of the nodes and of the metrics source (chronyc tracking). Until then these \
         nodes are judged by their last measurement or by requests, whichever is more",
        minutes.unsigned_abs()
    )
}

/// The first names of a list.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_SHOWN).cloned().collect::<Vec<_>>();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
