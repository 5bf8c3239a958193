//! ReplicaProfiles, by the leader: each second it compares every profile with its Pods. It
//! remembers only its reports and awaited changes; all else is read off Pods and workloads. If a
//! Pod's profile is gone or not followed, the Pod returns to traffic in any namespace.

use std::collections::{BTreeMap, HashMap};

use evenkeel_objects::plan::{Purpose, Write};
use evenkeel_replica_profile::plan::{
    GiveBacks, ProfileContext, ProfileMemory, ProfileOutcome, bring_online, plan, release,
};
use evenkeel_scaling::targets::settings::Settings;
use jiff::Timestamp;

use super::metrics::ControllerMetrics;
use super::switch::Writes;
use crate::cluster::ClusterState;

pub(super) struct ProfileRounds {
    pub(super) cluster: ClusterState,
    pub(super) settings: Settings,
    /// This replica's name in Events.
    pub(super) reporter: String,
    pub(super) metrics: ControllerMetrics,
}

#[derive(Debug, Default)]
pub(super) struct ProfileRoundMemory {
    /// The last reports and the awaited changes of each profile, by namespace and name.
    profiles: BTreeMap<String, ProfileMemory>,
    /// The Pods that no profile holds any more.
    released: GiveBacks,
}

impl ProfileRounds {
    pub(super) fn plan(&self, memory: &mut ProfileRoundMemory, now: Timestamp) -> Vec<Write> {
        let view = self.cluster.profile_view();
        if !view.synced {
            return Vec::new();
        }
        let context = ProfileContext {
            settings: &self.settings,
            reporter: &self.reporter,
            now,
        };
        let ProfileRoundMemory { profiles, released } = memory;
        profiles.retain(|name, _| view.profiled.contains_key(name));
        let held = view.profiled.values().flat_map(|one| &one.gated);
        released.retain(held.chain(&view.others).map(|pod| &**pod));
        let mut writes = Vec::new();
        let mut states: HashMap<&'static str, i64> = HashMap::new();
        for (name, profiled) in &view.profiled {
            let memory = profiles.entry(name.clone()).or_default();
            let ProfileOutcome {
                writes: planned,
                problem,
                holds_pods,
            } = plan(profiled, memory, &context);
            writes.extend(planned);
            *states.entry(problem.unwrap_or("Followed")).or_default() += 1;
            if !holds_pods {
                let gated = profiled.gated.iter();
                writes.extend(gated.flat_map(|pod| release(pod, released, now)));
            }
        }
        self.metrics.profiles(&states);
        let others = view.others.iter();
        writes.extend(others.flat_map(|pod| release(pod, released, now)));
        writes
    }
}

/// The writes that bring all gated Pods back into traffic under `writes: restore`.
pub(super) fn restored(writes: Writes, cluster: &ClusterState, now: Timestamp) -> Vec<Write> {
    match writes {
        Writes::Restore => {
            let pods = cluster.profiles().gated();
            let pods = pods.iter();
            // No Pod may be left out of traffic: its resources follow, or go with the Pod.
            pods.flat_map(|pod| bring_online(pod, Purpose::Restore, now))
                .collect()
        }
        Writes::Enabled | Writes::Disabled => Vec::new(),
    }
}
