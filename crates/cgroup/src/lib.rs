//! The files by which Linux tells of disk I/O and limits it: `io.max`, `io.stat` and `io.pressure` of a
//! cgroup (version 2), `stat` of a disk, `mountinfo` of a process.
//!
//! Texts go in, values and lines to write come out; no file is opened here. What the kernel's texts say in
//! words of a later version is passed over, but a limit that is not understood is an error: whoever takes
//! limits away has to know what stands there.

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
