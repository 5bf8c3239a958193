//! The newest values: from Prometheus if it has them, and from the metrics APIs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenkeel_clock as clock;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::metric_query::ServedMetric;
use evenkeel_metrics::pod::PodFacts;
use evenkeel_metrics::sample::{PodSample, ValueSample};
use evenkeel_metrics::series_query::{
    GroupKind, LabelledSeries, ObjectSelection, SeriesAnswer, SeriesPoint, SeriesQuery,
    SeriesRefusal, SeriesSubject, UsageSubject, WorkloadReference,
};
use evenkeel_metrics::signal::{MetricIdentifier, ObjectReference};
use evenkeel_objects::kinds::Kind;
use evenkeel_units::i64_as_f64;
use jiff::{SignedDuration, Timestamp};

use super::provider::{MetricsProvider, served};
use super::series_history::{used, workload_label};
use crate::metrics::prometheus::{LabelMatchers, PodSelection, SeriesTimes};

const METRICS_API: &str = Kind::PodMetrics.group();
const CUSTOM_API: &str = Kind::CustomMetrics.group();
const EXTERNAL_API: &str = Kind::ExternalMetrics.group();

impl MetricsProvider {
    pub(super) async fn latest(
        &self,
        query: &SeriesQuery,
        now: Timestamp,
    ) -> Result<SeriesAnswer, SeriesRefusal> {
        let namespace = &*query.namespace;
        match &query.subject {
            SeriesSubject::Pods { pods, usage } => match &self.sources.prometheus {
                Some(prometheus) => {
                    let names = self.pod_names(namespace, pods).await?;
                    let pods = PodSelection::Each(&names);
                    self.used(
                        prometheus,
                        usage,
                        used(namespace, pods, usage),
                        SeriesTimes::Now(now),
                    )
                    .await
                }
                None => self.served_pods(namespace, pods, usage).await,
            },
            SeriesSubject::Workload {
                workload,
                usage,
                ready_only,
            } => {
                let pods = self.workload_pods(namespace, workload)?;
                let counted = |pod: &&Arc<PodFacts>| !*ready_only || pod.is_ready();
                let names = pods.members.iter().filter(counted);
                let names: Vec<String> = names.map(|pod| pod.name.clone()).collect();
                let sum = self.sum_of(namespace, pods.selector, &names, usage);
                Ok(labelled(sum.await?, workload))
            }
            SeriesSubject::Object {
                kind,
                objects,
                metric,
            } => self.object(namespace, kind, objects, metric).await,
            SeriesSubject::External(metric) => self.external(namespace, metric, now).await,
            SeriesSubject::WorkloadMetric { workload, metric } => {
                self.workload_metric(namespace, workload, metric, now).await
            }
        }
    }

    /// The use of these Pods together; `selected` is the selector that they are among the Pods of.
    async fn sum_of(
        &self,
        namespace: &str,
        selected: Option<Box<str>>,
        names: &[String],
        usage: &UsageSubject,
    ) -> Result<SeriesAnswer, SeriesRefusal> {
        if let Some(prometheus) = &self.sources.prometheus {
            let asked = used(namespace, PodSelection::Sum(names), usage);
            let now = SeriesTimes::Now(clock::now());
            return self.used(prometheus, usage, asked, now).await;
        }
        let selector = selected.unwrap_or_default();
        let samples = self.served_usage(namespace, selector, usage).await?;
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        Ok(sum(namespace, &samples, &names))
    }

    async fn served_pods(
        &self,
        namespace: &str,
        pods: &ObjectSelection,
        usage: &UsageSubject,
    ) -> Result<SeriesAnswer, SeriesRefusal> {
        let (selector, name) = match pods {
            ObjectSelection::Named(name) => (Box::default(), Some(name)),
            ObjectSelection::Selected(selector) => (selector.clone(), None),
        };
        let mut samples = self.served_usage(namespace, selector, usage).await?;
        samples.retain(|sample| name.is_none_or(|name| sample.pod == *name));
        Ok(by_object(namespace, "pod", samples))
    }

    async fn served_usage(
        &self,
        namespace: &str,
        selector: Box<str>,
        usage: &UsageSubject,
    ) -> Result<Vec<PodSample>, SeriesRefusal> {
        let UsageSubject {
            resource,
            container,
        } = usage;
        let resource = served(*resource).ok_or_else(|| {
            SeriesRefusal::NotFound(format!(
                "{METRICS_API} has cpu and memory only, and metrics.source is not prometheus"
            ))
        })?;
        let resource = resource.into();
        let metric = match container {
            None => ServedMetric::Usage { selector, resource },
            Some(container) => ServedMetric::Container {
                selector,
                resource,
                container: container.clone(),
            },
        };
        self.pods(METRICS_API, namespace, &metric).await
    }

