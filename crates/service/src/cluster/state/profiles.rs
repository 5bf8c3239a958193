//! ReplicaProfiles with their workloads and Pods, as plans and admission read them. No other lock is taken
//! while theirs is held.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use evenkeel_api::replica_profile::{CheckedReplicaProfile, ReplicaProfile};
use evenkeel_objects::disruption_budget::DisruptionBudget;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_state::PodState;
use evenkeel_replica_profile::plan::ProfileObjects;
use evenkeel_scaling::targets::observed_profiles::ObservedProfiles;
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::CpuMemory;

use super::ClusterState;
use crate::cluster::autoscaling::{ProfiledWorkload, ScalingView, WorkloadKey, key};
use crate::cluster::lock::locked;
use crate::cluster::owners::Owner;
use crate::cluster::profiles::Profiles;

/// The label by which a Pod of a StatefulSet or a Deployment tells its version.
const VERSION_LABELS: [&str; 2] = ["controller-revision-hash", "pod-template-hash"];

/// ReplicaProfiles at one moment.
#[derive(Debug, Default)]
pub struct ProfileView {
    /// True where everything is known that they need; before, nothing may be decided on it.
    pub synced: bool,
    /// Those of namespaces that have opted in, each with its workload, by namespace and name.
    pub profiled: BTreeMap<String, ProfileObjects>,
    /// The Pods with the gate of workloads that no profile is about.
    pub others: Vec<Arc<Pod>>,
}

impl ClusterState {
    /// Takes a ReplicaProfile as it now is.
    pub fn apply_profile(&self, profile: &ReplicaProfile) {
        let metadata = &profile.metadata;
        let key = key(metadata.namespace.as_deref(), metadata.name.as_deref());
        self.change_profiles(|profiles| profiles.apply_profile(key, profile));
    }

    /// Keeps only these ReplicaProfiles, given as `namespace/name`.
    pub(crate) fn retain_profiles(&self, keep: impl Fn(&str) -> bool) {
        self.change_profiles(|profiles| profiles.retain_profiles(keep));
    }

    /// The cluster begins to serve ReplicaProfiles (`true`), which are then waited for, or serves none.
    pub(super) fn serve_profiles(&self, served: bool) {
        if !served {
            self.retain_profiles(|_| false);
        }
        self.profiles().set_synced(Kind::ReplicaProfile, !served);
    }

    /// The profiles as they are now, with all that belongs to them.
    pub(crate) fn profile_view(&self) -> ProfileView {
        let seen = self.seen();
        if seen.all.is_empty() && seen.by_workload.is_empty() {
            let synced = seen.is_synced && self.scaling().knows_workloads();
            return ProfileView {
                synced,
                ..ProfileView::default()
            };
        }
        let mut by_workload = seen.by_workload.clone();
        let scaling = self.scaling();
        let mut view = ProfileView {
            synced: seen.is_synced && scaling.knows_workloads(),
            ..ProfileView::default()
        };
        for (profile, own) in seen.all.iter().zip(&seen.keys) {
            let (namespace, name) = (profile.object.namespace(), profile.object.name());
            if !profile.is_there() || !scaling.has_opted_in(namespace) {
                continue;
            }
            let workload = target(profile).map(|target| scaling.profiled(&target));
            let profiled = seen.profiled(profile, own.as_ref(), workload.unwrap_or_default());
            if let Some(own) = own {
                by_workload.remove(own);
            }
            view.profiled
                .insert(key(Some(namespace), Some(name)), profiled);
        }
        drop(scaling);
        view.others = by_workload.into_values().flatten().collect();
        view
    }

