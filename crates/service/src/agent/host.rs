//! The node's files: what is read of them, and the one that is written. A limit stands on the
//! device where I/O enters the kernel: the whole disk of a partition, or the volume of a device
//! mapper. I/O is counted once, on the disks below those.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use evenkeel_disk_io::cgroup::{
    BackingDevice, Device, IoByteCounts, Mounts, Pressure, disk_stat, io_stat, pressure,
};
use evenkeel_disk_io::node_pod::NodePod;
use evenkeel_disk_io::pod_cgroup::{NotKubepods, PodCgroups};

/// The places at which the agent finds its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paths {
    /// Kubelet's folder in the cgroup hierarchy, by its own name.
    pub kubepods: PathBuf,
    /// The mounts of the node, as its first process sees them.
    pub mountinfo: PathBuf,
    /// The sysfs of the node.
    pub sys: PathBuf,
    /// The procfs, of which the pressure of the whole node is read.
    pub proc: PathBuf,
    /// The folder of kubelet by the node's own path; nothing in it is opened.
    pub kubelet: PathBuf,
    /// The file that remembers which limits are the agent's.
    pub record: PathBuf,
}

/// Devices that are memory, or files that other devices hold.
const NO_DISKS: [&str; 3] = ["loop", "ram", "zram"];

/// A node on which there is nothing for the agent to do.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(transparent)]
    Name(#[from] NotKubepods),
    #[error(
        "{path} is not a cgroup of version 2: mount the kubelet's directory for Pods from a node \
         with cgroup v2 (kubepods.slice with the cgroup driver systemd, kubepods with cgroupfs)"
    )]
    NoCgroup { path: PathBuf, source: io::Error },
}

/// The files of a node; clones read the same.
#[derive(Debug, Clone)]
pub(super) struct Host(Arc<Files>);

#[derive(Debug)]
struct Files {
    paths: Paths,
    cgroups: PodCgroups,
}

/// The devices that writable layers of containers and kubelet's own folder are on.
#[derive(Debug)]
pub(super) struct NodeDisks {
    mounts: Mounts,
    shared: BTreeSet<Device>,
}

impl Host {
    /// The node with its files at `paths`.
    ///
    /// # Errors
    /// Kubelet's folder is not there.
    pub(super) fn new(paths: Paths) -> Result<Self, HostError> {
        let name = paths.kubepods.file_name().unwrap_or_default();
        let cgroups = PodCgroups::named(&name.to_string_lossy())?;
        // Every cgroup of version 2 has it, and none of version 1.
        let controllers = paths.kubepods.join("cgroup.controllers");
        fs::metadata(&controllers).map_err(|source| HostError::NoCgroup {
            path: paths.kubepods.clone(),
            source,
        })?;
        Ok(Self(Arc::new(Files { paths, cgroups })))
    }

    /// The way from kubelet's folder to a Pod's cgroup.
    pub(super) fn cgroup(&self, pod: &NodePod) -> Option<PathBuf> {
        let class = pod.status.qos_class?;
        self.0.cgroups.path(class, pod.kubelet_uid()?)
    }

    pub(super) fn read(&self, cgroup: &Path, file: &str) -> io::Result<String> {
        fs::read_to_string(self.0.paths.kubepods.join(cgroup).join(file))
    }

    pub(super) fn has(&self, cgroup: &Path) -> bool {
        self.0.paths.kubepods.join(cgroup).is_dir()
    }

    /// Writes one line into `io.max` of a cgroup that has one.
    pub(super) fn limit(&self, cgroup: &Path, line: &str) -> io::Result<()> {
        let path = self.0.paths.kubepods.join(cgroup).join("io.max");
        let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(line.as_bytes())
    }

    pub(super) fn disks(&self) -> io::Result<NodeDisks> {
        let text = fs::read(&self.0.paths.mountinfo)?;
        let mounts = Mounts::parse(&String::from_utf8_lossy(&text));
        let kubelet = self.0.paths.kubelet.to_string_lossy();
        let folders = mounts.upper_folders().chain(["/", &*kubelet]);
        let shared = folders
            .filter_map(|folder| self.device(mounts.holding(folder)?.backing()))
            .collect();
        Ok(NodeDisks { mounts, shared })
    }

