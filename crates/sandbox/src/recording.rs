//! The recorded past of a cluster, as plain data: [`ClusterRecord`] has the series and objects that
//! were read, and [`ClusterRecord::files`] makes of them a scenario with its traces, the raw parts
//! that a scenario cannot carry, and the list of what the record does not show. A replay reads the
//! scenario as any other.

mod anonymize;
mod autoscaler_scale;
mod files;
mod gaps;
mod scenario_text;

use std::collections::BTreeMap;

use evenkeel_units::{Amount, Resources};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::autoscaler_scale::{AutoscalerScale, read_scale};
pub use self::files::{RECORD, REPLICAS, RecordManifest, RecordedCounts, SCENARIO, VERSION};

/// All that was read of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterRecord {
    pub span: RecordSpan,
    pub is_anonymized: bool,
    pub nodes: Vec<NodeRecord>,
    pub workloads: Vec<WorkloadRecord>,
    pub pods: Vec<PodRecord>,
    pub autoscalers: Vec<AutoscalerRecord>,
    pub events: Vec<EventRecord>,
    pub unread: UnreadParts,
}

/// The times of a record. Series have a value for each step, the first at `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSpan {
    pub from: Timestamp,
    /// Whole steps after `from`.
    pub until: Timestamp,
    pub step: SignedDuration,
    /// The first part, from which forecasts learn and which is not replayed.
    pub learn: SignedDuration,
}