    /// Puts into the targets the profiles that these have to do with, and what is out of traffic. Nothing may
    /// be decided for IHPAs before the profiles are known.
    pub(super) fn with_profiles(&self, mut view: ScalingView) -> ScalingView {
        let has_ihpas = view.targets.iter().any(|observed| observed.ihpa.is_some());
        if !has_ihpas && !self.has_profiles() {
            return view;
        }
        let profiles = self.profiles();
        let (all, gated) = (profiles.all(), profiles.gated());
        view.synced &= !has_ihpas || profiles.knows_profiles();
        drop(profiles);
        let mut by_namespace: HashMap<&str, Vec<&Arc<CheckedReplicaProfile>>> = HashMap::new();
        for profile in &all {
            let namespace = profile.object.namespace();
            by_namespace.entry(namespace).or_default().push(profile);
        }
        let mut parked: HashMap<&str, BTreeSet<String>> = HashMap::new();
        for pod in gated.iter().filter(|pod| pod.state() != PodState::Online) {
            let names = parked.entry(pod.namespace()).or_default();
            names.insert(pod.name().to_owned());
        }
        let parked: HashMap<&str, Arc<BTreeSet<String>>> = parked
            .into_iter()
            .map(|(namespace, names)| (namespace, Arc::new(names)))
            .collect();
        for observed in &mut view.targets {
            // Of what an HPA scales nothing else sets the count.
            let ihpa = observed.ihpa.as_deref();
            if ihpa.is_none() && observed.autoscaler.is_some() {
                continue;
            }
            let own = by_namespace.get(&*observed.namespace).into_iter().flatten();
            let own = own.filter(|one| ObservedProfiles::concern(one, ihpa, &observed.target));
            observed.profiles = ObservedProfiles {
                all: own.map(|&one| Arc::clone(one)).collect(),
                parked: parked
                    .get(&*observed.namespace)
                    .cloned()
                    .unwrap_or_default(),
            };
        }
        view
    }

    /// Reads the profiles and the Pods with the gate.
    fn seen(&self) -> ProfileViewInput {
        let profiles = self.profiles();
        let (all, budgets, gated) = (profiles.all(), profiles.budgets(), profiles.gated());
        let is_synced = profiles.is_synced();
        drop(profiles);
        let targets = all.iter().map(|one| target(one));
        let keys = targets.map(|target| Some(WorkloadKey::of_target(&target?)));
        ProfileViewInput {
            is_synced,
            keys: keys.collect(),
            used: self.used_on_standby(&gated),
            by_workload: self.by_workload(gated),
            all,
            budgets,
        }
    }

    /// The measured usage of Pods on standby. A running Pod uses memory, so zero means that it is not measured.
    fn used_on_standby(&self, pods: &[Arc<Pod>]) -> HashMap<String, CpuMemory<Amount>> {
        let stand_by = pods.iter().filter(|pod| pod.state() == PodState::Standby);
        let used = stand_by.filter_map(|pod| {
            let load = self.part_of_load(pod.uid());
            let used = CpuMemory::from_fn(|resource| load[resource.resource()]);
            (used.memory > Amount::ZERO).then(|| (pod.uid().to_owned(), used))
        });
        used.collect()
    }

    /// The Pods by the workload behind them.
    fn by_workload(&self, pods: Vec<Arc<Pod>>) -> HashMap<WorkloadKey, Vec<Arc<Pod>>> {
        let inner = self.lock();
        let mut by_workload: HashMap<WorkloadKey, Vec<Arc<Pod>>> = HashMap::new();
        for pod in pods {
            let controller = pod.metadata.controller();
            let owner =
                controller.map(|controller| inner.owners.resolve(pod.namespace(), controller));
            let owner = owner.unwrap_or_else(|| Owner::new("v1", "Pod", pod.name()));
            let key = WorkloadKey::of(pod.namespace(), &owner);
            by_workload.entry(key).or_default().push(pod);
        }
        by_workload
    }

    /// True where a new Pod is to be given the readiness gate: a profile is about its workload, and its
    /// condition would be written.
    pub(crate) fn gives_gate(&self, namespace: &str, pod: &Pod, now: Instant) -> bool {
        self.has_profiles()
            && self.0.gate.is_open_for(namespace, now)
            && self.is_of_profile(namespace, pod)
    }

