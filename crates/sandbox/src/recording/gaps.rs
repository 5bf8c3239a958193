//! The gaps in a record, in sentences: facts that it cannot show. The same list stands in the record
//! and in the output of a replay.

use evenkeel_objects::annotations::BOUNDS;
use evenkeel_units::{Amount, Resource};
use jiff::SignedDuration;

use super::{ClusterRecord, WorkloadRecord, read_scale};

/// True of every record.
const ALWAYS: [&str; 6] = [
    "The load is the cpu that Pods used. Requests that waited or failed are missing, so a load \
     above the limits of the Pods looks like one at their limits.",
    "Pods use cpu to start, too. So the load is that of the Pods that had run for two rate windows, times \
     the ready Pods.",
    "Times of image pulls are unknown. They are part of the start of each Pod, on every node.",
    "Pods that lived for less than two scrapes have no series.",
    "Affinity, taints, volumes, priorities and disruption budgets are not replayed. Topology \
     spread is kube-scheduler's default. Requests, limits and HPAs are those at the time of the \
     recording.",
    "CronHPAs are not recorded. Fields such as \
     readiness gates and Evenkeel's own custom resources are not recorded.",
];

/// The shortest run of missing values that is reported.
const HOLE: SignedDuration = SignedDuration::from_mins(5);

/// How long an API server keeps Events by default.
const EVENTS: &str = "The API server keeps Events for one hour by default";

