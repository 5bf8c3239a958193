//! The disk use of Pods on their node, from kubelet's `/stats/summary`. A Pod's `ephemeral-storage`
//! is what kubelet evicts by: writable layers, logs and emptyDirs. Images are left out: kubelet
//! limits them apart and removes them if room is short. An unreadable Pod does not affect the
//! others.

use evenkeel_objects::json::{lenient_time, list, null_is_default};
use evenkeel_objects::lenient_object::{LenientObject, UnreadableItems};
use jiff::Timestamp;
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq)]
pub struct DiskUse {
    /// The name that the kubelet gives itself.
    pub node: String,
    /// When its file systems were last looked at.
    pub at: Timestamp,
    pub pods: Vec<PodDiskUse>,
    /// The number of Pods without a measurement of their disk yet.
    pub unmeasured: u64,
    /// Pods that cannot be read.
    pub unreadable: UnreadableItems,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodDiskUse {
    pub namespace: String,
    pub name: String,
    pub bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It does not say when the disk was looked at.
    #[error("it has no time for the node's filesystem")]
    Undated,
}

#[derive(Deserialize)]
struct KubeletSummary {
    node: KubeletNodeStats,
    #[serde(default, deserialize_with = "list")]
    pods: Vec<LenientObject<KubeletPodStats>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KubeletNodeStats {
    node_name: String,
    #[serde(default, deserialize_with = "null_is_default")]
    fs: FileSystem,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct KubeletPodStats {
    #[serde(rename = "podRef")]
    name: PodRef,
    #[serde(default, deserialize_with = "null_is_default")]
    ephemeral_storage: FileSystem,
}

#[derive(Deserialize)]
struct PodRef {
    name: String,
    namespace: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FileSystem {
    #[serde(deserialize_with = "lenient_time")]
    time: Option<Timestamp>,
    used_bytes: Option<u64>,
}

/// Reads the answer to `/stats/summary`.
///
/// # Errors
/// It is no summary, or tells nothing of disks.
pub fn disk_use(body: &[u8]) -> Result<DiskUse, SummaryError> {
    let KubeletSummary { node, pods } = serde_json::from_slice(body)?;
    let mut found = DiskUse {
        node: node.node_name,
        at: node.fs.time.ok_or(SummaryError::Undated)?,
        pods: Vec::with_capacity(pods.len()),
        unmeasured: 0,
        unreadable: UnreadableItems::default(),
    };
    for LenientObject(pod) in pods {
        let KubeletPodStats {
            name: PodRef { name, namespace },
            ephemeral_storage,
        } = match pod {
            Ok(pod) => pod,
            Err(unreadable) => {
                found.unreadable.add(unreadable);
                continue;
            }
        };
        match ephemeral_storage.used_bytes {
            Some(bytes) => found.pods.push(PodDiskUse {
                namespace,
                name,
                bytes,
            }),
            None => found.unmeasured += 1,
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &[u8] =
        include_bytes!("../../../tests/fixtures/exporters/stats-summary-containerd.json");

    #[test]
    fn the_use_of_pods_is_read_and_images_and_volumes_in_memory_are_not() {
        let found = disk_use(RECORDED).unwrap();
        assert_eq!(found.node, "datagen-1-35");
        assert_eq!(found.at.to_string(), "2026-06-26T10:14:35Z");
        let used: Vec<(&str, &str, u64)> = found
            .pods
            .iter()
            .map(|pod| (&*pod.namespace, &*pod.name, pod.bytes))
            .collect();
        // Layers, logs and 4096 bytes of the Pod's own; the second one's token volume is in memory.
        let (scraper, own) = (13_287_424 + 4096, 4096);
        assert_eq!(
            used,
            [
                ("kube-system", "etcd-datagen-1-35", 40_960 + 20_480 + own),
                ("scraper", "e2e-scraper-5f97dc94d8-vkcjl", scraper + own),
                ("scraper", "e2e-statefulset-0", 28_672 + own),
            ]
        );
        assert_eq!(found.unmeasured, 0);
    }

    #[test]
    fn a_pod_that_has_not_been_looked_at_is_unmeasured_and_not_empty() {
        let body =
            br#"{"node": {"nodeName": "a", "fs": {"time": "2026-01-01T00:00:00Z"}}, "pods": [
            {"podRef": {"name": "new", "namespace": "x"}, "containers": []},
            {"podRef": {"name": "odd", "namespace": "x"}, "ephemeral-storage": null},
            {"podRef": {"name": "b", "namespace": "x"}, "ephemeral-storage": {"usedBytes": 7}}]}"#;
        let found = disk_use(body).unwrap();
        assert_eq!((found.pods.len(), found.unmeasured), (1, 2));
        assert_eq!(found.pods[0].bytes, 7);
    }

    #[test]
    fn a_pod_that_cannot_be_read_leaves_the_others() {
        let body =
            br#"{"node": {"nodeName": "a", "fs": {"time": "2026-01-01T00:00:00Z"}}, "pods": [
            {"podRef": {"name": 7, "namespace": "x"}, "ephemeral-storage": {"usedBytes": 3}},
            {"podRef": {"name": "c", "namespace": "x"}, "ephemeral-storage": {"usedBytes": "much"}},
            {"podRef": {"name": "b", "namespace": "x"}, "ephemeral-storage": {"usedBytes": 7}}]}"#;
        let found = disk_use(body).unwrap();
        assert_eq!((found.pods.len(), found.pods[0].bytes), (1, 7));
        assert_eq!(found.unreadable.count, 2);
    }

    #[test]
    fn what_is_no_summary_is_refused() {
        for body in [
            "",
            "{}",
            r#"{"node": {"nodeName": "a"}, "pods": null}"#,
            r#"{"node": {"nodeName": "a", "fs": null}}"#,
            r#"{"pods": [{"podRef": {}}]}"#,
        ] {
            assert!(disk_use(body.as_bytes()).is_err(), "{body}");
        }
    }
}
