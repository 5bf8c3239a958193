//! Reads answers into columns of usage, or into the times that date them.
//!
//! The answers that date the exporters come first in a round: they say which `instance` is which
//! node, and a value that nothing dates is not taken, since nobody could say whether it is fresh.
//! Where two series speak of the same node neither is taken: their sum counts twice what two jobs
//! scrape, and either alone may be the wrong one.

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

use super::answer::{self, Labels};
use super::names::{NodeLabel, NodeNames, learn};
use crate::metrics::answer::{Answer, Answers, Content, Instances, SampleTimes};
use crate::metrics::dropped::{DropCause, Dropped};
use crate::metrics::error::MetricsError;
use crate::metrics::query::Query;
use evenkeel_core::placement::usage::{Measurement, NodeColumn, PodNames, UsageSample};
use evenkeel_core::units::{Amount, Resource, Resources};

/// Reads the answers of one source.
pub(super) struct Reader {
    pub(super) window: SignedDuration,
    /// For each resource, the one whose sample times it shares.
    pub(super) dated_by: Resources<Resource>,
    pub(super) node_label: NodeLabel,
    /// The names of the Pods in the answers, so that all of them share each.
    pub(super) pod_names: Mutex<PodNames>,
}

impl Reader {
    /// Reads the answer to a query that was asked at `now`, after the answers `before`.
    ///
    /// # Errors
    /// The answer is refused, and nothing of it is taken.
    pub(super) fn read(
        &self,
        query: Query,
        before: &Answers,
        now: Timestamp,
        body: &[u8],
    ) -> Result<Answer, MetricsError> {
        match query {
            Query::SampleTime(_) => self.times(before, now, body),
            Query::Node(resource) => self.nodes(resource, before, body),
            Query::NetworkCapacity => self.speeds(before, body),
            Query::Pod(resource) => self.pods(resource, body),
            Query::NodeMetrics | Query::PodMetrics | Query::Trace => Ok(Answer::default()),
        }
    }

    fn times(&self, before: &Answers, now: Timestamp, body: &[u8]) -> Result<Answer, MetricsError> {
        let mut dropped = Dropped::default();
        let mut instances = Instances::default();
        let mut dated: Vec<(Labels<'static>, Timestamp)> = Vec::new();
        answer::read(body, |labels, value| match time(value) {
            Ok(at) => {
                // A clock ahead of ours must not make a value fresh for longer.
                let at = at.min(now);
                learn(&mut instances, labels, at);
                dated.push((labels.detached(), at));
            }
            Err(cause) => dropped.add(cause),
        })?;
        let known = before.instances().chain([&instances]);
        let names = NodeNames::new(&self.node_label, known);
        let mut by_node = HashMap::new();
        for (labels, at) in &dated {
            let Some(node) = names.of(labels) else {
                dropped.add(DropCause::Unnamed);
                continue;
            };
            let newest = by_node.entry(Arc::from(node)).or_insert(*at);
            *newest = (*newest).max(*at);
        }
        let times = SampleTimes { by_node, instances };
        Ok(Answer {
            content: Content::Times(times),
            dropped,
        })
    }

    fn nodes(
        &self,
        resource: Resource,
        before: &Answers,
        body: &[u8],
    ) -> Result<Answer, MetricsError> {
        let (values, mut dropped) = self.by_node(resource, before, body)?;
        let times = before.times(self.dated_by[resource]);
        let window = match resource {
            Resource::Cpu | Resource::NetworkIo | Resource::DiskIo => self.window,
            Resource::Memory | Resource::Disk => SignedDuration::ZERO,
        };
        let mut column = NodeColumn::default();
        for (node, value) in values {
            let dated = times.and_then(|times| times.by_node.get_key_value(&*node));
            let Some((node, &at)) = dated else {
                dropped.add(DropCause::Undated);
                continue;
            };
            column.insert(Arc::clone(node), Measurement { value, at, window });
        }
        let mut usage = UsageSample::default();
        usage.nodes[resource] = Arc::new(column);
        Ok(part(usage, dropped))
    }

    fn speeds(&self, before: &Answers, body: &[u8]) -> Result<Answer, MetricsError> {
        let (values, dropped) = self.by_node(Resource::NetworkIo, before, body)?;
        let mut usage = UsageSample::default();
        let speeds = values.into_iter();
        usage.network_capacity =
            Arc::new(speeds.map(|(node, speed)| (node.into(), speed)).collect());
        Ok(part(usage, dropped))
    }

    fn pods(&self, resource: Resource, body: &[u8]) -> Result<Answer, MetricsError> {
        let mut names = self
            .pod_names
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut collected = Collected::default();
        answer::read(body, |labels, value| {
            let pod = match (labels.get("namespace"), labels.get("pod")) {
                (Some(namespace), Some(pod)) => Some(names.get(namespace, pod)),
                _ => None,
            };
            collected.take(pod, amount(resource, value));
        })?;
        let (column, dropped) = collected.unambiguous();
        let mut usage = UsageSample::default();
        usage.pods[resource] = Arc::new(column);
        Ok(part(usage, dropped))
    }

    fn by_node(
        &self,
        resource: Resource,
        before: &Answers,
        body: &[u8],
    ) -> Result<(HashMap<Box<str>, Amount>, Dropped), MetricsError> {
        let names = NodeNames::new(&self.node_label, before.instances());
        let mut collected = Collected::default();
        answer::read(body, |labels, value| {
            let node = names.of(labels).map(Box::from);
            collected.take(node, amount(resource, value));
        })?;
        Ok(collected.unambiguous())
    }
}

fn part(usage: UsageSample, dropped: Dropped) -> Answer {
    Answer {
        content: Content::Usage(usage),
        dropped,
    }
}

/// Values by node or Pod.
struct Collected<K, S> {
    values: HashMap<K, Amount, S>,
    /// Those that two series claim.
    ambiguous: HashSet<K>,
    dropped: Dropped,
}

impl<K, S: Default> Default for Collected<K, S> {
    fn default() -> Self {
        Self {
            values: HashMap::default(),
            ambiguous: HashSet::new(),
            dropped: Dropped::default(),
        }
    }
}

impl<K: Clone + Eq + Hash, S: BuildHasher> Collected<K, S> {
    fn take(&mut self, key: Option<K>, value: Result<Amount, DropCause>) {
        let value = match value {
            Ok(value) => value,
            Err(cause) => return self.dropped.add(cause),
        };
        let Some(key) = key else {
            return self.dropped.add(DropCause::Unnamed);
        };
        match self.values.entry(key) {
            Entry::Vacant(free) => {
                free.insert(value);
            }
            Entry::Occupied(claimed) => {
                if self.ambiguous.insert(claimed.key().clone()) {
                    self.dropped.add(DropCause::Ambiguous);
                }
            }
        }
    }

