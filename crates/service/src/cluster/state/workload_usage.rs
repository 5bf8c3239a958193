//! The usage of workloads' Pods, for new Pods: the usual one, where they declare none themselves, and
//! that of first minutes. It has locks of its own, and requests take none of them.

use evenkeel_metrics::usage::UsageSample;
use evenkeel_objects::meta::OwnerReference;
use evenkeel_objects::pod::Pod;
use evenkeel_placement::demand::with_history;
use evenkeel_placement::extender::placement_rules::has_checked_claims;
use evenkeel_placement::snapshot::OptIn;
use evenkeel_placement::start_up::StartedPod;
use evenkeel_units::Resources;
use jiff::Timestamp;

use super::ClusterState;
use crate::cluster::autoscaling::WorkloadKey;
use crate::cluster::pod_store::ObservedPod;

impl ClusterState {
    /// Adds a round of measurements to what is known of workloads; some ten milliseconds of work in a
    /// large cluster.
    pub fn remember_usage(&self, round: &UsageSample, now: Timestamp) {
        let snapshot = self.snapshot();
        let resolve = |namespace: &str, controller: &OwnerReference| {
            self.lock().owners.resolve(namespace, controller)
        };
        let counts = |namespace: &str| matches!(snapshot.opt_in(namespace), OptIn::In(_));
        self.0.history.feed(round, resolve, counts, now);
    }

    /// Observes a Pod of an opted-in namespace in its first minutes.
    pub(super) fn observe_start(&self, seen: &ObservedPod<'_>) {
        let (pod, namespace) = (seen.pod, seen.pod.namespace());
        let facts = pod.facts(&seen.name, Resources::default(), seen.now);
        let Some((started, controller)) = facts.started.zip(pod.metadata.controller()) else {
            return;
        };
        let started = StartedPod {
            name: &seen.name,
            started,
            host_network: facts.host_network,
            reuses_name: controller.kind == "StatefulSet",
        };
        let runs = facts.node.is_some() && facts.finished.is_none();
        // The runs of a crash loop would count as many new Pods.
        let has_restarted = pod.status.has_restarted();
        if !runs || has_restarted || !started.is_new(seen.now) || !has_checked_claims(pod) {
            return;
        }
        let inner = self.lock();
        if inner.has_opted_in(namespace) {
            let owner = inner.owners.resolve(namespace, controller);
            drop(inner);
            // A Job that no CronJob makes runs once.
            if owner.kind == "Job" {
                return;
            }
            let workload = WorkloadKey::of(namespace, &owner);
            self.0.history.observe_start(&workload, &started, seen.now);
        }
    }

    /// Adds to a Pod the usage of other Pods of its workload, where it declares none itself, and that
    /// of their first minutes. The answer shows that usage to the caller. So use it only for known
    /// callers and for data from the API server.
    pub fn add_history(&self, pod: &mut Pod) {
        if let Some(with) = self.with_history(pod) {
            *pod = with;
        }
    }

    pub(super) fn with_history(&self, pod: &Pod) -> Option<Pod> {
        let controller = pod.metadata.controller()?;
        let owner = self.lock().owners.resolve(pod.namespace(), controller);
        let workload = WorkloadKey::of(pod.namespace(), &owner);
        let used = |_: &OwnerReference| self.0.history.usual(&workload);
        let with = with_history(pod, self.0.settings.caps_as_demand, used);
        let start_up = self.0.history.start_up(&workload);
        if start_up == Resources::default() {
            return with;
        }
        let mut with = with.unwrap_or_else(|| pod.clone());
        with.start_up = start_up;
        Some(with)
    }
}