    /// True for a Pod of a workload that a profile is about, in a namespace that has opted in.
    pub fn is_profiled(&self, pod: &Pod) -> bool {
        let namespace = pod.namespace();
        self.scaling().has_opted_in(namespace) && self.is_of_profile(namespace, pod)
    }

    fn is_of_profile(&self, namespace: &str, pod: &Pod) -> bool {
        let targets = self.0.profiled.load();
        let Some(controller) = pod.metadata.controller() else {
            return false;
        };
        let owner = self.lock().owners.resolve(namespace, controller);
        if targets.contains(&WorkloadKey::of(namespace, &owner)) {
            return true;
        }
        // A new ReplicaSet may not have been seen yet; its name shows the Deployment that owns it.
        let hash = pod.labels.get("pod-template-hash");
        let deployment = hash
            .filter(|_| owner.kind == "ReplicaSet")
            .and_then(|hash| owner.name.strip_suffix(hash.as_str())?.strip_suffix('-'));
        deployment.is_some_and(|name| {
            let owner = Owner::new("apps/v1", "Deployment", name);
            targets.contains(&WorkloadKey::of(namespace, &owner))
        })
    }

    /// kube-scheduler asks about a Pod, which the watch is to show as well where it has the readiness gate.
    pub(super) fn expect_gated(&self, pod: &Pod) {
        if self.has_profiles() && pod.is_gated() && !self.profiles().knows_pod(pod.uid()) {
            self.0.gate.missed(evenkeel_clock::instant());
        }
    }

    /// A condition was written, or would have been (`true`), or could not be.
    pub fn condition_written(&self, was: bool, now: Instant) {
        if was {
            self.0.gate.good(now);
        } else {
            self.0.gate.failed();
        }
    }

    /// Sets the namespaces with Pods that wait for their condition, each with the time since when
    /// the first one waits. `refused` are those with Pods for which the last write was refused.
    pub(crate) fn conditions_wait(
        &self,
        awaited: HashMap<Box<str>, Instant>,
        refused: HashSet<Box<str>>,
    ) {
        self.0.gate.waiting(awaited, refused);
    }

    /// True while new Pods would be given the readiness gate, where nothing of their namespace is against it.
    pub fn is_gate_open(&self, now: Instant) -> bool {
        self.0.gate.is_open(now)
    }

    /// True where there is any profile.
    pub(crate) fn has_profiles(&self) -> bool {
        !self.0.profiled.load().is_empty()
    }

    fn change_profiles(&self, with: impl FnOnce(&mut Profiles)) {
        let mut profiles = self.profiles();
        with(&mut profiles);
        let targets = profiles.all();
        let targets = targets.iter().filter(|one| one.is_there());
        let targets = targets.filter_map(|one| target(one));
        let targets = targets.map(|target| WorkloadKey::of_target(&target));
        self.0.profiled.store(Arc::new(targets.collect()));
    }

    /// The state that profiles need. No other lock is taken while this one is held.
    pub(crate) fn profiles(&self) -> MutexGuard<'_, Profiles> {
        locked(&self.0.profiles)
    }
}

/// Profiles and Pods before they are put together.
struct ProfileViewInput {
    is_synced: bool,
    all: Vec<Arc<CheckedReplicaProfile>>,
    /// The workloads that these are about.
    keys: Vec<Option<WorkloadKey>>,
    budgets: Vec<Arc<DisruptionBudget>>,
    by_workload: HashMap<WorkloadKey, Vec<Arc<Pod>>>,
    /// The usage of Pods on standby, by their UIDs.
    used: HashMap<String, CpuMemory<Amount>>,
}

