//! The names of kubelet's cgroups for Pods. All follow from the name of kubelet's folder:
//! `kubepods.slice` with the driver `systemd`, `kubepods` with `cgroupfs`. With systemd and an
//! operator's own root (`--cgroup-root=/kubelet`), all names below repeat `kubelet-kubepods.slice`.

use std::path::PathBuf;

use evenkeel_objects::qos_class::QosClass;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodCgroups {
    /// Named by systemd; the text is the name of kubelet's own slice without its ending.
    Systemd(Box<str>),
    Cgroupfs,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not accepted; accepted: the kubelet's directory for Pods, kubepods.slice (or \
     NAME-kubepods.slice) with the cgroup driver systemd, kubepods with cgroupfs"
)]
pub struct NotKubepods(pub String);

impl PodCgroups {
    /// The cgroups in a folder of this name.
    ///
    /// # Errors
    /// It is no name that kubelet gives.
    pub fn named(folder: &str) -> Result<Self, NotKubepods> {
        match folder.strip_suffix(".slice") {
            Some(stem) if stem == "kubepods" || stem.ends_with("-kubepods") => {
                Ok(Self::Systemd(stem.into()))
            }
            None if folder == "kubepods" => Ok(Self::Cgroupfs),
            _ => Err(NotKubepods(folder.to_owned())),
        }
    }

    /// The way from kubelet's folder to a Pod's cgroup; `None` if `uid` could lead elsewhere.
    pub fn path(&self, class: QosClass, uid: &str) -> Option<PathBuf> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if uid.is_empty() || !uid.bytes().all(plain) {
            return None;
        }
        let level = match class {
            QosClass::Guaranteed => None,
            QosClass::Burstable => Some("burstable"),
            QosClass::BestEffort => Some("besteffort"),
        };
        let path = match (self, level) {
            (Self::Systemd(stem), None) => format!("{stem}-pod{}.slice", escaped(uid)),
            (Self::Systemd(stem), Some(level)) => {
                let uid = escaped(uid);
                format!("{stem}-{level}.slice/{stem}-{level}-pod{uid}.slice")
            }
            (Self::Cgroupfs, None) => format!("pod{uid}"),
            (Self::Cgroupfs, Some(level)) => format!("{level}/pod{uid}"),
        };
        Some(path.into())
    }
}

/// A hyphen stands for a level in systemd's names.
fn escaped(uid: &str) -> String {
    uid.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::qos_class::QosClass::{BestEffort, Burstable, Guaranteed};

    use super::*;

    #[test]
    fn each_driver_and_class_has_its_path() {
        let uid = "0b9c1a2d-77aa-4f";
        for (folder, class, expected) in [
            (
                "kubepods.slice",
                Guaranteed,
                "kubepods-pod0b9c1a2d_77aa_4f.slice",
            ),
            (
                "kubepods.slice",
                Burstable,
                "kubepods-burstable.slice/kubepods-burstable-pod0b9c1a2d_77aa_4f.slice",
            ),
            (
                "kubelet-kubepods.slice",
                BestEffort,
                "kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod0b9c1a2d_77aa_4f.slice",
            ),
            ("kubepods", Guaranteed, "pod0b9c1a2d-77aa-4f"),
            ("kubepods", Burstable, "burstable/pod0b9c1a2d-77aa-4f"),
            ("kubepods", BestEffort, "besteffort/pod0b9c1a2d-77aa-4f"),
        ] {
            let path = PodCgroups::named(folder).unwrap().path(class, uid);
            assert_eq!(path, Some(expected.into()), "{folder} {class:?}");
        }
    }

    #[test]
    fn no_uid_leads_elsewhere() {
        for folder in ["kubepods.slice", "kubepods"] {
            for uid in ["", "../../system.slice", "a/b", ".", "a.b", "a\0"] {
                let path = PodCgroups::named(folder).unwrap().path(Burstable, uid);
                assert_eq!(path, None, "{uid:?}");
            }
        }
    }

    #[test]
    fn only_kubelets_folders_are_taken() {
        for folder in [
            "",
            "system.slice",
            "kubepods-burstable.slice",
            "pods",
            "xkubepods.slice",
        ] {
            let refused = PodCgroups::named(folder).unwrap_err().to_string();
            assert!(refused.contains("kubepods.slice"), "{refused}");
        }
    }
}
