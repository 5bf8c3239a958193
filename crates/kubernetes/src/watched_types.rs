//! Objects as watches hold them. `kube` asks for the whole `ObjectMeta`, most of the memory of a
//! large cluster; these types hold only the identity and the fields that rules read.

use std::borrow::Cow;

use k8s_openapi::api::{apps, autoscaling, batch, core::v1, policy};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::ApiResource;
use serde::{Deserialize, Deserializer};

use super::annotated_object::AnnotatedObject;
use super::autoscaler::Autoscaler;
use super::cron_hpa::CronHpa;
use super::custom_kind::CustomObject;
use super::disruption_budget::DisruptionBudget;
use super::horizontal_portrait::HorizontalPortrait;
use super::ihpa::Ihpa;
use super::json::null_is_default;
use super::kinds::Kind;
use super::meta::Meta;
use super::node::Node;
use super::node_pod::NodePod;
use super::pod::Pod;
use super::replica_profile::ReplicaProfile;
use super::scaled_object::ScaledObject;
use super::workload::Workload;

/// A namespace, of which rules read the metadata alone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Namespace {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct OwnedObject {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
}

macro_rules! watched {
    ($(#[$doc:meta])* $name:ident, $field:ident: $object:ty, read by $read:path) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            /// Name, namespace, uid and resource version; nothing else.
            pub metadata: ObjectMeta,
            /// The object, as far as rules read it.
            pub $field: $object,
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let $field = $read(deserializer)?;
                Ok(Self {
                    metadata: $field.metadata.identity(),
                    $field,
                })
            }
        }
    };
}

macro_rules! resource {
    ($name:ident as $kind:ty) => {
        resource!(
            $name,
            <$kind as kube_core::Resource>::Scope,
            <$kind as kube_core::Resource>::kind(&()),
            <$kind as kube_core::Resource>::group(&()),
            <$kind as kube_core::Resource>::version(&()),
            <$kind as kube_core::Resource>::plural(&())
        );
    };
    ($name:ident, $scope:ty, $kind:expr, $group:expr, $version:expr, $plural:expr) => {
        impl kube_core::Resource for $name {
            type DynamicType = ();
            type Scope = $scope;

            fn kind((): &()) -> Cow<'_, str> {
                $kind
            }

            fn group((): &()) -> Cow<'_, str> {
                $group
            }

            fn version((): &()) -> Cow<'_, str> {
                $version
            }

            fn plural((): &()) -> Cow<'_, str> {
                $plural
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

watched!(
    WatchedPod, pod: Pod, read by Pod::deserialize
);
resource!(WatchedPod as v1::Pod);
watched!(
    WatchedNodePod, pod: NodePod, read by NodePod::deserialize
);
resource!(WatchedNodePod as v1::Pod);
watched!(
    WatchedNode, node: Node, read by Node::deserialize
);
resource!(WatchedNode as v1::Node);
watched!(
    WatchedNamespace, namespace: Namespace, read by Namespace::deserialize
);
resource!(WatchedNamespace as v1::Namespace);
watched!(
    WatchedJob, job: OwnedObject, read by OwnedObject::deserialize
);
resource!(WatchedJob as batch::v1::Job);
watched!(
    WatchedAutoscaler, autoscaler: Autoscaler, read by Autoscaler::deserialize
);
resource!(WatchedAutoscaler as autoscaling::v2::HorizontalPodAutoscaler);
watched!(
    WatchedDeployment, workload: Workload, read by deployment
);
resource!(WatchedDeployment as apps::v1::Deployment);
watched!(
    WatchedStatefulSet, workload: Workload, read by stateful_set
);
resource!(WatchedStatefulSet as apps::v1::StatefulSet);
watched!(
    WatchedReplicaSet, workload: Workload, read by replica_set
);
resource!(WatchedReplicaSet as apps::v1::ReplicaSet);
watched!(
    WatchedDaemonSet, workload: Workload, read by daemon_set
);
resource!(WatchedDaemonSet as apps::v1::DaemonSet);
watched!(
    WatchedCronHpa, cron_hpa: CronHpa, read by CronHpa::deserialize
);
resource!(
    WatchedCronHpa,
    kube_core::NamespaceResourceScope,
    Kind::CronHpa.as_str().into(),
    Kind::CronHpa.group().into(),
    Kind::CronHpa.version().into(),
    Kind::CronHpa.plural().into()
);
watched!(
    WatchedReplicaProfile, profile: ReplicaProfile, read by ReplicaProfile::deserialize
);
resource!(
    WatchedReplicaProfile,
    kube_core::NamespaceResourceScope,
    Kind::ReplicaProfile.as_str().into(),
    Kind::ReplicaProfile.group().into(),
    Kind::ReplicaProfile.version().into(),
    Kind::ReplicaProfile.plural().into()
);
watched!(
    WatchedDisruptionBudget, budget: DisruptionBudget, read by DisruptionBudget::deserialize
);
resource!(WatchedDisruptionBudget as policy::v1::PodDisruptionBudget);
watched!(
    WatchedIhpa, ihpa: Ihpa, read by Ihpa::deserialize
);
resource!(
    WatchedIhpa,
    kube_core::NamespaceResourceScope,
    Kind::Ihpa.as_str().into(),
    Kind::Ihpa.group().into(),
    Kind::Ihpa.version().into(),
    Kind::Ihpa.plural().into()
);
watched!(
    WatchedHorizontalPortrait, portrait: HorizontalPortrait, read by HorizontalPortrait::deserialize
);
resource!(
    WatchedHorizontalPortrait,
    kube_core::NamespaceResourceScope,
    Kind::HorizontalPortrait.as_str().into(),
    Kind::HorizontalPortrait.group().into(),
    Kind::HorizontalPortrait.version().into(),
    Kind::HorizontalPortrait.plural().into()
);
watched!(
    WatchedScaledObject, scaled_object: ScaledObject, read by ScaledObject::deserialize
);
resource!(
    WatchedScaledObject,
    kube_core::NamespaceResourceScope,
    Kind::ScaledObject.as_str().into(),
    Kind::ScaledObject.group().into(),
    Kind::ScaledObject.version().into(),
    Kind::ScaledObject.plural().into()
);