    fn unambiguous(mut self) -> (HashMap<K, Amount, S>, Dropped) {
        for key in &self.ambiguous {
            self.values.remove(key);
        }
        (self.values, self.dropped)
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
fn time(value: Option<f64>) -> Result<Timestamp, DropCause> {
    SignedDuration::try_from_secs_f64(finite(value)?)
        .ok()
        .and_then(|since| Timestamp::UNIX_EPOCH.checked_add(since).ok())
        .ok_or(DropCause::Infinite)
}

fn finite(value: Option<f64>) -> Result<f64, DropCause> {
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
    use super::*;
    use evenkeel_core::placement::usage::PodName;

    const NOW: i64 = 1_700_000_000;

    fn reader() -> Reader {
        Reader {
            window: SignedDuration::from_secs(120),
            dated_by: Resources::from_fn(|_| Resource::Cpu),
            node_label: NodeLabel::Automatic,
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

    fn read(query: Query, before: &Answers, series: &[(&str, &str)]) -> Answer {
        let now = Timestamp::from_second(NOW).unwrap();
        reader().read(query, before, now, &vector(series)).unwrap()
    }

    fn usage(answer: &Answer) -> &UsageSample {
        let Content::Usage(usage) = &answer.content else {
            panic!("{answer:?} tells times");
        };
        usage
    }

    /// The answers of a round that begins with these times.
    fn timed(series: &[(&str, &str)]) -> (Answers, Dropped) {
        let query = Query::SampleTime(Resource::Cpu);
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
        assert_eq!(dropped, Dropped::default());
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
            let answer = read(Query::Node(resource), &before, &[(r#""node":"a""#, given)]);
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
        let answer = read(Query::Node(Resource::Cpu), &before, &series);
        let counts: Vec<(DropCause, u64)> = answer.dropped.iter().collect();
        assert_eq!(
            counts,
            [
                (DropCause::NotANumber, 1),
                (DropCause::Infinite, 1),
                (DropCause::Negative, 1),
                (DropCause::Unnamed, 1),
                (DropCause::Ambiguous, 2),
                (DropCause::Undated, 1),
                (DropCause::Misdated, 0),
            ]
        );
        assert_eq!(usage(&answer).node_names(), ["good"].into());
    }

    #[test]
    fn a_time_ahead_of_ours_counts_as_now() {
        let (before, _) = timed(&[(r#""node":"a""#, &(NOW + 90).to_string())]);
        let answer = read(
            Query::Node(Resource::Cpu),
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
        let answer = read(Query::Node(Resource::Cpu), &Answers::default(), &value);
        assert_eq!(answer.dropped.count(DropCause::Undated), 1);
        assert_eq!(usage(&answer), &UsageSample::default());
    }

    #[test]
    fn the_instance_of_a_series_is_known_by_the_host_name_of_another() {
        let (before, _) = timed(&[(r#""instance":"10.0.0.1:9100","nodename":"A""#, "1699999990")]);
        let value = [(r#""instance":"10.0.0.1:9100""#, "2")];
        let answer = read(Query::Node(Resource::Cpu), &before, &value);
        assert_eq!(usage(&answer).node_names(), ["a"].into());
        let answer = read(Query::NetworkCapacity, &before, &value);
        assert_eq!(usage(&answer).network_capacity["a"], Amount::new(2));
    }

    #[test]
    fn pods_are_named_by_namespace_and_pod() {
        let answer = read(
            Query::Pod(Resource::Cpu),
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
            let answer = of(Query::Pod(resource));
            let name = usage(&answer).pods[resource].keys().next();
            name.unwrap().clone()
        };
        let cpu = pod(Resource::Cpu);
        let shares = |other: &PodName| std::ptr::eq(cpu.name(), other.name());
        assert!(shares(&pod(Resource::Memory)), "of the same round");
        assert!(shares(&pod(Resource::Cpu)), "of the next round");
        let node = |resource| {
            let answer = of(Query::Node(resource));
            let name = usage(&answer).nodes[resource].keys().next();
            Arc::clone(name.unwrap())
        };
        assert!(Arc::ptr_eq(&node(Resource::Cpu), &node(Resource::Memory)));
    }
}
