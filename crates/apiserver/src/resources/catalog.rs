//! The built-in resources, one line each.

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::{
    ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet,
};
use k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler as OldHorizontalPodAutoscaler;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume,
    PersistentVolumeClaim, Pod, ReplicationController, ResourceQuota, Secret, Service,
    ServiceAccount,
};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::events::v1::Event as NewEvent;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::{CSIDriver, CSINode, StorageClass, VolumeAttachment};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use serde_json::json;

use crate::resources::autoscaler_v1;
use crate::resources::event;
use crate::resources::resource::Resource;
use crate::resources::resource::ScalePaths;
use crate::resources::resource::Subresource;
use crate::rules;
use crate::table::builtin as tables;

const POD_FIELDS: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];
const EVENT_FIELDS: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "type",
];

/// In the order of discovery.
pub(crate) fn builtin() -> Vec<Resource> {
    [
        core(),
        storage(),
        events(),
        workloads(),
        batch(),
        autoscaling(),
        policy(),
        cluster(),
        volumes(),
    ]
    .concat()
}

fn core() -> Vec<Resource> {
    vec![
        Resource::typed::<Namespace>("", "v1", "Namespace", "namespaces")
            .cluster_scoped()
            .short(&["ns"])
            .status(json!({"phase": "Active"}))
            .with(Subresource::Finalize)
            .selectable(&["status.phase"])
            .rules(rules::NAMESPACE)
            .columns(tables::NAMESPACE),
        Resource::typed::<Node>("", "v1", "Node", "nodes")
            .cluster_scoped()
            .short(&["no"])
            .status_kept()
            .selectable(&["spec.unschedulable"])
            .rules(rules::NODE)
            .columns(tables::NODE),
        Resource::typed::<Pod>("", "v1", "Pod", "pods")
            .short(&["po"])
            .in_all()
            .counted()
            .status(json!({"phase": "Pending"}))
            .with(Subresource::Binding)
            .with(Subresource::Eviction)
            .with(Subresource::Resize)
            .with(Subresource::Refused("log"))
            .with(Subresource::Refused("exec"))
            .with(Subresource::Refused("attach"))
            .with(Subresource::Refused("portforward"))
            .with(Subresource::Refused("ephemeralcontainers"))
            .selectable(POD_FIELDS)
            .rules(rules::POD)
            .columns(tables::POD),
        Resource::typed::<Service>("", "v1", "Service", "services")
            .short(&["svc"])
            .in_all()
            .status(json!({"loadBalancer": {}}))
            .rules(rules::SERVICE)
            .columns(tables::SERVICE),
        Resource::typed::<Endpoints>("", "v1", "Endpoints", "endpoints").short(&["ep"]),
        Resource::typed::<ConfigMap>("", "v1", "ConfigMap", "configmaps")
            .short(&["cm"])
            .rules(rules::CONFIG)
            .columns(tables::CONFIG_MAP),
        Resource::typed::<Secret>("", "v1", "Secret", "secrets")
            .selectable(&["type"])
            .rules(rules::SECRET)
            .columns(tables::SECRET),
        Resource::typed::<ServiceAccount>("", "v1", "ServiceAccount", "serviceaccounts")
            .short(&["sa"])
            .with(Subresource::Token)
            .columns(tables::SERVICE_ACCOUNT),
    ]
}

fn events() -> Vec<Resource> {
    vec![
        Resource::typed::<Event>("", "v1", "Event", "events")
            .short(&["ev"])
            .selectable(EVENT_FIELDS)
            .columns(tables::EVENT),
        Resource::typed::<NewEvent>("events.k8s.io", "v1", "Event", "events")
            .short(&["ev"])
            .selectable(EVENT_FIELDS)
            .columns(tables::EVENT)
            .stored_as("events", event::CONVERSION),
    ]
}

