//! The scenario of a record. A workload's requests are its cpu: one request a second takes
//! [`REQUEST`] millicores, and the other rates follow in proportion. So the replicas of a replay
//! share the recorded load, however many they are.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use evenkeel_units::{Amount, BytesPerSecond, Resource, Resources, count_as_f64};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::{ClusterRecord, NodeRecord, PodRecord, RecordSpan, WorkloadRecord, read_scale};
use crate::scenario::{ScaleBy, ScenarioHpa};

/// Millicores of one request per second.
const REQUEST: f64 = 100.0;
/// A Pod without a cpu limit serves up to this multiple of its request, or what it was seen to use.
const BURST: f64 = 2.0;
/// The start of Pods that do not show it.
const START: SignedDuration = SignedDuration::from_secs(30);
/// The longest start that is believed: later readiness is a recovery.
const LONGEST_START: SignedDuration = SignedDuration::from_mins(30);

/// Assumed capacities of nodes that announce none: of network, disk I/O and disk.
const ASSUMED: Resources<u64> =
    Resources::new([1000, 1 << 30, 1_250_000_000, 1_000_000_000, 100 << 30]);

/// The trace of a workload, with the name that the scenario has for it.
pub(super) struct TraceText {
    pub(super) name: String,
    pub(super) text: String,
}

/// Arrival time of the Pods that run at the start. Before it, no node has a measurement.
const FIRST_PODS: SignedDuration = SignedDuration::from_secs(30);

impl ClusterRecord {
    /// The scenario as a value, and its traces.
    pub(super) fn scenario(&self) -> (Value, Vec<TraceText>) {
        let groups = self.pod_groups();
        let nodes = self.nodes.iter().filter(|node| node.is_used());
        let nodes: Vec<Value> = nodes.map(|node| node_value(node, &groups.others)).collect();
        let (mut workloads, mut traces) = (Vec::new(), Vec::new());
        let names = self.unique_names();
        for ((workload, pods), name) in self.workloads.iter().zip(&groups.of_workloads).zip(names) {
            let trace = format!("traces/{}.csv", traces.len() + 1);
            let text = trace_text(&workload.load, self.span);
            let trace = text.map(|text| TraceText { name: trace, text });
            workloads.push(self.workload(workload, pods, &name, trace.as_ref()));
            traces.extend(trace);
        }
        let RecordSpan { from, learn, .. } = self.span;
        let scenario = json!({
            "name": format!("recorded-{}", from.strftime("%Y-%m-%dT%H:%MZ")),
            "traceOffset": span_text(learn),
            "past": span_text(learn),
            "nodes": nodes,
            "workloads": workloads,
            "simulation": {
                "duration": span_text(self.span.replayed()),
                "source": "a record of `evenkeel record`",
                "assumed": self.gaps(),
            },
        });
        (scenario, traces)
    }

    /// A scenario tells workloads apart by namespace and name, without their kind.
    pub(super) fn unique_names(&self) -> Vec<String> {
        let mut taken = BTreeSet::new();
        let names = self.workloads.iter().map(|workload| {
            let mut name = workload.name.clone();
            while !taken.insert((workload.namespace.as_str(), name.clone())) {
                name = format!("{name}-{}", workload.kind.to_lowercase());
            }
            name
        });
        names.collect()
    }

    fn workload(
        &self,
        workload: &WorkloadRecord,
        pods: &[&PodRecord],
        name: &str,
        trace: Option<&TraceText>,
    ) -> Value {
        let begin = self.span.begin();
        let arrival = workload.created.map(|at| at.duration_since(begin));
        let arrival = arrival.unwrap_or_default().max(FIRST_PODS);
        let counts = counts(workload, self.span);
        let autoscaler = self.autoscalers.iter().find(|one| one.scales(workload));
        let cpu = workload.demand[Resource::Cpu];
        // An HPA leaves a workload without replicas alone.
        let is_off = workload.replicas == 0 && counts.iter().all(|(_, count)| *count == 0);
        let scale = autoscaler.and_then(|one| read_scale(&one.spec, cpu).ok()?.scale);
        let scale = scale.filter(|_| !is_off);
        let arrived = counts.partition_point(|(at, _)| *at <= arrival).max(1);
        let (before, later) = counts.split_at_checked(arrived).unwrap_or_default();
        let first = before.last().map_or(workload.replicas, |(_, count)| *count);
        // Pods may be unready at the begin, and the HPA would leave a workload without replicas alone.
        let first = scale.map_or(first, |scale| first.clamp(scale.min, scale.max));
        let mut value = json!({
            "name": name,
            "namespace": workload.namespace,
            "arrival": span_text(arrival),
            "replicas": first,
            "demand": amounts(&workload.demand),
            "limits": amounts(&workload.limits),
            "startup": startup(pods),
            "annotations": workload.annotations,
        });
        let fields = value.as_object_mut().expect("it was written as an object");
        usage(workload, trace, fields);
        if let (Some(scale), Some(autoscaler)) = (scale, autoscaler) {
            let scale = scale_value(scale, &autoscaler.annotations);
            fields.insert("scale".to_owned(), scale);
        } else {
            let changes = later
                .iter()
                .map(|(at, count)| json!({"at": span_text(*at), "replicas": count}));
            fields.insert("changes".to_owned(), changes.collect());
        }
        value
    }
}

