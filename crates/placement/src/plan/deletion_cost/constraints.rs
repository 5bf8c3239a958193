//! The topology spread constraints of the Pods that may go, with the Pod counts of their domains.
//! If Pods differ, each constraint counts for the Pods that carry it; Pods without constraints get
//! kube-scheduler's default. Tenants write constraints: a ReplicaSet with too many of them is left
//! alone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use evenkeel_objects::meta::AllLabels;
use evenkeel_objects::pod::TopologySpread;
use foldhash::fast::RandomState;

use crate::deletion_cost::SpreadConstraint;
use crate::removable_pod::RemovablePod;

/// The most constraints on one ReplicaSet's Pods: those of a template are one to three.
pub(super) const MOST_CONSTRAINTS: usize = 12;
/// The most terms of all of them, each of which may be compared with every Pod of the namespace.
const MOST_TERMS: usize = 200;

/// The default constraints of kube-scheduler (documented under `defaultingType: System`): the node
/// label and the maximum skew. They count the Pods of the same ReplicaSet.
const DEFAULTS: [(&str, u32); 2] = [
    ("kubernetes.io/hostname", 3),
    ("topology.kubernetes.io/zone", 5),
];

pub type NodeLabels = HashMap<Arc<str>, Arc<AllLabels>, RandomState>;

/// The Pods of a namespace, which are read once for all of its ReplicaSets.
pub type NamespacePods = Arc<Vec<Arc<RemovablePod>>>;

type LabelledConstraint<'a> = (&'a TopologySpread, &'a AllLabels);

/// The constraints of the Pods, hard ones first; `None` if there are too many. `around` is read
/// only if a constraint counts its Pods.
pub(super) fn constraints(
    pods: &[Arc<RemovablePod>],
    around: &dyn Fn() -> NamespacePods,
    labels: &NodeLabels,
) -> Option<Vec<SpreadConstraint>> {
    let mut known = distinct(pods)?;
    if known.is_empty() {
        return Some(defaults(pods, labels));
    }
    known.sort_by_key(|(spread, _)| !spread.is_hard);
    let around = around();
    let counted = known.into_iter().map(|(spread, own)| {
        let selector = spread.selector(own);
        let domain = |pod: &RemovablePod| {
            let domain = domain(pod, &spread.topology_key, labels)?;
            selector.matches(&pod.common.labels).then_some(domain)
        };
        let (counts, domains) = counted(pods, &around, domain);
        SpreadConstraint {
            max_skew: spread.max_skew,
            counts,
            domains,
            is_default: false,
        }
    });
    Some(counted.collect())
}

/// Every constraint once, with the labels that narrow it; `None` where there are too many.
fn distinct(pods: &[Arc<RemovablePod>]) -> Option<Vec<LabelledConstraint<'_>>> {
    let mut known: Vec<LabelledConstraint<'_>> = Vec::new();
    let mut terms = 0;
    for pod in pods {
        for spread in &pod.common.spread {
            let is_known = known.iter().any(|&(other, of)| {
                let is_same = std::ptr::eq(other, spread) || other == spread;
                is_same && spread.is_same_beside(of, &pod.common.labels)
            });
            if is_known {
                continue;
            }
            terms += spread.terms();
            if known.len() == MOST_CONSTRAINTS || terms > MOST_TERMS {
                return None;
            }
            known.push((spread, &pod.common.labels));
        }
    }
    Some(known)
}

fn defaults(pods: &[Arc<RemovablePod>], labels: &NodeLabels) -> Vec<SpreadConstraint> {
    let counted = DEFAULTS.map(|(key, max_skew)| {
        let (counts, domains) = counted(pods, pods, |pod| domain(pod, key, labels));
        SpreadConstraint {
            max_skew,
            counts,
            domains,
            is_default: true,
        }
    });
    counted.into()
}

fn domain<'l>(pod: &RemovablePod, key: &str, labels: &'l NodeLabels) -> Option<&'l str> {
    let node = labels.get(pod.node.as_deref()?)?;
    node.get(key).map(String::as_str)
}

/// The Pods of each domain among those `around`, and the index of each Pod's own count.
fn counted<'l>(
    pods: &[Arc<RemovablePod>],
    around: &[Arc<RemovablePod>],
    domain: impl Fn(&RemovablePod) -> Option<&'l str>,
) -> (Vec<u32>, Vec<Option<usize>>) {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut counts = Vec::new();
    for domain in around.iter().filter_map(|pod| domain(pod)) {
        let place = *places.entry(domain).or_insert(counts.len());
        if place == counts.len() {
            counts.push(0);
        }
        counts[place] += 1;
    }
    let domains = pods.iter().map(|pod| places.get(domain(pod)?).copied());
    let domains = domains.collect();
    (counts, domains)
}
