//! `Chart.yaml`, with the annotations that Artifact Hub shows.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{IMAGE, Manifests};

/// Kubernetes versions that Evenkeel supports.
const KUBERNETES: &str = ">=1.33.0-0 <1.38.0-0";

pub(super) fn chart(manifests: &Manifests) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let repository = env!("CARGO_PKG_REPOSITORY");
    let mut kinds = String::new();
    for definition in definitions(manifests) {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = text(&spec["names"]["kind"]);
        let version = &spec["versions"][0];
        let about = text(&version["schema"]["openAPIV3Schema"]["description"]);
        let about = about
            .split(". ")
            .next()
            .unwrap_or_default()
            .trim_end_matches('.');
        let _ = write!(
            kinds,
            "    - kind: {kind}\n      version: {}\n      name: {}\n      displayName: {kind}\n      description: {}\n",
            text(&version["name"]),
            text(&definition["metadata"]["name"]),
            Value::from(about.split_whitespace().collect::<Vec<_>>().join(" ")),
        );
    }
    format!(
        "\
# Generated from the manifests; run `just chart` to regenerate it.
apiVersion: v2
name: evenkeel
version: {version}
appVersion: {version}
type: application
kubeVersion: \"{KUBERNETES}\"
description: Keeps Kubernetes clusters on an even keel. Admission webhook, scheduler extender and predictive scaling
home: {repository}
sources:
  - {repository}
keywords: [autoscaling, hpa, scheduler, webhook, forecasting]
maintainers:
  - name: Evenkeel
    url: {repository}
annotations:
  artifacthub.io/category: integration-delivery
  artifacthub.io/license: Apache-2.0
  artifacthub.io/operator: \"true\"
  artifacthub.io/images: |
    - name: evenkeel
      image: {IMAGE}
      platforms:
        - linux/amd64
        - linux/arm64
  artifacthub.io/links: |
    - name: Install
      url: {repository}/blob/main/docs/start/install.md
    - name: Configuration
      url: {repository}/blob/main/docs/reference/configuration.md
    - name: Changelog
      url: {repository}/blob/main/CHANGELOG.md
  artifacthub.io/crds: |
{kinds}"
    )
}

/// Definitions of Evenkeel's own kinds.
fn definitions(manifests: &Manifests) -> impl Iterator<Item = Value> {
    let objects = manifests.objects.iter();
    let definitions = objects.filter(|object| object.kind == "CustomResourceDefinition");
    definitions.filter_map(|object| object.choice.part.plain())
}
