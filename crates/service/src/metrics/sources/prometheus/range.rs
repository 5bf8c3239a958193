//! Usage of all Pods of each workload together, in the past, by range queries. Prometheus knows a
//! deleted Pod by its name alone, so the workload is read off the name: `NAME-HASH-SUFFIX` for a
//! Deployment, in Kubernetes' alphabet for such endings, and `NAME-ORDINAL` for a StatefulSet.
//! Prometheus computes the sums over the same queries as rounds. Values of no workload of the
//! wanted namespaces are one series a namespace.
//!
//! No series shows if a Pod was ready then, or warmed up. So a workload has no sum at a time if one
//! of its Pods was not measured two rate windows before. A deleted Pod counts as long as its rate
//! does, so that no load is missing at its end. A rate counts for the centre of its window.

use std::collections::hash_map::{Entry, HashMap};

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod_names;
use evenkeel_objects::pod_names::WorkloadName;
use evenkeel_scaling::load::sum::NEGLIGIBLE;
use evenkeel_units::{Resource, words};
use jiff::{SignedDuration, Timestamp};

use super::answer;
use super::answer::PromPoint;
use super::grid::Grid;
use super::label_matchers::any_of;
use super::reader::{finite, load};
use super::source::PrometheusSource;
use crate::metrics::blocking_pool::aside;
use crate::metrics::error::MetricsError;
use crate::metrics::query::UsageQuery;
use crate::metrics::rejected_samples::{DropCause, RejectedSamples};

/// Sums by workload, in the base unit of their resource, and what was not taken.
#[derive(Debug, Default)]
pub struct WorkloadSums {
    /// By workload, in the order of time.
    pub sums: HashMap<WorkloadName, Vec<(Timestamp, f64)>>,
    /// The series of the answer, those of no workload included: its size.
    pub series: usize,
    /// Values that were not taken.
    pub dropped: RejectedSamples,
}

impl WorkloadSums {
    fn earlier(mut self, by: SignedDuration) -> Self {
        let points = self.sums.values_mut().flatten();
        for (at, _) in points {
            *at = at.checked_sub(by).unwrap_or(Timestamp::MIN);
        }
        self
    }
}

/// Namespaces that a query names; of more it asks for all.
const NAMED: usize = 50;

#[derive(Debug, Clone, Copy)]
pub enum Workloads<'a> {
    /// All of these namespaces.
    In(&'a [&'a str]),
    /// These; others of their names and namespaces may come with them.
    These(&'a [WorkloadName]),
}

impl Workloads<'_> {
    /// Regular expressions for their namespaces and their names.
    fn expressions(&self) -> [String; 2] {
        let each_once = |mut words: Vec<&str>| {
            words.sort_unstable();
            words.dedup();
            any_of(&words)
        };
        match self {
            Self::In(namespaces) if namespaces.len() > NAMED => ["[^/]+".into(), ".+".into()],
            Self::In(namespaces) => [namespaces.join("|"), ".+".to_owned()],
            Self::These(workloads) => {
                let pairs = workloads
                    .iter()
                    .filter_map(|one| Some((&*one.namespace, one.name()?)));
                let (namespaces, names) = pairs.unzip();
                [each_once(namespaces), each_once(names)]
            }
        }
    }

    /// Matchers that leave out as many of the other Pods as a selector can tell.
    pub(super) fn matchers(&self) -> String {
        let [namespaces, names] = self.expressions();
        match self {
            Self::In(_) => String::new(),
            Self::These(_) => format!(r#"namespace=~"{namespaces}",pod=~"({names})-.+""#),
        }
    }
}

words! {
    /// The aggregate over the values of a workload's Pods.
    pub enum Aggregate {
        Sum = "sum",
        /// The number of them.
        Count = "count",
    }
}

