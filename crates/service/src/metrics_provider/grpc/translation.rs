//! Between the messages and the questions and answers of the provider.

use std::collections::BTreeMap;

use evenkeel_metrics::series_query::{
    QueryKind, RangeLimits, SeriesAnswer, SeriesPoint, SeriesRange, SeriesRefusal, SeriesRequest,
    WrittenQuery,
};
use jiff::{SignedDuration, Timestamp};

use super::messages;
use super::messages::{
    ContainerResourceQuery, ExternalQuery, GroupKind, KapacityPoint, KapacityQuery,
    KapacityQuerySubject, KapacitySample, MetricIdentifier, ObjectIdentifier, ObjectQuery,
    PodIdentifier, PodResourceQuery, QueryLatestResponse, QueryRequest, QueryResponse, QueryType,
    WorkloadContainerResourceQuery, WorkloadExternalQuery, WorkloadResourceQuery,
};

/// The question for what is newest.
pub(super) fn latest(query: Option<KapacityQuery>) -> Result<SeriesRequest, SeriesRefusal> {
    let (kind, written) = written(query)?;
    Ok(SeriesRequest {
        query: written.check(kind)?,
        range: None,
    })
}

pub(super) fn past(
    request: QueryRequest,
    limits: RangeLimits,
) -> Result<SeriesRequest, SeriesRefusal> {
    let QueryRequest {
        query,
        start,
        end,
        step,
    } = request;
    let (kind, written) = written(query)?;
    let missing = |field: &str| SeriesRefusal::Parameter(format!("{field} is missing"));
    let wrong = |field: &str| SeriesRefusal::Parameter(format!("{field}: out of range"));
    let time = |field: &str, time: Option<prost_types::Timestamp>| {
        let time = time.ok_or_else(|| missing(field))?;
        Timestamp::new(time.seconds, time.nanos).map_err(|_| wrong(field))
    };
    let times = (time("start", start)?, time("end", end)?);
    let step = step.ok_or_else(|| missing("step"))?;
    if step.nanos.unsigned_abs() >= 1_000_000_000 {
        return Err(wrong("step"));
    }
    let step = SignedDuration::from_secs(step.seconds)
        .checked_add(SignedDuration::from_nanos(step.nanos.into()))
        .ok_or_else(|| wrong("step"))?;
    Ok(SeriesRequest {
        query: written.check(kind)?,
        range: Some(SeriesRange::check(times, step, limits)?),
    })
}

