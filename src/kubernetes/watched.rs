//! Pods, nodes and namespaces as watches hold them.
//!
//! `kube` asks for the whole `ObjectMeta`, which would be most of the memory of a large cluster;
//! these types give it only what identifies the object, beside the few fields that rules read.

use std::borrow::Cow;

use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer};

use super::json::null_is_default;
use super::meta::Meta;
use super::node::Node;
use super::pod::Pod;

/// A namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Namespace {
    /// Name, annotations and labels.
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
}

macro_rules! watched {
    ($(#[$doc:meta])* $name:ident, $field:ident: $object:ty, as $kind:ty) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name {
            /// Name, namespace, uid and resource version; nothing else.
            pub metadata: ObjectMeta,
            /// The object.
            pub $field: $object,
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let $field = <$object>::deserialize(deserializer)?;
                Ok(Self {
                    metadata: $field.metadata.identity(),
                    $field,
                })
            }
        }

        impl kube::Resource for $name {
            type DynamicType = ();
            type Scope = <$kind as kube::Resource>::Scope;

            fn kind(dynamic: &()) -> Cow<'_, str> {
                <$kind as kube::Resource>::kind(dynamic)
            }

            fn group(dynamic: &()) -> Cow<'_, str> {
                <$kind as kube::Resource>::group(dynamic)
            }

            fn version(dynamic: &()) -> Cow<'_, str> {
                <$kind as kube::Resource>::version(dynamic)
            }

            fn plural(dynamic: &()) -> Cow<'_, str> {
                <$kind as kube::Resource>::plural(dynamic)
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
    /// A Pod in a watch.
    WatchedPod, pod: Pod, as v1::Pod
);
watched!(
    /// A node in a watch.
    WatchedNode, node: Node, as v1::Node
);
watched!(
    /// A namespace in a watch.
    WatchedNamespace, namespace: Namespace, as v1::Namespace
);

#[cfg(test)]
mod tests {
    use kube::Resource;
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