    async fn object(
        &self,
        namespace: &str,
        kind: &GroupKind,
        objects: &ObjectSelection,
        metric: &MetricIdentifier,
    ) -> Result<SeriesAnswer, SeriesRefusal> {
        let reference = |name: &str, api_version: String| {
            Box::new(ObjectReference {
                api_version,
                kind: kind.kind.clone(),
                name: name.to_owned(),
            })
        };
        let api_version = self.api_version(kind).await?;
        let metric = metric.clone();
        match objects {
            ObjectSelection::Named(name) => {
                let object = reference(name, api_version);
                let metric = ServedMetric::Object { object, metric };
                let reading = self.served(CUSTOM_API, namespace, &metric).await?;
                let MetricsApiReading::Object(sample) = reading else {
                    return Err(shapeless(CUSTOM_API));
                };
                let labels = [("namespace", namespace), ("name", name.as_str())];
                Ok(one(labels, &sample))
            }
            // No path says that it is that of the asker alone.
            ObjectSelection::Selected(_) if kind.known() == Some(Kind::Namespace) => Err(
                SeriesRefusal::Parameter("a namespace needs a name".to_owned()),
            ),
            ObjectSelection::Selected(selector) => {
                let metric = ServedMetric::Objects {
                    object: reference("", api_version),
                    selector: selector.clone(),
                    metric,
                };
                let samples = self.pods(CUSTOM_API, namespace, &metric).await?;
                Ok(by_object(namespace, "name", samples))
            }
        }
    }

    async fn api_version(&self, kind: &GroupKind) -> Result<String, SeriesRefusal> {
        if let Some(known) = kind.known() {
            return Ok(known.api_version());
        }
        if kind.group.is_empty() {
            return Ok("v1".to_owned());
        }
        let asked = self.sources.served.api_version(&kind.group, clock::now());
        asked
            .await
            .map_err(|error| self.failed("the API server", &error))
    }

    async fn external(
        &self,
        namespace: &str,
        metric: &MetricIdentifier,
        now: Timestamp,
    ) -> Result<SeriesAnswer, SeriesRefusal> {
        if self.configured(&metric.name).is_some() {
            let matchers = LabelMatchers::default().equal("namespace", namespace);
            return self.read(metric, matchers, SeriesTimes::Now(now)).await;
        }
        let asked = ServedMetric::External(metric.clone());
        let MetricsApiReading::Series(samples) =
            self.served(EXTERNAL_API, namespace, &asked).await?
        else {
            return Err(shapeless(EXTERNAL_API));
        };
        let timestamp = samples.iter().map(|sample| sample.timestamp).max();
        let value = samples.iter().map(|sample| sample.value);
        let sample = ValueSample {
            timestamp: timestamp.unwrap_or(now),
            value: value.fold(0, i64::saturating_add),
        };
        Ok(one([("namespace", namespace)], &sample))
    }

    async fn workload_metric(
        &self,
        namespace: &str,
        workload: &WorkloadReference,
        metric: &MetricIdentifier,
        now: Timestamp,
    ) -> Result<SeriesAnswer, SeriesRefusal> {
        let pods = self.workload_pods(namespace, workload)?;
        let names: Vec<&str> = pods.members.iter().map(|pod| pod.name.as_str()).collect();
        if self.configured(&metric.name).is_some() {
            let matchers = LabelMatchers::default().equal("namespace", namespace);
            let matchers = matchers.one_of("pod", &names);
            return self.read(metric, matchers, SeriesTimes::Now(now)).await;
        }
        let selector = pods.selector.ok_or_else(|| {
            SeriesRefusal::NotFound(
                "the workload is of a kind that is not watched: its selector is not known"
                    .to_owned(),
            )
        })?;
        let metric = ServedMetric::Pods {
            selector,
            metric: metric.clone(),
        };
        let mut samples = self.pods(CUSTOM_API, namespace, &metric).await?;
        samples.retain(|sample| names.contains(&sample.pod.as_str()));
        Ok(by_object(namespace, "pod", samples))
    }

    /// The values by Pod, or by another object, that a metrics API tells.
    async fn pods(
        &self,
        api: &'static str,
        namespace: &str,
        metric: &ServedMetric,
    ) -> Result<Vec<PodSample>, SeriesRefusal> {
        match self.served(api, namespace, metric).await? {
            MetricsApiReading::Pods(samples) => Ok(samples),
            MetricsApiReading::Object(_) | MetricsApiReading::Series(_) => Err(shapeless(api)),
        }
    }