/// The query as written. Its type must match its subject: a client that sends another type would
/// misread the answer.
fn written(query: Option<KapacityQuery>) -> Result<(QueryKind, WrittenQuery), SeriesRefusal> {
    let wrong = |why: &str| SeriesRefusal::Parameter(format!("query: {why}"));
    let KapacityQuery { r#type, query } = query.ok_or_else(|| wrong("is missing"))?;
    let told =
        QueryType::try_from(r#type).map_err(|_| wrong("its type is not one of the seven types"))?;
    let subject = query.ok_or_else(|| wrong("has no query"))?;
    let (kind, written) = of(subject);
    if kind != of_type(told) {
        return Err(wrong("its type does not match its query"));
    }
    Ok((kind, written))
}

const fn of_type(told: QueryType) -> QueryKind {
    match told {
        QueryType::PodResource => QueryKind::PodResource,
        QueryType::ContainerResource => QueryKind::ContainerResource,
        QueryType::WorkloadResource => QueryKind::WorkloadResource,
        QueryType::WorkloadContainerResource => QueryKind::WorkloadContainerResource,
        QueryType::Object => QueryKind::Object,
        QueryType::External => QueryKind::External,
        QueryType::WorkloadExternal => QueryKind::WorkloadExternal,
    }
}

fn of(subject: KapacityQuerySubject) -> (QueryKind, WrittenQuery) {
    match subject {
        KapacityQuerySubject::PodResource(query) => (QueryKind::PodResource, query.into()),
        KapacityQuerySubject::ContainerResource(query) => {
            (QueryKind::ContainerResource, query.into())
        }
        KapacityQuerySubject::WorkloadResource(query) => {
            (QueryKind::WorkloadResource, query.into())
        }
        KapacityQuerySubject::WorkloadContainerResource(query) => {
            (QueryKind::WorkloadContainerResource, query.into())
        }
        KapacityQuerySubject::Object(query) => (QueryKind::Object, query.into()),
        KapacityQuerySubject::External(query) => (QueryKind::External, query.into()),
        KapacityQuerySubject::WorkloadExternal(query) => {
            (QueryKind::WorkloadExternal, query.into())
        }
    }
}

impl From<PodResourceQuery> for WrittenQuery {
    fn from(query: PodResourceQuery) -> Self {
        let PodResourceQuery {
            namespace,
            pod_identifier,
            resource_name,
        } = query;
        let (name, selector) = pods(pod_identifier);
        Self {
            namespace,
            name,
            selector,
            resource: resource_name,
            ..Self::default()
        }
    }
}

impl From<ContainerResourceQuery> for WrittenQuery {
    fn from(query: ContainerResourceQuery) -> Self {
        let ContainerResourceQuery {
            namespace,
            pod_identifier,
            resource_name,
            container_name,
        } = query;
        let (name, selector) = pods(pod_identifier);
        Self {
            namespace,
            name,
            selector,
            resource: resource_name,
            container: container_name,
            ..Self::default()
        }
    }
}

impl From<WorkloadResourceQuery> for WrittenQuery {
    fn from(query: WorkloadResourceQuery) -> Self {
        let WorkloadResourceQuery {
            group_kind,
            namespace,
            name,
            resource_name,
            ready_pods_only,
        } = query;
        let GroupKind { group, kind } = group_kind.unwrap_or_default();
        Self {
            namespace,
            name,
            group,
            kind,
            resource: resource_name,
            ready_pods_only,
            ..Self::default()
        }
    }
}

impl From<WorkloadContainerResourceQuery> for WrittenQuery {
    fn from(query: WorkloadContainerResourceQuery) -> Self {
        let WorkloadContainerResourceQuery {
            group_kind,
            namespace,
            name,
            resource_name,
            container_name,
            ready_pods_only,
        } = query;
        let GroupKind { group, kind } = group_kind.unwrap_or_default();
        Self {
            namespace,
            name,
            group,
            kind,
            resource: resource_name,
            container: container_name,
            ready_pods_only,
            ..Self::default()
        }
    }
}

impl From<ObjectQuery> for WrittenQuery {
    fn from(query: ObjectQuery) -> Self {
        let ObjectQuery {
            group_kind,
            namespace,
            object_identifier,
            metric,
        } = query;
        let GroupKind { group, kind } = group_kind.unwrap_or_default();
        let (name, selector) = match object_identifier {
            Some(ObjectIdentifier::Name(name)) => (name, String::new()),
            Some(ObjectIdentifier::Selector(selector)) => (String::new(), selector),
            None => (String::new(), String::new()),
        };
        Self {
            namespace: namespace.unwrap_or_default(),
            name,
            selector,
            group,
            kind,
            ..of_metric(metric)
        }
    }
}

impl From<ExternalQuery> for WrittenQuery {
    fn from(query: ExternalQuery) -> Self {
        let ExternalQuery { namespace, metric } = query;
        Self {
            namespace: namespace.unwrap_or_default(),
            ..of_metric(metric)
        }
    }
}

impl From<WorkloadExternalQuery> for WrittenQuery {
    fn from(query: WorkloadExternalQuery) -> Self {
        let WorkloadExternalQuery {
            group_kind,
            namespace,
            name,
            metric,
        } = query;
        let GroupKind { group, kind } = group_kind.unwrap_or_default();
        Self {
            namespace,
            name,
            group,
            kind,
            ..of_metric(metric)
        }
    }
}

fn pods(identifier: Option<PodIdentifier>) -> (String, String) {
    match identifier {
        Some(PodIdentifier::Name(name)) => (name, String::new()),
        Some(PodIdentifier::Selector(selector)) => (String::new(), selector),
        None => (String::new(), String::new()),
    }
}

fn of_metric(metric: Option<MetricIdentifier>) -> WrittenQuery {
    let MetricIdentifier { name, selector } = metric.unwrap_or_default();
    WrittenQuery {
        metric: name,
        metric_selector: selector.unwrap_or_default(),
        ..WrittenQuery::default()
    }
}

/// The answer of what is newest: a sample for each series.
pub(super) fn samples(answer: SeriesAnswer) -> QueryLatestResponse {
    let window = window(answer.window);
    let samples = answer.series.into_iter().map(|series| KapacitySample {
        point: series.points.last().map(point),
        labels: labels(series.labels),
        window,
    });
    QueryLatestResponse {
        samples: samples.collect(),
    }
}

pub(super) fn series(answer: SeriesAnswer) -> QueryResponse {
    let window = window(answer.window);
    let series = answer
        .series
        .into_iter()
        .map(|series| messages::KapacitySeries {
            points: series.points.iter().map(point).collect(),
            labels: labels(series.labels),
            window,
        });
    QueryResponse {
        series: series.collect(),
    }
}

fn point(point: &SeriesPoint) -> KapacityPoint {
    KapacityPoint {
        timestamp: point.at.as_millisecond(),
        value: point.value,
    }
}

fn labels(labels: BTreeMap<String, String>) -> std::collections::HashMap<String, String> {
    labels.into_iter().collect()
}

fn window(window: Option<SignedDuration>) -> Option<prost_types::Duration> {
    window.map(|window| prost_types::Duration {
        seconds: window.as_secs(),
        nanos: window.subsec_nanos(),
    })
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    const LIMITS: RangeLimits = RangeLimits {
        longest: SignedDuration::from_hours(24 * 31),
        points: 50_000,
    };

    /// A request as Kapacity's client for Python writes it, byte by byte: the cpu use of a
    /// Deployment's ready Pods, by the minute.
    fn recorded() -> Vec<u8> {
        let group_kind = [b"\x0a\x04apps".as_slice(), b"\x12\x0aDeployment"].concat();
        let mut workload = vec![0x0a, u8::try_from(group_kind.len()).unwrap()];
        workload.extend(group_kind);
        workload.extend(b"\x12\x04shop\x1a\x03web\x22\x03cpu\x28\x01");
        let mut query = vec![0x08, 2, 0x22, u8::try_from(workload.len()).unwrap()];
        query.extend(workload);
        let mut request = vec![0x0a, u8::try_from(query.len()).unwrap()];
        request.extend(query);
        request.extend([0x12, 3, 0x08, 0xe8, 0x07]); // start: 1000 s
        request.extend([0x1a, 3, 0x08, 0xc0, 0x0c]); // end: 1600 s
        request.extend([0x22, 2, 0x08, 60]); // step
        request
    }

    #[test]
    fn a_job_is_understood_to_the_byte() {
        let request = QueryRequest::decode(&*recorded()).unwrap();
        let asked = past(request, LIMITS).unwrap();
        assert_eq!(asked.query.kind(), QueryKind::WorkloadResource);
        assert_eq!(&*asked.query.namespace, "shop");
        let range = asked.range.unwrap();
        assert_eq!((range.first.as_second(), range.points), (1000, 11));
    }

    #[test]
    fn an_answer_is_written_to_the_byte() {
        let answer = SeriesAnswer {
            window: Some(SignedDuration::from_secs(120)),
            series: vec![evenkeel_metrics::series_query::LabelledSeries {
                labels: BTreeMap::from([("namespace".to_owned(), "shop".to_owned())]),
                points: vec![SeriesPoint {
                    at: Timestamp::from_millisecond(1_500).unwrap(),
                    value: 1.0,
                }],
            }],
        };
        let point = [&[0x08, 0xdc, 0x0b, 0x11][..], &1.0_f64.to_le_bytes()].concat();
        let label = b"\x0a\x09namespace\x12\x04shop";
        let mut series = vec![0x0a, u8::try_from(point.len()).unwrap()];
        series.extend(point);
        series.extend([0x12, u8::try_from(label.len()).unwrap()]);
        series.extend(label);
        series.extend([0x1a, 2, 0x08, 120]);
        let mut expected = vec![0x0a, u8::try_from(series.len()).unwrap()];
        expected.extend(series);
        assert_eq!(super::series(answer.clone()).encode_to_vec(), expected);
        let samples = samples(answer);
        assert_eq!(samples.samples[0].point.unwrap().timestamp, 1_500);
    }

    #[test]
    fn a_question_that_is_not_what_it_says_is_refused() {
        let request = QueryRequest::decode(&*recorded()).unwrap();
        let changed = |change: fn(&mut QueryRequest)| {
            let mut request = request.clone();
            change(&mut request);
            past(request, LIMITS).unwrap_err().to_string()
        };
        for (change, says) in [
            (
                (|request| request.query = None) as fn(&mut QueryRequest),
                "query: is missing",
            ),
            (
                |request| request.query.as_mut().unwrap().r#type = 5,
                "does not match its query",
            ),
            (
                |request| request.query.as_mut().unwrap().r#type = 9,
                "not one of the seven",
            ),
            (
                |request| request.query.as_mut().unwrap().query = None,
                "has no query",
            ),
            (|request| request.start = None, "start is missing"),
            (|request| request.step = None, "step is missing"),
            (
                |request| request.start.as_mut().unwrap().seconds = i64::MAX,
                "start: out of range",
            ),
            (
                |request| request.step.as_mut().unwrap().nanos = i32::MIN,
                "step: out of range",
            ),
            (
                |request| request.step.as_mut().unwrap().seconds = 0,
                "at least 1s",
            ),
        ] {
            let refused = changed(change);
            assert!(refused.contains(says), "{refused}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            if let Ok(request) = QueryRequest::decode(&*bytes) {
                let _ = past(request, LIMITS);
            }
        }
    }
}
