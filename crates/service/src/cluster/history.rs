//! The recent usage of each workload's Pods, for its new Pods without declared demand, and that of
//! Pods in their first minutes. Each round adds the usage of a few Pods per controller, only in
//! opted-in namespaces. A requested resource is not learnt; an annotated one is, because the next Pod
//! may lack the annotation. Names, workloads and each [`UsageHistory`] are bounded. It is fed outside
//! of requests, which read published copies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use evenkeel_metrics::usage::UsageSample;
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::meta::OwnerReference;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::demand::DemandSource;
use evenkeel_placement::start_up::{StartUps, StartedPod};
use evenkeel_placement::usage_history::UsageHistory;
use evenkeel_units::{Amount, Resource, Resources};
use foldhash::fast::RandomState;
use jiff::Timestamp;

use super::autoscaling::WorkloadKey;
use super::lock::locked;
use super::owners::Owner;
use super::pod_store::ObservedPod;

type UsageHistoryMap<K, V> = HashMap<K, V, RandomState>;

/// Pods of one controller that are known by name. More would make no better percentile.
const NAMES: usize = 32;
/// Pods of one controller that are added each time, in turns.
const EACH_ROUND: usize = 8;
/// Turns without any usage after which a name is forgotten: its Pod is gone.
const MISSES: u8 = 10;
/// Workloads of which a history is kept: with less than a kilobyte of each, 10 MiB at most.
const WORKLOADS: usize = 10_000;
/// Controllers that are looked at while events of Pods wait.
const AT_ONCE: usize = 64;

#[derive(Debug)]
struct SampledPodGroup {
    namespace: Box<str>,
    controller: OwnerReference,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    name: PodName,
    /// The resources that it does not request.
    learnt: Resources<bool>,
    misses: u8,
}

type UsualDemand = UsageHistoryMap<WorkloadKey, Resources<Option<Amount>>>;
type StartUpUse = UsageHistoryMap<WorkloadKey, Resources<Amount>>;

/// The usage of all workloads.
#[derive(Debug, Default)]
pub(crate) struct ClusterUsageHistory {
    groups: Mutex<UsageHistoryMap<ControllerKey, SampledPodGroup>>,
    /// Only `feed` locks it.
    kept: Mutex<UsageHistoryMap<WorkloadKey, UsageHistory>>,
    usual: ArcSwap<UsualDemand>,
    starts: Mutex<StartUps<WorkloadKey>>,
    start_up: ArcSwap<StartUpUse>,
}

impl ClusterUsageHistory {
    /// Takes a Pod as it now is. A name is forgotten when measurements lack it, so this is no view.
    pub(super) fn apply(&self, seen: &ObservedPod<'_>) {
        let (pod, name) = (seen.pod, &seen.name);
        let Some(controller) = pod.metadata.controller() else {
            return;
        };
        let sources = &seen.demand.sources;
        let learnt = sources.map(|source| source != DemandSource::Requests);
        let runs = pod.spec.node_name.is_some() && !pod.is_finished();
        let key = ControllerKey::of_reference(pod.namespace(), controller);
        let Some(key) = key.filter(|_| runs && learnt.values().contains(&true)) else {
            return;
        };
        let mut groups = locked(&self.groups);
        let group = groups.entry(key);
        let group = group.or_insert_with(|| SampledPodGroup::of(pod, controller));
        let known = group.members.iter_mut().find(|member| member.name == *name);
        if let Some(member) = known {
            member.learnt = learnt;
        } else if group.members.len() < NAMES {
            group.members.push(Member {
                name: name.clone(),
                learnt,
                misses: 0,
            });
        }
    }

    /// Observes a Pod that has just started.
    pub(super) fn observe_start(
        &self,
        workload: &WorkloadKey,
        pod: &StartedPod<'_>,
        now: Timestamp,
    ) {
        locked(&self.starts).observe(workload, pod, now);
    }

