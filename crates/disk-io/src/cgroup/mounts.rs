//! `mountinfo`: the filesystem of a folder, and the device of the filesystem. Most filesystems have
//! the number of their device. Those of several devices or of subvolumes (btrfs) have an anonymous
//! one and name the device that they were mounted from; tmpfs, overlay and network filesystems have
//! none. A device file that is mounted by itself is a raw block volume.

use crate::cgroup::device::Device;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Number of the filesystem; its major part is 0 without a single device.
    pub device: Device,
    /// The mounted part of the filesystem.
    pub root: String,
    /// The folder, or file, that it is mounted on.
    pub point: String,
    pub fs_type: String,
    /// In the words of the filesystem.
    pub source: String,
    /// The folder of an overlay that receives writes.
    pub upper: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackingDevice<'a> {
    Device(Device),
    /// Name below `/dev`.
    Named(&'a str),
    /// Memory, a network, or other filesystems.
    NoDevice,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let device = words.nth(2)?.parse().ok()?;
        let (root, point) = (unescaped(words.next()?), unescaped(words.next()?));
        // Any number of optional fields ends with a hyphen.
        words.find(|word| *word == "-")?;
        let (fs_type, source) = (words.next()?.to_owned(), unescaped(words.next()?));
        let options = words.next().unwrap_or_default();
        let mut options = options.split(',');
        let upper = options.find_map(|option| option.strip_prefix("upperdir="));
        let upper = upper.filter(|_| fs_type == "overlay").map(unescaped);
        Some(Self {
            device,
            root,
            point,
            fs_type,
            source,
            upper,
        })
    }

    pub fn backing(&self) -> BackingDevice<'_> {
        let named =
            |path: &str, before: &str| path.starts_with(before) && path.len() > before.len();
        if self.device.major != 0 {
            BackingDevice::Device(self.device)
        } else if self.fs_type == "devtmpfs" && named(&self.root, "/") {
            BackingDevice::Named(&self.root[1..])
        } else if self.fs_type != "devtmpfs" && named(&self.source, "/dev/") {
            BackingDevice::Named(&self.source["/dev/".len()..])
        } else {
            BackingDevice::NoDevice
        }
    }
}

/// The kernel writes blanks and backslashes as three octal digits.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|code| u8::from_str_radix(code, 8).ok());
        if let Some(code) = code.filter(u8::is_ascii) {
            plain.push(char::from(code));
            plain.push_str(&part[3..]);
        } else {
            plain.push('\\');
            plain.push_str(part);
        }
    }
    plain
}

/// Mounts of a process, in the order of mounting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mounts(Vec<Mount>);

impl Mounts {
    /// Invalid lines are left out.
    pub fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(Mount::parse).collect())
    }

    /// The deepest mount above `path`, and of several the last.
    pub fn holding(&self, path: &str) -> Option<&Mount> {
        let above = self.0.iter().filter(|mount| contains(&mount.point, path));
        above.max_by_key(|mount| mount.point.len())
    }

    pub fn below(&self, path: &str) -> impl Iterator<Item = &Mount> {
        let path = path.trim_end_matches('/').to_owned();
        let below = move |mount: &&Mount| mount.point != path && contains(&path, &mount.point);
        self.0.iter().filter(below)
    }

    /// Device files that are mounted on a file `name`.
    pub fn device_files(&self, name: &str) -> impl Iterator<Item = &Mount> {
        let files = self.0.iter().filter(|mount| mount.fs_type == "devtmpfs");
        files.filter(move |mount| mount.point.rsplit('/').next() == Some(name))
    }

    /// The folders of overlays that receive writes.
    pub fn upper_folders(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|mount| mount.upper.as_deref())
    }
}