/// Implements the trait for objects of a kind that only the caller knows.
macro_rules! resource_of_any_kind {
    ($name:ident) => {
        impl kube_core::Resource for $name {
            type DynamicType = ApiResource;
            type Scope = kube_core::NamespaceResourceScope;

            fn kind(resource: &ApiResource) -> Cow<'_, str> {
                (&*resource.kind).into()
            }

            fn group(resource: &ApiResource) -> Cow<'_, str> {
                (&*resource.group).into()
            }

            fn version(resource: &ApiResource) -> Cow<'_, str> {
                (&*resource.version).into()
            }

            fn plural(resource: &ApiResource) -> Cow<'_, str> {
                (&*resource.plural).into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

watched!(
    WatchedCustomObject, object: CustomObject, read by CustomObject::deserialize
);
resource_of_any_kind!(WatchedCustomObject);
watched!(
    ListedObject, object: AnnotatedObject, read by AnnotatedObject::deserialize
);
resource_of_any_kind!(ListedObject);

fn deployment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Workload, D::Error> {
    Workload::deserialize(Kind::Deployment, deserializer)
}

fn stateful_set<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Workload, D::Error> {
    Workload::deserialize(Kind::StatefulSet, deserializer)
}

fn replica_set<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Workload, D::Error> {
    Workload::deserialize(Kind::ReplicaSet, deserializer)
}

fn daemon_set<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Workload, D::Error> {
    Workload::deserialize(Kind::DaemonSet, deserializer)
}

#[cfg(test)]
mod tests {
    use kube_core::Resource;
    use serde_json::json;

    use super::*;

    #[test]
    fn watches_ask_for_the_kinds_of_kubernetes() {
        assert_eq!(
            WatchedPod::url_path(&(), Some("a")),
            "/api/v1/namespaces/a/pods"
        );
        assert_eq!(WatchedNode::url_path(&(), None), "/api/v1/nodes");
        assert_eq!(WatchedNamespace::url_path(&(), None), "/api/v1/namespaces");
        assert_eq!(
            WatchedAutoscaler::url_path(&(), None),
            "/apis/autoscaling/v2/horizontalpodautoscalers"
        );
        assert_eq!(
            WatchedDeployment::url_path(&(), None),
            "/apis/apps/v1/deployments"
        );
        assert_eq!(
            WatchedStatefulSet::url_path(&(), Some("a")),
            "/apis/apps/v1/namespaces/a/statefulsets"
        );
        assert_eq!(
            WatchedScaledObject::url_path(&(), Some("a")),
            "/apis/keda.sh/v1alpha1/namespaces/a/scaledobjects"
        );
        assert_eq!(
            WatchedReplicaProfile::url_path(&(), None),
            "/apis/autoscaling.evenkeel.dev/v1alpha1/replicaprofiles"
        );
        assert_eq!(
            WatchedDisruptionBudget::url_path(&(), None),
            "/apis/policy/v1/poddisruptionbudgets"
        );
        assert_eq!(
            WatchedCronHpa::url_path(&(), None),
            "/apis/autoscaling.evenkeel.dev/v1alpha1/cronhpas"
        );
        assert_eq!(
            WatchedIhpa::url_path(&(), None),
            "/apis/autoscaling.evenkeel.dev/v1alpha1/intelligenthorizontalpodautoscalers"
        );
        assert_eq!(
            WatchedHorizontalPortrait::url_path(&(), None),
            "/apis/autoscaling.evenkeel.dev/v1alpha1/horizontalportraits"
        );
    }

    #[test]
    fn only_the_identity_is_kept_twice() {
        let watched: WatchedPod = serde_json::from_value(json!({
            "metadata": {
                "name": "web-0", "namespace": "shop", "uid": "u", "resourceVersion": "7",
                "annotations": {"evenkeel.dev/skip": "true"}, "labels": {"app": "web"},
                "managedFields": [{"manager": "kubelet"}],
            },
            "spec": {"nodeName": "a"},
        }))
        .unwrap();
        assert_eq!(watched.meta().resource_version.as_deref(), Some("7"));
        assert_eq!(watched.meta().annotations, None);
        assert!(watched.pod.is_skipped());
        assert_eq!(watched.pod.spec.node_name.as_deref(), Some("a"));
    }
}
