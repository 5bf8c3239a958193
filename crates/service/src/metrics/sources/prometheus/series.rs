//! Series of some Pods, of a workload or of an operator's own queries, present or past, by the
//! queries of rounds, narrowed to the request. Answers keep Prometheus's own units and the
//! requested times. Series of another namespace or workload are left out.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_metrics::series_query::{LabelledSeries, SeriesPoint};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod_names;
use evenkeel_objects::pod_names::WorkloadName;
use evenkeel_units::Resource;
use jiff::{SignedDuration, Timestamp};

use super::answer;
use super::answer::PromLabels;
use super::grid::Grid;
use super::label_matchers::{LabelMatchers, any_of, literal, quoted};
use super::range::{Aggregate, Workloads, by_workload, measured_before};
use super::selectors::with_matcher;
use super::source::PrometheusSource;
use crate::metrics::blocking_pool::aside;
use crate::metrics::error::MetricsError;

/// The times of one series that Prometheus gives in one answer.
const POINTS: u32 = 11_000;

#[derive(Debug, Clone)]
pub struct PodsAsked<'a> {
    pub namespace: &'a str,
    pub pods: PodSelection<'a>,
    pub container: Option<&'a str>,
    /// True where they count only while they are ready, which kube-state-metrics tells.
    pub ready_only: bool,
}