/// `folder` is `path` or above it.
fn contains(folder: &str, path: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    let rest = path.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = r"22 27 0:21 / /proc rw,relatime shared:12 - proc proc rw
27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 27 254:17 / /var/lib rw,relatime shared:2 master:3 propagate_from:4 - xfs /dev/vdb1 rw,attr2
31 30 0:50 / /var/lib/kubelet/pods/u-1/volumes/kubernetes.io~projected/token rw - tmpfs tmpfs rw,size=1k
32 30 8:32 / /var/lib/kubelet/pods/u-1/volumes/kubernetes.io~csi/pv-1/mount rw - ext4 /dev/sdc rw
33 30 8:48 / /var/lib/kubelet/pods/u-12/volumes/kubernetes.io~csi/pv-2/mount rw - ext4 /dev/sdd rw
34 30 0:51 / /run/containerd/rootfs rw - overlay overlay rw,lowerdir=/var/lib/a:/var/lib/b,upperdir=/var/lib/containerd/1/fs,workdir=/var/lib/containerd/1/work
35 30 0:6 /sde /var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/publish/pv-3/u-1 rw - devtmpfs devtmpfs rw
36 27 0:40 /sub /data rw - btrfs /dev/mapper/vg-data rw,subvol=/sub
37 27 0:41 / /nfs rw - nfs4 10.0.0.1:/export rw
38 27 0:6 / /dev rw - devtmpfs devtmpfs rw
39 27 8:64 / /mnt/with\040blank\134s rw - ext4 /dev/sde rw
40 30 8:80 / /var/lib rw - ext4 /dev/sdf rw
41 30 8:80 / /opt rw - overlay /dev/fake rw";

    fn mounts() -> Mounts {
        Mounts::parse(TEXT)
    }

    fn device(text: &str) -> BackingDevice<'static> {
        BackingDevice::Device(text.parse().unwrap())
    }

    #[test]
    fn the_deepest_mount_holds_a_folder_and_of_two_the_last() {
        let mounts = mounts();
        for (path, expected) in [
            ("/", device("254:1")),
            ("/etc/x", device("254:1")),
            ("/var/library", device("254:1")),
            ("/var/lib/kubelet", device("8:80")),
            ("/data/x", BackingDevice::Named("mapper/vg-data")),
            ("/nfs", BackingDevice::NoDevice),
            ("/dev", BackingDevice::NoDevice),
            ("/mnt/with blank\\s/x", device("8:64")),
        ] {
            assert_eq!(mounts.holding(path).unwrap().backing(), expected, "{path}");
        }
        assert_eq!(Mounts::default().holding("/"), None);
    }

    #[test]
    fn a_pods_mounts_are_those_below_its_folder() {
        let mounts = mounts();
        let below: Vec<_> = mounts.below("/var/lib/kubelet/pods/u-1/").collect();
        let backings: Vec<_> = below.iter().map(|mount| mount.backing()).collect();
        assert_eq!(backings, [BackingDevice::NoDevice, device("8:32")]);
        let raw: Vec<_> = mounts.device_files("u-1").map(Mount::backing).collect();
        assert_eq!(raw, [BackingDevice::Named("sde")]);
        assert_eq!(mounts.below("/var/lib/kubelet/pods/u").count(), 0);
    }

    #[test]
    fn overlays_tell_where_they_are_written() {
        let mounts = mounts();
        let upper: Vec<_> = mounts.upper_folders().collect();
        assert_eq!(upper, ["/var/lib/containerd/1/fs"]);
    }

    #[test]
    fn a_line_that_is_no_mount_is_left_out() {
        for line in ["", "1 2 3", "1 2 8:0 / /x rw", "1 2 x / /x rw - ext4 y rw"] {
            assert_eq!(Mounts::parse(line), Mounts::default(), "{line}");
        }
        let bare = Mounts::parse("1 2 8:0 / /x\\09 rw - ext4 none");
        assert_eq!(bare.holding("/x\\09").unwrap().upper, None);
    }

    proptest! {
        #[test]
        fn a_folder_is_held_by_what_is_mounted_on_it(name in "[a-z \\\\]{1,12}", minor: u32) {
            let escaped = name.replace('\\', "\\134").replace(' ', "\\040");
            let mounts = Mounts::parse(&format!("1 2 8:{minor} / /{escaped} rw - ext4 /dev/x rw"));
            let held = mounts.holding(&format!("/{name}/below")).unwrap();
            prop_assert_eq!(held.device, Device { major: 8, minor });
        }

        #[test]
        fn no_text_makes_it_panic(text in "([0-9]|:| |/|-|\\\\|[a-z]|,|\n|é){0,200}") {
            let mounts = Mounts::parse(&text);
            for mount in &mounts.0 {
                let _ = mount.backing();
            }
            let _ = mounts.holding("/a").is_some();
        }
    }
}