impl ClusterRecord {
    /// One sentence or two for each gap.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps: Vec<String> = ALWAYS.map(str::to_owned).to_vec();
        let step = self.span.step;
        gaps.push(format!(
            "Series have one value each {step:#}. Shorter peaks are flatter than they were."
        ));
        self.node_gaps(&mut gaps);
        self.workload_gaps(&mut gaps);
        self.event_gaps(&mut gaps);
        self.unread_gaps(&mut gaps);
        gaps
    }

    fn node_gaps(&self, gaps: &mut Vec<String>) {
        gaps.push(
            "The nodes are those at the time of the recording. A node that left is missing."
                .to_owned(),
        );
        gaps.push(
            "Pods that run at the start are placed again, all of them 30 seconds into the replay."
                .to_owned(),
        );
        let count = |what: fn(&super::NodeRecord) -> bool| {
            self.nodes.iter().filter(|node| what(node)).count()
        };
        let begin = self.span.begin();
        let late = self.nodes.iter();
        let late = late.filter(|node| node.created.is_some_and(|at| at > begin));
        let late = late.count();
        for (number, what) in [
            (late, "joined later and exist from the beginning"),
            (
                count(|node| node.control_plane || !node.schedulable),
                "are of the control plane, cordoned or not Ready, and are left out",
            ),
            (
                count(|node| node.tainted && !node.control_plane),
                "have taints, which are left out",
            ),
            (
                count(|node| node.capacity[Resource::NetworkIo].is_none()),
                "announce no network capacity: 10Gbps is assumed",
            ),
            (
                count(|node| node.capacity[Resource::DiskIo].is_none()),
                "announce no disk I/O capacity: 1GB/s is assumed",
            ),
        ] {
            if number > 0 {
                gaps.push(format!("Nodes that {what}: {number}."));
            }
        }
        let others = self.pod_groups().others.len();
        if others > 0 {
            gaps.push(format!(
                "Pods of DaemonSets, of Jobs and without a controller: {others}. Their requests are \
                 taken off the capacity of their nodes for the whole time."
            ));
        }
    }

    fn workload_gaps(&self, gaps: &mut Vec<String>) {
        let stateful = self.workloads.iter();
        let stateful = stateful.filter(|one| one.kind != "Deployment").count();
        if stateful > 0 {
            gaps.push(format!(
                "StatefulSets that are replayed as Deployments: {stateful}."
            ));
        }
        let groups = self.pod_groups();
        for (workload, pods) in self.workloads.iter().zip(&groups.of_workloads) {
            let name = format!("{}/{}", workload.namespace, workload.name);
            self.series_gaps(workload, &name, gaps);
            if !pods.iter().any(|pod| pod.ready.is_some()) {
                gaps.push(format!("{name}: no Pod shows its start. 30s is assumed."));
            }
            let mut own = self.autoscalers.iter().filter(|one| one.scales(workload));
            let Some(autoscaler) = own.next() else {
                continue;
            };
            if autoscaler.refused_bounds {
                gaps.push(format!(
                    "{name}: the annotation {BOUNDS} of its HPA was not written by Evenkeel or cannot be \
                     read. The bounds of the HPA are replayed as they are."
                ));
            }
            let read = read_scale(&autoscaler.spec, workload.demand[Resource::Cpu]);
            let (is_replayed, left_out) = match read {
                Ok(read) => (read.scale.is_some(), read.left_out),
                Err(why) => (false, vec![why]),
            };
            if !left_out.is_empty() {
                gaps.push(format!(
                    "{name}: these parts of its HPA are not replayed: {}.",
                    left_out.join(", ")
                ));
            }
            if !is_replayed {
                let without = workload.demand[Resource::Cpu] == Amount::ZERO;
                let why = if without {
                    "its Pods request no cpu"
                } else {
                    "it has no target of cpu up to 100 %"
                };
                gaps.push(format!(
                    "{name}: its HPA is not replayed, because {why}. Its recorded counts are replayed \
                     instead."
                ));
            }
        }
    }

    /// Values that are missing after the workload was created.
    fn series_gaps(&self, workload: &WorkloadRecord, name: &str, gaps: &mut Vec<String>) {
        let created = workload.created.and_then(|at| self.span.place(at));
        let describe_missing = |series: &[Option<f64>]| {
            let (missing, longest) = holes(series.get(created.unwrap_or(0)..).unwrap_or(&[]));
            let steps = i32::try_from(longest).unwrap_or(i32::MAX);
            let hole = self.span.step.saturating_mul(steps);
            let is_reported = hole >= HOLE || missing * 20 > series.len();
            is_reported.then(|| {
                format!(
                    "{missing} of {} values (up to {hole:#} in a row)",
                    series.len()
                )
            })
        };
        if workload.load.iter().flatten().next().is_none() {
            gaps.push(format!(
                "{name}: no series of its cpu. Its Pods use what they request."
            ));
        } else if let Some(missing) = describe_missing(&workload.load) {
            gaps.push(format!(
                "{name}: {missing} of its cpu are missing. They are interpolated linearly."
            ));
        }
        if workload.ready.iter().flatten().next().is_none() {
            gaps.push(format!(
                "{name}: no series of its ready Pods. \"as it was\" leaves it out."
            ));
        } else if let Some(missing) = describe_missing(&workload.ready) {
            gaps.push(format!(
                "{name}: {missing} of its ready Pods are missing. The count before is taken, and \
                 \"as it was\" leaves out the time before the first count."
            ));
        }
    }

    fn event_gaps(&self, gaps: &mut Vec<String>) {
        let times = self
            .events
            .iter()
            .filter_map(|event| event.first.or(event.last));
        let told = match times.min() {
            Some(oldest) if oldest > self.span.from => {
                format!(
                    "{EVENTS}: the oldest in this record is from {oldest}; earlier ones are missing."
                )
            }
            Some(_) => format!("{EVENTS}. This record has Events of its whole time."),
            None => format!("{EVENTS}. This record has none."),
        };
        gaps.push(told);
        if self.unread.dropped_events > 0 {
            gaps.push(format!(
                "Events beyond the most that a record keeps: {}.",
                self.unread.dropped_events
            ));
        }
        if self.is_anonymized {
            gaps.push(
                "Names are replaced. Messages of Events, selectors of metrics, most annotations and \
                 the names of custom kinds are left out."
                    .to_owned(),
            );
        }
    }

    fn unread_gaps(&self, gaps: &mut Vec<String>) {
        let super::UnreadParts {
            other_namespaces,
            kinds,
            resources,
            namespaces,
            refused_workloads,
            deleted_workloads,
            counts_by_series,
            begins_late,
            dropped_events: _,
        } = &self.unread;
        if *begins_late {
            gaps.push(format!(
                "There are no series from before {}. The record begins then.",
                self.span.from
            ));
        }
        if *other_namespaces {
            gaps.push(
                "Only one namespace was recorded. Pods of others are missing, so the nodes are emptier \
                 than they were."
                    .to_owned(),
            );
        }
        for (kind, status) in kinds {
            gaps.push(format!(
                "The API server refused the list of {kind} with status {status}."
            ));
        }
        for resource in resources {
            gaps.push(format!(
                "There are no series of {resource} of Pods. Their requests are assumed as their use."
            ));
        }
        for namespace in namespaces {
            gaps.push(format!(
                "Prometheus refused queries for the namespace {namespace}. Series of it are missing."
            ));
        }
        if *refused_workloads > 0 {
            gaps.push(format!(
                "Workloads whose queries Prometheus refused or did not answer: {refused_workloads}."
            ));
        }
        if *deleted_workloads > 0 {
            gaps.push(format!(
                "Workloads that had load and no longer exist: {deleted_workloads}. Their requests are \
                 unknown, so they are left out."
            ));
        }
        if *counts_by_series > 0 {
            gaps.push(format!(
                "Workloads without counts of kube-state-metrics: {counts_by_series}. Their Pods are \
                 counted by their cpu series, ready or not."
            ));
        }
    }
}

/// The number of missing values of a series, and of the most that follow one another.
fn holes(series: &[Option<f64>]) -> (usize, usize) {
    let missing = series.iter().filter(|value| value.is_none()).count();
    let runs = series.split(Option::is_some).map(<[_]>::len);
    (missing, runs.max().unwrap_or(0))
}
