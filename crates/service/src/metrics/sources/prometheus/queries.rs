//! Queries to Prometheus, each for all nodes or all Pods at once. The defaults read node_exporter
//! for nodes, and kubelet's cAdvisor for Pods and local storage. Evenkeel's own agents also report
//! disk I/O: of Pods, because many clusters scrape cAdvisor without it, and of nodes without a
//! node_exporter. The larger of two values counts, so that no series makes a Pod look idle. Each
//! query takes the `max` over the labels of a device or container before it adds up, so that two
//! scrape jobs, or a replicated Prometheus, do not count twice.
//!
//! Placeholders: `$window` is the span of rates, and `$node` the labels that name the node of a
//! series. In selectors, `$exporter`, `$cadvisor`, `$state` and `$agent` are the matchers of
//! node_exporter, cAdvisor, kube-state-metrics and the agents. Queries give cores, bytes and bytes
//! per second, as is Prometheus's convention.

use evenkeel_units::{Resource, Resources};
use jiff::SignedDuration;

use super::names::NodeLabel;
use super::network;
use super::selectors::selectors;
use crate::metrics::query::UsageQuery;

/// Devices that repeat what whole disks count (partitions, device-mapper and RAID volumes, caches
/// and mirrors, paths of one NVMe namespace), and those that are no disks. Disks have names of all
/// kinds.
macro_rules! no_disk {
    () => {
        "(dm-|md|loop|z?ram|sr|fd|drbd|bcache|zd)[0-9_].*|mapper/.*|([shv]d|xvd|dasd|ubd)[a-z]+[0-9]+|.+[0-9]p[0-9]+\
         |mmcblk[0-9]+(boot|rpmb|gp).*|nvme[0-9]+c[0-9]+n[0-9]+"
    };
}

/// Containers proper, without the Pod's cgroup above them and without its pause container.
macro_rules! containers {
    () => {
        "$cadvisor,container!=\"\",container!=\"POD\""
    };
}
pub(super) use containers;

const NODE_CPU: &str = "sum by ($node) (clamp_min(1 - sum by ($node, cpu) (\
     max by ($node, cpu, mode) (rate(node_cpu_seconds_total{$exporter,mode=~\"idle|iowait|steal\"}[$window]))\
     ), 0))";

/// Memory that is neither available nor set aside for huge pages, which the reported capacity lacks
/// too. Kernels without the sum of the pools report the default pool.
const NODE_MEMORY: &str = "clamp_min(max by ($node) (\
     last_over_time(node_memory_MemTotal_bytes{$exporter}[$window]) \
     - last_over_time(node_memory_MemAvailable_bytes{$exporter}[$window]) \
     - (last_over_time(node_memory_Hugetlb_bytes{$exporter}[$window]) \
     or last_over_time(node_memory_HugePages_Total{$exporter}[$window]) \
     * last_over_time(node_memory_Hugepagesize_bytes{$exporter}[$window]) \
     or 0 * last_over_time(node_memory_MemTotal_bytes{$exporter}[$window]))), 0)";

const NODE_DISK_IO: &str = concat!(
    "sum by ($node) (max by ($node, device) (rate(node_disk_read_bytes_total{$exporter,device!~\"",
    no_disk!(),
    "\"}[$window])) + max by ($node, device) (rate(node_disk_written_bytes_total{$exporter,device!~\"",
    no_disk!(),
    "\"}[$window]))) or (sum by ($node) (\
     max by ($node, device) (rate(evenkeel_node_disk_read_bytes_total{$agent}[$window])) \
     + max by ($node, device) (rate(evenkeel_node_disk_written_bytes_total{$agent}[$window]))) \
     unless on () node_disk_read_bytes_total{$exporter})"
);

const NODE_DISK: &str = concat!(
    "sum by ($node) (max by ($node, namespace, pod, container) (container_fs_usage_bytes{",
    containers!(),
    "}))"
);

/// A single failed scrape leaves no instant value but a rate, so the newest time within the window
/// is the fallback.
const NODE_TIME: &str = "max by ($node, nodename) (timestamp(node_uname_info{$exporter})) \
     or max by ($node, nodename) (max_over_time(timestamp(node_uname_info{$exporter})[$window:10s])) \
     or (max by ($node, nodename) (timestamp(evenkeel_node_disk_read_bytes_total{$agent})) \
     unless on () node_uname_info{$exporter})";

