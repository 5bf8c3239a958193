//! Reads answers into columns of usage, or into the times that date them. Answers with dates come
//! first in a round, and show which `instance` is which node. A value without a date is not taken,
//! because its age is unknown. If several series describe one node or Pod, one of them is taken:
//! their sum would count values of two jobs twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use evenkeel_metrics::usage::{NodeColumn, NodeSample, UsageSample};
use evenkeel_objects::pod_name::PodNames;
use evenkeel_placement::interfaces::{Interfaces, NetworkUse};
use evenkeel_units::{Amount, Resource, Resources};
use jiff::{SignedDuration, Timestamp};

use super::answer;
use super::answer::PromLabels;
use super::names::{NodeAddressIndex, NodeLabel, NodeNames, learn};
use super::network::{InterfaceSeriesKind, PART};
use super::queries::OfInterfaces;
use super::series_choice::{LargestSeriesValues, SeriesCandidate, choose};
use crate::metrics::answer::{Answers, Content, Instances, NodeTimes, QueryAnswer, SampleTimes};
use crate::metrics::error::MetricsError;
use crate::metrics::query::UsageQuery;
use crate::metrics::rejected_samples::{DropCause, RejectedSamples};

pub(super) struct PromAnswerReader {
    pub(super) window: SignedDuration,
    /// For each resource, the resource with the sample times that it shares.
    pub(super) dated_by: Resources<Resource>,
    pub(super) of_interfaces: OfInterfaces,
    pub(super) node_label: NodeLabel,
    pub(super) addresses: ArcSwap<NodeAddressIndex>,
    /// The names of the Pods in the answers, so that all of them share each.
    pub(super) pod_names: Mutex<PodNames>,
}

#[derive(Clone, Copy)]
struct NodeColumnSpec {
    /// The resource with the times that date the values.
    resource: Resource,
    /// The span that each value speaks of.
    window: SignedDuration,
}

struct NodeColumnAnswer {
    values: NodeColumn,
    dropped: RejectedSamples,
    warning: Option<String>,
}

impl PromAnswerReader {
    /// Reads the answer to a query that was asked at `now`, after the answers `before`.
    ///
    /// # Errors
    /// The answer is refused, and nothing of it is taken.
    pub(super) fn read(
        &self,
        query: UsageQuery,
        before: &Answers,
        now: Timestamp,
        body: &[u8],
    ) -> Result<QueryAnswer, MetricsError> {
        match query {
            UsageQuery::SampleTime(_) => self.times(before, now, body),
            UsageQuery::Node(Resource::NetworkIo) if self.of_interfaces.used => {
                self.interfaces(before, body)
            }
            UsageQuery::NetworkCapacity if self.of_interfaces.capacity => {
                self.interfaces(before, body)
            }
            UsageQuery::Node(resource) => self.nodes(resource, before, body),
            UsageQuery::IoPressure => self.io_pressure(before, body),
            UsageQuery::NetworkCapacity => self.speeds(before, body),
            UsageQuery::Pod(resource) => self.pods(resource, body),
            UsageQuery::KubeletDisk | UsageQuery::NodeMetrics | UsageQuery::PodMetrics => {
                Ok(QueryAnswer::default())
            }
        }
    }

