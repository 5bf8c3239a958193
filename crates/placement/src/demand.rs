//! The demand of a Pod for each resource, R in `[CLBP] (4.1)`, and the source of each number. The
//! first known source counts: annotation, requests, use by other Pods of the workload up to the CNI
//! bandwidth caps, then the caps if configured. A number without a source is zero and marked
//! unknown. kube-scheduler and quotas check requests. Annotations, caps and use are claims, because
//! the Pod's author may have written them. A Pod is judged by its own claims in full; in sums that
//! affect other Pods, claims count only as [`counted`](Demand::counted) says.

pub(crate) mod annotation;

use std::collections::BTreeMap;
use std::fmt;

use evenkeel_disk_io::disk_io_limit;
use evenkeel_objects::annotations::{
    DEMAND, DISK_IO, EGRESS_BANDWIDTH, INGRESS_BANDWIDTH, InvalidAnnotation, NETWORK_IO, PROFILE,
    SKIP,
};
use evenkeel_objects::meta::OwnerReference;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::{annotations, pod_requests};
use evenkeel_quantity::Quantity;
use evenkeel_units::{Amount, Resource, Resources, words};

use crate::kube_scheduler_scores::{ASSUMED_CPU, ASSUMED_MEMORY};

words! {
    pub enum DemandSource {
        Annotation = "annotation",
        /// The effective request, as kube-scheduler counts it.
        Requests = "requests",
        /// The use by other Pods of the workload.
        History = "history",
        /// The caps of the CNI bandwidth plugin.
        Caps = "caps",
        /// No source; taken for zero.
        Unknown = "unknown",
    }
}

impl DemandSource {
    /// True if the number comes from the author of the Pod, and no program checks it.
    const fn is_claim(self) -> bool {
        matches!(self, Self::Annotation | Self::History | Self::Caps)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    /// R of each resource; zero where it is unknown.
    pub amounts: Resources<Amount>,
    /// R as it is scored and counted for others: without a request for cpu or memory,
    /// kube-scheduler's assumption. Otherwise Pods without requests, the most dangerous ones, would
    /// all go to one node.
    pub assumed: Resources<Amount>,
    /// The amounts that count for others without claims. For cpu and memory known by history alone,
    /// kube-scheduler's assumption.
    unclaimed: Resources<Amount>,
    pub sources: Resources<DemandSource>,
    /// The use by earlier Pods of the workload in their first minutes, where it is more than R;
    /// otherwise zero.
    pub start_up: Resources<Amount>,
    pub invalid: Vec<InvalidAnnotation>,
}

/// A claim that no node could meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExcessiveClaim {
    pub resource: Resource,
    pub claimed: Amount,
    pub largest: Amount,
}

impl fmt::Display for ExcessiveClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the Pod claims {} of {}, and the largest node has {}: no node has headroom for it, \
             and Evenkeel counts only the amount of the largest node",
            self.resource.with_unit(self.claimed),
            self.resource.noun(),
            self.resource.with_unit(self.largest)
        )
    }
}

/// The part of a [`Demand`] that counts for others, small enough to be kept for every Pod. It stays
/// valid if claims start or stop to count, or if another node becomes the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompactDemand {
    unclaimed: Resources<Amount>,
    claims: Resources<Amount>,
    claimed: Resources<bool>,
    /// The resources with amounts that no program checks, even if their claims do not count.
    unchecked: Resources<bool>,
}

impl CompactDemand {
    /// Of this demand, with what counts of its claims at most.
    pub fn of(demand: &Demand, claims: &Resources<Option<Amount>>) -> Self {
        let unclaimed = Resources::from_fn(|resource| {
            if demand.sources[resource].is_claim() {
                demand.unclaimed[resource]
            } else {
                demand.assumed[resource]
            }
        });
        Self {
            unclaimed,
            claims: claims.map(Option::unwrap_or_default),
            claimed: claims.map(|claim| claim.is_some()),
            unchecked: demand.sources.map(DemandSource::is_claim),
        }
    }

    pub fn claims(&self) -> Resources<Option<Amount>> {
        Resources::from_fn(|resource| self.claimed[resource].then_some(self.claims[resource]))
    }

    pub fn is_without_claims(&self) -> bool {
        !self.claimed.values().contains(&true)
    }

