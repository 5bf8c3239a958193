//! The service's one form of a query by workload, for sums or for numbers of Pods.

use evenkeel_units::Resource;
use jiff::SignedDuration;

use super::names::POD_METRICS;

/// cAdvisor metrics in Evenkeel's built-in queries for Pods.
const BUILT_IN: [(&str, Resource); 5] = [
    ("container_cpu_usage_seconds_total", Resource::Cpu),
    ("container_memory_working_set_bytes", Resource::Memory),
    ("container_network_receive_bytes_total", Resource::NetworkIo),
    ("container_fs_reads_bytes_total", Resource::DiskIo),
    ("container_fs_usage_bytes", Resource::Disk),
];

/// Over the Pods of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aggregate {
    Sum,
    Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkloadPromQuery<'q> {
    pub(super) aggregate: Aggregate,
    pods: &'q str,
    /// Regular expressions: alternatives, or any name.
    namespaces: &'q str,
    workloads: &'q str,
    /// Pods must have been measured this long ago.
    pub(super) ago: SignedDuration,
    /// One in so many Pods may be newer.
    pub(super) share: usize,
}

/// `None` for any other query.
pub(super) fn by_workload(query: &str) -> Option<WorkloadPromQuery<'_>> {
    let (all, new) = query.split_once(" unless on (namespace, workload) (")?;
    let (new, _) = new.split_once(" > on (namespace, workload) ")?;
    let (new, share) = new.rsplit_once(" * ")?;
    let (aggregate, rest) = all.split_once(" by (namespace, workload) ")?;
    let aggregate = match aggregate {
        "sum" => Aggregate::Sum,
        "count" => Aggregate::Count,
        _ => return None,
    };
    let rest = rest.strip_prefix("(label_replace(label_replace(label_join(")?;
    let (pods, rest) = rest.split_once(r#", "pod_path", "/", "namespace", "pod")"#)?;
    let (_, path) = rest.split_once(r#""pod_path", "("#)?;
    let (namespaces, names) = path.split_once(")/(")?;
    let (workloads, _) = names.split_once(')')?;
    let new_pods =
        format!("({pods} unless on (namespace, pod) last_over_time(({pods})[1s:1s] offset ");
    let (_, ago) = new.split_once(&new_pods)?;
    let (ago, _) = ago.split_once("ms))")?;
    Some(WorkloadPromQuery {
        aggregate,
        pods,
        namespaces,
        workloads,
        ago: SignedDuration::from_millis(ago.parse().ok()?),
        share: share.parse().ok()?,
    })
}

impl WorkloadPromQuery<'_> {
    /// Resource of the query by Pod: one of the dev configuration, or a built-in one.
    pub(super) fn resource(&self) -> Option<Resource> {
        let mut all = Resource::ALL.into_iter();
        let own = all.find(|resource| POD_METRICS[*resource].1 == self.pods);
        let by_pod = ["sum by (namespace, pod) (", "max by (namespace, pod) ("];
        let is_by_pod = by_pod.iter().any(|begin| self.pods.starts_with(begin));
        let mut built_in = BUILT_IN.into_iter();
        own.or_else(|| {
            let found = built_in.find(|(metric, _)| is_by_pod && self.pods.contains(metric));
            found.map(|(_, resource)| resource)
        })
    }

    pub(super) fn names(&self, namespace: &str, name: &str) -> bool {
        let accepts = |names: &str, name: &str| {
            names.ends_with('+') || names.split('|').any(|one| one == name)
        };
        accepts(self.namespaces, namespace) && accepts(self.workloads, name)
    }
}
