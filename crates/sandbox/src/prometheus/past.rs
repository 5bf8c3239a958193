//! The past of workloads in Prometheus: the sums of their Pods at each scrape since the start and, where
//! the scenario has a past, before; which is what the service asks for when it begins.
//!
//! Only the one form of a range query is answered that the service asks, for sums or for numbers of Pods.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::before::Before;
use super::names::{POD_METRICS, in_base_unit};
use crate::Timeline;
use crate::machines::Machines;
use evenkeel_core::placement::usage::PodName;
use evenkeel_core::units::{Resource, Resources};

/// Scrapes that are kept: three hours of the scenario.
const KEPT: usize = 720;

/// How long a scrape stands for what comes after it: Prometheus looks back this far.
const LOOKBACK: SignedDuration = SignedDuration::from_mins(5);

/// Namespace and workload, as in `Deployment/web`.
type Name = (String, String);

/// The sums of one scrape.
type Sums = BTreeMap<Name, Sum>;

/// The sum over the Pods of one workload.
#[derive(Debug, Clone)]
struct Sum {
    used: Resources<f64>,
    /// When each of the Pods was first measured.
    pods: Vec<SignedDuration>,
}

impl Sum {
    /// True where all but a negligible share of the Pods were measured by then.
    fn is_settled(&self, by: SignedDuration, share: usize) -> bool {
        let new = self.pods.iter().filter(|first| **first > by);
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

    /// The range vector that is asked for; `None` for another query than the service's.
    pub(super) fn answer(
        &self,
        form: &BTreeMap<String, String>,
        timeline: &Timeline,
    ) -> Option<Vec<Value>> {
        let Asked {
            aggregate,
            pods: name,
            ago,
            share,
        } = within_by_workload(form.get("query")?)?;
        let mut all = Resource::ALL.into_iter();
        let resource = all.find(|resource| POD_METRICS[*resource].1 == name)?;
        let number = |field: &str| form.get(field)?.parse::<f64>().ok();
        let step = form.get("step")?.strip_suffix("ms")?.parse::<f64>().ok()? / 1000.0;
        let (start, end) = (number("start")?, number("end")?);
        let mut points: BTreeMap<Name, Vec<Value>> = BTreeMap::new();
        let mut at = start;
        while step > 0.0 && at <= end {
            let time = SignedDuration::try_from_secs_f64(at).ok()?;
            let scenario = timeline.at(Timestamp::UNIX_EPOCH.checked_add(time).ok()?);
            let settled = scenario.saturating_sub(ago);
            let sums = self.at(scenario).into_iter();
            for (name, sum) in sums.filter(|(_, sum)| sum.is_settled(settled, share)) {
                let value = match aggregate {
                    Aggregate::Sum => in_base_unit(resource, sum.used[resource]).to_string(),
                    Aggregate::Count => sum.pods.len().to_string(),
                };
                points.entry(name).or_default().push(json!([at, value]));
            }
            at += step;
        }
        let series = points.into_iter().map(|((namespace, workload), values)| {
            let labels = json!({"namespace": namespace, "workload": workload});
            json!({"metric": labels, "values": values})
        });
        Some(series.collect())
    }

    /// The newest scrape at a time of the scenario.
    fn at(&self, time: SignedDuration) -> Sums {
        if time.is_negative() {
            return self.before(time);
        }
        let past = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = past.iter().rev().find(|(at, _)| *at <= time);
        let fresh = newest.filter(|(at, _)| time.saturating_sub(*at) <= LOOKBACK);
        fresh.map(|(_, sums)| sums.clone()).unwrap_or_default()
    }

    /// The sums at a time before the start, when all Pods had been there for long.
    fn before(&self, time: SignedDuration) -> Sums {
        let sums = self.before.sums(time.abs());
        sums.map(|(workload, used, pods)| {
            let name = name_of(&workload.namespace, &workload.name);
            let pods = vec![SignedDuration::MIN; usize::try_from(pods).unwrap_or_default()];
            (name, Sum { used, pods })
        })
        .collect()
    }
}

/// A workload by its namespace and what it is called there.
fn name_of(namespace: &str, workload: &str) -> Name {
    (namespace.to_owned(), format!("Deployment/{workload}"))
}

/// What is told of the Pods of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aggregate {
    Sum,
    Count,
}

/// What a query asks for by workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Asked<'q> {
    aggregate: Aggregate,
    /// The query by Pod.
    pods: &'q str,
    /// How long ago Pods have to have been measured.
    ago: SignedDuration,
    /// Of how many Pods one may be newer.
    share: usize,
}

/// What is asked for; `None` for another query than the service's.
fn within_by_workload(query: &str) -> Option<Asked<'_>> {
    let (all, new) = query.split_once(" unless on (namespace, workload) (")?;
    let (new, _) = new.split_once(" > on (namespace, workload) ")?;
    let (new, share) = new.rsplit_once(" * ")?;
    let (aggregate, rest) = all.split_once(" by (namespace, workload) ")?;
    let aggregate = match aggregate {
        "sum" => Aggregate::Sum,
        "count" => Aggregate::Count,
        _ => return None,
    };
    let rest = rest.strip_prefix("(label_replace(label_replace(label_join(")?;
    let (pods, _) = rest.split_once(r#", "pod_path", "/", "namespace", "pod")"#)?;
    let new_pods =
        format!("({pods} unless on (namespace, pod) last_over_time(({pods})[1s:1s] offset ");
    let (_, ago) = new.split_once(&new_pods)?;
    let (ago, _) = ago.split_once("ms))")?;
    Some(Asked {
        aggregate,
        pods,
        ago: SignedDuration::from_millis(ago.parse().ok()?),
        share: share.parse().ok()?,
    })
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
        let name = name_of(pod.namespace(), workload);
        let first = before.remove(&pod).unwrap_or(at);
        let sum = sums.entry(name).or_insert(Sum {
            used: Resources::default(),
            pods: Vec::new(),
        });
        sum.used = Resources::from_fn(|resource| sum.used[resource] + sample.used[resource]);
        sum.pods.push(first);
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
                 \"pod_path\", \"/\", \"namespace\", \"pod\"), …)"
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
            found.first().map(|series| {
                assert_eq!(series["metric"]["workload"], "Deployment/web");
                series["values"].as_array().unwrap().len()
            })
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
                let name = ("shop".to_owned(), format!("Deployment/{workload}"));
                let mut pods = vec![SignedDuration::from_secs(newest)];
                let others: usize = if workload == "large" { 50 } else { 2 };
                pods.extend(vec![SignedDuration::from_secs(-60); others]);
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
        assert_eq!(found, Some(both.to_vec()));
        let counts = by_workload("pod_cpu").replace("sum by", "count by");
        let found = past.answer(&form(counts), &timeline).unwrap();
        assert_eq!(found[0]["values"], json!([[1007.5, "51"], [1030.0, "51"]]));
        assert_eq!(found[1]["values"], json!([[1007.5, "3"], [1030.0, "3"]]));
        assert_eq!(past.answer(&form("pod_cpu".to_owned()), &timeline), None);
        let unsettled = by_workload("pod_cpu");
        let (unsettled, _) = unsettled.split_once(" unless on (namespace, w").unwrap();
        assert_eq!(past.answer(&form(unsettled.to_owned()), &timeline), None);
        assert_eq!(past.answer(&form(by_workload("up")), &timeline), None);
    }
}
