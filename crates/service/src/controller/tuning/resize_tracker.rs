//! Follows every Pod with a resize at each look, and reports tuning on every workload.

use std::collections::HashSet;
use std::sync::Arc;

use evenkeel_objects::annotations::TUNING_STATUS;
use evenkeel_objects::plan::{Purpose, Write};
use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_tuning::plan::{PodResizePlan, TunedWorkload, TuningContext, TuningStatus, follow};
use evenkeel_tuning::resizable_pod::ResizablePod;
use evenkeel_tuning::resize::{ResizeRefusal, ResizeRules, put_back};
use evenkeel_tuning::resize_record::Resizer;
use jiff::Timestamp;

use super::memory::{TuningMemory, WorkloadTuningState};
use super::metrics::TuningMetrics;
use super::settings::{Settings, rules_of};
use super::workloads::{by_controller, id_of};
use crate::cluster::ClusterState;

pub(super) struct ResizeTracker {
    pub(super) cluster: ClusterState,
    pub(super) settings: Settings,
    pub(super) rules: ResizeRules,
    pub(super) reporter: String,
    pub(super) metrics: TuningMetrics,
    pub(super) now: Timestamp,
}

/// The writes that restore a cluster, and the Pods that stay changed.
#[derive(Debug, Default)]
pub(super) struct ResizeRestoration {
    pub(super) writes: Vec<Write>,
    /// Pods that keep what they were not made with.
    pub(super) left: usize,
    pub(super) why: Option<ResizeRefusal>,
}

impl ResizeTracker {
    /// The writes that bring every resize on its way, with what is told of it.
    pub(super) fn plan(
        &self,
        memory: &mut TuningMemory,
        workloads: &[TunedWorkload],
    ) -> Vec<Write> {
        let owners = by_controller(workloads);
        for standing in memory.workloads.values_mut() {
            standing.pending.clear();
            standing.resized = 0;
        }
        let pods = self.cluster.resizable().resized();
        let mut writes = Vec::new();
        let mut phases = Vec::new();
        for pod in &pods {
            let controller = pod.controller.as_ref();
            let workload = controller.and_then(|key| owners.get(key).copied());
            let followed = follow(pod, &self.context(workload));
            writes.extend(self.made(memory, pod, &followed));
            if let Some(standing) = workload.and_then(|one| memory.workloads.get_mut(&id_of(one))) {
                standing.resized += usize::from(is_resized(pod));
                standing.pending.extend(followed.pending);
            }
            phases.extend(pod.resize.as_ref().map(|resize| resize.phase));
        }
        let there: HashSet<&Arc<str>> = pods.iter().map(|pod| &pod.uid).collect();
        memory.told.retain(|uid, _| there.contains(uid));
        self.metrics.resized(pods.len(), |phase| {
            phases.iter().filter(|one| **one == phase).count()
        });
        let of_mode = |mode| {
            let all = workloads.iter().map(|one| self.settings.mode_of(one));
            all.filter(|one| *one == mode).count()
        };
        self.metrics.workloads_by_mode(of_mode);
        writes
    }

    /// The writes of one Pod, without what has been told already.
    fn made(
        &self,
        memory: &mut TuningMemory,
        pod: &ResizablePod,
        followed: &PodResizePlan,
    ) -> Vec<Write> {
        let record = pod.record.as_ref().and_then(|record| record.as_ref().ok());
        let news = followed.told.as_ref().map(|told| {
            let about = (told.reason(), record.map(|record| record.at));
            memory.told.insert(Arc::clone(&pod.uid), about) != Some(about)
        });
        if let (Some(told), Some(true)) = (&followed.told, news) {
            self.metrics.resizes(told.reason()).inc();
        }
        let is_known = news == Some(false);
        let all = followed.writes.iter();
        let new = all.filter(|write| !is_known || write.purpose != Purpose::ResizeEvent);
        new.cloned().collect()
    }

    fn context<'a>(&'a self, workload: Option<&'a TunedWorkload>) -> TuningContext<'a> {
        TuningContext {
            mode: workload.map_or(TuningMode::Off, |one| self.settings.mode_of(one)),
            rules: workload.map_or(self.rules, |one| rules_of(self.rules, one)),
            policy: workload.map(|one| &one.policy),
            withdraw_after: self.settings.withdraw_after,
            reporter: &self.reporter,
            now: self.now,
        }
    }

    /// The statuses of workloads with news: of decisions once an interval, because Pods of one
    /// workload have turns all the time; of waiting resizes at once. A written status is news until
    /// it is seen, because a write may be lost.
    pub(super) fn tell(
        &self,
        memory: &mut TuningMemory,
        workloads: &[TunedWorkload],
    ) -> Vec<Write> {
        let mut writes = Vec::new();
        for workload in workloads {
            let Some(standing) = memory.workloads.get_mut(&id_of(workload)) else {
                continue;
            };
            let mode = self.settings.mode_of(workload);
            let is_told = workload.object.metadata.annotation(TUNING_STATUS).is_some();
            let status = TuningStatus {
                mode: mode.as_str().to_owned(),
                held: standing.held.clone(),
                containers: standing.containers.clone(),
                resized: standing.resized,
                pending: standing.pending.clone(),
            };
            let status = match mode {
                TuningMode::Off if is_told => None,
                TuningMode::Off => continue,
                // Where nothing has been decided since this replica leads, what stands is as good.
                _ if !self.is_due(standing) => continue,
                _ => Some(status),
            };
            let write = TuningStatus::write(status, workload, Purpose::ResizeEvent);
            if write.is_some() {
                standing.told = Some(self.now);
            } else {
                standing.is_news = false;
                standing.told_pending.clone_from(&standing.pending);
            }
            writes.extend(write);
        }
        writes
    }

    fn is_due(&self, standing: &WorkloadTuningState) -> bool {
        let is_rested = |told: Timestamp| self.now.duration_since(told) >= self.settings.interval;
        standing.pending != standing.told_pending
            || (standing.is_news && standing.told.is_none_or(is_rested))
    }

    /// The writes that put back all resizes and remove all statuses.
    pub(super) fn restored(&self, workloads: &[TunedWorkload]) -> ResizeRestoration {
        let mut restored = ResizeRestoration::default();
        let pods = self.cluster.resizable().resized();
        for pod in pods.iter().filter(|pod| pod.is_resized_by(Resizer::Tuning)) {
            match put_back(pod, self.rules, Purpose::Restore) {
                Ok(write) => restored.writes.extend(write),
                Err(refusal) => {
                    restored.left += 1;
                    restored.why = Some(refusal);
                }
            }
        }
        let statuses = workloads.iter();
        let statuses = statuses.filter_map(|one| TuningStatus::write(None, one, Purpose::Restore));
        restored.writes.extend(statuses);
        restored
    }
}

/// True for a Pod that has or waits for other resources than it was made with.
fn is_resized(pod: &ResizablePod) -> bool {
    let record = pod.record.as_ref().and_then(|record| record.as_ref().ok());
    record.is_some_and(|record| {
        record.by == Resizer::Tuning && !record.marks.left && !record.is_put_back(&pod.values())
    })
}
