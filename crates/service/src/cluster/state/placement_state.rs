//! The part of the cluster's state that admission and the extender read, behind one lock.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use evenkeel_objects::annotations::InvalidAnnotation;
use evenkeel_objects::bound_pod::BoundPod;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::pod::Pod;
use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::demand::{CompactDemand, Demand};
use evenkeel_placement::extender::placement_rules::has_checked_claims;
use evenkeel_placement::extender::refused_since;
use evenkeel_placement::node_table::NodeTable;
use evenkeel_placement::plan::annotation_warning::AnnotationWarning;
use evenkeel_placement::scheduler_lease::SchedulerLease;
use evenkeel_placement::snapshot::Namespaces;
use evenkeel_units::{Amount, Resources};
use foldhash::fast::RandomState;
use jiff::Timestamp;

use super::claims;
use super::claims::Claimant;
use super::node_records::NodeRecord;
use super::score_label_state::ScoreLabelState;
use crate::cluster::grouped_pods::{GroupedPods, PodGroup};
use crate::cluster::owners::Owners;
use crate::cluster::pod_store::{ObservedPod, PodStore};
use crate::cluster::records::{NamespaceRecord, PLACEMENT, WaitingPod, WarningQueue};

type PlacementMap<K, V> = HashMap<K, V, RandomState>;

#[derive(Debug, Default)]
pub(super) struct PlacementState {
    pub(super) table: NodeTable,
    pub(super) namespaces: PlacementMap<Box<str>, NamespaceRecord>,
    pub(super) policies: Arc<Namespaces>,
    pub(super) policies_changed: bool,
    pub(super) nodes: BTreeMap<Box<str>, NodeRecord>,
    pub(super) waiting: PlacementMap<Box<str>, WaitingPod>,
    pub(super) owners: Owners,
    pub(super) synced: HashSet<Kind>,
    pub(super) warnings: WarningQueue,
    /// The name of the second scheduler, where Pods are given to one.
    pub(super) second_scheduler: Option<String>,
    pub(super) scheduler_lease: Option<SchedulerLease>,
    pub(super) claims: GroupedPods<Claimant>,
    pub(super) scores: ScoreLabelState,
    /// The policy that Pods have shapes by, where score labels are on.
    pub(super) shape_policy: Option<Arc<SchedulingPolicy>>,
    /// The largest capacities that claims were counted by.
    pub(super) largest: Resources<Option<Amount>>,
}

impl PodStore for PlacementState {
    fn apply(&mut self, seen: &ObservedPod<'_>) {
        let (pod, demand, now) = (seen.pod, &seen.demand, seen.now);
        let uid = pod.uid();
        if pod.spec.node_name.is_some() {
            let counted = self.counted_when_bound(pod, demand);
            let facts = self.facts(seen, counted);
            self.table.apply_pod(uid, &facts, now);
        } else {
            let facts = self.facts(seen, self.counted(pod, demand));
            self.table.wait(uid, &facts, now);
        }
        self.apply_waiting(seen);
        self.apply_score_pod(pod, demand);
        self.warn_of_claims(pod, demand);
        if !demand.invalid.is_empty() && self.has_opted_in(pod.namespace()) {
            self.warn(Kind::Pod, &pod.metadata, &demand.invalid);
        }
    }

    fn remove(&mut self, uid: &str, now: Timestamp) {
        self.table.remove_pod(uid, now);
        self.waiting.remove(uid);
        self.claims.remove(uid);
        self.scores.remove_pod(uid);
    }

    fn retain(&mut self, keep: &dyn Fn(&str) -> bool, now: Timestamp) {
        self.table.retain_pods(keep, now);
        self.waiting.retain(|uid, _| keep(uid));
        self.claims.retain(|pod| keep(&pod.uid));
        self.scores.retain_pods(keep);
    }
}

impl PlacementState {
    pub(super) fn set_namespace(&mut self, name: &str, record: NamespaceRecord) {
        let known = self.namespaces.get(name).map(|known| &known.policy);
        self.policies_changed |= known != Some(&record.policy);
        self.namespaces.insert(name.into(), record);
    }

    pub(super) fn remove_namespace(&mut self, name: &str, now: Timestamp) {
        self.policies_changed |= self.namespaces.remove(name).is_some();
        self.recount_claims(name, now);
    }

    /// Keeps a Pod that waits because it was refused, with the time since which it has been.
    fn apply_waiting(&mut self, seen: &ObservedPod<'_>) {
        let pod = seen.pod;
        let known = self.waiting.get(pod.uid()).map(|known| known.since);
        let listed = self.synced.contains(&Kind::Pod);
        let Some(since) = refused_since(pod, known, listed, seen.now) else {
            self.waiting.remove(pod.uid());
            return;
        };
        let waiting = WaitingPod {
            pod: Arc::new(pod.clone()),
            since,
        };
        self.waiting.insert(pod.uid().into(), waiting);
    }