/// Kinds that are only stored: nothing in this server acts on them.
fn storage() -> Vec<Resource> {
    vec![
        Resource::typed::<LimitRange>("", "v1", "LimitRange", "limitranges").short(&["limits"]),
        Resource::typed::<ResourceQuota>("", "v1", "ResourceQuota", "resourcequotas")
            .short(&["quota"])
            .status(json!({})),
        Resource::typed::<PersistentVolume>("", "v1", "PersistentVolume", "persistentvolumes")
            .cluster_scoped()
            .short(&["pv"])
            .status(json!({"phase": "Pending"})),
        Resource::typed::<PersistentVolumeClaim>(
            "",
            "v1",
            "PersistentVolumeClaim",
            "persistentvolumeclaims",
        )
        .short(&["pvc"])
        .status(json!({"phase": "Pending"})),
    ]
}

fn workloads() -> Vec<Resource> {
    vec![
        Resource::typed::<ReplicationController>(
            "",
            "v1",
            "ReplicationController",
            "replicationcontrollers",
        )
        .short(&["rc"])
        .in_all()
        .counted()
        .status(json!({}))
        .scaled(ScalePaths::workload())
        .selectable(&["status.replicas"])
        .rules(rules::REPLICATION_CONTROLLER),
        Resource::typed::<Deployment>("apps", "v1", "Deployment", "deployments")
            .short(&["deploy"])
            .in_all()
            .counted_with_annotations()
            .status(json!({}))
            .scaled(ScalePaths::workload())
            .rules(rules::DEPLOYMENT)
            .columns(tables::DEPLOYMENT),
        Resource::typed::<ReplicaSet>("apps", "v1", "ReplicaSet", "replicasets")
            .short(&["rs"])
            .in_all()
            .counted()
            .status(json!({}))
            .scaled(ScalePaths::workload())
            .selectable(&["status.replicas"])
            .rules(rules::REPLICA_SET)
            .columns(tables::REPLICA_SET),
        Resource::typed::<StatefulSet>("apps", "v1", "StatefulSet", "statefulsets")
            .short(&["sts"])
            .in_all()
            .counted()
            .status(json!({"availableReplicas": 0}))
            .scaled(ScalePaths::workload())
            .rules(rules::STATEFUL_SET)
            .columns(tables::STATEFUL_SET),
        Resource::typed::<DaemonSet>("apps", "v1", "DaemonSet", "daemonsets")
            .short(&["ds"])
            .in_all()
            .counted()
            .status(json!({}))
            .rules(rules::DAEMON_SET)
            .columns(tables::DAEMON_SET),
        Resource::typed::<ControllerRevision>(
            "apps",
            "v1",
            "ControllerRevision",
            "controllerrevisions",
        ),
    ]
}

fn batch() -> Vec<Resource> {
    vec![
        Resource::typed::<Job>("batch", "v1", "Job", "jobs")
            .in_all()
            .counted()
            .status(json!({}))
            .selectable(&["status.successful"])
            .rules(rules::JOB)
            .columns(tables::JOB),
        Resource::typed::<CronJob>("batch", "v1", "CronJob", "cronjobs")
            .short(&["cj"])
            .in_all()
            .counted()
            .status(json!({}))
            .rules(rules::CRON_JOB)
            .columns(tables::CRON_JOB),
    ]
}

fn autoscaling() -> Vec<Resource> {
    vec![
        Resource::typed::<HorizontalPodAutoscaler>(
            "autoscaling",
            "v2",
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
        )
        .short(&["hpa"])
        .in_all()
        .counted()
        .status(json!({"desiredReplicas": 0, "currentMetrics": null}))
        .rules(rules::HORIZONTAL_POD_AUTOSCALER)
        .columns(tables::HORIZONTAL_POD_AUTOSCALER),
        Resource::typed::<OldHorizontalPodAutoscaler>(
            "autoscaling",
            "v1",
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
        )
        .short(&["hpa"])
        .in_all()
        .counted()
        .status(json!({"desiredReplicas": 0}))
        .rules(rules::HORIZONTAL_POD_AUTOSCALER)
        .stored_as(
            "horizontalpodautoscalers.autoscaling",
            autoscaler_v1::CONVERSION,
        )
        .columns(tables::HORIZONTAL_POD_AUTOSCALER),
    ]
}

