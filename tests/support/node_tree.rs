//! The files of a node in a folder, as the kernel would have them: kubelet's cgroups under either driver, two
//! disks of which one has a partition, and mounts.
//!
//! A written `io.max` holds its last line alone, where the kernel keeps one for each device: enough for Pods
//! with one disk.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The files of a node; gone with the value.
pub(crate) struct NodeTree {
    folder: tempfile::TempDir,
    /// The name of kubelet's folder.
    kubepods: &'static str,
}

impl NodeTree {
    /// A node with its root filesystem on the partition 8:1 of the disk `sda`, 8:0.
    pub(crate) fn new(kubepods: &'static str) -> Self {
        let tree = Self {
            folder: tempfile::tempdir().expect("there is a temporary folder"),
            kubepods,
        };
        write(
            &tree.kubepods().join("cgroup.controllers"),
            "cpu io memory\n",
        );
        tree.disk("sda", "8:0");
        tree.entry("sda/sda1", "8:1");
        write(&tree.devices().join("sda/sda1/partition"), "1\n");
        tree.disk("sdb", "8:16");
        tree.mounts("");
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n\
                        full avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n";
        write(&tree.path().join("proc/pressure/io"), pressure);
        fs::create_dir(tree.path().join("run")).expect("the folder is ours");
        tree
    }

    /// The folder that holds everything.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn kubepods(&self) -> PathBuf {
        self.path().join("cgroup").join(self.kubepods)
    }

    pub(crate) fn mountinfo(&self) -> PathBuf {
        self.path().join("mountinfo")
    }

    pub(crate) fn record(&self) -> PathBuf {
        self.path().join("run/limits.json")
    }

    /// Adds mounts to that of the root filesystem.
    pub(crate) fn mounts(&self, more: &str) {
        let root = "27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n";
        write(&self.mountinfo(), &format!("{root}{more}"));
    }

    /// A whole disk that has read 1 MiB and written 2 MiB.
    pub(crate) fn disk(&self, name: &str, device: &str) {
        self.entry(name, device);
        let folder = self.devices().join(name);
        write(&folder.join("stat"), "9 0 2048 0 9 0 4096 0 0 0 0\n");
        fs::create_dir_all(folder.join("slaves")).expect("the folder is ours");
        self.link(&folder, &format!("block/{name}"));
    }

    /// The cgroup of a Pod, at its way from kubelet's folder.
    pub(crate) fn pod(&self, cgroup: &str) {
        let folder = self.kubepods().join(cgroup);
        write(&folder.join("io.max"), "");
        let stat = "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n\
                    253:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n";
        write(&folder.join("io.stat"), stat);
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=500000\n\
                        full avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n";
        write(&folder.join("io.pressure"), pressure);
    }

    /// The text of a Pod's `io.max`.
    pub(crate) fn io_max(&self, cgroup: &str) -> String {
        let path = self.kubepods().join(cgroup).join("io.max");
        fs::read_to_string(path).expect("the cgroup is there")
    }

    /// Sets a Pod's `io.max` as another program would.
    pub(crate) fn set_io_max(&self, cgroup: &str, line: &str) {
        write(&self.kubepods().join(cgroup).join("io.max"), line);
    }

    /// Takes a cgroup away.
    pub(crate) fn remove_pod(&self, cgroup: &str) {
        fs::remove_dir_all(self.kubepods().join(cgroup)).expect("the cgroup is there");
    }

    fn entry(&self, name: &str, device: &str) {
        let folder = self.devices().join(name);
        write(&folder.join("dev"), &format!("{device}\n"));
        self.link(&folder, &format!("dev/block/{device}"));
        let last = name.rsplit('/').next().unwrap_or(name);
        self.link(&folder, &format!("class/block/{last}"));
    }

    fn link(&self, folder: &Path, at: &str) {
        let at = self.path().join("sys").join(at);
        fs::create_dir_all(at.parent().expect("it is in a folder")).expect("the folder is ours");
        symlink(folder, at).expect("the folder is ours");
    }

    fn devices(&self) -> PathBuf {
        self.path().join("sys/devices/block")
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder is ours");
    fs::write(path, text).expect("the folder is ours");
}
