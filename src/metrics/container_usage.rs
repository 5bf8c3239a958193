//! The usage of one container, by its names.

use jiff::Timestamp;

use evenkeel_core::tuning::CpuMemory;
use evenkeel_core::units::Amount;

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