    /// The demand as it counts: without claims, or with claims up to the largest node's capacity.
    pub fn counted(
        &self,
        with_claims: bool,
        largest: &Resources<Option<Amount>>,
    ) -> Resources<Amount> {
        Resources::from_fn(|resource| {
            let claimed = with_claims && self.claimed[resource];
            let from = if claimed {
                &self.claims
            } else {
                &self.unclaimed
            };
            let most = largest[resource].filter(|_| self.unchecked[resource]);
            most.map_or(from[resource], |most| from[resource].min(most))
        })
    }
}

impl Demand {
    /// The parts that are claims; `None` if a number is checked or has no source.
    pub fn claims(&self) -> Resources<Option<Amount>> {
        Resources::from_fn(|resource| {
            let claimed = self.sources[resource].is_claim();
            claimed.then(|| self.amounts[resource])
        })
    }

    /// The demand as it counts for others: `claims` count up to the largest node's capacity.
    pub fn counted(
        &self,
        claims: &Resources<Option<Amount>>,
        largest: &Resources<Option<Amount>>,
    ) -> Resources<Amount> {
        CompactDemand::of(self, claims).counted(true, largest)
    }

    /// R while the Pod is new. A score uses R itself: the Pod stays longer than it warms up.
    pub fn at_start(&self) -> Resources<Amount> {
        Resources::from_fn(|resource| self.amounts[resource].max(self.start_up[resource]))
    }

    /// The Pod's expected use beyond `counted` while it is new, up to the capacity of the largest node.
    pub fn beyond(
        &self,
        counted: &Resources<Amount>,
        largest: &Resources<Option<Amount>>,
    ) -> Resources<Amount> {
        Resources::from_fn(|resource| {
            let start_up = self.start_up[resource];
            let start_up = largest[resource].map_or(start_up, |most| start_up.min(most));
            start_up.saturating_sub(counted[resource])
        })
    }

    /// The claims that are above the capacity of the largest node.
    pub fn excessive(
        &self,
        largest: &Resources<Option<Amount>>,
    ) -> impl Iterator<Item = ExcessiveClaim> {
        let (claims, largest) = (self.claims(), *largest);
        Resource::ALL.into_iter().filter_map(move |resource| {
            let (claimed, largest) = claims[resource].zip(largest[resource])?;
            (claimed > largest).then_some(ExcessiveClaim {
                resource,
                claimed,
                largest,
            })
        })
    }
}

/// The demand of a Pod by its own spec and annotations, including what [`with_history`] wrote.
pub fn demand(pod: &Pod, caps_as_demand: bool) -> Demand {
    let written = pod.metadata.annotation(DEMAND);
    let used = written.map(annotation::history).unwrap_or_default();
    demand_beside(pod, caps_as_demand, &used)
}

/// The demand of a Pod without the use by other Pods of its workload, whatever it is annotated
/// with.
pub(crate) fn demand_by_itself(pod: &Pod, caps_as_demand: bool) -> Demand {
    demand_beside(pod, caps_as_demand, &Resources::default())
}

/// A copy of the Pod with the use by other Pods of its workload in place of missing amounts, and
/// without a profile that admission found without them. `None` if nothing is added.
pub fn with_history(
    pod: &Pod,
    caps_as_demand: bool,
    used: impl FnOnce(&OwnerReference) -> Resources<Option<Amount>>,
) -> Option<Pod> {
    let is_told = |source: &DemandSource| {
        matches!(
            source,
            DemandSource::Annotation | DemandSource::Requests | DemandSource::History
        )
    };
    let sources = demand(pod, caps_as_demand).sources;
    let controller = pod.metadata.controller();
    let controller = controller.filter(|_| !sources.values().iter().all(is_told))?;
    let written = pod.metadata.annotation(DEMAND);
    let written = written.map(annotation::history).unwrap_or_default();
    let used = used(controller);
    let used = Resources::from_fn(|resource| written[resource].or(used[resource]));
    let known = demand_beside(pod, caps_as_demand, &used);
    if known.sources == sources {
        return None;
    }
    let history = known.sources.map(|source| source == DemandSource::History);
    let mut pod = pod.clone();
    let is_declared = pod.declared_profile().is_some();
    let annotations = &mut pod.metadata.annotations;
    if !is_declared {
        annotations.remove(PROFILE);
    }
    let text = annotation::write(&known.amounts, history);
    annotations.insert(DEMAND.to_owned(), text);
    Some(pod)
}