    async fn served(
        &self,
        api: &'static str,
        namespace: &str,
        metric: &ServedMetric,
    ) -> Result<MetricsApiReading, SeriesRefusal> {
        let reading = self.sources.served.value(namespace, metric, clock::now());
        reading.await.map_err(|error| self.failed(api, &error))
    }
}

fn labelled(mut answer: SeriesAnswer, workload: &WorkloadReference) -> SeriesAnswer {
    for series in &mut answer.series {
        let label = workload_label(workload);
        series.labels.insert("workload".to_owned(), label);
    }
    answer
}

/// The sum of the Pods of these names that are measured, as of the oldest measurement.
fn sum(namespace: &str, samples: &[PodSample], names: &BTreeSet<&str>) -> SeriesAnswer {
    let counted = samples
        .iter()
        .filter(|sample| names.contains(sample.pod.as_str()));
    let counted: Vec<_> = counted.map(|sample| sample.measurement).collect();
    let Some(oldest) = counted.iter().min_by_key(|one| one.timestamp) else {
        return SeriesAnswer {
            window: None,
            series: Vec::new(),
        };
    };
    let value = counted.iter().map(|one| one.value);
    let sample = ValueSample {
        timestamp: oldest.timestamp,
        value: value.fold(0, i64::saturating_add),
    };
    SeriesAnswer {
        window: Some(oldest.window),
        ..one([("namespace", namespace)], &sample)
    }
}

/// A series for each object, which its name tells from the others.
fn by_object(namespace: &str, label: &str, samples: Vec<PodSample>) -> SeriesAnswer {
    let window = samples.first().map(|sample| sample.measurement.window);
    let series = samples.into_iter().map(|PodSample { pod, measurement }| {
        let labels = [
            ("namespace".to_owned(), namespace.to_owned()),
            (label.to_owned(), pod),
        ];
        LabelledSeries {
            labels: labels.into(),
            points: vec![SeriesPoint {
                at: measurement.timestamp,
                value: i64_as_f64(measurement.value) / 1000.0,
            }],
        }
    });
    SeriesAnswer {
        window: window.filter(SignedDuration::is_positive),
        series: series.collect(),
    }
}

fn one<const N: usize>(labels: [(&str, &str); N], sample: &ValueSample) -> SeriesAnswer {
    let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
    SeriesAnswer {
        window: None,
        series: vec![LabelledSeries {
            labels: BTreeMap::from(labels),
            points: vec![SeriesPoint {
                at: sample.timestamp,
                value: i64_as_f64(sample.value) / 1000.0,
            }],
        }],
    }
}

const fn shapeless(asked: &'static str) -> SeriesRefusal {
    SeriesRefusal::Failed {
        asked,
        reason: "Malformed",
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::sample::Measurement;

    use super::*;

    fn sample(pod: &str, second: i64, value: i64) -> PodSample {
        PodSample {
            pod: pod.to_owned(),
            measurement: Measurement {
                timestamp: Timestamp::from_second(second).unwrap(),
                window: SignedDuration::from_secs(15),
                value,
            },
        }
    }

    #[test]
    fn a_workload_is_the_sum_of_its_own_pods_as_of_the_oldest() {
        let samples = [
            sample("a", 20, 250),
            sample("b", 10, 500),
            sample("other", 5, 9000),
        ];
        let answer = sum("shop", &samples, &["a", "b", "new"].into());
        assert_eq!(answer.window, Some(SignedDuration::from_secs(15)));
        let point = answer.series[0].points[0];
        assert_eq!((point.at.as_second(), point.value), (10, 0.75));
        assert!(sum("shop", &samples, &BTreeSet::new()).series.is_empty());
    }

    #[test]
    fn objects_are_told_apart_by_their_names() {
        let answer = by_object(
            "shop",
            "pod",
            vec![sample("a", 20, 1500), sample("b", 10, 1)],
        );
        let told: Vec<_> = answer
            .series
            .iter()
            .map(|series| (series.labels["pod"].as_str(), series.points[0].value))
            .collect();
        assert_eq!(told, [("a", 1.5), ("b", 0.001)]);
    }

    #[test]
    fn the_metrics_api_tells_two_resources() {
        use evenkeel_units::Resource;
        let told: Vec<_> = Resource::ALL.into_iter().filter_map(served).collect();
        assert_eq!(told, ["cpu", "memory"]);
    }
}
