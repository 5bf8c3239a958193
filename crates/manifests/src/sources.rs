//! The manifest files, compiled in; a test compares the list with the folders.

use serde_json::Value;

/// Repository files with their texts.
macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../", $path)))),*]
    };
}

/// Paths from the root of the repository, and texts.
const FILES: &[(&str, &str)] = files![
    "certs/authorities.yaml",
    "certs/kustomization.yaml",
    "certs/scheduler-client.yaml",
    "certs/serving.yaml",
    "deploy/base/clean-up.yaml",
    "deploy/base/config.yaml",
    "deploy/base/custom-resources.yaml",
    "deploy/base/deployment.yaml",
    "deploy/base/kustomization.yaml",
    "deploy/base/namespace.yaml",
    "deploy/base/network-policy.yaml",
    "deploy/base/own-objects-guard.yaml",
    "deploy/base/pod-disruption-budget.yaml",
    "deploy/base/rbac-certificates.yaml",
    "deploy/base/rbac-kubelets.yaml",
    "deploy/base/rbac-metrics.yaml",
    "deploy/base/rbac.yaml",
    "deploy/base/resize-record-guard.yaml",
    "deploy/base/restore-guard.yaml",
    "deploy/base/restore.yaml",
    "deploy/base/service-account.yaml",
    "deploy/base/services.yaml",
    "deploy/base/signer-guard.yaml",
    "deploy/base/signer.yaml",
    "deploy/base/write-guard.yaml",
    "deploy/components/cert-manager/deployment.yaml",
    "deploy/components/cert-manager/kustomization.yaml",
    "deploy/components/custom-kinds/argo-rollouts.yaml",
    "deploy/components/custom-kinds/kustomization.yaml",
    "deploy/components/custom-kinds/openkruise.yaml",
    "deploy/components/custom-kinds/rbac.yaml",
    "deploy/components/external-algorithms/job-guard.yaml",
    "deploy/components/external-algorithms/jobs.yaml",
    "deploy/components/external-algorithms/kustomization.yaml",
    "deploy/components/external-algorithms/rbac.yaml",
    "deploy/components/external-checks/kustomization.yaml",
    "deploy/components/external-checks/rbac.yaml",
    "deploy/components/external-metrics/kustomization.yaml",
    "deploy/components/external-metrics/rbac.yaml",
    "deploy/components/in-place-tuning/kustomization.yaml",
    "deploy/components/in-place-tuning/rbac.yaml",
    "deploy/components/metrics-provider-plaintext/kustomization.yaml",
    "deploy/components/metrics-provider/kustomization.yaml",
    "deploy/components/metrics-provider/rbac.yaml",
    "deploy/components/narrowed-webhook/kustomization.yaml",
    "deploy/components/node-agent-cgroupfs/kustomization.yaml",
    "deploy/components/node-agent/daemon-set.yaml",
    "deploy/components/node-agent/kustomization.yaml",
    "deploy/components/node-agent/network-policy.yaml",
    "deploy/components/node-agent/rbac.yaml",
    "deploy/components/open-metrics/kustomization.yaml",
    "deploy/components/overload-taints/kustomization.yaml",
    "deploy/components/prometheus-operator/kustomization.yaml",
    "deploy/components/prometheus-operator/pod-monitor.yaml",
    "deploy/components/prometheus-operator/service-monitor.yaml",
    "deploy/components/replica-profiles/kustomization.yaml",
    "deploy/components/replica-profiles/rbac.yaml",
    "deploy/components/scale-in-balance/kustomization.yaml",
    "deploy/components/scale-in-balance/rbac.yaml",
    "deploy/components/score-labels/kustomization.yaml",
    "deploy/components/second-scheduler/deployment.yaml",
    "deploy/components/second-scheduler/kustomization.yaml",
    "deploy/components/second-scheduler/network-policy.yaml",
    "deploy/components/second-scheduler/rbac.yaml",
    "deploy/components/second-scheduler/scheduler-config.yaml",
    "deploy/overlays/cert-manager/kustomization.yaml",
    "deploy/overlays/custom-kinds/kustomization.yaml",
    "deploy/overlays/external-algorithms/kustomization.yaml",
    "deploy/overlays/external-checks/kustomization.yaml",
    "deploy/overlays/external-metrics/kustomization.yaml",
    "deploy/overlays/in-place-tuning/kustomization.yaml",
    "deploy/overlays/metrics-provider-plaintext/kustomization.yaml",
    "deploy/overlays/metrics-provider/kustomization.yaml",
    "deploy/overlays/narrowed-webhook/kustomization.yaml",
    "deploy/overlays/node-agent-cgroupfs/kustomization.yaml",
    "deploy/overlays/node-agent/kustomization.yaml",
    "deploy/overlays/open-metrics/kustomization.yaml",
    "deploy/overlays/overload-taints/kustomization.yaml",
    "deploy/overlays/prometheus-operator/kustomization.yaml",
    "deploy/overlays/replica-profiles/kustomization.yaml",
    "deploy/overlays/scale-in-balance/kustomization.yaml",
    "deploy/overlays/score-labels/kustomization.yaml",
    "deploy/overlays/second-scheduler/kustomization.yaml",
    "webhook-config/kustomization.yaml",
    "webhook-config/mutating-webhook.yaml",
];

/// `None` if it is no manifest file.
pub(crate) fn text(path: &str) -> Option<&'static str> {
    let found = FILES.iter().find(|(name, _)| *name == path);
    found.map(|(_, text)| *text)
}

/// As kubectl reads them: numbers and booleans are those of YAML 1.1.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, String> {
    let options = serde_saphyr::options! { strict_booleans: false, legacy_octal_numbers: true };
    let documents = serde_saphyr::from_multiple_with_options(text, options);
    documents.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    fn collect(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "yaml") {
                let inner = path.strip_prefix(ROOT).unwrap();
                found.insert(inner.to_str().unwrap().to_owned());
            }
        }
    }

    #[test]
    fn every_file_of_the_folders_is_compiled_in() {
        let mut there = BTreeSet::new();
        for folder in [
            "deploy/base",
            "deploy/components",
            "deploy/overlays",
            "certs",
        ] {
            collect(&Path::new(ROOT).join(folder), &mut there);
        }
        for name in ["kustomization", "mutating-webhook"] {
            there.insert(format!("webhook-config/{name}.yaml"));
        }
        let listed: BTreeSet<String> = FILES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(listed, there);
    }

    #[test]
    fn numbers_are_read_as_kubectl_reads_them() {
        let read = documents("mode: 0440\n---\nswitch: \"on\"\n").unwrap();
        assert_eq!(
            read,
            [
                serde_json::json!({"mode": 288}),
                serde_json::json!({"switch": "on"})
            ]
        );
    }
}
