//! The manifests of an installation, from the folder `deploy`, which is compiled in.
//! [`Manifests::read`] applies all components at once, and each part of an object keeps the
//! components that it depends on. So [`Manifests::objects`] gives what kustomize builds for one
//! choice, and [`chart`] prints the same objects as a Helm chart.

pub mod chart;
mod comparison;
mod components;
mod condition;
mod conditional_part;
mod config_map;
mod json_patch;
mod kustomization;
mod merge;
mod options;
mod sources;

use std::collections::BTreeMap;

use thiserror::Error;

pub use comparison::changed_fields;
pub use components::{COMPONENTS, Component};
pub use options::{ComponentSelection, InstallOptions};

use kustomization::{Kustomization, ManifestObject, add, joined};

pub const NAMESPACE: &str = "evenkeel-system";
pub const IMAGE: &str = concat!("ghcr.io/evenkeel/evenkeel:", env!("CARGO_PKG_VERSION"));
/// Image of the component `second-scheduler`, without its tag.
const SCHEDULER_IMAGE: &str = "registry.k8s.io/kube-scheduler";
/// The ConfigMap of the configuration, and its key.
pub const CONFIGURATION: (&str, &str) = ("evenkeel", "config.yaml");
/// Kinds and names of the objects whose Pods read it at their start.
const READERS: [(&str, &str); 4] = [
    ("Deployment", "evenkeel"),
    ("Deployment", "evenkeel-signer"),
    ("Deployment", "evenkeel-jobs"),
    ("DaemonSet", "evenkeel-agent"),
];
/// The annotation of these Pods with the hash of a configuration other than the shipped one, so that
/// Kubernetes replaces them when it changes.
const CHECKSUM: &str = "checksum/config";

#[derive(Debug, Error)]
#[error("the manifests of this program cannot be built: {0}")]
pub struct ManifestError(String);

/// Each with the components that it depends on.
#[derive(Debug)]
pub struct Manifests {
    objects: Vec<ManifestObject>,
    /// Component folders by overlay.
    overlays: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Manifests {
    /// Reads the files and applies all components.
    ///
    /// # Errors
    /// An invalid file. Files are compiled in, so a test finds that.
    pub fn read() -> Result<Self, ManifestError> {
        Self::build().map_err(ManifestError)
    }

    fn build() -> Result<Self, String> {
        let mut objects = Vec::new();
        add(&mut objects, "deploy/base", None)?;
        let mut overlays = BTreeMap::new();
        for Component { name, .. } in &COMPONENTS {
            add(
                &mut objects,
                &format!("deploy/components/{name}"),
                Some(name),
            )?;
            overlays.insert(*name, listed(name)?);
        }
        Ok(Self { objects, overlays })
    }
}

fn listed(overlay: &str) -> Result<Vec<&'static str>, String> {
    let folder = format!("deploy/overlays/{overlay}");
    let own = Kustomization::read(&folder)?;
    let component = |path: &String| {
        let path = joined(&folder, path);
        let known = COMPONENTS.iter().map(|component| component.name);
        let mut known = known.filter(|name| path == format!("deploy/components/{name}"));
        known
            .next()
            .ok_or_else(|| format!("{folder}: {path} is no component"))
    };
    own.components.iter().map(component).collect()
}
