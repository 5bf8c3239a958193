//! A leader's memory of tuning: container samples, the last scaling of workloads, and the last
//! decisions and reports.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use evenkeel_tuning::decision::{HpaActivity, MinuteSamples, SampleWindow};
use evenkeel_tuning::plan::{PendingResize, TunedContainer, TunedWorkload};
use evenkeel_tuning::resizable_pod::ResizablePod;
use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::CpuMemory;
use jiff::{SignedDuration, Timestamp};

use super::limits::ResizeLimits;
use super::workloads::{WorkloadId, id_of};
use crate::metrics::ContainerUsage;

/// The time between two samples of a container.
const SAMPLE: SignedDuration = SignedDuration::from_mins(1);
/// The age limit of the newest sample: it is up to a scrape older than its query.
const FRESH: SignedDuration = SignedDuration::from_secs(180);
/// The time for which LimitRanges and quotas are taken for what they were.
const LIMITS_HOLD: SignedDuration = SignedDuration::from_mins(1);

pub(super) type PodId = (Arc<str>, Arc<str>);

#[derive(Debug, Default)]
pub(super) struct WorkloadTuningState {
    replicas: Option<i32>,
    scaled: Option<Timestamp>,
    pub(super) containers: BTreeMap<String, TunedContainer>,
    /// Why nothing is resized at present.
    pub(super) held: Option<String>,
    /// True once its status is to be written anew.
    pub(super) is_news: bool,
    pub(super) told: Option<Timestamp>,
    pub(super) pending: Vec<PendingResize>,
    /// Those of them that the status was last told of.
    pub(super) told_pending: Vec<PendingResize>,
    pub(super) resized: usize,
}

type ContainerWindows = BTreeMap<Box<str>, SampleWindow<CpuMemory<Amount>>>;

#[derive(Debug, Default)]
pub(super) struct TuningMemory {
    /// By the Pod's UID, then by container.
    windows: HashMap<Arc<str>, ContainerWindows>,
    sampled: Option<Timestamp>,
    pub(super) workloads: HashMap<WorkloadId, WorkloadTuningState>,
    /// When turns of nodes were last looked at.
    pub(super) looked: Option<Timestamp>,
    /// The written Events, by the Pod's UID: the reason, and the resize that it is about.
    pub(super) told: HashMap<Arc<str>, (&'static str, Option<Timestamp>)>,
    pub(super) lowers_limits: Option<bool>,
    limits: Option<(Timestamp, Arc<ResizeLimits>)>,
}

impl TuningMemory {
    pub(super) fn is_sample_due(&mut self, now: Timestamp) -> bool {
        let is_due = |last: Timestamp| now.duration_since(last) >= SAMPLE;
        let is_due = self.sampled.is_none_or(is_due);
        if is_due {
            self.sampled = Some(now);
        }
        is_due
    }

    /// Takes a round of samples of these Pods; what is of no other is forgotten.
    pub(super) fn take_samples(
        &mut self,
        usage: &[ContainerUsage],
        pods: &HashMap<PodId, Arc<ResizablePod>>,
    ) {
        let uids: HashSet<&Arc<str>> = pods.values().map(|pod| &pod.uid).collect();
        self.windows.retain(|uid, _| uids.contains(uid));
        for one in usage {
            let names = (Arc::from(&*one.name.namespace), Arc::from(&*one.name.pod));
            let Some(pod) = pods.get(&names) else {
                continue;
            };
            let windows = self.windows.entry(Arc::clone(&pod.uid)).or_default();
            let window = windows.entry(one.name.container.clone()).or_default();
            window.push(one.at, one.used, SAMPLE);
        }
    }

    pub(super) fn samples(
        &self,
        uid: &str,
        container: &str,
        now: Timestamp,
    ) -> Option<CpuMemory<MinuteSamples>> {
        let window = self.windows.get(uid)?.get(container)?;
        let samples = window.samples(now, FRESH)?;
        Some(CpuMemory {
            cpu: MinuteSamples(samples.map(|used| used.cpu)),
            memory: MinuteSamples(samples.map(|used| used.memory)),
        })
    }

    /// The usage of a Pod, from its containers with five samples each.
    pub(super) fn used(&self, uid: &str, now: Timestamp) -> Option<CpuMemory<Amount>> {
        let windows = self.windows.get(uid)?;
        let newest = windows
            .values()
            .filter_map(|window| window.samples(now, FRESH));
        let newest = newest.filter_map(|samples| samples.last().copied());
        newest.reduce(|sum, one| CpuMemory {
            cpu: sum.cpu.saturating_add(one.cpu),
            memory: sum.memory.saturating_add(one.memory),
        })
    }

    /// Takes note of the replicas of workloads, and forgets those that are gone.
    pub(super) fn see_replicas(&mut self, workloads: &[TunedWorkload], now: Timestamp) {
        let mut before = std::mem::take(&mut self.workloads);
        for workload in workloads {
            let id = id_of(workload);
            let mut standing = before.remove(&id).unwrap_or_default();
            let replicas = workload.object.replicas;
            if standing
                .replicas
                .replace(replicas)
                .is_some_and(|before| before != replicas)
            {
                standing.scaled = Some(now);
            }
            self.workloads.insert(id, standing);
        }
    }

    pub(super) fn quiet(&self, id: &WorkloadId, is_called_for: bool) -> HpaActivity {
        HpaActivity {
            scaled: self.workloads.get(id).and_then(|standing| standing.scaled),
            is_called_for,
        }
    }

    pub(super) fn limits(&self, now: Timestamp) -> Option<Arc<ResizeLimits>> {
        let (at, limits) = self.limits.as_ref()?;
        (now.duration_since(*at) < LIMITS_HOLD).then(|| Arc::clone(limits))
    }

    pub(super) fn know_limits(&mut self, limits: &Arc<ResizeLimits>, now: Timestamp) {
        self.limits = Some((now, Arc::clone(limits)));
    }
}
