//! The past of workloads in Prometheus: sums of their Pods at each scrape since the start and, if
//! the scenario has a past, before. It answers the service's queries by workload, and expressions
//! over the series of each Pod.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Resource, Resources};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::evaluation::{ExporterSeries, PromQlContext, Vector, VectorLabels};
use super::expression::Expression;
use super::grid::grid;
use super::names::in_base_unit;
use super::pre_run_history::PreRunHistory;
use super::workload_query::{Aggregate, WorkloadPromQuery};
use super::{expression, metrics, workload_query};
use crate::Timeline;
use crate::machines::Machines;

/// Scrapes that are kept: three hours of the scenario.
const KEPT: usize = 720;

/// How long a scrape is valid, as Prometheus' lookback.
const LOOKBACK: SignedDuration = SignedDuration::from_mins(5);

/// A range before the start has a sample per minute, and a long one this many.
const STEPS: i64 = 24;

/// Namespace and name.
type PromWorkloadKey = (String, String);

type ScrapeSums = BTreeMap<PromWorkloadKey, Sum>;

/// Over the Pods of one workload.
#[derive(Debug, Clone)]
struct Sum {
    used: Resources<f64>,
    pods: Vec<KnownPod>,
}

#[derive(Debug, Clone)]
struct KnownPod {
    /// `None` before the run, whose names are not kept.
    name: Option<Arc<str>>,
    used: Resources<f64>,
    /// First measurement.
    since: SignedDuration,
}

impl Sum {
    /// All but a negligible share of the Pods were measured by then.
    fn is_settled(&self, by: SignedDuration, share: usize) -> bool {
        let new = self.pods.iter().filter(|pod| pod.since > by);
        new.count() * share <= self.pods.len()
    }
}

/// Clones share it.
#[derive(Debug, Clone)]
pub(super) struct PrometheusHistory {
    before: Arc<PreRunHistory>,
    since: Arc<Mutex<VecDeque<(SignedDuration, ScrapeSums)>>>,
}

impl PrometheusHistory {
    pub(super) fn after(before: PreRunHistory) -> Self {
        Self {
            before: Arc::new(before),
            since: Arc::default(),
        }
    }

    /// Records the use at each scrape, for ever.
    pub(super) async fn record(self, machines: Machines, timeline: Timeline) {
        let mut ticks = timeline.clock().ticks(machines.timing().interval);
        let mut since = BTreeMap::new();
        loop {
            ticks.tick().await;
            let at = timeline.elapsed();
            self.note(at, sums(&machines, &mut since, at));
        }
    }

    fn note(&self, at: SignedDuration, sums: ScrapeSums) {
        let mut past = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        past.push_back((at, sums));
        if past.len() > KEPT {
            past.pop_front();
        }
    }

    /// The range vector; the error has the unknown part.
    pub(super) fn answer(
        &self,
        form: &BTreeMap<String, String>,
        timeline: &Timeline,
    ) -> Result<Vec<Value>, String> {
        let query = form.get("query").ok_or("the field query is missing")?;
        let times = grid(form)?.into_iter().filter_map(|seconds| {
            let time = SignedDuration::try_from_secs_f64(seconds).ok()?;
            let date = Timestamp::UNIX_EPOCH.checked_add(time).ok()?;
            Some((seconds, timeline.at(date)))
        });
        let mut points: BTreeMap<VectorLabels, Vec<Value>> = BTreeMap::new();
        if let Some(asked) = workload_query::by_workload(query) {
            let resource = asked
                .resource()
                .ok_or("the query by Pod is not known here")?;
            for (seconds, at) in times {
                for (labels, value) in self.of_workloads(&asked, resource, at) {
                    let point = json!([seconds, value]);
                    points.entry(labels).or_default().push(point);
                }
            }
        } else {
            let expression = expression::parse(query)?;
            for (seconds, at) in times {
                for (labels, value) in self.evaluate(&expression, seconds, at)? {
                    let point = json!([seconds, value.to_string()]);
                    points.entry(labels).or_default().push(point);
                }
            }
        }
        let series = points.into_iter();
        let series = series.map(|(labels, values)| json!({"metric": labels, "values": values}));
        Ok(series.collect())
    }

    /// Sums or numbers of the requested workloads, at a time at which their Pods had settled.
    fn of_workloads(
        &self,
        asked: &WorkloadPromQuery<'_>,
        resource: Resource,
        at: SignedDuration,
    ) -> Vec<(VectorLabels, String)> {
        let settled = at.saturating_sub(asked.ago);
        let sums = self.at(at, |namespace, name| asked.names(namespace, name));
        let sums = sums.into_iter();
        let sums = sums.filter(|(_, sum)| sum.is_settled(settled, asked.share));
        let told = sums.map(|((namespace, name), sum)| {
            let value = match asked.aggregate {
                Aggregate::Sum => in_base_unit(resource, sum.used[resource]).to_string(),
                Aggregate::Count => sum.pods.len().to_string(),
            };
            let workload = format!("Deployment/{name}");
            let labels = [("namespace", namespace), ("workload", workload)];
            (
                labels
                    .map(|(label, value)| (label.to_owned(), value))
                    .into(),
                value,
            )
        });
        told.collect()
    }

