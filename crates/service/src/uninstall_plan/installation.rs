//! The objects of which an installation is made, and how they are told from all others.

use evenkeel_objects::kinds::Kind;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// The namespace in which kube-scheduler's rights to the cluster's authentication are granted.
const KUBE_SYSTEM: &str = "kube-system";
/// The label selector of the objects that the manifests make.
const LABELLED: &str = "app.kubernetes.io/name in (evenkeel, evenkeel-scheduler)";
/// The name that the leader's Lease has unless the configuration says otherwise.
pub const LEASE: &str = "evenkeel";
pub(crate) const LEASE_LABEL: (&str, &str) = ("app.kubernetes.io/name", "evenkeel");
pub(crate) const LEASE_LABELLED: &str = "app.kubernetes.io/name=evenkeel";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallationScope {
    Cluster,
    OwnNamespace,
    KubeSystem,
}

impl InstallationScope {
    /// The namespace, given Evenkeel's own; `None` for objects of the cluster.
    pub const fn namespace(self, own: &str) -> Option<&str> {
        match self {
            Self::Cluster => None,
            Self::OwnNamespace => Some(own),
            Self::KubeSystem => Some(KUBE_SYSTEM),
        }
    }
}

pub const KINDS: [(InstallationScope, Kind); 25] = [
    (InstallationScope::OwnNamespace, Kind::Deployment),
    (InstallationScope::OwnNamespace, Kind::DaemonSet),
    (InstallationScope::OwnNamespace, Kind::CronJob),
    (InstallationScope::OwnNamespace, Kind::Service),
    (InstallationScope::OwnNamespace, Kind::ConfigMap),
    (InstallationScope::OwnNamespace, Kind::Secret),
    (InstallationScope::OwnNamespace, Kind::ServiceAccount),
    (InstallationScope::OwnNamespace, Kind::PodDisruptionBudget),
    (InstallationScope::OwnNamespace, Kind::NetworkPolicy),
    (InstallationScope::OwnNamespace, Kind::Role),
    (InstallationScope::OwnNamespace, Kind::RoleBinding),
    (InstallationScope::KubeSystem, Kind::RoleBinding),
    (InstallationScope::Cluster, Kind::ClusterRole),
    (InstallationScope::Cluster, Kind::ClusterRoleBinding),
    (
        InstallationScope::Cluster,
        Kind::MutatingWebhookConfiguration,
    ),
    (InstallationScope::Cluster, Kind::ValidatingAdmissionPolicy),
    (
        InstallationScope::Cluster,
        Kind::ValidatingAdmissionPolicyBinding,
    ),
    (InstallationScope::Cluster, Kind::CustomResourceDefinition),
    (InstallationScope::Cluster, Kind::ApiService),
    (InstallationScope::Cluster, Kind::Namespace),
    (InstallationScope::OwnNamespace, Kind::ServiceMonitor),
    (InstallationScope::OwnNamespace, Kind::PodMonitor),
    (InstallationScope::OwnNamespace, Kind::Certificate),
    (InstallationScope::OwnNamespace, Kind::Issuer),
    (InstallationScope::OwnNamespace, Kind::Lease),
];

/// The label selector that finds the objects of a kind; `None` for kinds that [`is_own`]
/// identifies.
pub fn label_selector(kind: Kind) -> Option<&'static str> {
    (![Kind::Lease, Kind::ApiService].contains(&kind)).then_some(LABELLED)
}

/// True for an unlabelled object of an installation in the namespace `own`: the leader's Lease,
/// which earlier versions made without a label, or an APIService that Evenkeel serves.
pub fn is_own(kind: Kind, metadata: &ObjectMeta, spec: &Value, own: &str) -> bool {
    match kind {
        Kind::Lease => {
            let (key, value) = LEASE_LABEL;
            let label = metadata.labels.as_ref().and_then(|labels| labels.get(key));
            metadata.name.as_deref() == Some(LEASE) || label.is_some_and(|label| label == value)
        }
        Kind::ApiService => {
            let service = &spec["service"];
            let serves = service["name"].as_str().unwrap_or_default();
            service["namespace"] == own && serves.starts_with("evenkeel")
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_without_a_label_are_told_by_name_or_service() {
        let spec = |namespace: &str, name: &str| json!({"service": {"namespace": namespace, "name": name}});
        let labelled = json!({"name": "x", "labels": {"app.kubernetes.io/name": "evenkeel"}});
        let metadata = serde_json::from_value(labelled).unwrap();
        assert!(is_own(Kind::Lease, &metadata, &json!(null), "keel"));
        for (kind, name, spec, own) in [
            (Kind::Lease, "evenkeel", json!(null), true),
            (Kind::Lease, "other", json!(null), false),
            (Kind::ApiService, "v1.a", spec("keel", "evenkeel"), true),
            (Kind::ApiService, "v1.a", spec("keel", "adapter"), false),
            (Kind::ApiService, "v1.a", spec("shop", "evenkeel"), false),
            (Kind::ApiService, "v1.a", json!({}), false),
            (Kind::Deployment, "evenkeel", json!({}), true),
        ] {
            let metadata = ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            };
            assert_eq!(
                is_own(kind, &metadata, &spec, "keel"),
                own,
                "{kind:?} {spec}"
            );
        }
        let unlabelled = |(_, kind): &(InstallationScope, Kind)| label_selector(*kind).is_none();
        assert_eq!(KINDS.iter().filter(|one| unlabelled(one)).count(), 2);
    }
}
