//! The queries that sources answer, and the keys of their answers. A query says which resource it
//! reads, and of what: all nodes, all Pods, or the exporters behind the nodes. Query and source
//! identify an answer.

use evenkeel_units::Resource;

/// Key of an answer: two queries with equal keys read the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueryKey {
    /// The source's name, from the closed set of
    /// [`MetricsSource::name`](super::MetricsSource::name).
    pub source: &'static str,
    pub query: UsageQuery,
}

/// Subject of a query; a closed set, since it is a metric label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsageQuery {
    /// Time at which the exporter behind this resource of the nodes was last read.
    SampleTime(Resource),
    Node(Resource),
    Pod(Resource),
    /// The speed of each node's network interfaces.
    NetworkCapacity,
    /// The share of the time in which tasks of each node waited for I/O.
    IoPressure,
    /// The disk usage of Pods on their nodes, as the kubelets last reported it.
    KubeletDisk,
    /// cpu and memory of all nodes in one list.
    NodeMetrics,
    /// cpu and memory of all Pods in one list.
    PodMetrics,
}

impl UsageQuery {
    /// True where the answers to other queries are read by this one's.
    pub(crate) const fn dates_others(self) -> bool {
        matches!(self, Self::SampleTime(_) | Self::NodeMetrics)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SampleTime(resource) => match resource {
                Resource::Cpu => "sampleTimeCpu",
                Resource::Memory => "sampleTimeMemory",
                Resource::NetworkIo => "sampleTimeNetworkIo",
                Resource::DiskIo => "sampleTimeDiskIo",
                Resource::Disk => "sampleTimeDisk",
            },
            Self::Node(resource) => match resource {
                Resource::Cpu => "nodeCpu",
                Resource::Memory => "nodeMemory",
                Resource::NetworkIo => "nodeNetworkIo",
                Resource::DiskIo => "nodeDiskIo",
                Resource::Disk => "nodeDisk",
            },
            Self::Pod(resource) => match resource {
                Resource::Cpu => "podCpu",
                Resource::Memory => "podMemory",
                Resource::NetworkIo => "podNetworkIo",
                Resource::DiskIo => "podDiskIo",
                Resource::Disk => "podDisk",
            },
            Self::NetworkCapacity => "networkCapacity",
            Self::IoPressure => "nodeIoPressure",
            Self::KubeletDisk => "kubeletDisk",
            Self::NodeMetrics => "nodeMetrics",
            Self::PodMetrics => "podMetrics",
        }
    }
}