impl NodeRecord {
    pub(super) const fn is_used(&self) -> bool {
        self.schedulable && !self.control_plane
    }
}

/// Without what Pods outside of the recorded workloads request on it.
fn node_value(node: &NodeRecord, others: &[&PodRecord]) -> Value {
    let here = others
        .iter()
        .filter(|pod| pod.node.as_deref() == Some(&*node.name));
    let mut capacity = Resources::from_fn(|resource| {
        let known = node.capacity[resource];
        known.unwrap_or(Amount::new(ASSUMED[resource]))
    });
    let mut pods = node.pods;
    for pod in here {
        let left = |resource| capacity[resource].saturating_sub(pod.demand[resource]);
        // A scenario has no node without one of the resources.
        capacity = Resources::from_fn(|resource| left(resource).max(Amount::new(1)));
        pods = pods.saturating_sub(1);
    }
    json!({"name": node.name, "capacity": amounts(&capacity), "pods": pods})
}

/// Zeros are left out.
fn amounts(amounts: &Resources<Amount>) -> Value {
    let given = amounts.iter().filter(|(_, amount)| **amount > Amount::ZERO);
    let written = given.map(|(resource, amount)| {
        let number = amount.get();
        let text = match resource {
            Resource::Cpu => format!("{number}m"),
            Resource::Memory | Resource::Disk => number.to_string(),
            Resource::NetworkIo | Resource::DiskIo => BytesPerSecond(number).to_string(),
        };
        (resource.as_str().to_owned(), Value::from(text))
    });
    Value::Object(written.collect::<Map<_, _>>())
}

/// The use of a Pod: in proportion to its requests where there is a load, else constant.
fn usage(workload: &WorkloadRecord, trace: Option<&TraceText>, fields: &mut Map<String, Value>) {
    let peak = workload.load.iter().flatten().copied().fold(0.0, f64::max);
    let known = workload.load.iter().flatten();
    let mean = known.clone().sum::<f64>() / count_as_f64(known.count().max(1));
    let ready: Vec<f64> = workload.ready.iter().flatten().copied().collect();
    let count = ready.iter().sum::<f64>() / count_as_f64(ready.len().max(1));
    let each_cpu = mean / count.max(1.0);
    let (mut idle, mut per_request) = (Resources::<Amount>::default(), Resources::default());
    let is_loaded = trace.is_some() && peak > 0.0;
    for resource in Resource::ALL {
        let requested = workload.demand[resource].as_f64();
        let each = workload.each[resource].unwrap_or(requested);
        let is_rate = matches!(resource, Resource::NetworkIo | Resource::DiskIo);
        if resource == Resource::Cpu {
            idle[resource] = Amount::from_f64(if is_loaded || trace.is_some() {
                0.0
            } else {
                requested
            });
        } else if is_loaded && is_rate {
            per_request[resource] = Amount::from_f64(each / each_cpu * REQUEST);
        } else {
            idle[resource] = Amount::from_f64(each);
        }
    }
    if is_loaded {
        per_request[Resource::Cpu] = Amount::from_f64(REQUEST);
    }
    let usage = json!({"idle": amounts(&idle), "perRequest": amounts(&per_request)});
    fields.insert("usage".to_owned(), usage);
    if let (Some(trace), true) = (trace, is_loaded) {
        let traffic = json!({
            "peak": peak / REQUEST,
            "perReplica": most_of_one(workload) / REQUEST,
            "trace": trace.name,
        });
        fields.insert("traffic".to_owned(), traffic);
    }
}