/// The query for the `aggregate` by workload over `pods`, at the times at which all Pods had been
/// measured two windows before, except for a [`NEGLIGIBLE`] share: among hundreds one Pod is always
/// new.
pub fn settled_by_workload(
    aggregate: Aggregate,
    pods: &str,
    workloads: &Workloads<'_>,
    window: SignedDuration,
) -> String {
    let new = measured_before(pods, "unless", window);
    let all = by_workload(aggregate, pods, workloads);
    let [new, count] = [&*new, pods].map(|pods| by_workload(Aggregate::Count, pods, workloads));
    // One new Pod to so many others.
    let share = NEGLIGIBLE + 1;
    format!(
        "{all} unless on (namespace, workload) ({new} * {share} > on (namespace, workload) {count})"
    )
}

/// Those of `pods` that had a value two windows before (`set` is `and`), or had none (`unless`).
pub(super) fn measured_before(pods: &str, set: &str, window: SignedDuration) -> String {
    let ago = (window * 2).as_millis();
    format!("({pods} {set} on (namespace, pod) last_over_time(({pods})[1s:1s] offset {ago}ms))")
}

/// The query for the `aggregate` by workload of what `pods` gives by Pod, of some workloads.
pub(super) fn by_workload(aggregate: Aggregate, pods: &str, workloads: &Workloads<'_>) -> String {
    let [within, names] = workloads.expressions();
    let replaced = |vector: &str, kind: Kind, ending: &str| {
        let kind = kind.as_str();
        format!(
            r#"label_replace({vector}, "workload", "{kind}/$2", "pod_path", "({within})/({names}){ending}")"#
        )
    };
    let path = format!(r#"label_join({pods}, "pod_path", "/", "namespace", "pod")"#);
    // The second overwrites the first: five random digits are rarer than such a StatefulSet.
    let stateful = replaced(&path, Kind::StatefulSet, pod_names::STATEFUL_SET);
    let all = replaced(&stateful, Kind::Deployment, pod_names::DEPLOYMENT);
    format!("{} by (namespace, workload) ({all})", aggregate.as_str())
}

impl PrometheusSource {
    /// Usage of all Pods of each workload together, at each time of `grid`; `None` if not measured
    /// for Pods.
    ///
    /// # Errors
    /// The query failed, and nothing of its answer is taken.
    pub async fn workload_sums(
        &self,
        resource: Resource,
        workloads: Workloads<'_>,
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>> {
        let pods = self.pods_text(resource, &workloads.matchers())?;
        let query = settled_by_workload(Aggregate::Sum, &pods, &workloads, self.window());
        Some(
            self.by_workload(&query, RangeValueUnit::Of(resource), grid)
                .await,
        )
    }

    /// The Pods of each workload with measured cpu, at each time of `grid`; `None` if Pods' cpu is
    /// not measured.
    ///
    /// # Errors
    /// The query failed, and nothing of its answer is taken.
    pub async fn workload_pods(
        &self,
        workloads: Workloads<'_>,
        grid: Grid,
    ) -> Option<Result<WorkloadSums, MetricsError>> {
        let pods = self.pods_text(Resource::Cpu, &workloads.matchers())?;
        let query = settled_by_workload(Aggregate::Count, &pods, &workloads, self.window());
        Some(self.by_workload(&query, RangeValueUnit::Pods, grid).await)
    }

    /// How far back from its time a measurement speaks: half of the window of a rate.
    pub fn lag(&self, resource: Resource) -> SignedDuration {
        match resource {
            Resource::Cpu | Resource::NetworkIo | Resource::DiskIo => self.window() / 2,
            Resource::Memory | Resource::Disk => SignedDuration::ZERO,
        }
    }

    /// The query for the use of the Pods that `narrowed` matches in cAdvisor; an operator's own
    /// query cannot be narrowed.
    pub(super) fn pods_text(&self, resource: Resource, narrowed: &str) -> Option<String> {
        let whole = self.text(UsageQuery::Pod(resource))?;
        let built_in = self.built_in[resource].as_ref();
        let matchers = self.matchers.with_pods(narrowed);
        Some(built_in.map_or_else(|| whole.to_owned(), |text| matchers.fill(text.clone())))
    }

    /// The values by workload that a query gives.
    async fn by_workload(
        &self,
        promql: &str,
        unit: RangeValueUnit,
        grid: Grid,
    ) -> Result<WorkloadSums, MetricsError> {
        let session = self.client.session().await?;
        let lag = self.lag(unit.resource());
        let asked = grid.later(lag);
        let body = session.query_range(promql, &asked).await?;
        aside(move || read(&body, unit, &asked).map(|sums| sums.earlier(lag))).await?
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeValueUnit {
    Of(Resource),
    /// Numbers of Pods, of which each is measured by its cpu.
    Pods,
}

impl RangeValueUnit {
    const fn resource(self) -> Resource {
        match self {
            Self::Of(resource) => resource,
            Self::Pods => Resource::Cpu,
        }
    }
}

pub(super) fn read(
    body: &[u8],
    unit: RangeValueUnit,
    grid: &Grid,
) -> Result<WorkloadSums, MetricsError> {
    let mut found = WorkloadSums::default();
    answer::read_range(body, |labels, points| {
        found.series += 1;
        let (Some(namespace), Some(workload)) = (labels.get("namespace"), labels.get("workload"))
        else {
            return;
        };
        let name = WorkloadName {
            namespace: namespace.into(),
            workload: workload.into(),
        };
        let taken = points.iter().filter_map(|point| {
            let taken = take(*point, unit, grid);
            taken.map_err(|cause| found.dropped.add(cause)).ok()
        });
        let taken: Vec<_> = taken.collect();
        match found.sums.entry(name) {
            Entry::Vacant(free) => {
                free.insert(taken);
            }
            Entry::Occupied(mut known) => {
                found.dropped.add(DropCause::Ambiguous);
                merge(known.get_mut(), &taken);
            }
        }
    })?;
    Ok(found)
}

/// Of two series of one workload the larger at each time, as of two that speak of one Pod.
fn merge(known: &mut Vec<(Timestamp, f64)>, other: &[(Timestamp, f64)]) {
    for (at, value) in other {
        match known.binary_search_by_key(at, |(at, _)| *at) {
            Ok(place) => {
                if let Some((_, known)) = known.get_mut(place) {
                    *known = known.max(*value);
                }
            }
            Err(place) => known.insert(place, (*at, *value)),
        }
    }
}

fn take(
    point: PromPoint,
    unit: RangeValueUnit,
    grid: &Grid,
) -> Result<(Timestamp, f64), DropCause> {
    let value = match unit {
        RangeValueUnit::Of(resource) => load(resource, Some(point.value))?,
        RangeValueUnit::Pods => finite(Some(point.value))?,
    };
    let at = grid.time(point.time).ok_or(DropCause::Misdated)?;
    Ok((at, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn grid() -> Grid {
        Grid {
            first: second(1_000),
            step: SignedDuration::from_secs(15),
            points: 3,
        }
    }

    fn answer(series: &str) -> String {
        format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":[{series}]}}}}"#)
    }

    #[test]
    fn pods_that_had_just_started_are_left_out_or_looked_for() {
        for set in ["and", "unless"] {
            let found = measured_before("cpu", set, SignedDuration::from_secs(60));
            let expected = format!(
                "(cpu {set} on (namespace, pod) last_over_time((cpu)[1s:1s] offset 120000ms))"
            );
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn values_that_are_no_load_and_times_that_were_not_asked_for_are_left_out() {
        let body = answer(
            r#"{"metric":{"namespace":"shop","workload":"Deployment/web"},"values":[
                [985,"9"],[1000,"1.5"],[1015,"NaN"],[1015,"+Inf"],[1015,"-1"],[1030,"2"],[1045,"9"]]},
               {"metric":{"namespace":"shop"},"values":[[1000,"7"]]}"#,
        );
        let found = read(body.as_bytes(), RangeValueUnit::Of(Resource::Cpu), &grid()).unwrap();
        let name = WorkloadName {
            namespace: "shop".into(),
            workload: "Deployment/web".into(),
        };
        assert_eq!(
            found.sums[&name],
            [(second(1_000), 1500.0), (second(1_030), 2000.0)]
        );
        assert_eq!((found.series, found.sums.len()), (2, 1));
        for (cause, count) in [
            (DropCause::NotANumber, 1),
            (DropCause::Infinite, 1),
            (DropCause::Negative, 1),
            (DropCause::Misdated, 2),
        ] {
            assert_eq!(found.dropped.count(cause), count, "{cause:?}");
        }
    }

    #[test]
    fn of_several_series_of_one_workload_the_largest_is_taken_at_each_time() {
        let series = |points: &str| {
            let labels = r#"{"namespace":"a","workload":"StatefulSet/db"}"#;
            format!(r#"{{"metric":{labels},"values":[{points}]}}"#)
        };
        let body = answer(
            &[
                series(r#"[1000,"1"],[1030,"3"]"#),
                series(r#"[1000,"2"],[1015,"2"],[1030,"2"]"#),
                series(r#"[1000,"1"]"#),
            ]
            .join(","),
        );
        let found = read(
            body.as_bytes(),
            RangeValueUnit::Of(Resource::Memory),
            &grid(),
        )
        .unwrap();
        let sums: Vec<_> = found.sums.into_values().collect();
        let expected = [(1_000, 2.0), (1_015, 2.0), (1_030, 3.0)];
        assert_eq!(sums, [expected.map(|(at, value)| (second(at), value))]);
        assert_eq!(found.dropped.count(DropCause::Ambiguous), 2);
    }

    #[test]
    fn the_query_wraps_that_of_the_pods() {
        let query = by_workload(
            Aggregate::Sum,
            "sum by (namespace, pod) (x)",
            &Workloads::In(&["a", "b"]),
        );
        assert!(query.contains(r#""(a|b)/(.+)-[0-9]+""#), "{query}");
        assert_eq!(query.matches('(').count(), query.matches(')').count());
        let many = vec!["n"; NAMED + 1];
        assert!(by_workload(Aggregate::Sum, "x", &Workloads::In(&many)).contains("([^/]+)/"));
    }

    #[test]
    fn some_workloads_are_asked_for_by_name() {
        let named = |namespace: &str, workload: &str| WorkloadName {
            namespace: namespace.into(),
            workload: workload.into(),
        };
        let these = [
            named("shop", "Deployment/web"),
            named("data", "StatefulSet/db.main"),
            named("shop", "Deployment/web"),
            named("shop", "Deployment/a\"}"),
        ];
        let these = Workloads::These(&these);
        let expected = r#"namespace=~"data|shop",pod=~"(db[.]main|web)-.+""#;
        assert_eq!(these.matchers(), expected);
        let query = by_workload(Aggregate::Sum, "x", &these);
        assert!(
            query.contains(r#""(data|shop)/(db[.]main|web)-[0-9]+""#),
            "{query}"
        );
        assert_eq!(Workloads::In(&["shop"]).matchers(), "");
    }

    #[test]
    fn a_time_at_which_a_pod_is_new_has_no_sum() {
        let query = settled_by_workload(
            Aggregate::Sum,
            "pods",
            &Workloads::In(&["a"]),
            SignedDuration::from_secs(120),
        );
        let (all, new) = query
            .split_once(" unless on (namespace, workload) (")
            .unwrap();
        let (new, count) = new.split_once(" * 51 > on (namespace, workload) ").unwrap();
        assert_eq!(
            all,
            by_workload(Aggregate::Sum, "pods", &Workloads::In(&["a"]))
        );
        let pods =
            "(pods unless on (namespace, pod) last_over_time((pods)[1s:1s] offset 240000ms))";
        assert_eq!(
            new,
            by_workload(Aggregate::Count, pods, &Workloads::In(&["a"]))
        );
        let all = by_workload(Aggregate::Count, "pods", &Workloads::In(&["a"]));
        assert_eq!(count.strip_suffix(')'), Some(&*all));
    }

    #[test]
    fn a_grid_ends_where_its_last_step_does() {
        assert_eq!(grid().last(), second(1_030));
        let one = Grid {
            points: 1,
            ..grid()
        };
        assert_eq!(one.last(), one.first);
    }
}
