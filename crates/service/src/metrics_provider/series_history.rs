//! Past values: from Prometheus alone, because no other source keeps them. Prometheus knows deleted
//! Pods by their names, so a workload's past is that of the names that its kind gives its Pods
//! ([`pod_names`]). For other kinds the past is refused: the sum of the present Pods is smaller
//! than the real one, the longer ago the smaller.

use evenkeel_metrics::series_query::{
    ObjectSelection, SeriesAnswer, SeriesQuery, SeriesRange, SeriesRefusal, SeriesSubject,
    UsageSubject, WorkloadReference,
};
use evenkeel_metrics::signal::MetricIdentifier;
use evenkeel_objects::pod_names;
use evenkeel_objects::pod_names::WorkloadName;

use super::provider::{MetricsProvider, times};
use crate::metrics::prometheus::{
    LabelMatchers, PodSelection, PodsAsked, PrometheusSource, SeriesTimes, literal,
};

impl MetricsProvider {
    /// The values at the times of a range.
    pub(super) async fn past(
        &self,
        query: &SeriesQuery,
        range: SeriesRange,
    ) -> Result<SeriesAnswer, SeriesRefusal> {
        let prometheus = self.sources.prometheus.as_ref().ok_or_else(|| {
            SeriesRefusal::NoPast(
                "history needs metrics.source prometheus; without start, end and step, the newest \
                 values are returned"
                    .to_owned(),
            )
        })?;
        let (namespace, times) = (&*query.namespace, times(range));
        match &query.subject {
            SeriesSubject::Pods { pods, usage } => {
                let names = self.pod_names(namespace, pods).await?;
                let pods = PodSelection::Each(&names);
                self.used(prometheus, usage, used(namespace, pods, usage), times)
                    .await
            }
            SeriesSubject::Workload {
                workload,
                usage,
                ready_only,
            } => {
                ending(workload)?;
                let name = WorkloadName {
                    namespace: namespace.into(),
                    workload: workload_label(workload).into(),
                };
                let asked = PodsAsked {
                    ready_only: *ready_only,
                    ..used(namespace, PodSelection::Workload(&name), usage)
                };
                self.used(prometheus, usage, asked, times).await
            }
            SeriesSubject::Object {
                objects, metric, ..
            } => {
                let matchers = self.of_object(namespace, objects, metric)?;
                self.read(metric, matchers, times).await
            }
            SeriesSubject::External(metric) => {
                self.read(metric, in_namespace(namespace), times).await
            }
            SeriesSubject::WorkloadMetric { workload, metric } => {
                let ending = ending(workload)?;
                let pods = format!("{}{ending}", literal(&workload.name));
                let matchers = in_namespace(namespace).matching("pod", &pods);
                self.read(metric, matchers, times).await
            }
        }
    }

    /// Matchers for the series of one object, if an operator's query says how it is named.
    fn of_object(
        &self,
        namespace: &str,
        objects: &ObjectSelection,
        metric: &MetricIdentifier,
    ) -> Result<LabelMatchers, SeriesRefusal> {
        let ObjectSelection::Named(name) = objects else {
            return Err(SeriesRefusal::NoPast(
                "history of objects is available for one object at a time: give a name".to_owned(),
            ));
        };
        let query = self.configured(&metric.name);
        let label = query.and_then(|(_, query)| query.object_label.as_deref());
        let label = label.ok_or_else(|| {
            SeriesRefusal::NoPast(format!(
                "{:?} has no history: metricsProvider.queries has no query of that name with an \
                 objectLabel",
                metric.name
            ))
        })?;
        Ok(in_namespace(namespace).equal(label, name))
    }

    /// The result of an operator's own query, narrowed by these matchers and the metric's selector.
    pub(super) async fn read(
        &self,
        metric: &MetricIdentifier,
        mut matchers: LabelMatchers,
        times: SeriesTimes,
    ) -> Result<SeriesAnswer, SeriesRefusal> {
        let MetricIdentifier { name, selector } = metric;
        let (prometheus, query) = self.configured(name).ok_or_else(|| {
            SeriesRefusal::NoPast(format!(
                "{name:?} has no history: metricsProvider.queries has no query of that name"
            ))
        })?;
        if let Some(selector) = selector {
            matchers = matchers
                .selected(selector)
                .map_err(|error| SeriesRefusal::Parameter(format!("metricSelector: {error}")))?;
        }
        let series = prometheus.metric_series(&query.promql, &matchers, times);
        let series = series.await;
        Ok(SeriesAnswer {
            window: None,
            series: series.map_err(|error| self.failed("Prometheus", &error))?,
        })
    }

    /// The use of Pods as Prometheus measures it.
    pub(super) async fn used(
        &self,
        prometheus: &PrometheusSource,
        usage: &UsageSubject,
        asked: PodsAsked<'_>,
        times: SeriesTimes,
    ) -> Result<SeriesAnswer, SeriesRefusal> {
        let series = prometheus.pod_series(usage.resource, &asked, times).await;
        Ok(SeriesAnswer {
            window: prometheus.mean_over(usage.resource),
            series: series.map_err(|error| self.unmeasured(error))?,
        })
    }
}

fn in_namespace(namespace: &str) -> LabelMatchers {
    LabelMatchers::default().equal("namespace", namespace)
}

/// Pods of which each counts, ready or not.
pub(super) const fn used<'a>(
    namespace: &'a str,
    pods: PodSelection<'a>,
    usage: &'a UsageSubject,
) -> PodsAsked<'a> {
    PodsAsked {
        namespace,
        pods,
        container: match &usage.container {
            Some(container) => Some(container.as_str()),
            None => None,
        },
        ready_only: false,
    }
}

/// The label of a workload: kind and name, as in `Deployment/web`.
pub(super) fn workload_label(workload: &WorkloadReference) -> String {
    let WorkloadReference { kind, name } = workload;
    format!("{}/{name}", kind.kind)
}

/// A regular expression for what the names of a workload's Pods have behind its own.
fn ending(workload: &WorkloadReference) -> Result<&'static str, SeriesRefusal> {
    let WorkloadReference { kind, name } = workload;
    pod_names::ending(kind.known(), name).ok_or_else(|| {
        SeriesRefusal::NoPast(format!(
            "the {} {name} has no history: the names of its Pods do not identify it; Pods of a \
             Deployment or StatefulSet with a name of at most 46 characters do",
            kind.kind
        ))
    })
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::series_query::GroupKind;

    use super::*;

    #[test]
    fn a_past_is_told_of_workloads_whose_pods_are_named_for_them() {
        let ending = |group: &str, kind: &str, name: &str| {
            let kind = GroupKind {
                group: group.to_owned(),
                kind: kind.to_owned(),
            };
            let name = name.to_owned();
            ending(&WorkloadReference { kind, name }).is_ok()
        };
        let long = "w".repeat(47);
        for (group, kind, name, is_told) in [
            ("apps", "Deployment", "web", true),
            ("apps", "StatefulSet", "db", true),
            ("apps", "ReplicaSet", "web-5d8f", false),
            ("argoproj.io", "Rollout", "web", false),
            // Another's kind of the same name.
            ("apps.example.com", "StatefulSet", "db", false),
            ("apps", "Deployment", &long, false),
        ] {
            assert_eq!(ending(group, kind, name), is_told, "{group} {kind} {name}");
        }
    }
}