fn policy() -> Vec<Resource> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    vec![
        Resource::typed::<Lease>("coordination.k8s.io", "v1", "Lease", "leases")
            .columns(tables::LEASE),
        Resource::typed::<PodDisruptionBudget>(
            "policy",
            "v1",
            "PodDisruptionBudget",
            "poddisruptionbudgets",
        )
        .short(&["pdb"])
        .counted()
        .status(json!({}))
        .columns(tables::POD_DISRUPTION_BUDGET),
        Resource::typed::<Role>(RBAC, "v1", "Role", "roles"),
        Resource::typed::<RoleBinding>(RBAC, "v1", "RoleBinding", "rolebindings"),
        Resource::typed::<ClusterRole>(RBAC, "v1", "ClusterRole", "clusterroles").cluster_scoped(),
        Resource::typed::<ClusterRoleBinding>(
            RBAC,
            "v1",
            "ClusterRoleBinding",
            "clusterrolebindings",
        )
        .cluster_scoped(),
        Resource::typed::<EndpointSlice>(
            "discovery.k8s.io",
            "v1",
            "EndpointSlice",
            "endpointslices",
        )
        .counted(),
        Resource::typed::<NetworkPolicy>(
            "networking.k8s.io",
            "v1",
            "NetworkPolicy",
            "networkpolicies",
        )
        .short(&["netpol"])
        .counted(),
    ]
}

fn cluster() -> Vec<Resource> {
    vec![
        Resource::typed::<MutatingWebhookConfiguration>(
            "admissionregistration.k8s.io",
            "v1",
            "MutatingWebhookConfiguration",
            "mutatingwebhookconfigurations",
        )
        .cluster_scoped()
        .counted()
        .rules(rules::MUTATING_WEBHOOK_CONFIGURATION)
        .columns(tables::MUTATING_WEBHOOK_CONFIGURATION),
        Resource::typed::<CustomResourceDefinition>(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
        )
        .cluster_scoped()
        .short(&["crd", "crds"])
        .counted()
        .status(json!({}))
        .rules(rules::CUSTOM_RESOURCE_DEFINITION)
        .columns(tables::CUSTOM_RESOURCE_DEFINITION),
        Resource::typed::<APIService>("apiregistration.k8s.io", "v1", "APIService", "apiservices")
            .cluster_scoped()
            .status(json!({})),
        Resource::typed::<PriorityClass>(
            "scheduling.k8s.io",
            "v1",
            "PriorityClass",
            "priorityclasses",
        )
        .cluster_scoped()
        .short(&["pc"])
        .counted()
        .columns(tables::PRIORITY_CLASS),
    ]
}

fn volumes() -> Vec<Resource> {
    const STORAGE: &str = "storage.k8s.io";
    vec![
        Resource::typed::<StorageClass>(STORAGE, "v1", "StorageClass", "storageclasses")
            .cluster_scoped()
            .short(&["sc"]),
        Resource::typed::<CSINode>(STORAGE, "v1", "CSINode", "csinodes").cluster_scoped(),
        Resource::typed::<CSIDriver>(STORAGE, "v1", "CSIDriver", "csidrivers").cluster_scoped(),
        Resource::typed::<VolumeAttachment>(STORAGE, "v1", "VolumeAttachment", "volumeattachments")
            .cluster_scoped()
            .status(json!({})),
    ]
}

impl ScalePaths {
    fn workload() -> Self {
        Self {
            spec: "/spec/replicas".to_owned(),
            status: "/status/replicas".to_owned(),
            selector: Some("/spec/selector".to_owned()),
        }
    }
}

#[cfg(test)]
pub(crate) fn find(group: &str, plural: &str) -> Resource {
    builtin()
        .into_iter()
        .find(|resource| resource.group == group && resource.plural == plural)
        .expect("it is in the catalog")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_resources_have_the_same_path() {
        let all = builtin();
        let paths: BTreeSet<String> = all
            .iter()
            .map(|resource| format!("{}/{}", resource.api_version(), resource.plural))
            .collect();
        assert_eq!(paths.len(), all.len());
    }
}