impl ProfileViewInput {
    fn profiled(
        &self,
        profile: &Arc<CheckedReplicaProfile>,
        own: Option<&WorkloadKey>,
        found: ProfiledWorkload,
    ) -> ProfileObjects {
        let ProfiledWorkload {
            workload,
            pods,
            controllers,
            mut scalers,
        } = found;
        let same = self.all.iter().zip(&self.keys).filter(|(other, key)| {
            let is_other = !Arc::ptr_eq(other, profile) && other.is_there();
            own.is_some() && key.as_ref() == own && is_other
        });
        scalers.profiles = same.map(|(other, _)| Arc::clone(other)).collect();
        let gated = own.and_then(|own| self.by_workload.get(own));
        let gated = gated.cloned().unwrap_or_default();
        let names: HashSet<&str> = gated.iter().map(|pod| pod.name()).collect();
        let ungated = pods.into_iter();
        let ungated = ungated.filter(|pod| !names.contains(&*pod.name)).collect();
        let namespace = profile.object.namespace();
        let budgets = self.budgets.iter();
        let budgets = budgets.filter(|one| one.metadata.namespace.as_deref() == Some(namespace));
        let used = gated.iter().filter_map(|pod| {
            let used = self.used.get(pod.uid())?;
            Some((pod.uid().to_owned(), *used))
        });
        ProfileObjects {
            profile: Arc::clone(profile),
            workload,
            ungated,
            used: used.collect(),
            is_rolling: controllers > 1 || versions(&gated) > 1,
            budgets: budgets.cloned().collect(),
            gated,
            scalers,
        }
    }
}

/// The workload that a profile is about, where it is of a kind that one may be about.
fn target(profile: &CheckedReplicaProfile) -> Option<TargetRef> {
    let name = &profile.object.spec.scale_target_ref.name;
    let kind: Kind = profile.kind().filter(|_| !name.is_empty())?;
    Some(TargetRef::of_kind(kind, profile.object.namespace(), name))
}

