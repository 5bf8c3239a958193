//! A ConfigMap volume as kubelet keeps it: the file is a link through `..data` into a folder of
//! one version, and a new version comes by exchanging that link. The file itself is never written.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::pki;

const FILE: &str = "config.yaml";

/// A mounted ConfigMap with the one key `config.yaml`.
#[derive(Debug)]
pub(crate) struct Volume {
    folder: PathBuf,
    version: u32,
}

impl Volume {
    /// Mounts at `folder`, which is new.
    pub(crate) fn new(folder: PathBuf, document: &Value) -> Self {
        let mut volume = Self { folder, version: 0 };
        volume.update(document);
        let file = Path::new("..data").join(FILE);
        symlink(file, volume.file()).expect("the file is linked");
        volume
    }

    /// The path that is read.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }

    /// Brings in the next version.
    pub(crate) fn update(&mut self, document: &Value) {
        let old = self.folder.join(format!("..{}", self.version));
        self.version += 1;
        let version = format!("..{}", self.version);
        let new = self.folder.join(&version);
        std::fs::create_dir_all(&new).expect("a folder is made");
        pki::write_json(&new.join(FILE), document);
        let link = self.folder.join("..data_tmp");
        symlink(version, &link).expect("the version is linked");
        std::fs::rename(link, self.folder.join("..data")).expect("the link is exchanged");
        // There is none before the first.
        let _ = std::fs::remove_dir_all(old);
    }
}
