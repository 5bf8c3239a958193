//! The past of workloads in Prometheus: the sums of their Pods at each scrape since the start and, where
//! the scenario has a past, before; which is what the service asks for when it begins.
//!
//! The queries by workload are answered that the service asks, and expressions over the series of each Pod.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::before::Before;
use super::by_workload::{self, Aggregate, Asked};
use super::expression::{self, Expression};
use super::metrics;
use super::names::in_base_unit;
use super::vector::{Labels, Moment, Series, Vector};
use crate::Timeline;
use crate::machines::Machines;
use evenkeel_core::placement::usage::PodName;
use evenkeel_core::units::{Resource, Resources};

/// Scrapes that are kept: three hours of the scenario.
const KEPT: usize = 720;

/// How long a scrape stands for what comes after it: Prometheus looks back this far.
const LOOKBACK: SignedDuration = SignedDuration::from_mins(5);

/// Namespace and name of a workload.
type Name = (String, String);

/// The sums of one scrape.
type Sums = BTreeMap<Name, Sum>;

/// The sum over the Pods of one workload.
#[derive(Debug, Clone)]
struct Sum {
    used: Resources<f64>,
    pods: Vec<KnownPod>,
}

/// A Pod of a workload.
#[derive(Debug, Clone)]
struct KnownPod {
    /// `None` before the run, of which the names are not kept.
    name: Option<Arc<str>>,
    /// When it was first measured.
    since: SignedDuration,
}

impl Sum {
    /// True where all but a negligible share of the Pods were measured by then.
    fn is_settled(&self, by: SignedDuration, share: usize) -> bool {
        let new = self.pods.iter().filter(|pod| pod.since > by);
        new.count() * share <= self.pods.len()
    }
}

/// The past; clones share it.
#[derive(Debug, Clone)]
pub(super) struct Past {
    before: Arc<Before>,
    since: Arc<Mutex<VecDeque<(SignedDuration, Sums)>>>,
}

impl Past {
    /// The past that goes on from what was `before` the start.
    pub(super) fn after(before: Before) -> Self {
        Self {
            before: Arc::new(before),
            since: Arc::default(),
        }
    }

    /// Notes what is used at each scrape, for ever.
    pub(super) async fn record(self, machines: Machines, timeline: Timeline) {
        let mut ticks = timeline.clock().ticks(machines.timing().interval);
        let mut since = BTreeMap::new();
        loop {
            ticks.tick().await;
            let at = timeline.elapsed();
            self.note(at, sums(&machines, &mut since, at));
        }
    }

    fn note(&self, at: SignedDuration, sums: Sums) {
        let mut past = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        past.push_back((at, sums));
        if past.len() > KEPT {
            past.pop_front();
        }
    }

    /// The range vector that is asked for; the error says what is not known.
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
        let mut points: BTreeMap<Labels, Vec<Value>> = BTreeMap::new();
        if let Some(asked) = by_workload::by_workload(query) {
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

    /// The sums or numbers of the workloads that are asked for, at a time at which their Pods had settled.
    fn of_workloads(
        &self,
        asked: &Asked<'_>,
        resource: Resource,
        at: SignedDuration,
    ) -> Vec<(Labels, String)> {
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

    /// The answer to an expression at a time of the scenario, which is so many seconds after 1970.
    pub(super) fn evaluate(
        &self,
        expression: &Expression,
        seconds: f64,
        at: SignedDuration,
    ) -> Result<Vector, String> {
        let names = expression.names();
        let sums = self.at(at, |_, _| !names.is_empty());
        let of_one = |((namespace, name), sum): (&Name, &Sum)| {
            let pods = sum.pods.iter().map(|pod| pod.name.as_deref());
            let workload = metrics::Workload {
                namespace,
                name,
                used: &sum.used,
                requests: self.before.requests(namespace, name, at),
            };
            workload.series(&names, pods)
        };
        let series: Vec<Series> = sums.iter().flat_map(of_one).collect();
        let moment = Moment {
            seconds,
            series: &series,
            names: &metrics::NAMES,
        };
        moment.vector(expression)
    }

    /// The newest scrape at a time of the scenario, of the workloads that `wanted` accepts.
    fn at(&self, time: SignedDuration, wanted: impl Fn(&str, &str) -> bool) -> Sums {
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

    /// The sums at a time before the start, when all Pods had been there for long.
    fn before(&self, time: SignedDuration, wanted: impl Fn(&str, &str) -> bool) -> Sums {
        let sums = self.before.sums(time.abs(), |workload| {
            wanted(&workload.namespace, &workload.name)
        });
        sums.map(|(workload, used, pods)| {
            let name = (workload.namespace.clone(), workload.name.clone());
            let pod = KnownPod {
                name: None,
                since: SignedDuration::MIN,
            };
            let pods = vec![pod; usize::try_from(pods).unwrap_or_default()];
            (name, Sum { used, pods })
        })
        .collect()
    }
}

/// The most points of a series, as Prometheus has it.
const MOST_POINTS: usize = 11_000;

/// The times that a range query asks for, in seconds since 1970.
fn grid(form: &BTreeMap<String, String>) -> Result<Vec<f64>, String> {
    let number = |field: &str| {
        let text = form.get(field).map_or("", String::as_str);
        let (digits, scale) = match text.strip_suffix("ms") {
            Some(digits) => (digits, 0.001),
            None => (text.strip_suffix('s').unwrap_or(text), 1.0),
        };
        let number = digits
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite());
        let number = number.map(|number| number * scale);
        number.ok_or_else(|| {
            format!("{field}: {text:?} is not accepted: seconds, such as 1700000000 or 60s")
        })
    };
    let (start, end, step) = (number("start")?, number("end")?, number("step")?);
    if step <= 0.0 {
        return Err("step has to be above 0".to_owned());
    }
    let mut times = Vec::new();
    let mut at = start;
    while at <= end {
        if times.len() == MOST_POINTS {
            return Err(format!(
                "exceeded maximum resolution of {MOST_POINTS} points per timeseries"
            ));
        }
        times.push(at);
        at += step;
    }
    Ok(times)
}

/// The sums over the Pods of each workload, as last scraped at `at`; `since` is when each Pod was first
/// measured.
fn sums(
    machines: &Machines,
    since: &mut BTreeMap<PodName, SignedDuration>,
    at: SignedDuration,
) -> Sums {
    let samples = machines.pod_samples();
    let mut before = std::mem::take(since);
    let mut sums = Sums::new();
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
            since: first,
        });
        since.insert(pod, first);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn by_workload(pods: &str) -> String {
        let sums = |pods: &str| {
            format!(
                "sum by (namespace, workload) (label_replace(label_replace(label_join({pods}, \
                 \"pod_path\", \"/\", \"namespace\", \"pod\"), \"workload\", \"StatefulSet/$2\", \"pod_path\", \
                 \"(shop)/(.+)-[0-9]+\"), …)"
            )
        };
        let new = format!(
            "({pods} unless on (namespace, pod) last_over_time(({pods})[1s:1s] offset 20000ms))"
        );
        let (all, new) = (sums(pods), sums(&new));
        format!(
            "{all} unless on (namespace, workload) ({new} * 51 > on (namespace, workload) {all})"
        )
    }

