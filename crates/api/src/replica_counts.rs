//! The replicas of one target by the states of their Pods.
//!
//! A Pod is online, cut off from traffic, or on standby with its resources lowered as well. What the
//! workload is to have is the sum.

use std::fmt;

/// How many replicas are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ReplicaCounts {
    /// Those that take traffic.
    pub online: i32,
    /// Those that run and take no traffic.
    pub cutoff: i32,
    /// Those that take no traffic and have their resources lowered.
    pub standby: i32,
}

impl ReplicaCounts {
    /// So many replicas, all of them online.
    pub const fn all_online(online: i32) -> Self {
        Self {
            online,
            cutoff: 0,
            standby: 0,
        }
    }

    /// The replicas that take no traffic.
    pub const fn parked(self) -> i32 {
        self.cutoff.saturating_add(self.standby)
    }

    /// The replicas of the workload.
    pub const fn total(self) -> i32 {
        self.online.saturating_add(self.parked())
    }
}

impl fmt::Display for ReplicaCounts {
    /// `5 online, 3 cut off, 1 on standby`, without those that there are none of.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            online,
            cutoff,
            standby,
        } = *self;
        write!(f, "{online} online")?;
        if cutoff > 0 {
            write!(f, ", {cutoff} cut off")?;
        }
        if standby > 0 {
            write!(f, ", {standby} on standby")?;
        }
        Ok(())
    }
}
