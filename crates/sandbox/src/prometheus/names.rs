//! Metric names and their units.

use evenkeel_units::{Resource, Resources};

/// For nodes, with the fields of the configuration that name them.
pub const NODE_METRICS: Resources<(&str, &str)> = Resources::new([
    ("nodeCpu", "node_cpu"),
    ("nodeMemory", "node_memory"),
    ("nodeNetworkIo", "node_network_io"),
    ("nodeDiskIo", "node_disk_io"),
    ("nodeDisk", "node_disk"),
]);

pub const POD_METRICS: Resources<(&str, &str)> = Resources::new([
    ("podCpu", "pod_cpu"),
    ("podMemory", "pod_memory"),
    ("podNetworkIo", "pod_network_io"),
    ("podDiskIo", "pod_disk_io"),
    ("podDisk", "pod_disk"),
]);

/// Nodes announce their speeds, so it has no series.
pub const NETWORK_CAPACITY: (&str, &str) = ("networkCapacity", "network_capacity");

/// The disks of simulated nodes have capacities, so it has no series.
pub const IO_PRESSURE: (&str, &str) = ("nodeIoPressure", "node_io_pressure");

/// Prometheus counts cores, not thousandths.
pub(super) fn in_base_unit(resource: Resource, value: f64) -> f64 {
    match resource {
        Resource::Cpu => value / 1000.0,
        Resource::Memory | Resource::NetworkIo | Resource::DiskIo | Resource::Disk => value,
    }
}