    /// Adds a round of measurements, and publishes the result. `resolve` finds the end of an owner
    /// chain, `counts` whether a namespace has opted in.
    pub(crate) fn feed(
        &self,
        round: &UsageSample,
        resolve: impl Fn(&str, &OwnerReference) -> Owner,
        counts: impl Fn(&str) -> bool,
        now: Timestamp,
    ) {
        let mut kept = locked(&self.kept);
        let controllers: Vec<ControllerKey> = locked(&self.groups).keys().cloned().collect();
        for some in controllers.chunks(AT_ONCE) {
            let mut groups = locked(&self.groups);
            for controller in some {
                let Some(group) = groups.get_mut(controller) else {
                    continue;
                };
                let used = group.take_turn(round);
                if counts(&group.namespace) && !used.is_empty() {
                    let owner = resolve(&group.namespace, &group.controller);
                    let workload = WorkloadKey::of(&group.namespace, &owner);
                    add(&mut kept, workload, &used, now);
                }
                if group.members.is_empty() {
                    groups.remove(controller);
                }
            }
        }
        kept.retain(|_, history| {
            history.forget(now);
            !history.is_empty()
        });
        let usual = kept.iter().map(|(workload, history)| {
            let usual = Resources::from_fn(|resource| history.usual(resource));
            (workload.clone(), usual)
        });
        self.usual.store(Arc::new(usual.collect()));
        let mut starts = locked(&self.starts);
        starts.measure(round, now);
        let start_up = starts
            .all()
            .map(|(workload, most)| (workload.clone(), most));
        self.start_up.store(Arc::new(start_up.collect()));
    }

    pub(crate) fn usual(&self, workload: &WorkloadKey) -> Resources<Option<Amount>> {
        let usual = self.usual.load();
        usual.get(workload).copied().unwrap_or_default()
    }

    /// The use in first minutes; zero where it is unknown.
    pub(crate) fn start_up(&self, workload: &WorkloadKey) -> Resources<Amount> {
        let start_up = self.start_up.load();
        start_up.get(workload).copied().unwrap_or_default()
    }
}

impl SampledPodGroup {
    fn of(pod: &Pod, controller: &OwnerReference) -> Self {
        Self {
            namespace: pod.namespace().into(),
            controller: controller.clone(),
            members: Vec::new(),
        }
    }

    /// The usage of the Pods that are next in turn. Names that have long been unmeasured are
    /// forgotten.
    fn take_turn(&mut self, round: &UsageSample) -> Vec<(Resource, Amount)> {
        let turn = EACH_ROUND.min(self.members.len());
        let mut used = Vec::new();
        for member in self.members.iter_mut().take(turn) {
            let before = used.len();
            // A source that tells of no Pod at all is away, and no Pod is gone for that.
            let mut is_told = false;
            for resource in Resource::ALL {
                if member.learnt[resource] {
                    let pods = &round.pods[resource];
                    is_told |= !pods.is_empty();
                    used.extend(pods.get(&member.name).map(|found| (resource, *found)));
                }
            }
            member.misses = if used.len() > before {
                0
            } else {
                member.misses.saturating_add(u8::from(is_told))
            };
        }
        self.members.rotate_left(turn);
        self.members.retain(|member| member.misses <= MISSES);
        used
    }
}

