//! The files by which Linux reports disk I/O and limits it: `io.max`, `io.stat` and `io.pressure`
//! of a cgroup (version 2), `stat` of a disk, `mountinfo` of a process.
//!
//! This module parses texts and formats lines; it opens no file. It skips unknown words of later
//! kernels. A limit that it cannot parse is an error, because a caller that removes limits must
//! know them.

mod device;
mod io_limit_plan;
mod io_statistics;
mod limits;
mod mounts;

pub use device::{Device, DeviceError};
pub use io_limit_plan::{IoLimitChange, IoLimitPlan, plan};
pub use io_statistics::{IoByteCounts, Pressure, disk_stat, io_stat, pressure};
pub use limits::{IoMax, IoMaxError, Limit, Sides};
pub use mounts::{BackingDevice, Mount, Mounts};