/// The same for a Pod with this use by other Pods of its workload; `None` if unknown.
fn demand_beside(pod: &Pod, caps_as_demand: bool, used: &Resources<Option<Amount>>) -> Demand {
    let annotations = &pod.metadata.annotations;
    let mut invalid = Vec::new();
    annotations::flag(annotations, SKIP, &mut invalid);
    let requests = pod_requests::in_force(pod);
    let requested = |amount: Option<Amount>| amount.map(|amount| (amount, DemandSource::Requests));
    let mut annotated = |key| {
        let rate = annotations::rate(annotations, key, &mut invalid);
        rate.map(|rate| (rate, DemandSource::Annotation))
    };
    let network_io = annotated(NETWORK_IO);
    let disk_io = annotated(DISK_IO);
    // No demand, but what is wrong with it is told beside the others.
    disk_io_limit::annotated(annotations, &mut invalid);
    let cap = caps(annotations, &mut invalid);
    let caps = cap
        .filter(|_| caps_as_demand)
        .map(|cap| (cap, DemandSource::Caps));
    let mut used = *used;
    let network_used = &mut used[Resource::NetworkIo];
    *network_used = network_used.map(|used| cap.map_or(used, |cap| used.min(cap)));
    let known = Resources::new([
        requested(requests.cpu().map(Amount::from)),
        requested(requests.memory().map(Amount::from)),
        network_io,
        disk_io,
        requested(requests.ephemeral_storage().map(Amount::from)),
    ]);
    let parts = Resources::from_fn(|resource| {
        let used = used[resource].map(|used| (used, DemandSource::History));
        let caps = caps.filter(|_| resource == Resource::NetworkIo);
        let known = known[resource].or(used).or(caps);
        known.unwrap_or((Amount::ZERO, DemandSource::Unknown))
    });
    let amounts = parts.map(|(amount, _)| amount);
    let together = pod_requests::running_together(&pod.spec);
    let unrequested = Resources::from_fn(|resource| match resource {
        Resource::Cpu => ASSUMED_CPU.saturating_mul(together),
        Resource::Memory => ASSUMED_MEMORY.saturating_mul(together),
        Resource::NetworkIo | Resource::DiskIo | Resource::Disk => Amount::ZERO,
    });
    let assumed = Resources::from_fn(|resource| match parts[resource].1 {
        DemandSource::Unknown => unrequested[resource],
        _ => amounts[resource],
    });
    Demand {
        amounts,
        assumed,
        unclaimed: unrequested,
        sources: parts.map(|(_, source)| source),
        start_up: Resources::from_fn(|resource| {
            let is_more = pod.start_up[resource] > amounts[resource];
            let start_up = is_more.then_some(pod.start_up[resource]);
            start_up.unwrap_or_default()
        }),
        invalid,
    }
}

