//! Disk I/O of the Pods of one node: counters and limits in cgroup files, and the limit that a Pod asks for.

pub mod cgroup;
pub mod disk_io_limit;
pub mod node_pod;
pub mod pod_cgroup;