    pub(super) fn has_opted_in(&self, namespace: &str) -> bool {
        self.namespaces
            .get(namespace)
            .is_some_and(|record| record.policy.enabled)
    }

    /// The demand of a Pod as it counts in the sums that others are judged by.
    pub(super) fn counted(&self, pod: &Pod, demand: &Demand) -> Resources<Amount> {
        let claims = if has_checked_claims(pod) && self.has_opted_in(pod.namespace()) {
            demand.claims()
        } else {
            Resources::default()
        };
        demand.counted(&claims, &self.table.nodes().largest())
    }

    /// The facts of a Pod that counts with this demand. What it may use beyond that while it warms up
    /// counts where claims do.
    pub(super) fn facts<'a>(
        &self,
        seen: &'a ObservedPod<'_>,
        counted: Resources<Amount>,
    ) -> BoundPod<'a> {
        let largest = self.table.nodes().largest();
        let counts = has_checked_claims(seen.pod) && self.has_opted_in(seen.pod.namespace());
        let start_up = counts.then(|| seen.demand.beyond(&counted, &largest));
        BoundPod {
            start_up: start_up.unwrap_or_default(),
            ..seen.pod.facts(&seen.name, counted, seen.now)
        }
    }

    /// The demand as it counts of a Pod that is on a node; its claims are kept.
    fn counted_when_bound(&mut self, pod: &Pod, demand: &Demand) -> Resources<Amount> {
        let (uid, namespace) = (pod.uid(), pod.namespace());
        let told = if has_checked_claims(pod) && !pod.is_finished() {
            demand.claims()
        } else {
            Resources::default()
        };
        let claims = if self.table.is_bound(uid) {
            let known = self.claims.get(uid);
            let known = known.map(|pod| pod.counting.claims()).unwrap_or_default();
            Resources::from_fn(|resource| {
                let (told, known) = told[resource].zip(known[resource])?;
                Some(told.min(known))
            })
        } else {
            told
        };
        let counting = CompactDemand::of(demand, &claims);
        claims::update(&mut self.claims, uid, namespace, counting);
        let opted_in = self.has_opted_in(namespace);
        counting.counted(opted_in, &self.table.nodes().largest())
    }

    /// Counts the claims of a namespace as it now stands to them.
    pub(super) fn recount_claims(&mut self, namespace: &str, now: Timestamp) {
        let opted_in = self.has_opted_in(namespace);
        for claimant in self.claims.of(&PodGroup::Namespace(namespace.into())) {
            let largest = self.table.nodes().largest();
            let demand = claimant.counting.counted(opted_in, &largest);
            self.table.set_demand(&claimant.uid, demand, now);
        }
    }

    /// A round of measurements is in the table.
    pub(super) fn end_round(&mut self, now: Timestamp) {
        self.follow_largest(now);
        self.scores.measured();
    }

    /// Counts all claims anew where the largest node is not what it was.
    pub(super) fn follow_largest(&mut self, now: Timestamp) {
        let largest = self.table.nodes().largest();
        if !self.is_synced() || std::mem::replace(&mut self.largest, largest) == largest {
            return;
        }
        for claimant in self.claims.iter() {
            let record = self.namespaces.get(&*claimant.namespace);
            let opted_in = record.is_some_and(|record| record.policy.enabled);
            let demand = claimant.counting.counted(opted_in, &largest);
            self.table.set_demand(&claimant.uid, demand, now);
        }
    }

    /// Warns of what a Pod that is judged claims above what any node has.
    fn warn_of_claims(&mut self, pod: &Pod, demand: &Demand) {
        // The capacity of nodes that have not been listed yet is unknown.
        if self.is_synced() && has_checked_claims(pod) && self.has_opted_in(pod.namespace()) {
            let largest = self.table.nodes().largest();
            let excessive = demand.excessive(&largest);
            let warnings =
                excessive.map(|claim| AnnotationWarning::of_claim(&pod.metadata, &claim));
            self.warnings.extend(warnings);
        }
    }

    /// True once all has been listed that Pods are judged by.
    pub(super) fn is_synced(&self) -> bool {
        self.synced.len() == PLACEMENT.len()
    }

    pub(super) fn warn(&mut self, kind: Kind, metadata: &Meta, invalid: &[InvalidAnnotation]) {
        let warnings = invalid
            .iter()
            .map(|invalid| AnnotationWarning::new(kind, metadata, invalid));
        self.warnings.extend(warnings);
    }
}

pub(super) fn version(metadata: &Meta) -> String {
    metadata.resource_version.clone().unwrap_or_default()
}
