//! The files by which Linux tells of disk I/O and limits it: `io.max`, `io.stat` and `io.pressure` of a
//! cgroup (version 2), `stat` of a disk, `mountinfo` of a process.
//!
//! Texts go in, values and lines to write come out; no file is opened here. What the kernel's texts say in
//! words of a later version is passed over, but a limit that is not understood is an error: whoever takes
//! limits away has to know what stands there.

mod device;
mod figures;
mod limits;
mod mounts;
mod plan;

pub use device::{Device, DeviceError};
pub use figures::{Pressure, Transferred, disk_stat, io_stat, pressure};
pub use limits::{IoMax, IoMaxError, Limit, Sides};
pub use mounts::{Backing, Mount, Mounts};
pub use plan::{Change, Plan, plan};