/// Adds to the history of a workload, as long as there is room for one more.
fn add(
    kept: &mut UsageHistoryMap<WorkloadKey, UsageHistory>,
    workload: WorkloadKey,
    used: &[(Resource, Amount)],
    now: Timestamp,
) {
    if kept.len() >= WORKLOADS && !kept.contains_key(&workload) {
        return;
    }
    let history = kept.entry(workload).or_default();
    for (resource, used) in used {
        history.add(*resource, *used, now);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    fn pod(name: &str, spec: &Value) -> Pod {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1",
            "uid": "rs", "controller": true});
        let mut spec = spec.clone();
        spec["nodeName"] = json!("a");
        serde_json::from_value(json!({"spec": spec, "metadata": {
            "name": name, "namespace": "shop", "uid": name, "ownerReferences": [owner]}}))
        .unwrap()
    }

    fn apply(history: &ClusterUsageHistory, name: &str, spec: &Value) {
        history.apply(&ObservedPod::new(&pod(name, spec), false, at(0)));
    }

    fn round(pods: &[(&str, u64)]) -> UsageSample {
        let mut round = UsageSample::default();
        for (name, used) in pods {
            let used = Resources::new([Some(Amount::new(*used)); 5]);
            round.insert_pod(&PodName::new("shop", name), &used);
        }
        round
    }

    fn deployment(_: &str, _: &OwnerReference) -> Owner {
        Owner::new("apps/v1", "Deployment", "web")
    }

    fn usual(history: &ClusterUsageHistory) -> Resources<Option<u64>> {
        let workload = WorkloadKey::of("shop", &deployment("shop", &OwnerReference::default()));
        history.usual(&workload).map(|part| part.map(Amount::get))
    }

    #[test]
    fn what_pods_do_not_tell_is_learnt_of_those_that_run() {
        let history = ClusterUsageHistory::default();
        let spec =
            json!({"containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]});
        for name in ["a", "b"] {
            apply(&history, name, &spec);
        }
        for second in 0..6 {
            let round = round(&[("a", 100), ("b", 200), ("stranger", 9000)]);
            assert_eq!(usual(&history), Resources::default(), "too little is known");
            history.feed(&round, deployment, |_| true, at(second * 15));
        }
        let known = Some(207);
        assert_eq!(
            usual(&history),
            Resources::new([None, None, known, known, known])
        );
        history.feed(&round(&[]), deployment, |_| true, at(3700 + 900));
        assert_eq!(usual(&history), Resources::default(), "an hour later");
    }

    #[test]
    fn what_pods_annotate_is_learnt_for_those_of_their_workload_that_do_not() {
        let history = ClusterUsageHistory::default();
        let mut annotated = pod("a", &json!({"containers": []}));
        let annotations = &mut annotated.metadata.annotations;
        annotations.insert("evenkeel.dev/network-io".to_owned(), "5Mbps".to_owned());
        let seen = ObservedPod::new(&annotated, false, at(0));
        let source = seen.demand.sources[Resource::NetworkIo];
        assert_eq!(source, DemandSource::Annotation);
        history.apply(&seen);
        // One that requests cpu says nothing about the other's.
        let requests = json!({"containers": [{"resources": {"requests": {"cpu": "1"}}}]});
        apply(&history, "b", &requests);
        for second in 0..12 {
            let round = round(&[("a", 100), ("b", 200)]);
            history.feed(&round, deployment, |_| true, at(second * 15));
        }
        let usual = usual(&history);
        assert_eq!(usual[Resource::NetworkIo], Some(207));
        assert_eq!(usual[Resource::Cpu], Some(103), "only of the one");
    }

    #[test]
    fn nothing_is_kept_of_others_namespaces_and_names_of_the_gone_are_forgotten() {
        let history = ClusterUsageHistory::default();
        apply(&history, "a", &json!({"containers": []}));
        for second in 0..20 {
            history.feed(&round(&[("a", 5)]), deployment, |_| false, at(second));
        }
        assert_eq!(usual(&history), Resources::default());
        for second in 0..20 {
            history.feed(&round(&[]), deployment, |_| true, at(second));
        }
        let known = locked(&history.groups).len();
        assert_eq!(
            known, 1,
            "a source that is away tells nothing of who is gone"
        );
        for second in 0..20 {
            history.feed(&round(&[("b", 5)]), deployment, |_| true, at(second));
        }
        assert!(locked(&history.groups).is_empty());
        // A Pod that comes back is known again, and a Pod that has ended is not.
        apply(&history, "a", &json!({"containers": []}));
        assert_eq!(locked(&history.groups).len(), 1);
        let mut ended = pod("b", &json!({"containers": []}));
        ended.status.phase = evenkeel_objects::pod::PodStatusPhase::Succeeded;
        ended.metadata.owner_references[0].uid = "other".to_owned();
        history.apply(&ObservedPod::new(&ended, false, at(0)));
        assert_eq!(locked(&history.groups).len(), 1);
    }

    #[test]
    fn memory_is_bounded_in_pods_and_in_workloads() {
        let history = ClusterUsageHistory::default();
        for number in 0..100 {
            apply(
                &history,
                &format!("web-{number}"),
                &json!({"containers": []}),
            );
        }
        assert_eq!(
            locked(&history.groups)[&ControllerKey::new("shop", "rs")]
                .members
                .len(),
            NAMES
        );
        let mut kept = UsageHistoryMap::default();
        for number in 0..WORKLOADS + 10 {
            let owner = Owner::new("apps/v1", "Deployment", &number.to_string());
            let used = [(Resource::Cpu, Amount::new(5))];
            add(&mut kept, WorkloadKey::of("shop", &owner), &used, at(0));
        }
        assert_eq!(kept.len(), WORKLOADS);
    }

    /// The harm: a stranger that came first drew the use by the controller's Pods to its namespace.
    #[test]
    fn a_uid_of_another_namespaces_controller_keeps_its_usage_apart() {
        let history = ClusterUsageHistory::default();
        let mut forged = pod("forged", &json!({"containers": []}));
        forged.metadata.namespace = Some("evil".to_owned());
        history.apply(&ObservedPod::new(&forged, false, at(0)));
        apply(&history, "a", &json!({"containers": []}));
        let mut sample = round(&[("a", 200)]);
        let used = Resources::new([Some(Amount::new(9000)); 5]);
        sample.insert_pod(&PodName::new("evil", "forged"), &used);
        for second in 0..12 {
            history.feed(&sample, deployment, |_| true, at(second * 15));
        }
        assert_eq!(usual(&history)[Resource::Cpu], Some(207));
    }
}
