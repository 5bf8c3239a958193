//! Objects as watches hold them. `kube` asks for the whole `ObjectMeta`, most of the memory of a
//! large cluster; these types hold only the identity and the fields that rules read.

use std::borrow::Cow;

use evenkeel_api::replica_profile::ReplicaProfile;
use evenkeel_disk_io::node_pod::NodePod;
use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_objects::annotated_object::AnnotatedObject;
use evenkeel_objects::custom_kind::CustomObject;
use evenkeel_objects::disruption_budget::DisruptionBudget;
use evenkeel_objects::json::null_is_default;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::node::Node;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::workload::Workload;
use evenkeel_scaling::specs::cron_hpa::CronHpa;
use evenkeel_scaling::specs::horizontal_portrait::HorizontalPortrait;
use evenkeel_scaling::specs::ihpa::Ihpa;
use evenkeel_scaling::targets::scaled_object::ScaledObject;
use k8s_openapi::api::core::v1;
use k8s_openapi::api::{apps, autoscaling, batch, policy};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ApiResource;
use serde::{Deserialize, Deserializer};

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

/// Implements the trait for objects of a built-in kind, of a kind of `Kind`, or of a kind that only the caller
/// knows.
macro_rules! resource {
    (built_in($kind:ty), $name:ident) => {
        resource!(
            @ $name, <$kind as kube::Resource>::Scope, |_of: ()|
            <$kind as kube::Resource>::kind(&()),
            <$kind as kube::Resource>::group(&()),
            <$kind as kube::Resource>::version(&()),
            <$kind as kube::Resource>::plural(&())
        );
    };
    (defined($kind:path), $name:ident) => {
        resource!(
            @ $name, kube::core::NamespaceResourceScope, |_of: ()|
            $kind.as_str().into(),
            $kind.group().into(),
            $kind.version().into(),
            $kind.plural().into()
        );
    };
    (any(), $name:ident) => {
        resource!(
            @ $name, kube::core::NamespaceResourceScope, |of: ApiResource|
            (&*of.kind).into(),
            (&*of.group).into(),
            (&*of.version).into(),
            (&*of.plural).into()
        );
    };
    (@ $name:ident, $scope:ty, |$of:ident: $dynamic:ty|
        $kind:expr, $group:expr, $version:expr, $plural:expr) => {
        impl kube::Resource for $name {
            type DynamicType = $dynamic;
            type Scope = $scope;

            fn kind($of: &$dynamic) -> Cow<'_, str> {
                $kind
            }

            fn group($of: &$dynamic) -> Cow<'_, str> {
                $group
            }

            fn version($of: &$dynamic) -> Cow<'_, str> {
                $version
            }

            fn plural($of: &$dynamic) -> Cow<'_, str> {
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

macro_rules! watched {
    ($($(#[$doc:meta])* $name:ident { $field:ident: $object:ty $(as $kind:path)? } = $how:ident($($of:tt)*);)*) => {$(
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
                let $field = <$object>::deserialize($($kind,)? deserializer)?;
                Ok(Self {
                    metadata: $field.metadata.identity(),
                    $field,
                })
            }
        }

        resource!($how($($of)*), $name);
    )*};
}