/// The most millicores that one Pod can use.
fn most_of_one(workload: &WorkloadRecord) -> f64 {
    let limit = workload.limits[Resource::Cpu];
    if limit > Amount::ZERO {
        return limit.as_f64();
    }
    let pairs = workload.load.iter().zip(&workload.ready);
    let seen = pairs.filter_map(|(load, ready)| Some((*load)? / (*ready)?.max(1.0)));
    let burst = workload.demand[Resource::Cpu].as_f64() * BURST;
    seen.fold(burst, f64::max).max(REQUEST)
}

/// Medians over the Pods, in whole seconds as their objects have them.
fn startup(pods: &[&PodRecord]) -> Value {
    let spans = |from: fn(&PodRecord) -> Option<Timestamp>,
                 to: fn(&PodRecord) -> Option<Timestamp>| {
        let all = pods
            .iter()
            .filter_map(|pod| Some(to(pod)?.duration_since(from(pod)?)));
        let mut all: Vec<_> = all
            .filter(|span| !span.is_negative() && *span <= LONGEST_START)
            .collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    };
    let start = spans(|pod| pod.scheduled, |pod| pod.started);
    let warm_up = spans(|pod| pod.started, |pod| pod.ready);
    let (start, warm_up) = match (start, warm_up) {
        (Some(start), Some(warm_up)) => (start, warm_up),
        _ => (START, SignedDuration::ZERO),
    };
    json!({"pull": "0s", "start": span_text(start), "warmUp": span_text(warm_up)})
}

fn scale_value(
    scale: ScenarioHpa,
    annotations: &std::collections::BTreeMap<String, String>,
) -> Value {
    let ScenarioHpa { min, max, by } = scale;
    let mut value = json!({"min": min, "max": max, "annotations": annotations});
    match by {
        ScaleBy::Cpu(share) => value["cpu"] = format!("{:.0}%", share.get() * 100.0).into(),
        ScaleBy::Requests(requests) => value["requestsPerSecond"] = requests.into(),
    }
    value
}

/// The counts of the replayed part, each with the time from which it was seen.
fn counts(workload: &WorkloadRecord, span: RecordSpan) -> Vec<(SignedDuration, u32)> {
    let mut counts: Vec<(SignedDuration, u32)> = Vec::new();
    for (place, ready) in workload.ready.iter().enumerate() {
        let Some(ready) = ready else { continue };
        let at = span
            .step
            .saturating_mul(i32::try_from(place).unwrap_or(i32::MAX));
        let at = at.saturating_sub(span.learn).max(SignedDuration::ZERO);
        let count = u32::try_from(Amount::from_f64(*ready).get()).unwrap_or(u32::MAX);
        match counts.last_mut() {
            // Still at the begin, or before it.
            Some(last) if last.0 == at => last.1 = count,
            Some(last) if last.1 == count => {}
            _ => counts.push((at, count)),
        }
    }
    counts
}

/// A line for each value; gaps lie on a line between their neighbours. `None` without two values.
fn trace_text(load: &[Option<f64>], span: RecordSpan) -> Option<String> {
    let known = load.iter().enumerate();
    let known: Vec<(usize, f64)> = known
        .filter_map(|(at, load)| Some((at, (*load)?)))
        .collect();
    let (&first, &last) = (known.first()?, known.last()?);
    if load.len() < 2 {
        return None;
    }
    let mut text = "timestamp,value\n".to_owned();
    let mut next = 0;
    for place in 0..load.len() {
        while known.get(next).is_some_and(|(at, _)| *at < place) {
            next += 1;
        }
        let after = known.get(next).copied().unwrap_or(last);
        let before = next
            .checked_sub(1)
            .and_then(|at| known.get(at))
            .copied()
            .unwrap_or(first);
        let value = if after.0 <= place || after.0 == before.0 {
            after.1
        } else {
            let share =
                count_as_f64(place.saturating_sub(before.0)) / count_as_f64(after.0 - before.0);
            before.1 + (after.1 - before.1) * share
        };
        let at = span.step.as_secs() * i64::try_from(place).unwrap_or(i64::MAX);
        // Writing to a String does not fail.
        let _ = writeln!(text, "{},{value:.3}", span.from.as_second() + at);
    }
    Some(text)
}

fn span_text(span: SignedDuration) -> String {
    format!("{}s", span.as_secs())
}
