//! Turns the answers of one round into a usage sample.
//!
//! The answers that date the exporters come first: they say which `instance` is which node, and
//! a value that nothing dates is not taken, since nobody could say whether it is fresh. Where
//! two series speak of the same node neither is taken: their sum counts twice what two jobs
//! scrape, and either alone may be the wrong one.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::answer::{self, Labels};
use super::names::{NodeLabel, NodeNames};
use crate::metrics::error::MetricsError;
use crate::metrics::round::{DropCause, Dropped, Query};
use evenkeel_core::placement::usage::{Measurement, PodName, UsageSample};
use evenkeel_core::units::{Amount, Resource, Resources};

type Times = HashMap<Box<str>, Timestamp>;

/// Measurements out of the answers that have been read so far.
pub(super) struct Gathered {
    now: Timestamp,
    window: SignedDuration,
    /// For each resource, the one whose sample times it shares.
    dated_by: Resources<Resource>,
    names: NodeNames,
    times: Resources<Times>,
    pub(super) usage: UsageSample,
}

impl Gathered {
    pub(super) fn new(
        now: Timestamp,
        window: SignedDuration,
        dated_by: Resources<Resource>,
        label: NodeLabel,
    ) -> Self {
        Self {
            now,
            window,
            dated_by,
            names: NodeNames::new(label),
            times: Resources::default(),
            usage: UsageSample::default(),
        }
    }

    /// Reads the answer to one query.
    ///
    /// # Errors
    /// The answer is refused, and nothing of it is taken.
    pub(super) fn absorb(&mut self, query: Query, body: &[u8]) -> Result<Dropped, MetricsError> {
        match query {
            Query::SampleTime(resource) => self.absorb_times(resource, body),
            Query::Node(resource) => self.absorb_nodes(resource, body),
            Query::NetworkCapacity => self.absorb_capacity(body),
            Query::Pod(resource) => self.absorb_pods(resource, body),
            // The metrics API's lists; no query of Prometheus has these names.
            Query::NodeMetrics | Query::PodMetrics => Ok(Dropped::default()),
        }
    }

    fn absorb_times(&mut self, resource: Resource, body: &[u8]) -> Result<Dropped, MetricsError> {
        let mut dropped = Dropped::default();
        let (names, now) = (&mut self.names, self.now);
        let mut dated: Vec<(Labels<'static>, Timestamp)> = Vec::new();
        answer::read(body, |labels, value| match time(value) {
            Ok(at) => {
                // A clock ahead of ours must not make a value fresh for longer.
                let at = at.min(now);
                names.learn(labels, at);
                dated.push((labels.detached(), at));
            }
            Err(cause) => dropped.add(cause),
        })?;
        let times = &mut self.times[resource];
        for (labels, at) in &dated {
            let Some(node) = self.names.of(labels) else {
                dropped.add(DropCause::Unnamed);
                continue;
            };
            let newest = times.entry(node.into()).or_insert(*at);
            *newest = (*newest).max(*at);
        }
        Ok(dropped)
    }

    fn absorb_nodes(&mut self, resource: Resource, body: &[u8]) -> Result<Dropped, MetricsError> {
        let (values, mut dropped) = self.by_node(resource, body)?;
        let times = &self.times[self.dated_by[resource]];
        let window = match resource {
            Resource::Cpu | Resource::NetworkIo | Resource::DiskIo => self.window,
            Resource::Memory | Resource::Disk => SignedDuration::ZERO,
        };
        for (node, value) in values {
            let Some(at) = times.get(&node).copied() else {
                dropped.add(DropCause::Undated);
                continue;
            };
            let column = Arc::make_mut(&mut self.usage.nodes[resource]);
            column.insert(node.into(), Measurement { value, at, window });
        }
        Ok(dropped)
    }

    fn absorb_capacity(&mut self, body: &[u8]) -> Result<Dropped, MetricsError> {
        let (values, dropped) = self.by_node(Resource::NetworkIo, body)?;
        let speeds = values.map(|(node, speed)| (node.into(), speed));
        self.usage.network_capacity = Arc::new(speeds.collect());
        Ok(dropped)
    }

    fn absorb_pods(&mut self, resource: Resource, body: &[u8]) -> Result<Dropped, MetricsError> {
        let mut collected = Collected::default();
        answer::read(body, |labels, value| {
            let pod = match (labels.get("namespace"), labels.get("pod")) {
                (Some(namespace), Some(pod)) => Some(PodName::new(namespace, pod)),
                _ => None,
            };
            collected.take(pod, amount(resource, value));
        })?;
        let dropped = collected.dropped;
        self.usage.pods[resource] = Arc::new(collected.unambiguous().collect());
        Ok(dropped)
    }

    fn by_node(
        &self,
        resource: Resource,
        body: &[u8],
    ) -> Result<(impl Iterator<Item = (Box<str>, Amount)> + use<>, Dropped), MetricsError> {
        let mut collected = Collected::default();
        answer::read(body, |labels, value| {
            let node = self.names.of(labels).map(Box::from);
            collected.take(node, amount(resource, value));
        })?;
        let dropped = collected.dropped;
        Ok((collected.unambiguous(), dropped))
    }
}

/// Values by node or Pod; `None` where two series claim the same.
struct Collected<K> {
    values: HashMap<K, Option<Amount>>,
    dropped: Dropped,
}

impl<K> Default for Collected<K> {
    fn default() -> Self {
        Self {
            values: HashMap::new(),
            dropped: Dropped::default(),
        }
    }
}

impl<K: Eq + Hash> Collected<K> {
    fn take(&mut self, key: Option<K>, value: Result<Amount, DropCause>) {
        let value = match value {
            Ok(value) => value,
            Err(cause) => return self.dropped.add(cause),
        };
        let Some(key) = key else {
            return self.dropped.add(DropCause::Unnamed);
        };
        let mut again = false;
        self.values
            .entry(key)
            .and_modify(|known| again = known.take().is_some())
            .or_insert(Some(value));
        if again {
            self.dropped.add(DropCause::Ambiguous);
        }
    }

