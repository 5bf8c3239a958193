//! Pods as the agent of their node sees them: their cgroup and the host folders that they mount.
//! The service keeps all Pods of the cluster and needs none of this; the agent needs little else.

use evenkeel_objects::annotations::MIRROR;
use evenkeel_objects::json::{lenient, list, null_is_default};
use evenkeel_objects::meta::Meta;
use evenkeel_objects::pod::PodStatusPhase;
use evenkeel_objects::qos_class::QosClass;
use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodePod {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    pub spec: NodePodSpec,
    #[serde(deserialize_with = "null_is_default")]
    pub status: NodePodStatus,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodePodSpec {
    #[serde(deserialize_with = "list")]
    pub volumes: Vec<Volume>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Volume {
    #[serde(deserialize_with = "lenient")]
    pub host_path: Option<HostPath>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HostPath {
    #[serde(deserialize_with = "null_is_default")]
    pub path: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodePodStatus {
    #[serde(deserialize_with = "null_is_default")]
    pub phase: PodStatusPhase,
    #[serde(deserialize_with = "lenient")]
    pub qos_class: Option<QosClass>,
}

impl NodePod {
    /// The UID by which kubelet knows the Pod. A mirror of a static Pod has another UID in the API,
    /// and an annotation holds the Pod's own. Any user may write that annotation, so it counts only
    /// if it is a digest, as only UIDs of static Pods are.
    pub fn kubelet_uid(&self) -> Option<&str> {
        match self.metadata.annotation(MIRROR) {
            None => self.metadata.uid.as_deref(),
            Some(digest) => {
                let is_hexadecimal = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
                (is_hexadecimal && !digest.is_empty()).then_some(digest)
            }
        }
    }

    /// True where it says that it mirrors a Pod that kubelet runs from a file.
    pub fn is_mirror(&self) -> bool {
        self.metadata.annotation(MIRROR).is_some()
    }

    /// True once all of its containers have ended for good.
    pub const fn is_finished(&self) -> bool {
        matches!(
            self.status.phase,
            PodStatusPhase::Succeeded | PodStatusPhase::Failed
        )
    }

    /// The node's own folders that are mounted into it.
    pub fn host_paths(&self) -> impl Iterator<Item = &str> {
        let paths = self.spec.volumes.iter();
        paths.filter_map(|volume| Some(&*volume.host_path.as_ref()?.path))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_read_as_far_as_its_node_needs_it() {
        let pod: NodePod = serde_json::from_value(json!({
            "metadata": {"name": "web-0", "namespace": "shop", "uid": "u-1"},
            "spec": {"nodeName": "a", "containers": [{}], "volumes": [
                {"name": "x", "hostPath": {"path": "/data", "type": "Directory"}},
                {"name": "y", "emptyDir": {}},
                null,
            ]},
            "status": {"phase": "Running", "qosClass": "BestEffort", "hostIP": "10.0.0.1"},
        }))
        .unwrap();
        assert_eq!(pod.kubelet_uid(), Some("u-1"));
        assert_eq!(pod.status.qos_class, Some(QosClass::BestEffort));
        assert_eq!(pod.host_paths().collect::<Vec<_>>(), ["/data"]);
        assert!(!pod.is_finished());
    }

    #[test]
    fn nulls_and_what_is_unknown_leave_the_rest_readable() {
        for status in [
            json!(null),
            json!({"qosClass": null, "phase": null}),
            json!({"qosClass": "Better"}),
        ] {
            let pod = json!({"metadata": {"uid": "u"}, "spec": null, "status": status});
            let pod: NodePod = serde_json::from_value(pod).unwrap();
            assert_eq!(pod.status.qos_class, None, "{status}");
        }
    }

    #[test]
    fn kubelet_knows_a_static_pod_by_another_uid() {
        let pod = json!({"metadata": {"uid": "u", "annotations": {MIRROR: "c0ffee"}}});
        let pod: NodePod = serde_json::from_value(pod).unwrap();
        assert_eq!(pod.kubelet_uid(), Some("c0ffee"));
    }

    #[test]
    fn a_pod_that_says_it_is_a_mirror_reaches_no_others_cgroup() {
        for forged in ["0b9c1a2d-77aa-4f00-9d3e-3f2b6e1c0a11", "../x", ""] {
            let pod = json!({"metadata": {"uid": "u", "annotations": {MIRROR: forged}}});
            let pod: NodePod = serde_json::from_value(pod).unwrap();
            assert_eq!(pod.kubelet_uid(), None, "{forged}");
            assert!(pod.is_mirror());
        }
    }
}