    fn times(
        &self,
        before: &Answers,
        now: Timestamp,
        body: &[u8],
    ) -> Result<QueryAnswer, MetricsError> {
        let mut dropped = RejectedSamples::default();
        let mut instances = Instances::default();
        let mut dated: Vec<(PromLabels<'static>, Timestamp)> = Vec::new();
        let warning = answer::read(body, |labels, value| match time(value) {
            Ok(at) => {
                // A clock ahead of ours must not make a value fresh for longer.
                let at = at.min(now);
                learn(&mut instances, labels, at);
                dated.push((labels.detached(), at));
            }
            Err(cause) => dropped.add(cause),
        })?;
        let addresses = self.addresses.load();
        let known = before.instances().chain([&instances]);
        let names = NodeNames::new(&self.node_label, &addresses, known);
        let mut by_node: HashMap<Arc<str>, NodeTimes> = HashMap::new();
        for (labels, at) in &dated {
            let Some(node) = names.of(labels) else {
                dropped.add(DropCause::Unnamed);
                continue;
            };
            let times = by_node.entry(Arc::from(node)).or_insert(NodeTimes {
                newest: *at,
                by_instance: Vec::new(),
            });
            times.newest = times.newest.max(*at);
            if let Some(instance) = labels.get("instance") {
                times.by_instance.push((instance.into(), *at));
            }
        }
        let times = SampleTimes { by_node, instances };
        Ok(QueryAnswer {
            content: Content::Times(times),
            dropped,
            warning,
        })
    }

    fn nodes(
        &self,
        resource: Resource,
        before: &Answers,
        body: &[u8],
    ) -> Result<QueryAnswer, MetricsError> {
        let subject = NodeColumnSpec {
            resource,
            window: match resource {
                Resource::Cpu | Resource::NetworkIo | Resource::DiskIo => self.window,
                Resource::Memory | Resource::Disk => SignedDuration::ZERO,
            },
        };
        let column = self.column(subject, before, body, |value| amount(resource, value))?;
        let mut usage = UsageSample::default();
        usage.nodes[resource] = Arc::new(column.values);
        Ok(part(usage, column.dropped, column.warning))
    }

    /// The share of the time in which tasks waited, in thousandths.
    fn io_pressure(&self, before: &Answers, body: &[u8]) -> Result<QueryAnswer, MetricsError> {
        let subject = NodeColumnSpec {
            resource: Resource::DiskIo,
            window: self.window,
        };
        let thousandths = |value| finite(value).map(|share| Amount::from_f64(share * 1000.0));
        let column = self.column(subject, before, body, thousandths)?;
        let usage = UsageSample {
            io_pressure: Arc::new(column.values),
            ..UsageSample::default()
        };
        Ok(part(usage, column.dropped, column.warning))
    }

    /// One value for each node, dated as the measurements of the subject's resource are.
    fn column(
        &self,
        subject: NodeColumnSpec,
        before: &Answers,
        body: &[u8],
        amount: impl Fn(Option<f64>) -> Result<Amount, DropCause>,
    ) -> Result<NodeColumnAnswer, MetricsError> {
        let addresses = self.addresses.load();
        let names = NodeNames::new(&self.node_label, &addresses, before.instances());
        let mut found = Claims::new(before.times(self.dated_by[subject.resource]));
        let warning = answer::read(body, |labels, value| {
            found.take(&names, labels, amount(value));
        })?;
        let (values, dropped) = found.settle(subject.window, self.window / 2);
        Ok(NodeColumnAnswer {
            values,
            dropped,
            warning,
        })
    }

    /// The use and the capacity of the nodes' networks, as requested; if both, the use of the
    /// interfaces with the capacity.
    fn interfaces(&self, before: &Answers, body: &[u8]) -> Result<QueryAnswer, MetricsError> {
        let mut unread = RejectedSamples::default();
        let mut nodes: HashMap<PromLabels<'static>, Interfaces> = HashMap::new();
        let warning = answer::read(body, |labels, value| {
            let node = labels.without(&[PART, "device", "address"]);
            if let Err(cause) = tell(nodes.entry(node).or_default(), labels, value) {
                unread.add(cause);
            }
        })?;
        let addresses = self.addresses.load();
        let names = NodeNames::new(&self.node_label, &addresses, before.instances());
        let times = before.times(self.dated_by[Resource::NetworkIo]);
        let (mut used, mut rated) = (Claims::new(times), Claims::new(times));
        let mut capacity = LargestSeriesValues::default();
        for (labels, interfaces) in &nodes {
            let network = NetworkUse::of(interfaces);
            if let Some(all) = network.used {
                used.take(&names, labels, Ok(all));
            }
            if let Some(some) = network.rated {
                rated.take(&names, labels, Ok(some));
            }
            if let Some(speed) = network.capacity {
                capacity.take(names.of(labels).map(Arc::from), Ok(speed));
            }
        }
        let OfInterfaces {
            used: is_used,
            capacity: is_capacity,
        } = self.of_interfaces;
        let (used, mut dropped) = used.settle(self.window, self.window / 2);
        let (rated, _) = rated.settle(self.window, self.window / 2);
        let mut usage = UsageSample::default();
        if is_used {
            usage.nodes[Resource::NetworkIo] = Arc::new(used);
        } else {
            dropped = capacity.dropped;
        }
        if is_capacity {
            usage.network_capacity = Arc::new(capacity.values);
        }
        if is_used && is_capacity {
            usage.rated_network = Arc::new(rated);
        }
        dropped.merge(&unread);
        Ok(part(usage, dropped, warning))
    }

    /// The capacities of the nodes' networks, by a query of the operator's own.
    fn speeds(&self, before: &Answers, body: &[u8]) -> Result<QueryAnswer, MetricsError> {
        let addresses = self.addresses.load();
        let names = NodeNames::new(&self.node_label, &addresses, before.instances());
        let mut collected = LargestSeriesValues::default();
        let warning = answer::read(body, |labels, value| {
            let node = names.of(labels).map(Arc::from);
            collected.take(node, amount(Resource::NetworkIo, value));
        })?;
        let usage = UsageSample {
            network_capacity: Arc::new(collected.values),
            ..UsageSample::default()
        };
        Ok(part(usage, collected.dropped, warning))
    }

    fn pods(&self, resource: Resource, body: &[u8]) -> Result<QueryAnswer, MetricsError> {
        let mut names = self
            .pod_names
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut collected = LargestSeriesValues::default();
        let warning = answer::read(body, |labels, value| {
            let pod = match (labels.get("namespace"), labels.get("pod")) {
                (Some(namespace), Some(pod)) => Some(names.get(namespace, pod)),
                _ => None,
            };
            collected.take(pod, amount(resource, value));
        })?;
        let mut usage = UsageSample::default();
        usage.pods[resource] = Arc::new(collected.values);
        Ok(part(usage, collected.dropped, warning))
    }
}

/// The values of several series for one resource of nodes.
struct Claims<'t> {
    times: Option<&'t SampleTimes>,
    by_node: HashMap<Arc<str>, Vec<SeriesCandidate>>,
    dropped: RejectedSamples,
}