const NODE_DISK_TIME: &str = concat!(
    "max by ($node) (timestamp(container_fs_usage_bytes{",
    containers!(),
    "}))"
);

/// Waiting for I/O as the kernel tells it (PSI): the share of the time in which some task waited.
const IO_PRESSURE: &str = "max by ($node) (rate(node_pressure_io_waiting_seconds_total{$exporter}[$window])) \
     or (max by ($node) (rate(evenkeel_node_io_waiting_seconds_total{$agent}[$window])) \
     unless on () node_pressure_io_waiting_seconds_total{$exporter})";

const POD_CPU: &str = concat!(
    "sum by (namespace, pod) (max by (namespace, pod, container) (\
     rate(container_cpu_usage_seconds_total{",
    containers!(),
    "}[$window])))"
);

const POD_MEMORY: &str = concat!(
    "sum by (namespace, pod) (max by (namespace, pod, container) (\
     container_memory_working_set_bytes{",
    containers!(),
    "}))"
);

const POD_DISK_IO: &str = concat!(
    "max by (namespace, pod) (label_replace(sum by (namespace, pod) (\
     max by (namespace, pod, device) (rate(evenkeel_pod_disk_read_bytes_total{$agent}[$window])) \
     + max by (namespace, pod, device) (rate(evenkeel_pod_disk_written_bytes_total{$agent}[$window]))), \
     \"by\", \"agent\", \"\", \"\") \
     or sum by (namespace, pod) (max by (namespace, pod, container, device) \
     (rate(container_fs_reads_bytes_total{",
    containers!(),
    ",device!~\"(/dev/)?(",
    no_disk!(),
    ")|\"}[$window])) + max by (namespace, pod, container, device) \
     (rate(container_fs_writes_bytes_total{",
    containers!(),
    ",device!~\"(/dev/)?(",
    no_disk!(),
    ")|\"}[$window]))))"
);

const POD_DISK: &str = concat!(
    "sum by (namespace, pod) (max by (namespace, pod, container) (container_fs_usage_bytes{",
    containers!(),
    "}))"
);

/// Series with labels that show how nodes are named, for the self-check: two of node_exporter, of
/// which the first has labels of its own, and one of cAdvisor.
const PROBE: &str = "node_uname_info{$exporter} or node_memory_MemTotal_bytes{$exporter} \
     or machine_memory_bytes{$cadvisor}";

/// A query for each node's use of one resource, with the one that dates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeQuery {
    /// Gives one value for each node.
    pub value: Box<str>,
    /// Gives each node's last scrape time, in seconds since 1970. Resources with the same text
    /// share one call. Its labels `instance` and `nodename` together also say which node an
    /// `instance` is.
    pub sampled: Box<str>,
}

/// An operator's query with values that cannot be dated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueryTimeError {
    /// Its labels are not those of the series that it reads.
    #[error(
        "rewrites labels, so the time of its samples is unknown: set `value` and `time`, the \
         latter PromQL of Unix times with the same labels, such as max by (node) \
         (timestamp(my_metric))"
    )]
    Relabelled,
    /// It reads nothing.
    #[error(
        "names no metric: PromQL that reads one, such as sum by (node) (rate(my_total[$window]))"
    )]
    NoSeries,
    /// Its values are dated by those of the nodes.
    #[error("does not accept `time`: only queries for nodes have a query for their time")]
    NotDated,
}

impl NodeQuery {
    /// An operator's query, dated by the oldest series that it reads, each as new as its newest
    /// sample within the window.
    ///
    /// # Errors
    /// The text does not tell which series are behind which value.
    pub fn of(promql: &str) -> Result<Self, QueryTimeError> {
        let found = selectors(promql);
        if found.relabelled {
            return Err(QueryTimeError::Relabelled);
        }
        let texts = found.texts(promql);
        let times: Vec<String> = texts.iter().map(|text| newest(text)).collect();
        let sampled = match &times[..] {
            [] => return Err(QueryTimeError::NoSeries),
            [_] if texts[0] == promql.trim() => format!("timestamp({})", texts[0]),
            [one] => one.clone(),
            several => oldest(several),
        };
        Ok(Self::dated(promql, &sampled))
    }

    fn dated(value: &str, sampled: &str) -> Self {
        Self {
            value: value.into(),
            sampled: sampled.into(),
        }
    }
}

