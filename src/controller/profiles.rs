//! ReplicaProfiles, by the leader: each second every profile is held against its Pods.
//!
//! Nothing is remembered but what was told and what is waited for: what stands is read off the Pods and the workloads. Pods whose
//! profile is gone, or is not followed, are brought back into traffic, in whichever namespace they are.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;

use super::metrics::ControllerMetrics;
use super::switch::Writes;
use crate::cluster::ClusterState;
use evenkeel_kubernetes::plan::replica_profile::{
    GiveBacks, ProfileContext, ProfileMemory, ProfileOutcome, bring_online, plan, release,
};
use evenkeel_kubernetes::plan::scaling::Settings;
use evenkeel_kubernetes::plan::{Purpose, Write};

/// What rounds of profiles read.
pub(super) struct ProfileRounds {
    pub(super) cluster: ClusterState,
    pub(super) settings: Settings,
    /// This replica's name in Events.
    pub(super) reporter: String,
    pub(super) metrics: ControllerMetrics,
}

/// What is remembered from one round to the next.
#[derive(Debug, Default)]
pub(super) struct ProfileRoundMemory {
    /// What was told of each profile, and what is waited for, by namespace and name.
    profiles: BTreeMap<String, ProfileMemory>,
    /// The Pods that no profile holds any more.
    released: GiveBacks,
}

impl ProfileRounds {
    /// The writes of one round.
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

/// What goes where nothing is to be left.
pub(super) fn restored(writes: Writes, cluster: &ClusterState, now: Timestamp) -> Vec<Write> {
    match writes {
        Writes::Restore => {
            let pods = cluster.gated_pods();
            let pods = pods.iter();
            // Nobody may be left to wait: resources follow, or go with the Pod.
            pods.flat_map(|pod| bring_online(pod, Purpose::Restore, now))
                .collect()
        }
        Writes::Enabled | Writes::Disabled => Vec::new(),
    }
}