/// The number of versions of their workload that Pods tell which are not being deleted.
fn versions(pods: &[Arc<Pod>]) -> usize {
    let version = |pod: &Arc<Pod>| {
        let label = |key: &&str| pod.labels.get(*key).cloned();
        VERSION_LABELS.iter().find_map(label)
    };
    let pods = pods.iter().filter(|pod| !pod.is_terminating());
    let versions: BTreeSet<_> = pods.filter_map(version).collect();
    versions.len()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use evenkeel_clock as clock;
    use evenkeel_objects::controller_key::ControllerKey;
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::Settings;

    fn cluster() -> ClusterState {
        ClusterState::new(Settings::default())
    }

    fn profile(namespace: &str, kind: &str) -> ReplicaProfile {
        let object = json!({"metadata": {"name": "web", "namespace": namespace, "uid": namespace},
            "spec": {"scaleTargetRef": {"kind": kind, "name": "web"}, "onlineReplicas": 1}});
        serde_json::from_value(object).unwrap()
    }

    fn pod(name: &str, owner: &Value, has_gate: bool) -> Pod {
        let gates = if has_gate {
            json!([{"conditionType": "evenkeel.dev/online"}])
        } else {
            json!([])
        };
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "shop", "uid": name,
                "labels": {"pod-template-hash": "7c5ddb8f4"}, "ownerReferences": [owner]},
            "spec": {"readinessGates": gates}}))
        .unwrap()
    }

    fn owner(kind: &str, name: &str, uid: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true})
    }

    #[test]
    fn gates_are_given_to_pods_of_workloads_with_a_profile_while_they_would_be_opened() {
        let (cluster, now) = (cluster(), clock::instant());
        let seen = pod("a", &owner("ReplicaSet", "web-1", "known"), false);
        let unseen = pod("b", &owner("ReplicaSet", "web-7c5ddb8f4", "unknown"), false);
        let other = pod("c", &owner("ReplicaSet", "api-7c5ddb8f4", "other"), false);
        let set = pod("d", &owner("StatefulSet", "web", "s"), false);
        let deployment = Owner::new("apps/v1", "Deployment", "web");
        let known = ControllerKey::new("shop", "known");
        cluster.apply_owner(Kind::ReplicaSet, &known, Some(deployment));
        cluster.condition_written(true, now);
        assert!(
            !cluster.gives_gate("shop", &seen, now),
            "there is no profile"
        );
        cluster.apply_profile(&profile("shop", "Deployment"));
        for (pod, namespace, given) in [
            (&seen, "shop", true),
            (&unseen, "shop", true),
            (&other, "shop", false),
            (&set, "shop", false),
            (&seen, "elsewhere", false),
        ] {
            assert_eq!(
                cluster.gives_gate(namespace, pod, now),
                given,
                "{}",
                pod.name()
            );
        }
        let later = now + Duration::from_mins(1);
        assert!(
            !cluster.gives_gate("shop", &seen, later),
            "nobody has written since"
        );
        cluster.condition_written(true, later);
        cluster.retain_profiles(|_| false);
        assert!(!cluster.gives_gate("shop", &seen, later));
    }

    #[test]
    fn a_pod_that_takes_long_to_end_is_no_version_any_more() {
        let of = |name: &str, hash: &str| {
            let mut pod = pod(name, &owner("ReplicaSet", "web-1", "known"), true);
            pod.labels
                .insert("pod-template-hash".to_owned(), hash.to_owned());
            pod
        };
        let mut old = of("a", "1");
        let new = Arc::new(of("b", "2"));
        assert_eq!(versions(&[Arc::new(old.clone()), Arc::clone(&new)]), 2);
        old.metadata.deletion_timestamp = Some(jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(versions(&[Arc::new(old), new]), 1);
    }

    #[test]
    fn pods_stand_with_the_profile_of_their_workload_and_others_by_themselves() {
        let cluster = cluster();
        let namespace = json!({"metadata": {"name": "shop",
            "annotations": {"evenkeel.dev/enabled": "true"}}});
        let namespace = serde_json::from_value(namespace).unwrap();
        cluster.apply_namespace(&namespace, cluster.now());
        for kind in [
            Kind::Pod,
            Kind::Namespace,
            Kind::ReplicaSet,
            Kind::Deployment,
            Kind::StatefulSet,
        ] {
            cluster.set_synced(kind);
        }
        assert!(!cluster.profile_view().synced);
        cluster.set_synced(Kind::ReplicaProfile);
        cluster.set_synced(Kind::PodDisruptionBudget);
        assert!(cluster.profile_view().synced);
        cluster.apply_profile(&profile("shop", "StatefulSet"));
        cluster.apply_profile(&profile("not-opted-in", "StatefulSet"));
        let own = owner("StatefulSet", "web", "s");
        let at = cluster.now();
        cluster.apply_pod(&pod("web-0", &own, true), at);
        cluster.apply_pod(&pod("web-1", &own, false), at);
        cluster.apply_pod(&pod("db-0", &owner("StatefulSet", "db", "d"), true), at);
        let view = cluster.profile_view();
        let names = |pods: &[Arc<Pod>]| -> Vec<String> {
            pods.iter().map(|pod| pod.name().to_owned()).collect()
        };
        let keys: Vec<&String> = view.profiled.keys().collect();
        assert_eq!(keys, ["shop/web"]);
        let web = &view.profiled["shop/web"];
        assert_eq!(names(&web.gated), ["web-0"]);
        assert_eq!(web.ungated.len(), 1);
        assert_eq!(names(&view.others), ["db-0"]);
        // A second profile of the same workload stands against the first.
        let mut second = profile("shop", "StatefulSet");
        second.metadata.name = Some("twin".to_owned());
        cluster.apply_profile(&second);
        let view = cluster.profile_view();
        for (one, other) in [("shop/web", "twin"), ("shop/twin", "web")] {
            let others = &view.profiled[one].scalers.profiles;
            let names: Vec<&str> = others.iter().map(|one| one.object.name()).collect();
            assert_eq!(names, [other]);
        }
        cluster.serve(Kind::ReplicaProfile, false);
        let view = cluster.profile_view();
        assert!(view.synced && view.profiled.is_empty());
        assert_eq!(view.others.len(), 2);
    }
}