/// When the series of each node were last read: now, or at least within the window.
fn newest(selector: &str) -> String {
    format!(
        "max by ($node, nodename) (timestamp({selector})) \
         or max by ($node, nodename) (max_over_time(timestamp({selector})[$window:10s]))"
    )
}

/// For each node the least of several times, which need a label each to stand side by side.
fn oldest(times: &[String]) -> String {
    let told = times.iter().enumerate().map(|(number, time)| {
        format!("label_replace({time}, \"selector\", \"{number}\", \"\", \"\")")
    });
    let told: Vec<String> = told.collect();
    format!("min by ($node, nodename) ({})", told.join(" or "))
}

/// All queries of a round; `None` where a resource is not to be measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queries {
    pub nodes: Resources<Option<NodeQuery>>,
    /// Usage of each Pod, with the labels `namespace` and `pod`.
    pub pods: Resources<Option<Box<str>>>,
    /// The speed of each node's interfaces in bytes per second. The built-in query is the one for
    /// their use, which gives both.
    pub network_capacity: Option<Box<str>>,
    /// The I/O pressure of each node, 0 to 1, as old as the measurement of its disk I/O.
    pub io_pressure: Option<Box<str>>,
    /// Series with all their labels, by which the self-check finds the one that names nodes.
    pub probe: Box<str>,
}

/// The values of the built-in query for nodes' interfaces; an operator may replace either query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OfInterfaces {
    pub(super) used: bool,
    pub(super) capacity: bool,
}

impl Queries {
    /// Replaces a built-in query by an operator's PromQL; only for those that may be configured.
    ///
    /// # Errors
    /// It is for nodes and cannot be dated.
    pub fn set(&mut self, query: UsageQuery, promql: &str) -> Result<(), QueryTimeError> {
        match query {
            UsageQuery::Node(resource) => self.nodes[resource] = Some(NodeQuery::of(promql)?),
            UsageQuery::Pod(resource) => self.pods[resource] = Some(promql.into()),
            UsageQuery::NetworkCapacity => self.network_capacity = Some(promql.into()),
            UsageQuery::IoPressure => self.io_pressure = Some(promql.into()),
            UsageQuery::SampleTime(_)
            | UsageQuery::KubeletDisk
            | UsageQuery::NodeMetrics
            | UsageQuery::PodMetrics => {}
        }
        Ok(())
    }

    /// Leaves out the built-in disk queries, because kubelets report disks better. False, without a
    /// change, if the operator has a disk query.
    pub(crate) fn leave_disk_out(&mut self) -> bool {
        let Self { nodes, pods, .. } = Self::default();
        let disk = Resource::Disk;
        let built_in = self.nodes[disk] == nodes[disk] && self.pods[disk] == pods[disk];
        if built_in {
            self.nodes[disk] = None;
            self.pods[disk] = None;
        }
        built_in
    }

    /// The values that the built-in query reads of the interfaces of nodes.
    pub(super) fn of_interfaces(&self) -> OfInterfaces {
        let built_in = network::interfaces();
        let network = self.nodes[Resource::NetworkIo].as_ref();
        OfInterfaces {
            used: network.is_some_and(|query| *query.value == *built_in),
            capacity: self.network_capacity.as_deref() == Some(&*built_in),
        }
    }

    /// The same with the operator's own query for the times of its values.
    ///
    /// # Errors
    /// It is not for nodes.
    pub(crate) fn set_dated(
        &mut self,
        query: UsageQuery,
        value: &str,
        sampled: &str,
    ) -> Result<(), QueryTimeError> {
        let UsageQuery::Node(resource) = query else {
            return Err(QueryTimeError::NotDated);
        };
        self.nodes[resource] = Some(NodeQuery::dated(value, sampled));
        Ok(())
    }
}

impl Default for Queries {
    fn default() -> Self {
        let node = |value: &str, sampled: &str| {
            Some(NodeQuery {
                value: value.into(),
                sampled: sampled.into(),
            })
        };
        Self {
            nodes: Resources::from_fn(|resource| match resource {
                Resource::Cpu => node(NODE_CPU, NODE_TIME),
                Resource::Memory => node(NODE_MEMORY, NODE_TIME),
                Resource::NetworkIo => node(&network::interfaces(), NODE_TIME),
                Resource::DiskIo => node(NODE_DISK_IO, NODE_TIME),
                Resource::Disk => node(NODE_DISK, NODE_DISK_TIME),
            }),
            pods: Resources::from_fn(|resource| {
                Some(match resource {
                    Resource::Cpu => POD_CPU.into(),
                    Resource::Memory => POD_MEMORY.into(),
                    Resource::NetworkIo => network::pod_use().into(),
                    Resource::DiskIo => POD_DISK_IO.into(),
                    Resource::Disk => POD_DISK.into(),
                })
            }),
            network_capacity: Some(network::interfaces().into()),
            io_pressure: Some(IO_PRESSURE.into()),
            probe: PROBE.into(),
        }
    }
}