/// The parts of the cluster that could not be read.
#[derive(Debug, Clone, Default)]
pub struct UnreadParts {
    /// Only one namespace was recorded.
    pub other_namespaces: bool,
    /// Plural names of kinds that could not be listed, with the status of the answer.
    pub kinds: Vec<(String, u16)>,
    /// Resources whose use no series shows.
    pub resources: Vec<&'static str>,
    /// Namespaces whose series Prometheus refused.
    pub namespaces: Vec<String>,
    /// Workloads whose queries Prometheus refused or did not answer in time.
    pub refused_workloads: usize,
    /// Workloads with load in the span that no longer exist.
    pub deleted_workloads: usize,
    /// Pods that were counted by their series, without kube-state-metrics.
    pub counts_by_series: usize,
    /// The record begins later than requested, because its series do.
    pub begins_late: bool,
    /// Events beyond the most that a record keeps.
    pub dropped_events: usize,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRecord {
    pub name: String,
    /// The capacity for Pods; `None` where the node does not announce it.
    #[serde(skip)]
    pub capacity: Resources<Option<Amount>>,
    pub pods: u32,
    pub created: Option<Timestamp>,
    pub schedulable: bool,
    pub tainted: bool,
    pub control_plane: bool,
}

#[derive(Debug, Clone)]
pub struct WorkloadRecord {
    /// `Deployment` or `StatefulSet`.
    pub kind: String,
    pub namespace: String,
    pub name: String,
    pub created: Option<Timestamp>,
    /// Its count at the end.
    pub replicas: u32,
    pub demand: Resources<Amount>,
    /// Of cpu and memory; zero for none.
    pub limits: Resources<Amount>,
    /// Millicores of all its Pods, by step.
    pub load: Vec<Option<f64>>,
    /// Ready Pods, by step.
    pub ready: Vec<Option<f64>>,
    /// Mean use of one Pod; of cpu by `load` instead.
    pub each: Resources<Option<f64>>,
    pub annotations: BTreeMap<String, String>,
}

/// A Pod that existed at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodRecord {
    pub namespace: String,
    pub name: String,
    /// Kind and name; `None` for a Pod of a DaemonSet, of a Job or of nothing.
    pub workload: Option<String>,
    pub node: Option<String>,
    #[serde(skip)]
    pub demand: Resources<Amount>,
    #[serde(skip)]
    pub limits: Resources<Amount>,
    pub scheduled: Option<Timestamp>,
    pub started: Option<Timestamp>,
    /// `None` after a restart, which has another time until ready.
    pub ready: Option<Timestamp>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AutoscalerRecord {
    pub namespace: String,
    pub name: String,
    /// As it was at the end, with the user's own bounds in place of Evenkeel's.
    pub spec: Value,
    pub annotations: BTreeMap<String, String>,
    /// True if the record of its bounds does not count: another writer wrote it, or it makes no sense.
    #[serde(skip)]
    pub refused_bounds: bool,
    /// True if Evenkeel could raise its lower bound, by the status that Evenkeel wrote.
    #[serde(skip)]
    pub had_floors: bool,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventRecord {
    pub namespace: String,
    pub kind: String,
    pub name: String,
    pub reason: String,
    pub is_warning: bool,
    pub count: u32,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
    /// `None` in an anonymized record.
    pub message: Option<String>,
}

impl RecordSpan {
    /// Number of values of a series.
    pub fn points(&self) -> usize {
        let steps = self.length().as_secs() / self.step.as_secs().max(1);
        usize::try_from(steps).unwrap_or(0).saturating_add(1)
    }

    /// The place of a time in a series; `None` outside of the span.
    pub fn place(&self, at: Timestamp) -> Option<usize> {
        let half = self.step / 2;
        let since = at.duration_since(self.from).saturating_add(half);
        if since.is_negative() {
            return None;
        }
        let place = usize::try_from(since.as_secs() / self.step.as_secs().max(1)).ok()?;
        (place < self.points()).then_some(place)
    }

    pub fn length(&self) -> SignedDuration {
        self.until.duration_since(self.from)
    }

    /// The begin of the part that is replayed.
    pub fn begin(&self) -> Timestamp {
        self.from.checked_add(self.learn).unwrap_or(self.until)
    }

    /// The length of the part that is replayed.
    pub fn replayed(&self) -> SignedDuration {
        self.length().saturating_sub(self.learn)
    }
}

impl WorkloadRecord {
    /// Kind and name, as in `Deployment/web`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

/// The Pods of a record by their workloads.
struct PodGroups<'a> {
    /// In the order of the workloads.
    of_workloads: Vec<Vec<&'a PodRecord>>,
    /// Of DaemonSets, of Jobs, or without a controller.
    others: Vec<&'a PodRecord>,
}

impl ClusterRecord {
    fn pod_groups(&self) -> PodGroups<'_> {
        let places = self.workloads.iter().enumerate();
        let places = places.map(|(place, one)| ((one.namespace.as_str(), one.reference()), place));
        let places: BTreeMap<(&str, String), usize> = places.collect();
        let mut groups = PodGroups {
            of_workloads: vec![Vec::new(); self.workloads.len()],
            others: Vec::new(),
        };
        for pod in &self.pods {
            let key = pod
                .workload
                .clone()
                .map(|name| (pod.namespace.as_str(), name));
            match key.and_then(|key| places.get(&key)) {
                Some(&place) => groups.of_workloads[place].push(pod),
                None => groups.others.push(pod),
            }
        }
        groups
    }
}

impl ClusterRecord {
    /// Drops the times before the first value of all series, from which forecasts would learn what was not
    /// measured. Times before the first workload was created are for learning only, whatever `--learn` says: a
    /// replay would show an empty cluster.
    pub fn skip_empty_begin(&mut self) {
        self.drop_unmeasured_begin();
        let created = self.workloads.iter().map(|one| one.created);
        let first = created.min().flatten();
        let Some(place) = first.and_then(|first| self.span.place(first)) else {
            return;
        };
        let steps = i32::try_from(place).unwrap_or(i32::MAX);
        let before_first = self.span.step.saturating_mul(steps);
        if before_first < self.span.length() {
            self.span.learn = self.span.learn.max(before_first);
        }
    }

    fn drop_unmeasured_begin(&mut self) {
        let series = self
            .workloads
            .iter()
            .flat_map(|one| [&one.load, &one.ready]);
        let firsts = series.filter_map(|values| values.iter().position(Option::is_some));
        let last = self.span.points().saturating_sub(1);
        let Some(first) = firsts.min().filter(|first| (1..last).contains(first)) else {
            return;
        };
        for workload in &mut self.workloads {
            for values in [&mut workload.load, &mut workload.ready] {
                values.drain(..first.min(values.len()));
            }
        }
        let steps = i32::try_from(first).unwrap_or(i32::MAX);
        let skipped = self.span.step.saturating_mul(steps);
        let RecordSpan {
            from, until, learn, ..
        } = &mut self.span;
        *from = from.checked_add(skipped).unwrap_or(*until);
        *learn = learn.saturating_sub(skipped).max(SignedDuration::ZERO);
        self.unread.begins_late = true;
    }
}

impl AutoscalerRecord {
    pub fn scales(&self, workload: &WorkloadRecord) -> bool {
        let target = &self.spec["scaleTargetRef"];
        self.namespace == workload.namespace
            && target["kind"] == *workload.kind
            && target["name"] == *workload.name
    }
}

#[cfg(test)]
mod tests;