    fn unambiguous(self) -> impl Iterator<Item = (K, Amount)> {
        self.values
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?)))
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

    const NOW: i64 = 1_700_000_000;

    fn gathered() -> Gathered {
        Gathered::new(
            Timestamp::from_second(NOW).unwrap(),
            SignedDuration::from_secs(120),
            Resources::from_fn(|_| Resource::Cpu),
            NodeLabel::Automatic,
        )
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

    fn dated(nodes: &[&str]) -> Gathered {
        let mut gathered = gathered();
        for node in nodes {
            let body = vector(&[(&format!(r#""node":"{node}""#), &(NOW - 10).to_string())]);
            let dropped = gathered
                .absorb(Query::SampleTime(Resource::Cpu), &body)
                .unwrap();
            assert_eq!(dropped, Dropped::default());
        }
        gathered
    }

    #[test]
    fn values_are_kept_in_base_units_with_the_time_of_the_scrape() {
        let mut gathered = dated(&["a"]);
        for (resource, given, kept, window) in [
            (Resource::Cpu, "1.2345", 1235, 120),
            (Resource::Memory, "1e9", 1_000_000_000, 0),
            (Resource::NetworkIo, "12.4", 12, 120),
            (Resource::DiskIo, "0", 0, 120),
            (Resource::Disk, "7", 7, 0),
        ] {
            let body = vector(&[(r#""node":"a""#, given)]);
            gathered.absorb(Query::Node(resource), &body).unwrap();
            let measured = gathered.usage.node("a")[resource].unwrap();
            assert_eq!(measured.value, Amount::new(kept), "{resource}");
            assert_eq!(measured.at.as_second(), NOW - 10);
            assert_eq!(measured.window, SignedDuration::from_secs(window));
        }
    }

    #[test]
    fn what_cannot_be_believed_is_dropped_and_counted_by_cause() {
        let mut gathered = dated(&["nan", "inf", "negative", "twice", "thrice", "good"]);
        let body = vector(&[
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
        ]);
        let dropped = gathered.absorb(Query::Node(Resource::Cpu), &body).unwrap();
        let counts: Vec<(DropCause, u64)> = dropped.iter().collect();
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
        assert_eq!(gathered.usage.node_names(), ["good"].into());
    }

    #[test]
    fn a_time_ahead_of_ours_counts_as_now() {
        let mut gathered = gathered();
        let ahead = vector(&[(r#""node":"a""#, &(NOW + 90).to_string())]);
        gathered
            .absorb(Query::SampleTime(Resource::Cpu), &ahead)
            .unwrap();
        let value = vector(&[(r#""node":"a""#, "1")]);
        gathered.absorb(Query::Node(Resource::Cpu), &value).unwrap();
        let measured = gathered.usage.node("a")[Resource::Cpu].unwrap();
        assert_eq!(measured.at.as_second(), NOW);
    }

    #[test]
    fn times_that_are_none_are_dropped() {
        let mut gathered = gathered();
        let body = vector(&[
            (r#""node":"a""#, "NaN"),
            (r#""node":"b""#, "1e300"),
            (r#""job":"c""#, "5"),
        ]);
        let dropped = gathered
            .absorb(Query::SampleTime(Resource::Cpu), &body)
            .unwrap();
        let total: u64 = dropped.iter().map(|(_, count)| count).sum();
        assert_eq!(total, 3);
    }

    #[test]
    fn the_instance_of_a_series_is_known_by_the_host_name_of_another() {
        let mut gathered = gathered();
        let body = vector(&[(r#""instance":"10.0.0.1:9100","nodename":"A""#, "1699999990")]);
        gathered
            .absorb(Query::SampleTime(Resource::Cpu), &body)
            .unwrap();
        let body = vector(&[(r#""instance":"10.0.0.1:9100""#, "2")]);
        gathered.absorb(Query::Node(Resource::Cpu), &body).unwrap();
        gathered.absorb(Query::NetworkCapacity, &body).unwrap();
        assert_eq!(gathered.usage.node_names(), ["a"].into());
        assert_eq!(gathered.usage.network_capacity["a"], Amount::new(2));
    }

    #[test]
    fn pods_are_named_by_namespace_and_pod() {
        let mut gathered = gathered();
        let body = vector(&[
            (r#""namespace":"x","pod":"p""#, "0.25"),
            (r#""namespace":"y","pod":"p""#, "0.5"),
            (r#""namespace":"y""#, "0.5"),
        ]);
        let dropped = gathered.absorb(Query::Pod(Resource::Cpu), &body).unwrap();
        assert_eq!(dropped.count(DropCause::Unnamed), 1);
        let cpu = |namespace| gathered.usage.of_pod(namespace, "p", Resource::Cpu);
        assert_eq!(cpu("x"), Some(Amount::new(250)));
        assert_eq!(cpu("y"), Some(Amount::new(500)));
    }

    #[test]
    fn an_answer_that_ends_early_leaves_nothing_behind() {
        let mut gathered = dated(&["a", "b"]);
        let body = vector(&[(r#""node":"a""#, "1"), (r#""node":"b""#, "x")]);
        assert!(gathered.absorb(Query::Node(Resource::Cpu), &body).is_err());
        assert_eq!(gathered.usage, UsageSample::default());
    }
}
