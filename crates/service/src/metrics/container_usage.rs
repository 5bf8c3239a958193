//! The usage of one container, by its names.

use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::CpuMemory;
use jiff::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContainerName {
    pub namespace: Box<str>,
    pub pod: Box<str>,
    pub container: Box<str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerUsage {
    pub name: ContainerName,
    pub used: CpuMemory<Amount>,
    /// The end of the span that it speaks of.
    pub at: Timestamp,
}