    /// The devices that a Pod's I/O enters by: its volumes, its hostPaths, and those that all Pods
    /// share.
    pub(super) fn devices(&self, pod: &NodePod, disks: &NodeDisks) -> BTreeSet<Device> {
        let NodeDisks { mounts, shared } = disks;
        let mut devices = shared.clone();
        if let Some(uid) = pod.kubelet_uid() {
            let folder = self.0.paths.kubelet.join("pods").join(uid);
            let folder = folder.to_string_lossy();
            let volumes = mounts.below(&folder).chain(mounts.device_files(uid));
            devices.extend(volumes.filter_map(|mount| self.device(mount.backing())));
        }
        let host_paths = pod.host_paths().filter_map(|path| mounts.holding(path));
        devices.extend(host_paths.filter_map(|mount| self.device(mount.backing())));
        devices
    }

    /// The device behind a mount, whole where that is a partition.
    fn device(&self, backing: BackingDevice<'_>) -> Option<Device> {
        let device = match backing {
            BackingDevice::Device(device) => device,
            BackingDevice::Named(name) => self.named(name)?,
            BackingDevice::NoDevice => return None,
        };
        let entry = self.entry(device);
        let number = if entry.join("partition").exists() {
            // By way of the link: the folder of a partition stands in that of its disk.
            entry.join("../dev")
        } else {
            entry.join("dev")
        };
        fs::read_to_string(number).ok()?.parse().ok()
    }

    /// The number of a device by its name below `/dev`.
    fn named(&self, name: &str) -> Option<Device> {
        let class = self.0.paths.sys.join("class/block");
        let entry = match name.strip_prefix("mapper/") {
            None => class.join(name.replace('/', "!")),
            Some(mapped) => {
                let entries = fs::read_dir(&class).ok()?.filter_map(Result::ok);
                let mut entries = entries.map(|entry| entry.path());
                entries.find(|entry| {
                    let name = fs::read_to_string(entry.join("dm/name"));
                    name.is_ok_and(|name| name.trim_end() == mapped)
                })?
            }
        };
        fs::read_to_string(entry.join("dev")).ok()?.parse().ok()
    }

    fn entry(&self, device: Device) -> PathBuf {
        let entries = self.0.paths.sys.join("dev/block");
        entries.join(device.to_string())
    }

    /// The kernel's name of a device, or its number where that is not told.
    pub(super) fn name(&self, device: Device) -> String {
        let link = fs::read_link(self.entry(device)).ok();
        let name = link.as_deref().and_then(Path::file_name);
        name.map_or_else(
            || device.to_string(),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    /// The disks that hold data themselves, by number, each with its name.
    pub(super) fn physical(&self) -> BTreeMap<Device, String> {
        let Ok(entries) = fs::read_dir(self.0.paths.sys.join("block")) else {
            return BTreeMap::new();
        };
        let mut disks = BTreeMap::new();
        for entry in entries.filter_map(Result::ok) {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy().into_owned();
            let is_disk = !NO_DISKS.iter().any(|other| name.starts_with(other));
            let mut below = fs::read_dir(path.join("slaves")).into_iter().flatten();
            // One path of several to a disk, which has an entry of its own.
            let hidden = fs::read_to_string(path.join("hidden"));
            let is_path = hidden.is_ok_and(|hidden| hidden.trim_end() == "1");
            let device = fs::read_to_string(path.join("dev")).ok();
            let device = device.and_then(|device| device.parse().ok());
            if let Some(device) = device.filter(|_| is_disk && !is_path && below.next().is_none()) {
                disks.insert(device, name);
            }
        }
        disks
    }

    /// The bytes of a disk of this name.
    pub(super) fn disk(&self, name: &str) -> Option<IoByteCounts> {
        let stat = self.0.paths.sys.join("block").join(name).join("stat");
        disk_stat(&fs::read_to_string(stat).ok()?)
    }

    /// The bytes of a Pod by device; `None` where they cannot be read.
    pub(super) fn transferred(&self, cgroup: &Path) -> Option<BTreeMap<Device, IoByteCounts>> {
        Some(io_stat(&self.read(cgroup, "io.stat").ok()?))
    }

    pub(super) fn pod_pressure(&self, cgroup: &Path) -> Option<Pressure> {
        pressure(&self.read(cgroup, "io.pressure").ok()?)
    }

    pub(super) fn node_pressure(&self) -> Option<Pressure> {
        let path = self.0.paths.proc.join("pressure/io");
        pressure(&fs::read_to_string(path).ok()?)
    }
}