/// The caps of both directions added, in bytes per second; they are written in bits.
fn caps(
    annotations: &BTreeMap<String, String>,
    invalid: &mut Vec<InvalidAnnotation>,
) -> Option<Amount> {
    let mut cap = |key| {
        let text = annotations.get(key)?;
        let quantity = text.parse::<Quantity>().ok();
        let quantity = quantity.filter(|bits| !bits.is_negative());
        if quantity.is_none() {
            let accepted = "a Kubernetes quantity of bits per second, such as 10M";
            invalid.push(InvalidAnnotation::new(key, text, accepted));
        }
        quantity.map(|bits| Amount::new(bits.ceil().div_ceil(8)))
    };
    let (ingress, egress) = (cap(INGRESS_BANDWIDTH), cap(EGRESS_BANDWIDTH));
    ingress
        .into_iter()
        .chain(egress)
        .reduce(Amount::saturating_add)
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::annotations::DISK_IO_LIMIT;
    use serde_json::{Value, json};

    use super::DemandSource::{Annotation, Caps, History, Requests, Unknown};
    use super::*;

    fn pod(annotations: &Value, spec: &Value) -> Pod {
        let pod = json!({"metadata": {"annotations": annotations}, "spec": spec});
        serde_json::from_value(pod).unwrap()
    }

    fn amounts(values: [u64; 5]) -> Resources<Amount> {
        Resources::new(values).map(Amount::new)
    }

    #[test]
    fn what_a_pod_does_not_say_is_told_by_its_workload() {
        let spec = json!({"containers": [{"resources": {"requests": {"memory": "1Gi"}}}]});
        let owner =
            json!([{"kind": "ReplicaSet", "name": "web-1", "uid": "r", "controller": true}]);
        let annotations = json!({NETWORK_IO: "8Mbps", PROFILE: "normal", "evenkeel.dev/profile-source": "requests"});
        let pod = json!({"spec": spec, "metadata": {"annotations": annotations, "ownerReferences": owner}});
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let used = Resources::new([Some(300), Some(5), Some(7), None, Some(9)]);
        let used = used.map(|used| used.map(Amount::new));
        let with = with_history(&pod, false, |controller| {
            assert_eq!(controller.name, "web-1");
            used
        });
        let with = with.unwrap();
        let found = demand(&with, false);
        assert_eq!(found.amounts, amounts([300, 1 << 30, 1_000_000, 0, 9]));
        let sources = [History, Requests, Annotation, Unknown, History];
        assert_eq!(found.sources, Resources::new(sources));
        assert_eq!(with.annotated_profile(), None, "it was found without that");
        // Amounts that the Pod already carries stay as they are.
        let later = with_history(&with, false, |_| Resources::new([Some(Amount::new(1)); 5]));
        let later = demand(&later.unwrap(), false);
        assert_eq!(later.amounts, amounts([300, 1 << 30, 1_000_000, 1, 9]));
        assert_eq!(with_history(&pod, false, |_| Resources::default()), None);
        let mut alone = pod.clone();
        alone.metadata.owner_references.clear();
        assert_eq!(with_history(&alone, false, |_| used), None);
        let mut declared = pod;
        let source = "evenkeel.dev/profile-source";
        declared
            .metadata
            .annotations
            .insert(source.to_owned(), "declared".to_owned());
        let with = with_history(&declared, false, |_| used).unwrap();
        assert_eq!(with.annotated_profile(), Some("normal"));
    }

    #[test]
    fn use_in_first_minutes_stands_beside_the_demand_where_it_is_more() {
        let spec =
            json!({"containers": [{"resources": {"requests": {"cpu": "250m", "memory": "9"}}}]});
        let mut pod = pod(&json!({}), &spec);
        pod.start_up = amounts([400, 5, 7, 0, 0]);
        let found = demand(&pod, false);
        assert_eq!(found.amounts, amounts([250, 9, 0, 0, 0]));
        assert_eq!(found.start_up, amounts([400, 0, 7, 0, 0]));
        assert_eq!(found.at_start(), amounts([400, 9, 7, 0, 0]));
        let counted = found.counted(&found.claims(), &Resources::default());
        assert_eq!(counted[Resource::Cpu], Amount::new(250));
        let largest = [Some(300), None, None, None, None];
        let largest = Resources::new(largest).map(|most| most.map(Amount::new));
        assert_eq!(found.beyond(&counted, &largest), amounts([50, 0, 7, 0, 0]));
    }

    #[test]
    fn annotations_and_requests_are_the_sources() {
        let spec = json!({"containers": [{"resources": {"requests": {
            "cpu": "250m", "ephemeral-storage": "1Gi"}}}]});
        let annotations = json!({NETWORK_IO: "8Mbps", DISK_IO: "1MB/s"});
        let found = demand(&pod(&annotations, &spec), false);
        assert_eq!(
            found.amounts,
            amounts([250, 0, 1_000_000, 1_000_000, 1 << 30])
        );
        let sources = [Requests, Unknown, Annotation, Annotation, Requests];
        assert_eq!(found.sources, Resources::new(sources));
        assert_eq!(found.invalid, []);
    }

    #[test]
    fn an_explicit_zero_is_known() {
        let spec = json!({"containers": [{"resources": {"requests": {"cpu": "0"}}}]});
        let found = demand(&pod(&json!({NETWORK_IO: "0"}), &spec), true);
        assert_eq!(found.amounts, amounts([0; 5]));
        let sources = [Requests, Unknown, Annotation, Unknown, Unknown];
        assert_eq!(found.sources, Resources::new(sources));
    }

    #[test]
    fn caps_count_only_where_configured_and_nothing_better_is_known() {
        let both = json!({INGRESS_BANDWIDTH: "8M", EGRESS_BANDWIDTH: "80M"});
        let one = json!({EGRESS_BANDWIDTH: "9"});
        let annotated = json!({EGRESS_BANDWIDTH: "80M", NETWORK_IO: "5"});
        for (annotations, caps_as_demand, rate, source) in [
            (&both, true, 11_000_000, Caps),
            (&both, false, 0, Unknown),
            (&one, true, 2, Caps),
            (&annotated, true, 5, Annotation),
        ] {
            let found = demand(&pod(annotations, &json!({})), caps_as_demand);
            assert_eq!(found.amounts, amounts([0, 0, rate, 0, 0]), "{annotations}");
            assert_eq!(found.sources.values()[2], source, "{annotations}");
        }
    }

    #[test]
    fn what_others_used_counts_for_want_of_better_and_no_more_than_the_caps() {
        let spec = json!({"containers": [{"resources": {"requests": {"cpu": "1"}}}]});
        let written = r#"{"cpu":9,"memory":64,"networkIo":7000000,"diskIo":3,"disk":5,
            "history":["cpu","memory","networkIo","disk"]}"#;
        for (annotations, caps_as_demand, network, source) in [
            (json!({DEMAND: written}), true, 7_000_000, History),
            (
                json!({DEMAND: written, EGRESS_BANDWIDTH: "8M"}),
                false,
                1_000_000,
                History,
            ),
            (
                json!({DEMAND: written, EGRESS_BANDWIDTH: "80M"}),
                true,
                7_000_000,
                History,
            ),
            (
                json!({DEMAND: written, NETWORK_IO: "5"}),
                true,
                5,
                Annotation,
            ),
            (
                json!({DEMAND: "{}", EGRESS_BANDWIDTH: "8M"}),
                true,
                1_000_000,
                Caps,
            ),
        ] {
            let found = demand(&pod(&annotations, &spec), caps_as_demand);
            assert_eq!(
                found.amounts[Resource::NetworkIo],
                Amount::new(network),
                "{annotations}"
            );
            assert_eq!(found.sources[Resource::NetworkIo], source, "{annotations}");
            assert_eq!(found.sources[Resource::Cpu], Requests);
            let disk_io = found.sources[Resource::DiskIo];
            assert_eq!(disk_io, Unknown, "that part of the text is no history");
        }
        let found = demand(&pod(&json!({DEMAND: written}), &spec), false);
        let none = Resources::default();
        let largest = Resources::new([Some(Amount::new(32)); 5]);
        assert_eq!(
            found.counted(&found.claims(), &largest),
            amounts([1000, 32, 32, 0, 5])
        );
        let left = amounts([1000, 32, 0, 0, 0]);
        assert_eq!(
            found.counted(&none, &largest),
            left,
            "what is assumed, capped"
        );
    }

    #[test]
    fn of_claims_no_more_counts_for_others_than_the_largest_node_has() {
        let spec =
            json!({"containers": [{"resources": {"requests": {"cpu": "8", "memory": "0"}}}]});
        let annotations = json!({NETWORK_IO: "1TB/s", DISK_IO: "1TB/s"});
        let found = demand(&pod(&annotations, &spec), false);
        let largest = [Some(4000), None, Some(125), None, None];
        let largest = Resources::new(largest).map(|most| most.map(Amount::new));
        let none = Resources::default();
        assert_eq!(
            found.counted(&found.claims(), &largest),
            amounts([8000, 0, 125, 1_000_000_000_000, 0]),
            "requests are checked by others, and unknown capacities take part in no rule"
        );
        assert_eq!(found.counted(&none, &largest), amounts([8000, 0, 0, 0, 0]));
        let excessive: Vec<_> = found.excessive(&largest).collect();
        let claimed = Amount::new(1_000_000_000_000);
        assert_eq!(
            excessive,
            [ExcessiveClaim {
                resource: Resource::NetworkIo,
                claimed,
                largest: Amount::new(125),
            }]
        );
        assert!(excessive[0].to_string().contains("largest node has 125"));
        let capped = pod(&json!({EGRESS_BANDWIDTH: "8M"}), &json!({}));
        let caps = demand(&capped, true);
        assert_eq!(
            caps.claims()[Resource::NetworkIo],
            Some(Amount::new(1_000_000))
        );
        assert_eq!(caps.counted(&none, &none), amounts([0; 5]));
    }

    #[test]
    fn what_is_not_accepted_is_named_and_the_next_source_counts() {
        let annotations = json!({
            SKIP: "1", NETWORK_IO: "fast", DISK_IO: "-1", INGRESS_BANDWIDTH: "x",
            EGRESS_BANDWIDTH: "8", DISK_IO_LIMIT: "1MiB/s,2",
        });
        let found = demand(&pod(&annotations, &json!({})), true);
        assert_eq!(found.sources.values()[2], Caps);
        assert_eq!(found.sources.values()[3], Unknown);
        let keys: Vec<_> = found.invalid.iter().map(|invalid| invalid.key).collect();
        let expected = [SKIP, NETWORK_IO, DISK_IO, DISK_IO_LIMIT, INGRESS_BANDWIDTH];
        assert_eq!(keys, expected);
    }
}
