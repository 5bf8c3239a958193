//! The newest answers of all kubelets, and the columns that rounds take from them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_metrics::kubelet_stats::DiskUse;
use evenkeel_metrics::usage::{NodeColumn, NodeSample, PodColumn, UsageSample};
use evenkeel_objects::pod_name::{PodName, PodNames};
use evenkeel_units::{Amount, Resource};
use jiff::{SignedDuration, Timestamp};

use crate::metrics::answer::{Content, QueryAnswer};
use crate::metrics::rejected_samples::RejectedSamples;

/// The known disk usage of all nodes; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Disks(Arc<Mutex<KubeletDiskState>>);

#[derive(Debug, Default)]
struct KubeletDiskState {
    nodes: BTreeMap<Arc<str>, NodeDisk>,
    names: PodNames,
    /// The columns of the nodes as they stand, until one changes.
    columns: Option<UsageSample>,
}

#[derive(Debug)]
struct NodeDisk {
    used: NodeSample,
    pods: Vec<(PodName, Amount)>,
}

impl Disks {
    /// Takes the answer of a node's kubelet, which came at `now`.
    pub(super) fn put(&self, node: &str, answer: &DiskUse, now: Timestamp) {
        let mut inner = self.lock();
        let KubeletDiskState {
            nodes,
            names,
            columns,
        } = &mut *inner;
        let pods: Vec<(PodName, Amount)> = answer
            .pods
            .iter()
            .map(|pod| (names.get(&pod.namespace, &pod.name), Amount::new(pod.bytes)))
            .collect();
        let all = pods
            .iter()
            .fold(Amount::ZERO, |sum, (_, used)| sum.saturating_add(*used));
        let disk = NodeDisk {
            used: NodeSample {
                value: all,
                // A clock ahead of ours must not make a value fresh for longer.
                at: answer.at.min(now),
                window: SignedDuration::ZERO,
            },
            pods,
        };
        nodes.insert(node.into(), disk);
        *columns = None;
    }

    /// Forgets all nodes that `keep` does not name.
    pub(super) fn retain(&self, keep: impl Fn(&str) -> bool) {
        let mut inner = self.lock();
        let before = inner.nodes.len();
        inner.nodes.retain(|name, _| keep(name));
        if inner.nodes.len() != before {
            inner.columns = None;
        }
    }

    /// The columns of the nodes and of the Pods.
    pub(super) fn answer(&self) -> QueryAnswer {
        let mut inner = self.lock();
        let KubeletDiskState { nodes, columns, .. } = &mut *inner;
        let usage = columns.get_or_insert_with(|| of(nodes)).clone();
        QueryAnswer {
            content: Content::Usage(usage),
            dropped: RejectedSamples::default(),
            warning: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, KubeletDiskState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn of(nodes: &BTreeMap<Arc<str>, NodeDisk>) -> UsageSample {
    let used = |(name, disk): (&Arc<str>, &NodeDisk)| (Arc::clone(name), disk.used);
    let of_nodes: NodeColumn = nodes.iter().map(used).collect();
    let pods = nodes.values().flat_map(|disk| disk.pods.iter().cloned());
    let of_pods: PodColumn = pods.collect();
    let mut usage = UsageSample::default();
    usage.nodes[Resource::Disk] = Arc::new(of_nodes);
    usage.pods[Resource::Disk] = Arc::new(of_pods);
    usage
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::kubelet_stats::PodDiskUse;
    use evenkeel_objects::lenient_object::UnreadableItems;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn answer(second: i64, pods: &[(&str, u64)]) -> DiskUse {
        DiskUse {
            node: String::new(),
            at: at(second),
            pods: pods
                .iter()
                .map(|(name, bytes)| PodDiskUse {
                    namespace: "shop".to_owned(),
                    name: (*name).to_owned(),
                    bytes: *bytes,
                })
                .collect(),
            unmeasured: 0,
            unreadable: UnreadableItems::default(),
        }
    }

    fn usage(disks: &Disks) -> UsageSample {
        match disks.answer().content {
            Content::Usage(usage) => usage,
            Content::Times(_) => panic!("disks tell no times"),
        }
    }

    #[test]
    fn a_node_uses_what_its_pods_use_at_the_kubelets_own_time() {
        let disks = Disks::default();
        disks.put("a", &answer(10, &[("web", 3), ("db", 4)]), at(12));
        disks.put("b", &answer(99, &[]), at(20));
        let sample = usage(&disks);
        let node = |name: &str| sample.node(name)[Resource::Disk].unwrap();
        assert_eq!((node("a").value, node("a").at), (Amount::new(7), at(10)));
        let ahead = (node("b").value, node("b").at);
        assert_eq!(ahead, (Amount::ZERO, at(20)), "its clock is ahead");
        let db = sample.of_pod("shop", "db", Resource::Disk);
        assert_eq!(db, Some(Amount::new(4)));
    }

    #[test]
    fn columns_are_shared_until_a_node_answers_or_goes() {
        let disks = Disks::default();
        disks.put("a", &answer(10, &[("web", 3)]), at(12));
        let (first, again) = (usage(&disks), usage(&disks));
        let shared = |a: &UsageSample, b: &UsageSample| {
            Arc::ptr_eq(&a.pods[Resource::Disk], &b.pods[Resource::Disk])
        };
        assert!(shared(&first, &again));
        disks.retain(|name| name == "a");
        assert!(shared(&first, &usage(&disks)));
        disks.put("a", &answer(310, &[]), at(312));
        let later = usage(&disks);
        assert_eq!(later.of_pod("shop", "web", Resource::Disk), None);
        disks.retain(|_| false);
        assert!(usage(&disks).node_names().is_empty());
    }
}