    /// At a time of the scenario, `epoch` seconds after 1970.
    pub(super) fn evaluate(
        &self,
        expression: &Expression,
        seconds: f64,
        at: SignedDuration,
    ) -> Result<Vector, String> {
        let moment = PromQlContext {
            seconds,
            series: &self.series(&expression.names(), at),
            samples: &|name, range| {
                let times = self.times(range, at).into_iter();
                times.flat_map(|time| self.series(&[name], time)).collect()
            },
            names: &metrics::NAMES,
        };
        moment.vector(expression)
    }

    /// At a time of the scenario.
    fn series(&self, names: &[&str], at: SignedDuration) -> Vec<ExporterSeries> {
        let sums = self.at(at, |_, _| !names.is_empty());
        let begin = -self.before.length();
        let of_one = |((namespace, name), sum): (&PromWorkloadKey, &Sum)| {
            let pods = sum.pods.iter().map(|pod| metrics::PodSnapshot {
                name: pod.name.as_deref(),
                used: pod.used,
                sampled: at.saturating_sub(pod.since.max(begin)).as_secs_f64(),
            });
            let workload = metrics::WorkloadSnapshot {
                namespace,
                name,
                requests: self.before.requests(namespace, name, at),
            };
            workload.series(names, pods)
        };
        sums.iter().flat_map(of_one).collect()
    }

    /// Sample times in so many seconds up to a time of the scenario: scrapes, and steps before the
    /// start.
    fn times(&self, range: f64, at: SignedDuration) -> Vec<SignedDuration> {
        let range = SignedDuration::try_from_secs_f64(range).unwrap_or(SignedDuration::MAX);
        let begin = at.saturating_sub(range);
        let known = begin.max(-self.before.length()).min(at);
        let span = at.saturating_sub(known);
        let steps = i32::try_from(span.as_mins().clamp(1, STEPS)).unwrap_or(1);
        let step = span / steps;
        let before = (0..=steps).map(|number| known.saturating_add(step * number));
        let before = before.filter(SignedDuration::is_negative);
        let past = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let scrapes = past.iter().map(|(time, _)| *time);
        let scrapes = scrapes.filter(|time| (begin..=at).contains(time));
        before.chain(scrapes).collect()
    }

    /// The newest scrape at a time of the scenario, of the workloads that `wanted` accepts.
    fn at(&self, time: SignedDuration, wanted: impl Fn(&str, &str) -> bool) -> ScrapeSums {
        if time.is_negative() {
            return self.before(time, wanted);
        }
        let past = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = past.iter().rev().find(|(at, _)| *at <= time);
        let fresh = newest.filter(|(at, _)| time.saturating_sub(*at) <= LOOKBACK);
        let sums = fresh.into_iter().flat_map(|(_, sums)| sums);
        let wanted = sums.filter(|((namespace, name), _)| wanted(namespace, name));
        wanted
            .map(|(name, sum)| (name.clone(), sum.clone()))
            .collect()
    }

    /// Before the start, when all Pods had been there for long.
    fn before(&self, time: SignedDuration, wanted: impl Fn(&str, &str) -> bool) -> ScrapeSums {
        let sums = self.before.sums(time.abs(), |workload| {
            wanted(&workload.namespace, &workload.name)
        });
        sums.map(|(workload, used, pods)| {
            let name = (workload.namespace.clone(), workload.name.clone());
            let count = f64::from(pods).max(1.0);
            let pod = KnownPod {
                name: None,
                used: Resources::from_fn(|resource| used[resource] / count),
                since: SignedDuration::MIN,
            };
            let pods = vec![pod; usize::try_from(pods).unwrap_or_default()];
            (name, Sum { used, pods })
        })
        .collect()
    }
}

/// By workload, as last scraped at `at`; `since` has the first measurement of each Pod.
fn sums(
    machines: &Machines,
    since: &mut BTreeMap<PodName, SignedDuration>,
    at: SignedDuration,
) -> ScrapeSums {
    let samples = machines.pod_samples();
    let mut before = std::mem::take(since);
    let mut sums = ScrapeSums::new();
    for (pod, sample) in samples {
        let workload = pod.name().rsplitn(3, '-').last().unwrap_or_default();
        let name = (pod.namespace().to_owned(), workload.to_owned());
        let first = before.remove(&pod).unwrap_or(at);
        let sum = sums.entry(name).or_insert(Sum {
            used: Resources::default(),
            pods: Vec::new(),
        });
        sum.used = Resources::from_fn(|resource| sum.used[resource] + sample.used[resource]);
        sum.pods.push(KnownPod {
            name: Some(pod.name().into()),
            used: sample.used,
            since: first,
        });
        since.insert(pod, first);
    }
    sums
}

#[cfg(test)]
mod tests;