#[derive(Debug, Clone)]
pub enum PodSelection<'a> {
    /// Each of these by itself.
    Each(&'a [String]),
    Sum(&'a [String]),
    /// The sum over all Pods that have been of this workload, by their names.
    Workload(&'a WorkloadName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesTimes {
    /// That of the question.
    Now(Timestamp),
    Past(Grid),
}

#[derive(Debug, thiserror::Error)]
pub enum PromSeriesError {
    #[error("{0} of Pods is not measured")]
    NotMeasured(Resource),
    #[error("metrics.prometheus.queries sets a query for {0} of Pods, which has no containers")]
    NoContainers(Resource),
    #[error(transparent)]
    Source(#[from] MetricsError),
}

impl PrometheusSource {
    /// The use of a resource by some Pods.
    ///
    /// # Errors
    /// It is not measured, or the query failed.
    pub async fn pod_series(
        &self,
        resource: Resource,
        asked: &PodsAsked<'_>,
        times: SeriesTimes,
    ) -> Result<Vec<LabelledSeries>, PromSeriesError> {
        if matches!(asked.pods, PodSelection::Each(names) | PodSelection::Sum(names) if names.is_empty())
        {
            return Ok(Vec::new());
        }
        let query = self.pods_query(resource, asked)?;
        Ok(self.series(&query, times, SeriesFilter::of(asked)).await?)
    }

    /// The series of an operator's own query, in every selector of which `matchers` hold.
    ///
    /// # Errors
    /// The query failed.
    pub async fn metric_series(
        &self,
        promql: &str,
        matchers: &LabelMatchers,
        times: SeriesTimes,
    ) -> Result<Vec<LabelledSeries>, MetricsError> {
        let query = with_matcher(&self.filled(promql), &matchers.to_string(), |_| true);
        self.series(&query, times, SeriesFilter::default()).await
    }

    /// The span that the use of a resource is the mean of; `None` for one that is read at a moment.
    pub(crate) fn mean_over(&self, resource: Resource) -> Option<SignedDuration> {
        let lag = self.lag(resource);
        lag.is_positive().then(|| self.window())
    }

    fn pods_query(
        &self,
        resource: Resource,
        asked: &PodsAsked<'_>,
    ) -> Result<String, PromSeriesError> {
        let PodsAsked {
            namespace,
            pods,
            container,
            ready_only,
        } = asked;
        if container.is_some() && self.built_in[resource].is_none() {
            return Err(PromSeriesError::NoContainers(resource));
        }
        let workload = match pods {
            PodSelection::Workload(workload) => std::slice::from_ref(*workload),
            PodSelection::Each(_) | PodSelection::Sum(_) => &[],
        };
        let workloads = Workloads::These(workload);
        let mut narrowed = match pods {
            PodSelection::Each(names) | PodSelection::Sum(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let matchers = LabelMatchers::default().equal("namespace", namespace);
                matchers.one_of("pod", &names).to_string()
            }
            PodSelection::Workload(_) => workloads.matchers(),
        };
        if let Some(container) = container {
            let one = LabelMatchers::default().equal("container", container);
            narrowed = format!("{narrowed},{one}");
        }
        let text = self.pods_text(resource, &narrowed);
        let mut text = text.ok_or(PromSeriesError::NotMeasured(resource))?;
        if self.built_in[resource].is_none() {
            text = within(&text, namespace);
        }
        if let PodSelection::Sum(names) = pods
            && self.built_in[resource].is_none()
        {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            text = of_pods(&text, &any_of(&names));
        }
        if *ready_only {
            text = self.while_ready(&text, namespace);
        }
        Ok(match pods {
            PodSelection::Each(_) => text,
            PodSelection::Sum(_) => format!("sum by (namespace) ({text})"),
            PodSelection::Workload(_) => by_workload(Aggregate::Sum, &text, &workloads),
        })
    }

    /// The query for the use of all Pods that have been of a workload, by their names; `None` if the resource is not
    /// measured.
    pub fn workload_query(&self, resource: Resource, workload: &WorkloadName) -> Option<String> {
        Some(format!("sum({})", self.pods_of(resource, workload)?))
    }

    /// The query for the mean use of these Pods, without those that had not been measured two rate windows before:
    /// Pods use cpu to start, too.
    pub fn settled_mean_query(
        &self,
        resource: Resource,
        workload: &WorkloadName,
    ) -> Option<String> {
        let pods = self.pods_of(resource, workload)?;
        Some(format!(
            "avg({})",
            measured_before(&pods, "and", self.window())
        ))
    }

    /// The query for the use of each Pod that has been of a workload.
    fn pods_of(&self, resource: Resource, workload: &WorkloadName) -> Option<String> {
        let (kind, name) = workload.workload.split_once('/')?;
        let ending = if kind == Kind::StatefulSet.as_str() {
            pod_names::STATEFUL_SET
        } else {
            pod_names::DEPLOYMENT
        };
        let pods = format!("{}{ending}", literal(name));
        let namespace = &workload.namespace;
        if self.built_in[resource].is_some() {
            let one = LabelMatchers::default().equal("namespace", namespace);
            return self.pods_text(resource, &one.matching("pod", &pods).to_string());
        }
        let all = self.pods_text(resource, "")?;
        Some(of_pods(&within(&all, namespace), &pods))
    }

    /// The result of `pods` by Pod, at the times at which kube-state-metrics reports it as ready.
    fn while_ready(&self, pods: &str, namespace: &str) -> String {
        let namespace = quoted(namespace);
        let ready =
            format!(r#"kube_pod_status_ready{{$state,condition="true",namespace={namespace}}}"#);
        let ready = self.matchers.fill(ready);
        format!("(({pods}) and on (namespace, pod) (max by (namespace, pod) ({ready}) == 1))")
    }

    async fn series(
        &self,
        query: &str,
        times: SeriesTimes,
        wanted: SeriesFilter,
    ) -> Result<Vec<LabelledSeries>, MetricsError> {
        let session = self.client.session().await?;
        let mut found = CollectedSeries::default();
        match times {
            SeriesTimes::Now(now) => {
                let body = session.query(query).await?;
                found = aside(move || -> Result<CollectedSeries, MetricsError> {
                    found.read_now(&body, &wanted, now)?;
                    Ok(found)
                })
                .await??;
            }
            SeriesTimes::Past(grid) => {
                for part in parts(grid) {
                    let body = session.query_range(query, &part).await?;
                    let wanted = wanted.clone();
                    found = aside(move || -> Result<CollectedSeries, MetricsError> {
                        found.read_past(&body, &wanted, &part)?;
                        Ok(found)
                    })
                    .await??;
                }
            }
        }
        Ok(found.series())
    }
}

/// The series to take, by their labels: an operator's own query may return more.
#[derive(Debug, Clone, Default)]
struct SeriesFilter {
    namespace: Option<String>,
    pods: Option<BTreeSet<String>>,
    workload: Option<Box<str>>,
}

impl SeriesFilter {
    fn of(asked: &PodsAsked<'_>) -> Self {
        let (pods, workload) = match &asked.pods {
            PodSelection::Each(names) => (Some(names.iter().cloned().collect()), None),
            PodSelection::Sum(_) => (None, None),
            PodSelection::Workload(workload) => (None, Some(workload.workload.clone())),
        };
        Self {
            namespace: Some(asked.namespace.to_owned()),
            pods,
            workload,
        }
    }

    fn has(&self, labels: &PromLabels<'_>) -> bool {
        let Self {
            namespace,
            pods,
            workload,
        } = self;
        let is = |label: &str, wanted: &str| labels.get(label) == Some(wanted);
        namespace.as_ref().is_none_or(|name| is("namespace", name))
            && workload.as_ref().is_none_or(|name| is("workload", name))
            && pods
                .as_ref()
                .is_none_or(|names| labels.get("pod").is_some_and(|pod| names.contains(pod)))
    }
}

/// The series so far, by their labels: a long past comes in several answers.
#[derive(Default)]
struct CollectedSeries(BTreeMap<BTreeMap<String, String>, Vec<SeriesPoint>>);

impl CollectedSeries {
    fn read_now(
        &mut self,
        body: &[u8],
        wanted: &SeriesFilter,
        now: Timestamp,
    ) -> Result<(), MetricsError> {
        let warning = answer::read(body, |labels, value| {
            if let Some(value) = value.filter(|_| wanted.has(labels)) {
                self.take(labels, [SeriesPoint { at: now, value }]);
            }
        })?;
        // A sum may lack something.
        warning.map_or(Ok(()), |first| Err(MetricsError::Warnings { first }))
    }

    fn read_past(
        &mut self,
        body: &[u8],
        wanted: &SeriesFilter,
        grid: &Grid,
    ) -> Result<(), MetricsError> {
        answer::read_range(body, |labels, points| {
            if wanted.has(labels) {
                let points = points.iter().filter_map(|point| {
                    let at = grid.time(point.time)?;
                    Some(SeriesPoint {
                        at,
                        value: point.value,
                    })
                });
                self.take(labels, points);
            }
        })
    }

    fn take(&mut self, labels: &PromLabels<'_>, points: impl IntoIterator<Item = SeriesPoint>) {
        let labels = labels.iter().filter(|(name, _)| *name != "pod_path");
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let points = points.into_iter().filter(|point| point.value.is_finite());
        self.0.entry(labels.collect()).or_default().extend(points);
    }

    fn series(self) -> Vec<LabelledSeries> {
        let all = self.0.into_iter().filter(|(_, points)| !points.is_empty());
        all.map(|(labels, points)| LabelledSeries { labels, points })
            .collect()
    }
}

/// The same times in parts that Prometheus answers.
fn parts(grid: Grid) -> impl Iterator<Item = Grid> {
    (0..grid.points).step_by(POINTS as usize).map(move |begin| {
        let steps = i32::try_from(begin).unwrap_or(i32::MAX);
        let ahead = grid.step.saturating_mul(steps);
        Grid {
            first: grid.first.checked_add(ahead).unwrap_or(Timestamp::MAX),
            step: grid.step,
            points: (grid.points - begin).min(POINTS),
        }
    })
}

/// The result of a query for one namespace, by its label.
fn within(query: &str, namespace: &str) -> String {
    format!(
        r#"(({query}) and on (namespace) label_replace(vector(1), "namespace", {}, "", ""))"#,
        quoted(namespace)
    )
}

/// The result of a query for the Pods whose names match a regular expression.
fn of_pods(query: &str, expression: &str) -> String {
    let expression = quoted(expression);
    format!(
        r#"(label_replace({query}, "is_asked", "1", "pod", {expression}) and on (is_asked) label_replace(vector(1), "is_asked", "1", "", ""))"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_past_is_asked_for_in_parts_that_meet() {
        let grid = Grid {
            first: Timestamp::UNIX_EPOCH,
            step: SignedDuration::from_secs(60),
            points: 2 * POINTS + 5,
        };
        let parts: Vec<_> = parts(grid).collect();
        assert_eq!(parts.len(), 3);
        assert_eq!(
            parts.iter().map(|part| part.points).sum::<u32>(),
            grid.points
        );
        for pair in parts.windows(2) {
            assert_eq!(pair[1].first.duration_since(pair[0].last()), grid.step);
        }
        assert_eq!(parts[2].last(), grid.last());
    }

    #[test]
    fn series_of_several_answers_become_one() {
        let mut found = CollectedSeries::default();
        let point = |second, value| SeriesPoint {
            at: Timestamp::from_second(second).unwrap(),
            value,
        };
        let labels = PromLabels::default();
        found.take(&labels, [point(0, 1.0), point(60, f64::NAN)]);
        found.take(&labels, [point(120, 2.0)]);
        let series = found.series();
        assert_eq!(series.len(), 1);
        assert_eq!(series[0].points, [point(0, 1.0), point(120, 2.0)]);
    }
}
