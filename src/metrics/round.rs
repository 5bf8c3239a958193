//! One round of a source: its measurements, and those that failed with the cause.

use std::time::Duration;

use super::error::MetricsError;
use std::sync::Arc;

use evenkeel_core::placement::usage::UsageSample;
use evenkeel_core::units::Resource;

/// Outcome of one call of a source.
#[derive(Debug, Default)]
pub struct Round {
    pub usage: Arc<UsageSample>,
    /// Outcome of each query, in the order asked.
    pub reports: Vec<QueryReport>,
}

impl Round {
    /// The queries that failed, whose part of the usage is absent.
    pub fn failures(&self) -> impl Iterator<Item = (Query, &MetricsError)> {
        self.reports
            .iter()
            .filter_map(|report| Some((report.query, report.error.as_ref()?)))
    }
}

/// Outcome of one query.
#[derive(Debug)]
pub struct QueryReport {
    pub query: Query,
    /// Time that it took, reading the answer included.
    pub took: Duration,
    /// Values of the answer that were not taken.
    pub dropped: Dropped,
    /// Cause for which there is no answer.
    pub error: Option<MetricsError>,
}

/// Subject of a query; a closed set, since it is a metric label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Query {
    /// Time at which the exporter behind this resource of the nodes was last read.
    SampleTime(Resource),
    /// Usage of each node.
    Node(Resource),
    /// Usage of each Pod.
    Pod(Resource),
    /// The speed of each node's network interfaces.
    NetworkCapacity,
    /// cpu and memory of all nodes in one list.
    NodeMetrics,
    /// cpu and memory of all Pods in one list.
    PodMetrics,
}

impl Query {
    /// Queries that the configuration may replace, in the order in which it shows them.
    pub const SETTABLE: [Self; 11] = [
        Self::Node(Resource::Cpu),
        Self::Node(Resource::Memory),
        Self::Node(Resource::NetworkIo),
        Self::Node(Resource::DiskIo),
        Self::Node(Resource::Disk),
        Self::Pod(Resource::Cpu),
        Self::Pod(Resource::Memory),
        Self::Pod(Resource::NetworkIo),
        Self::Pod(Resource::DiskIo),
        Self::Pod(Resource::Disk),
        Self::NetworkCapacity,
    ];

    /// The name in metrics, logs and the configuration.
    #[must_use]
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
            Self::NodeMetrics => "nodeMetrics",
            Self::PodMetrics => "podMetrics",
        }
    }
}

/// Cause for which a value of an answer was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// It is not a number, or a histogram.
    NotANumber,
    Infinite,
    /// It is below zero.
    Negative,
    /// Its labels name no node, or no Pod.
    Unnamed,
    /// Two series speak of the same node or Pod, and neither can be believed; counted once for
    /// the node or Pod.
    Ambiguous,
    /// Nothing says when it was measured.
    Undated,
    /// It is of a time that was not asked for, such as one to come.
    Misdated,
}

impl DropCause {
    pub const ALL: [Self; 7] = [
        Self::NotANumber,
        Self::Infinite,
        Self::Negative,
        Self::Unnamed,
        Self::Ambiguous,
        Self::Undated,
        Self::Misdated,
    ];

    /// The cause as one word of a closed set.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotANumber => "NotANumber",
            Self::Infinite => "Infinite",
            Self::Negative => "Negative",
            Self::Unnamed => "Unnamed",
            Self::Ambiguous => "Ambiguous",
            Self::Undated => "Undated",
            Self::Misdated => "Misdated",
        }
    }
}

/// Values not taken, counted by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dropped([u64; DropCause::ALL.len()]);

impl Dropped {
    pub(crate) fn add(&mut self, cause: DropCause) {
        if let Some(position) = DropCause::ALL.iter().position(|known| *known == cause) {
            self.0[position] += 1;
        }
    }

    /// Number of values that were dropped for this cause.
    #[must_use]
    pub fn count(&self, cause: DropCause) -> u64 {
        self.iter()
            .find_map(|(known, count)| (known == cause).then_some(count))
            .unwrap_or(0)
    }

    /// All causes with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (DropCause, u64)> {
        DropCause::ALL.into_iter().zip(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_counted_for_itself() {
        let mut dropped = Dropped::default();
        for (times, cause) in DropCause::ALL.into_iter().enumerate() {
            for _ in 0..times {
                dropped.add(cause);
            }
        }
        let counts: Vec<u64> = dropped.iter().map(|(_, count)| count).collect();
        assert_eq!(counts, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(dropped.count(DropCause::Negative), 2);
    }
}
