//! The settings of Evenkeel's own policies, as the service reads them from its configuration.

use evenkeel_placement::{SchedulingPolicy, node_table};

#[derive(Debug, Clone, PartialEq)]
pub struct OwnSettings {
    pub policy: SchedulingPolicy,
    pub table: node_table::Settings,
    /// True if Evenkeel sets deletion costs before a scale-in.
    pub balances_scale_in: bool,
}