impl<'t> Claims<'t> {
    fn new(times: Option<&'t SampleTimes>) -> Self {
        Self {
            times,
            by_node: HashMap::new(),
            dropped: RejectedSamples::default(),
        }
    }

    fn take(
        &mut self,
        names: &NodeNames<'_>,
        labels: &PromLabels<'_>,
        amount: Result<Amount, DropCause>,
    ) {
        let candidate = amount.and_then(|value| {
            let node = names.of(labels).ok_or(DropCause::Unnamed)?;
            let times = self.times;
            let dated = times.and_then(|times| times.by_node.get_key_value(&*node));
            let (node, times) = dated.ok_or(DropCause::Undated)?;
            let own = labels.get("instance").and_then(|own| times.of(own));
            let candidate = SeriesCandidate {
                value,
                at: own.unwrap_or(times.newest),
                is_dated: own.is_some(),
            };
            Ok((Arc::clone(node), candidate))
        });
        match candidate {
            Ok((node, candidate)) => self.by_node.entry(node).or_default().push(candidate),
            Err(cause) => self.dropped.add(cause),
        }
    }

    /// One value for each node, of the span `window`. Series at most `about` older than the newest
    /// count as new, as do jobs with alternating scrapes: half the span of rates is two scrapes.
    fn settle(
        mut self,
        window: SignedDuration,
        about: SignedDuration,
    ) -> (NodeColumn, RejectedSamples) {
        let mut values = NodeColumn::default();
        for (node, candidates) in self.by_node {
            for _ in 1..candidates.len() {
                self.dropped.add(DropCause::Ambiguous);
            }
            if let Some(SeriesCandidate { value, at, .. }) = choose(&candidates, about) {
                values.insert(node, NodeSample { value, at, window });
            }
        }
        (values, self.dropped)
    }
}