    fn past_of(length: SignedDuration) -> Past {
        let scenario = Scenario {
            past: length,
            ..Scenario::mixed()
        };
        Past::after(Before::of(&scenario, 1))
    }

    #[test]
    fn what_was_before_the_start_is_answered_where_the_scenario_knows_it() {
        let timeline = Timeline::begun(Timestamp::from_second(100_000).unwrap());
        let query = by_workload("pod_cpu");
        let fields = [
            ("query", query.as_str()),
            ("start", "96300"),
            ("end", "99999"),
            ("step", "900000ms"),
        ];
        let fields = fields.map(|(field, value)| (field.to_owned(), value.to_owned()));
        let form = BTreeMap::from(fields);
        let points = |length| {
            let found = past_of(length).answer(&form, &timeline).unwrap();
            let is_web = |series: &&Value| series["metric"]["workload"] == "Deployment/web";
            found
                .iter()
                .find(is_web)
                .map(|series| series["values"].as_array().unwrap().len())
        };
        assert_eq!(points(SignedDuration::ZERO), None);
        assert_eq!(points(SignedDuration::from_mins(30)), Some(2));
        assert_eq!(points(SignedDuration::from_hours(48)), Some(5));
    }

    #[test]
    fn the_past_is_answered_as_far_as_it_is_known() {
        let timeline = Timeline::begun(Timestamp::from_second(1_000).unwrap());
        let past = past_of(SignedDuration::ZERO);
        for (second, cores) in [(0, 1.0), (15, 2.0)] {
            let used = Resources::from_fn(|_| cores * 1000.0);
            let sum = |workload: &str, newest| {
                let name = ("shop".to_owned(), workload.to_owned());
                let pod = |second| KnownPod {
                    name: None,
                    since: SignedDuration::from_secs(second),
                };
                let mut pods = vec![pod(newest)];
                let others: usize = if workload == "large" { 50 } else { 2 };
                pods.extend(vec![pod(-60); others]);
                (name, Sum { used, pods })
            };
            // Two have a new Pod at each scrape, of which it is one of many in one.
            let sums = Sums::from([sum("web", -60), sum("new", second), sum("large", second)]);
            past.note(SignedDuration::from_secs(second), sums);
        }
        let form = |query: String| {
            [
                ("query", query),
                ("start", "985".to_owned()),
                ("end", "1030".to_owned()),
                ("step", "22500ms".to_owned()),
            ]
            .map(|(field, value)| (field.to_owned(), value))
            .into()
        };
        let found = past.answer(&form(by_workload("pod_cpu")), &timeline);
        let labels = json!({"namespace": "shop", "workload": "Deployment/web"});
        let points = json!([[1007.5, "1"], [1030.0, "2"]]);
        let large = json!({"namespace": "shop", "workload": "Deployment/large"});
        let both = [large, labels].map(|labels| json!({"metric": labels, "values": points}));
        assert_eq!(found, Ok(both.to_vec()));
        let counts = by_workload("pod_cpu").replace("sum by", "count by");
        let found = past.answer(&form(counts), &timeline).unwrap();
        assert_eq!(found[0]["values"], json!([[1007.5, "51"], [1030.0, "51"]]));
        assert_eq!(found[1]["values"], json!([[1007.5, "3"], [1030.0, "3"]]));
        let each = past.answer(&form("sum(pod_cpu{pod=~\"web-.+\"})".to_owned()), &timeline);
        let points = json!([[985.0, "0"]]);
        assert_ne!(each.unwrap()[0]["values"], points);
        let unsettled = by_workload("pod_cpu");
        let (unsettled, _) = unsettled.split_once(" unless on (namespace, w").unwrap();
        assert!(past.answer(&form(unsettled.to_owned()), &timeline).is_err());
        let unknown = past.answer(&form(by_workload("up")), &timeline);
        assert_eq!(unknown.unwrap_err(), "the query by Pod is not known here");
    }
}