watched! {
    /// A Pod in a watch.
    WatchedPod { pod: Pod } = built_in(v1::Pod);
    /// A Pod in the watch of its node's agent.
    WatchedNodePod { pod: NodePod } = built_in(v1::Pod);
    /// A node in a watch.
    WatchedNode { node: Node } = built_in(v1::Node);
    /// A namespace in a watch.
    WatchedNamespace { namespace: Namespace } = built_in(v1::Namespace);
    /// A Job in a watch.
    WatchedJob { job: OwnedObject } = built_in(batch::v1::Job);
    /// An HPA in a watch.
    WatchedAutoscaler { autoscaler: Autoscaler } = built_in(autoscaling::v2::HorizontalPodAutoscaler);
    /// A Deployment in a watch.
    WatchedDeployment { workload: Workload as Kind::Deployment } = built_in(apps::v1::Deployment);
    /// A StatefulSet in a watch.
    WatchedStatefulSet { workload: Workload as Kind::StatefulSet } = built_in(apps::v1::StatefulSet);
    /// A ReplicaSet in a watch.
    WatchedReplicaSet { workload: Workload as Kind::ReplicaSet } = built_in(apps::v1::ReplicaSet);
    /// A DaemonSet in a watch.
    WatchedDaemonSet { workload: Workload as Kind::DaemonSet } = built_in(apps::v1::DaemonSet);
    /// A PodDisruptionBudget in a watch.
    WatchedDisruptionBudget { budget: DisruptionBudget } = built_in(policy::v1::PodDisruptionBudget);
    /// A CronHPA in a watch.
    WatchedCronHpa { cron_hpa: CronHpa } = defined(Kind::CronHpa);
    /// A ReplicaProfile in a watch.
    WatchedReplicaProfile { profile: ReplicaProfile } = defined(Kind::ReplicaProfile);
    /// An IntelligentHorizontalPodAutoscaler in a watch.
    WatchedIhpa { ihpa: Ihpa } = defined(Kind::Ihpa);
    /// A HorizontalPortrait in a watch.
    WatchedHorizontalPortrait { portrait: HorizontalPortrait } = defined(Kind::HorizontalPortrait);
    /// A KEDA ScaledObject in a watch.
    WatchedScaledObject { scaled_object: ScaledObject } = defined(Kind::ScaledObject);
    /// A custom resource in a watch.
    WatchedCustomObject { object: CustomObject } = any();
    /// An object of any kind in a list, with its annotations.
    ListedObject { object: AnnotatedObject } = any();
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::lenient_object::LenientObject;
    use kube::core::{ObjectList, Resource, WatchEvent};
    use serde::de::DeserializeOwned;
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

    fn nested(levels: usize) -> String {
        format!("{}1{}", r#"{"f:a":"#.repeat(levels), "}".repeat(levels))
    }

    /// The names in a list of one object with these fields and one without any.
    fn listed<K: Resource + Clone + DeserializeOwned>(fields: &str) -> Vec<(String, bool)> {
        let item = |name: &str, fields: &str| {
            format!(r#"{{"metadata": {{"name": "{name}", "namespace": "shop"}}{fields}}}"#)
        };
        let text = format!(
            r#"{{"kind": "List", "apiVersion": "v1", "metadata": {{}}, "items": [{}, {}]}}"#,
            item("bad", fields),
            item("good", "")
        );
        let list: ObjectList<LenientObject<K>> = serde_json::from_str(&text).unwrap();
        let named = list.items.iter().map(|one| {
            let name = one.meta().name.clone().unwrap_or_default();
            (name, one.0.is_ok())
        });
        named.collect()
    }

    /// The harm: one object of one tenant made every later list of its kind fail.
    #[test]
    fn an_object_that_cannot_be_read_is_left_out_of_its_list_alone() {
        for fields in [
            r#", "spec": 5"#.to_owned(),
            format!(r#", "spec": {{"containers": {}}}"#, nested(500)),
        ] {
            let bad = [("bad".to_owned(), false), ("good".to_owned(), true)];
            assert_eq!(listed::<WatchedPod>(&fields), bad, "{fields}");
        }
    }

    #[test]
    fn depth_where_anything_may_stand_hides_no_object() {
        let deep = nested(500);
        let both = [("bad".to_owned(), true), ("good".to_owned(), true)];
        let config = format!(r#", "spec": {{"algorithm": {{"config": {deep}}}}}"#);
        assert_eq!(listed::<WatchedHorizontalPortrait>(&config), both);
        let template = format!(
            r#", "spec": {{"portraitProviders": [{{"type": "Dynamic", "dynamic": {{"algorithm": {{"config": {deep},
                "externalJob": {{"job": {{"cronJob": {{"template": {{"spec": {deep}}}}}}}}}}}}}}}]}}"#
        );
        assert_eq!(listed::<WatchedIhpa>(&template), both);
        // Managed fields, which objects of every kind have.
        let fields = format!(
            r#", "metadata": {{"name": "bad", "managedFields": [{{"manager": "a", "fieldsV1": {deep}}}]}}"#
        );
        let list = |text: &str| {
            let text = format!(r#"{{"type": "ADDED", "object": {{"kind": "Job"{text}}}}}"#);
            let event: WatchEvent<LenientObject<WatchedJob>> = serde_json::from_str(&text).unwrap();
            let WatchEvent::Added(job) = event else {
                panic!("{event:?}")
            };
            job.0.unwrap().metadata.name.unwrap()
        };
        assert_eq!(list(&fields), "bad");
    }
}