/// Takes what one series tells of an interface.
fn tell(
    interfaces: &mut Interfaces,
    labels: &PromLabels<'_>,
    value: Option<f64>,
) -> Result<(), DropCause> {
    let part = labels
        .get(PART)
        .and_then(InterfaceSeriesKind::named)
        .ok_or(DropCause::Unnamed)?;
    let device = labels.get("device").ok_or(DropCause::Unnamed)?;
    let value = amount(Resource::NetworkIo, value)?;
    let interface = match interfaces.get_mut(device) {
        Some(known) => known,
        None => interfaces.entry(device.into()).or_default(),
    };
    match part {
        InterfaceSeriesKind::Received => interface.received = Some(value),
        InterfaceSeriesKind::Sent => interface.sent = Some(value),
        InterfaceSeriesKind::Speed => interface.speed = Some(value),
        InterfaceSeriesKind::Member => interface.is_member = true,
        InterfaceSeriesKind::Bond => interface.has_members = true,
        InterfaceSeriesKind::Address => {
            let address = labels.get("address").into_iter().map(Box::from);
            interface.addresses.extend(address);
        }
    }
    Ok(())
}

fn part(usage: UsageSample, dropped: RejectedSamples, warning: Option<String>) -> QueryAnswer {
    QueryAnswer {
        content: Content::Usage(usage),
        dropped,
        warning,
    }
}

/// A value as Prometheus gives it (cores, bytes, bytes per second) in the resource's base unit.
pub(super) fn load(resource: Resource, value: Option<f64>) -> Result<f64, DropCause> {
    let per_unit = match resource {
        Resource::Cpu => 1000.0,
        Resource::Memory | Resource::NetworkIo | Resource::DiskIo | Resource::Disk => 1.0,
    };
    finite(value).map(|value| value * per_unit)
}

fn amount(resource: Resource, value: Option<f64>) -> Result<Amount, DropCause> {
    load(resource, value).map(Amount::from_f64)
}

/// A time in seconds since 1970.
pub(super) fn time(value: Option<f64>) -> Result<Timestamp, DropCause> {
    SignedDuration::try_from_secs_f64(finite(value)?)
        .ok()
        .and_then(|since| Timestamp::UNIX_EPOCH.checked_add(since).ok())
        .ok_or(DropCause::Infinite)
}

