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

use crate::resources::resource::{Resource, ScalePaths, Subresource};
use crate::resources::{autoscaler_v1, event};
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
/// The same fields by their names in events.k8s.io.
const NEW_EVENT_FIELDS: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
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
        Resource::typed::<Namespace>()
            .short(&["ns"])
            .status(json!({"phase": "Active"}))
            .with(Subresource::Finalize)
            .selectable(&["status.phase"])
            .rules(rules::NAMESPACE)
            .columns(tables::NAMESPACE),
        Resource::typed::<Node>()
            .short(&["no"])
            .status_kept()
            .selectable(&["spec.unschedulable"])
            .rules(rules::NODE)
            .columns(tables::NODE),
        Resource::typed::<Pod>()
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
        Resource::typed::<Service>()
            .short(&["svc"])
            .in_all()
            .status(json!({"loadBalancer": {}}))
            .rules(rules::SERVICE)
            .columns(tables::SERVICE),
        Resource::typed::<Endpoints>().short(&["ep"]),
        Resource::typed::<ConfigMap>()
            .short(&["cm"])
            .rules(rules::CONFIG)
            .columns(tables::CONFIG_MAP),
        Resource::typed::<Secret>()
            .selectable(&["type"])
            .rules(rules::SECRET)
            .columns(tables::SECRET),
        Resource::typed::<ServiceAccount>()
            .short(&["sa"])
            .with(Subresource::Token)
            .columns(tables::SERVICE_ACCOUNT),
    ]
}

fn events() -> Vec<Resource> {
    vec![
        Resource::typed::<Event>()
            .short(&["ev"])
            .selectable(EVENT_FIELDS)
            .columns(tables::EVENT),
        Resource::typed::<NewEvent>()
            .short(&["ev"])
            .selectable(NEW_EVENT_FIELDS)
            .columns(tables::EVENT)
            .stored_as("events", event::CONVERSION),
    ]
}

/// Kinds that are only stored: nothing in this server acts on them.
fn storage() -> Vec<Resource> {
    vec![
        Resource::typed::<LimitRange>().short(&["limits"]),
        Resource::typed::<ResourceQuota>()
            .short(&["quota"])
            .status(json!({})),
        Resource::typed::<PersistentVolume>()
            .short(&["pv"])
            .status(json!({"phase": "Pending"})),
        Resource::typed::<PersistentVolumeClaim>()
            .short(&["pvc"])
            .status(json!({"phase": "Pending"})),
    ]
}

fn workloads() -> Vec<Resource> {
    vec![
        Resource::typed::<ReplicationController>()
            .short(&["rc"])
            .in_all()
            .counted()
            .status(json!({}))
            .scaled(ScalePaths::workload())
            .selectable(&["status.replicas"])
            .rules(rules::REPLICATION_CONTROLLER),
        Resource::typed::<Deployment>()
            .short(&["deploy"])
            .in_all()
            .counted_with_annotations()
            .status(json!({}))
            .scaled(ScalePaths::workload())
            .rules(rules::DEPLOYMENT)
            .columns(tables::DEPLOYMENT),
        Resource::typed::<ReplicaSet>()
            .short(&["rs"])
            .in_all()
            .counted()
            .status(json!({}))
            .scaled(ScalePaths::workload())
            .selectable(&["status.replicas"])
            .rules(rules::REPLICA_SET)
            .columns(tables::REPLICA_SET),
        Resource::typed::<StatefulSet>()
            .short(&["sts"])
            .in_all()
            .counted()
            .status(json!({"availableReplicas": 0}))
            .scaled(ScalePaths::workload())
            .rules(rules::STATEFUL_SET)
            .columns(tables::STATEFUL_SET),
        Resource::typed::<DaemonSet>()
            .short(&["ds"])
            .in_all()
            .counted()
            .status(json!({}))
            .rules(rules::DAEMON_SET)
            .columns(tables::DAEMON_SET),
        Resource::typed::<ControllerRevision>(),
    ]
}

fn batch() -> Vec<Resource> {
    vec![
        Resource::typed::<Job>()
            .in_all()
            .counted()
            .status(json!({}))
            .selectable(&["status.successful"])
            .rules(rules::JOB)
            .columns(tables::JOB),
        Resource::typed::<CronJob>()
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
        Resource::typed::<HorizontalPodAutoscaler>()
            .short(&["hpa"])
            .in_all()
            .counted()
            .status(json!({"desiredReplicas": 0, "currentMetrics": null}))
            .rules(rules::HORIZONTAL_POD_AUTOSCALER)
            .columns(tables::HORIZONTAL_POD_AUTOSCALER),
        Resource::typed::<OldHorizontalPodAutoscaler>()
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
    vec![
        Resource::typed::<Lease>().columns(tables::LEASE),
        Resource::typed::<PodDisruptionBudget>()
            .short(&["pdb"])
            .counted()
            .status(json!({}))
            .columns(tables::POD_DISRUPTION_BUDGET),
        Resource::typed::<Role>(),
        Resource::typed::<RoleBinding>(),
        Resource::typed::<ClusterRole>(),
        Resource::typed::<ClusterRoleBinding>(),
        Resource::typed::<EndpointSlice>().counted(),
        Resource::typed::<NetworkPolicy>()
            .short(&["netpol"])
            .counted(),
    ]
}

fn cluster() -> Vec<Resource> {
    vec![
        Resource::typed::<MutatingWebhookConfiguration>()
            .counted()
            .rules(rules::MUTATING_WEBHOOK_CONFIGURATION)
            .columns(tables::MUTATING_WEBHOOK_CONFIGURATION),
        Resource::typed::<CustomResourceDefinition>()
            .short(&["crd", "crds"])
            .counted()
            .status(json!({}))
            .rules(rules::CUSTOM_RESOURCE_DEFINITION)
            .columns(tables::CUSTOM_RESOURCE_DEFINITION),
        Resource::typed::<APIService>().status(json!({})),
        Resource::typed::<PriorityClass>()
            .short(&["pc"])
            .counted()
            .columns(tables::PRIORITY_CLASS),
    ]
}

fn volumes() -> Vec<Resource> {
    vec![
        Resource::typed::<StorageClass>().short(&["sc"]),
        Resource::typed::<CSINode>(),
        Resource::typed::<CSIDriver>(),
        Resource::typed::<VolumeAttachment>().status(json!({})),
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