pub(super) fn render(query: &str, window: SignedDuration, node: &NodeLabel) -> String {
    windowed(query, window).replace("$node", &node.grouping())
}

/// Fills in the span that rates are taken over.
pub(super) fn windowed(query: &str, window: SignedDuration) -> String {
    query.replace("$window", &format!("{}ms", window.as_millis()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::prometheus::matchers::ExporterMatchers;

    #[test]
    fn placeholders_are_filled_in_everywhere() {
        let window = SignedDuration::from_secs(120);
        let Queries {
            nodes,
            pods,
            network_capacity,
            io_pressure,
            probe,
        } = Queries::default();
        let mut texts: Vec<Box<str>> = pods.values().iter().flatten().cloned().collect();
        texts.extend(network_capacity);
        texts.extend(io_pressure);
        texts.push(probe);
        for query in nodes.values().iter().flatten() {
            texts.extend([query.value.clone(), query.sampled.clone()]);
        }
        assert_eq!(texts.len(), 18);
        let none = ExporterMatchers::default();
        let own = ExporterMatchers {
            all: r#"mine="1""#.parse().unwrap(),
            ..ExporterMatchers::default()
        };
        for text in texts {
            let rendered = none.fill(render(&text, window, &NodeLabel::Automatic));
            // VictoriaMetrics refuses queries of more than 16,384 bytes, operator's matchers
            // included.
            assert!(
                rendered.len() < 8192,
                "{} bytes: {rendered}",
                rendered.len()
            );
            // The reference to a part of a label's value is no placeholder.
            let placeholders = rendered.replace("\"$1\"", "");
            assert!(
                !placeholders.contains('$') && !rendered.contains("{}"),
                "{rendered}"
            );
            assert_eq!(
                rendered.matches('(').count(),
                rendered.matches(')').count(),
                "{rendered}"
            );
            // No metric of the built-in queries is read without the matchers.
            let matched = own.fill(render(&text, window, &NodeLabel::Automatic));
            let metrics = ["node_", "container_", "kube_", "machine_", "evenkeel_"];
            let named = matched.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let read = named.filter(|word| metrics.iter().any(|metric| word.starts_with(metric)));
            assert_eq!(
                matched.matches(r#"{mine="1""#).count(),
                read.count(),
                "{matched}"
            );
        }
    }

    #[test]
    fn a_query_of_the_operators_is_dated_by_the_series_that_it_reads() {
        let sampled = |promql: &str| NodeQuery::of(promql).map(|query| query.sampled.to_string());
        assert_eq!(sampled(" node_cpu ").unwrap(), "timestamp(node_cpu)");
        assert_eq!(
            sampled("sum by ($node) (rate(a{b=\"c\"}[$window]))").unwrap(),
            "max by ($node, nodename) (timestamp(a{b=\"c\"})) \
             or max by ($node, nodename) (max_over_time(timestamp(a{b=\"c\"})[$window:10s]))"
        );
        let both = sampled("a - b").unwrap();
        assert!(both.starts_with("min by ($node, nodename) (label_replace("));
        assert_eq!(both.matches("timestamp(b)").count(), 2, "{both}");
        assert_eq!(sampled("vector(1)"), Err(QueryTimeError::NoSeries));
        let renamed = "label_replace(a, \"node\", \"$1\", \"host\", \"(.*)\")";
        assert_eq!(sampled(renamed), Err(QueryTimeError::Relabelled));
    }

    #[test]
    fn the_node_label_takes_the_place_of_the_automatic_ones() {
        let named = NodeLabel::Named("host".parse().unwrap());
        let rendered = render(
            "sum by ($node) (x[$window])",
            SignedDuration::from_secs(90),
            &named,
        );
        assert_eq!(rendered, "sum by (host) (x[90000ms])");
    }
}