pub(super) fn finite(value: Option<f64>) -> Result<f64, DropCause> {
    match value {
        None => Err(DropCause::NotANumber),
        Some(value) if value.is_nan() => Err(DropCause::NotANumber),
        Some(value) if value.is_infinite() => Err(DropCause::Infinite),
        Some(value) if value < 0.0 => Err(DropCause::Negative),
        Some(value) => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::pod_name::PodName;

    use super::*;

    const NOW: i64 = 1_700_000_000;

    fn reader() -> PromAnswerReader {
        PromAnswerReader {
            window: SignedDuration::from_secs(120),
            dated_by: Resources::from_fn(|_| Resource::Cpu),
            of_interfaces: OfInterfaces {
                used: false,
                capacity: false,
            },
            node_label: NodeLabel::Automatic,
            addresses: ArcSwap::default(),
            pod_names: Mutex::default(),
        }
    }

    fn vector(series: &[(&str, &str)]) -> Vec<u8> {
        let series: Vec<String> = series
            .iter()
            .map(|(labels, value)| format!(r#"{{"metric":{{{labels}}},"value":[1,"{value}"]}}"#))
            .collect();
        let list = series.join(",");
        format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{list}]}}}}"#)
            .into_bytes()
    }

    fn read(query: UsageQuery, before: &Answers, series: &[(&str, &str)]) -> QueryAnswer {
        let now = Timestamp::from_second(NOW).unwrap();
        reader().read(query, before, now, &vector(series)).unwrap()
    }

    fn usage(answer: &QueryAnswer) -> &UsageSample {
        let Content::Usage(usage) = &answer.content else {
            panic!("{answer:?} tells times");
        };
        usage
    }

    fn timed(series: &[(&str, &str)]) -> (Answers, RejectedSamples) {
        let query = UsageQuery::SampleTime(Resource::Cpu);
        let answer = read(query, &Answers::default(), series);
        let (mut answers, dropped) = (Answers::default(), answer.dropped);
        answers.push(query, Arc::new(answer));
        (answers, dropped)
    }

    fn dated(nodes: &[&str]) -> Answers {
        let at = (NOW - 10).to_string();
        let labels: Vec<String> = nodes
            .iter()
            .map(|node| format!(r#""node":"{node}""#))
            .collect();
        let series: Vec<(&str, &str)> = labels.iter().map(|labels| (&**labels, &*at)).collect();
        let (answers, dropped) = timed(&series);
        assert_eq!(dropped, RejectedSamples::default());
        answers
    }

    #[test]
    fn values_are_kept_in_base_units_with_the_time_of_the_scrape() {
        let before = dated(&["a"]);
        for (resource, given, kept, window) in [
            (Resource::Cpu, "1.2345", 1235, 120),
            (Resource::Memory, "1e9", 1_000_000_000, 0),
            (Resource::NetworkIo, "12.4", 12, 120),
            (Resource::DiskIo, "0", 0, 120),
            (Resource::Disk, "7", 7, 0),
        ] {
            let answer = read(
                UsageQuery::Node(resource),
                &before,
                &[(r#""node":"a""#, given)],
            );
            let measured = usage(&answer).node("a")[resource].unwrap();
            assert_eq!(measured.value, Amount::new(kept), "{resource}");
            assert_eq!(measured.at.as_second(), NOW - 10);
            assert_eq!(measured.window, SignedDuration::from_secs(window));
        }
    }

    #[test]
    fn what_cannot_be_believed_is_dropped_and_counted_by_cause() {
        let before = dated(&["nan", "inf", "negative", "twice", "thrice", "good"]);
        let series = [
            (r#""node":"nan""#, "NaN"),
            (r#""node":"inf""#, "+Inf"),
            (r#""node":"negative""#, "-0.1"),
            (r#""node":"twice""#, "1"),
            (r#""node":"twice","instance":"b""#, "1"),
            (r#""node":"thrice""#, "1"),
            (r#""node":"thrice","instance":"b""#, "1"),
            (r#""node":"thrice","instance":"c""#, "1"),
            (r#""node":"undated""#, "1"),
            (r#""job":"x""#, "1"),
            (r#""node":"good""#, "1"),
        ];
        let answer = read(UsageQuery::Node(Resource::Cpu), &before, &series);
        let counts: Vec<(DropCause, u64)> = answer.dropped.iter().collect();
        assert_eq!(
            counts,
            [
                (DropCause::NotANumber, 1),
                (DropCause::Infinite, 1),
                (DropCause::Negative, 1),
                (DropCause::Unnamed, 1),
                (DropCause::Ambiguous, 3),
                (DropCause::Undated, 1),
                (DropCause::Misdated, 0),
            ]
        );
        let taken = usage(&answer).node_names();
        assert_eq!(taken, ["good", "thrice", "twice"].into());
    }

    #[test]
    fn of_two_exporters_that_speak_of_a_node_the_newer_and_else_the_larger_is_taken() {
        let (fresh, old) = ((NOW - 10).to_string(), (NOW - 80).to_string());
        let (own, other) = (
            r#""node":"a","instance":"10.0.0.1:9100""#,
            r#""node":"a","instance":"10.2.3.4:8080""#,
        );
        for (times, values, taken, at) in [
            // A stranger says that the node is idle, and that it is full.
            ([&fresh, &fresh], ["2", "0"], 2000, NOW - 10),
            ([&fresh, &fresh], ["2", "9"], 9000, NOW - 10),
            // An exporter that is gone.
            ([&old, &fresh], ["9", "2"], 2000, NOW - 10),
        ] {
            let (before, _) = timed(&[(own, times[0]), (other, times[1])]);
            let series = [(own, values[0]), (other, values[1])];
            let answer = read(UsageQuery::Node(Resource::Cpu), &before, &series);
            let measured = usage(&answer).node("a")[Resource::Cpu].unwrap();
            assert_eq!(measured.value, Amount::new(taken));
            assert_eq!(measured.at.as_second(), at);
            assert_eq!(answer.dropped.count(DropCause::Ambiguous), 1);
        }
        // A stranger that nothing dates is not heard beside one that is.
        let (before, _) = timed(&[(own, &fresh)]);
        let series = [(own, "2"), (other, "9")];
        let answer = read(UsageQuery::Node(Resource::Cpu), &before, &series);
        let measured = usage(&answer).node("a")[Resource::Cpu].unwrap();
        assert_eq!(measured.value, Amount::new(2000));
    }

    #[test]
    fn of_two_series_of_a_pod_or_of_two_speeds_the_larger_is_taken() {
        let series = [
            (r#""namespace":"x","pod":"p","node":"a""#, "2"),
            (r#""namespace":"x","pod":"p","node":"a","job":"b""#, "3"),
        ];
        let before = Answers::default();
        let answer = read(UsageQuery::Pod(Resource::Memory), &before, &series);
        let used = usage(&answer).of_pod("x", "p", Resource::Memory);
        assert_eq!(used, Some(Amount::new(3)));
        assert_eq!(answer.dropped.count(DropCause::Ambiguous), 1);
        let answer = read(UsageQuery::NetworkCapacity, &before, &series);
        assert_eq!(usage(&answer).network_capacity["a"], Amount::new(3));
        assert_eq!(answer.dropped.count(DropCause::Ambiguous), 1);
    }

    /// The harm: the built-in capacity query replaced the use that the operator had asked for.
    #[test]
    fn what_interfaces_tell_is_read_only_for_what_is_asked_of_them() {
        let interface =
            |device: &str, part: &str| format!(r#""node":"a","device":"{device}","part":"{part}""#);
        let told = [
            (interface("eth0", "received"), "1100"),
            (interface("eth0", "sent"), "7"),
            (interface("ens5", "received"), "50"),
            (interface("ens5", "speed"), "1250"),
            (interface("ens6", "speed"), "NaN"),
            (r#""node":"a","part":"speed""#.to_owned(), "1"),
        ];
        let told = told.each_ref().map(|(labels, value)| (&**labels, *value));
        let (network, capacity) = (
            UsageQuery::Node(Resource::NetworkIo),
            UsageQuery::NetworkCapacity,
        );
        for (query, of_interfaces, expected) in [
            (network, (true, true), [Some(1150), Some(1250), Some(50)]),
            (network, (true, false), [Some(1150), None, None]),
            (capacity, (false, true), [None, Some(1250), None]),
        ] {
            let (used, capacity) = of_interfaces;
            let reader = PromAnswerReader {
                of_interfaces: OfInterfaces { used, capacity },
                ..reader()
            };
            let now = Timestamp::from_second(NOW).unwrap();
            let answer = reader.read(query, &dated(&["a"]), now, &vector(&told));
            let answer = answer.unwrap();
            let usage = usage(&answer);
            let used = |column: &NodeColumn| column.get("a").map(|one| one.value.get());
            let found = [
                used(&usage.nodes[Resource::NetworkIo]),
                usage.network_capacity.get("a").map(|speed| speed.get()),
                used(&usage.rated_network),
            ];
            assert_eq!(found, expected, "{of_interfaces:?}");
            assert_eq!(answer.dropped.count(DropCause::NotANumber), 1);
            assert_eq!(answer.dropped.count(DropCause::Unnamed), 1);
        }
    }

    #[test]
    fn io_pressure_is_a_share_in_thousandths_and_as_old_as_the_exporter() {
        let value = [(r#""node":"a""#, "0.4567"), (r#""node":"b""#, "NaN")];
        let answer = read(UsageQuery::IoPressure, &dated(&["a", "b"]), &value);
        let pressure = usage(&answer).io_pressure["a"];
        assert_eq!(pressure.value, Amount::new(457));
        assert_eq!(pressure.at.as_second(), NOW - 10);
        assert_eq!(pressure.window, SignedDuration::from_secs(120));
        assert_eq!(answer.dropped.count(DropCause::NotANumber), 1);
        assert!(usage(&answer).node_names().is_empty());
    }

    #[test]
    fn a_time_ahead_of_ours_counts_as_now() {
        let (before, _) = timed(&[(r#""node":"a""#, &(NOW + 90).to_string())]);
        let answer = read(
            UsageQuery::Node(Resource::Cpu),
            &before,
            &[(r#""node":"a""#, "1")],
        );
        let measured = usage(&answer).node("a")[Resource::Cpu].unwrap();
        assert_eq!(measured.at.as_second(), NOW);
    }

    #[test]
    fn times_that_are_none_are_dropped() {
        let (_, dropped) = timed(&[
            (r#""node":"a""#, "NaN"),
            (r#""node":"b""#, "1e300"),
            (r#""job":"c""#, "5"),
        ]);
        let total: u64 = dropped.iter().map(|(_, count)| count).sum();
        assert_eq!(total, 3);
    }

    #[test]
    fn values_are_undated_where_the_times_were_not_answered() {
        let value = [(r#""node":"a""#, "1")];
        let answer = read(UsageQuery::Node(Resource::Cpu), &Answers::default(), &value);
        assert_eq!(answer.dropped.count(DropCause::Undated), 1);
        assert_eq!(usage(&answer), &UsageSample::default());
    }

    #[test]
    fn the_instance_of_a_series_is_known_by_the_host_name_of_another() {
        let (before, _) = timed(&[(r#""instance":"10.0.0.1:9100","nodename":"A""#, "1699999990")]);
        let value = [(r#""instance":"10.0.0.1:9100""#, "2")];
        let answer = read(UsageQuery::Node(Resource::Cpu), &before, &value);
        assert_eq!(usage(&answer).node_names(), ["a"].into());
        let answer = read(UsageQuery::NetworkCapacity, &before, &value);
        assert_eq!(usage(&answer).network_capacity["a"], Amount::new(2));
    }

    #[test]
    fn pods_are_named_by_namespace_and_pod() {
        let answer = read(
            UsageQuery::Pod(Resource::Cpu),
            &Answers::default(),
            &[
                (r#""namespace":"x","pod":"p""#, "0.25"),
                (r#""namespace":"y","pod":"p""#, "0.5"),
                (r#""namespace":"y""#, "0.5"),
            ],
        );
        assert_eq!(answer.dropped.count(DropCause::Unnamed), 1);
        let cpu = |namespace| usage(&answer).of_pod(namespace, "p", Resource::Cpu);
        assert_eq!(cpu("x"), Some(Amount::new(250)));
        assert_eq!(cpu("y"), Some(Amount::new(500)));
    }

    #[test]
    fn the_answers_to_all_queries_share_the_names_of_nodes_and_pods() {
        let (reader, now) = (reader(), Timestamp::from_second(NOW).unwrap());
        let before = dated(&["a"]);
        let body = vector(&[(r#""node":"a","namespace":"x","pod":"p""#, "1")]);
        let of = |query| reader.read(query, &before, now, &body).unwrap();
        let pod = |resource| {
            let answer = of(UsageQuery::Pod(resource));
            let name = usage(&answer).pods[resource].keys().next();
            name.unwrap().clone()
        };
        let cpu = pod(Resource::Cpu);
        let shares = |other: &PodName| std::ptr::eq(cpu.name(), other.name());
        assert!(shares(&pod(Resource::Memory)), "of the same round");
        assert!(shares(&pod(Resource::Cpu)), "of the next round");
        let node = |resource| {
            let answer = of(UsageQuery::Node(resource));
            let name = usage(&answer).nodes[resource].keys().next();
            Arc::clone(name.unwrap())
        };
        assert!(Arc::ptr_eq(&node(Resource::Cpu), &node(Resource::Memory)));
    }
}
