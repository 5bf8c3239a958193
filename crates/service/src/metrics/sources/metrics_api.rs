//! Usage from `metrics.k8s.io`, which metrics-server or a Prometheus adapter serves. It has cpu and
//! memory only; the other resources stay absent, and their rules fall back to estimates. Time and
//! window are the objects' own. The API has no pages, so both lists are read whole. An unreadable
//! item is named, and does not affect the others.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use evenkeel_metrics::pod_metrics;
use evenkeel_metrics::pod_metrics::PodUsage;
use evenkeel_metrics::signal::ResourceName;
use evenkeel_metrics::usage::{NodeSample, Span, UsageSample};
use evenkeel_objects::lenient_object::{LenientObject, UnreadableItems};
use evenkeel_objects::pod_name::PodNames;
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_quantity::Quantity;
use evenkeel_units::{Amount, Resource, Resources};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::metrics::answer::{Answers, Content, QueryAnswer};
use crate::metrics::api_call::ApiCallLimits;
use crate::metrics::blocking_pool::aside;
use crate::metrics::error::MetricsError;
use crate::metrics::query::UsageQuery;
use crate::metrics::rejected_samples::{DropCause, RejectedSamples};
use crate::metrics::resource_metrics::ResourceMetrics;
use crate::metrics::source::MetricsSource;

pub struct MetricsApiSource {
    api: ResourceMetrics,
    /// The names of the Pods in the answers, so that all of them share each.
    pod_names: Arc<Mutex<PodNames>>,
}

impl MetricsApiSource {
    /// A source that reads through `client`.
    pub fn new(client: kube::Client, bounds: ApiCallLimits) -> Self {
        Self {
            api: ResourceMetrics::new(client, bounds),
            pod_names: Arc::default(),
        }
    }
}

#[async_trait]
impl MetricsSource for MetricsApiSource {
    fn name(&self) -> &'static str {
        "metrics-api"
    }

    fn queries(&self) -> &[UsageQuery] {
        &[UsageQuery::NodeMetrics, UsageQuery::PodMetrics]
    }

    async fn fetch(
        &self,
        query: UsageQuery,
        before: &Answers,
        _now: Timestamp,
    ) -> Result<QueryAnswer, MetricsError> {
        let path = match query {
            UsageQuery::NodeMetrics => "nodes",
            // Without the nodes the Pods' usage has no time.
            UsageQuery::PodMetrics if !before.hold(UsageQuery::NodeMetrics) => {
                return Err(MetricsError::Skipped);
            }
            UsageQuery::PodMetrics => "pods",
            _ => return Ok(QueryAnswer::default()),
        };
        let body = self.api.get(path).await?;
        let names = Arc::clone(&self.pod_names);
        aside(move || match query {
            UsageQuery::NodeMetrics => read_nodes(&body),
            _ => read_pods(&body, &names),
        })
        .await?
    }
}

#[derive(Deserialize)]
struct NodeMetricsList {
    items: Vec<LenientObject<NodeMetrics>>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
struct UsageQuantities {
    cpu: Option<YamlText>,
    memory: Option<YamlText>,
}

#[derive(Deserialize)]
struct NodeMetrics {
    metadata: Metadata,
    timestamp: Timestamp,
    window: SignedDuration,
    usage: UsageQuantities,
}

impl UsageQuantities {
    /// The two amounts in base units; what is no quantity is counted and left out.
    fn amounts(&self, dropped: &mut RejectedSamples) -> Resources<Option<Amount>> {
        let mut quantity = |text: &Option<YamlText>| -> Option<Quantity> {
            let parsed = text.as_ref()?.0.parse();
            parsed
                .inspect_err(|_| dropped.add(DropCause::NotANumber))
                .ok()
        };
        let mut amounts = Resources::default();
        amounts[Resource::Cpu] = quantity(&self.cpu).map(|cpu| Amount::new(cpu.milli_ceil()));
        amounts[Resource::Memory] = quantity(&self.memory).map(|memory| Amount::new(memory.ceil()));
        amounts
    }
}

fn read_nodes(body: &[u8]) -> Result<QueryAnswer, MetricsError> {
    let list: NodeMetricsList =
        serde_json::from_slice(body).map_err(|error| MetricsError::malformed(&error, body))?;
    let (mut usage, mut dropped) = (UsageSample::default(), RejectedSamples::default());
    let mut unreadable = UnreadableItems::default();
    for LenientObject(node) in list.items {
        let node = match node {
            Ok(node) => node,
            Err(item) => {
                unreadable.add(item);
                continue;
            }
        };
        let NodeMetrics {
            metadata,
            timestamp,
            window,
            usage: used,
        } = node;
        let amounts = used.amounts(&mut dropped);
        let row = Resources::from_fn(|resource| {
            amounts[resource].map(|value| NodeSample {
                value,
                at: timestamp,
                // Memory is read at the end of the window, not over it.
                window: match resource {
                    Resource::Memory => SignedDuration::ZERO,
                    _ => window,
                },
            })
        });
        usage.insert_node(metadata.name, &row);
    }
    let is_empty = usage.node_names().is_empty();
    answer(usage, dropped, &unreadable, is_empty, body)
}

/// The answer, with a warning that names the first unreadable item; none if all are.
fn answer(
    usage: UsageSample,
    dropped: RejectedSamples,
    unreadable: &UnreadableItems,
    is_empty: bool,
    body: &[u8],
) -> Result<QueryAnswer, MetricsError> {
    let warning = (unreadable.count > 0).then(|| unreadable.to_string());
    match warning {
        Some(warning) if is_empty => Err(MetricsError::malformed(&warning, body)),
        warning => Ok(QueryAnswer {
            content: Content::Usage(usage),
            dropped,
            warning,
        }),
    }
}

/// The usage of the Pods. If a container lacks a resource, the Pod counts as not measured in it: a
/// partial sum would be taken for the whole.
fn read_pods(body: &[u8], names: &Mutex<PodNames>) -> Result<QueryAnswer, MetricsError> {
    let (mut usage, mut dropped) = (UsageSample::default(), RejectedSamples::default());
    let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
    let read = pod_metrics::for_each(body, |pod| {
        let PodUsage {
            namespace,
            metrics,
            unreadable,
        } = pod;
        for _ in 0..unreadable {
            dropped.add(DropCause::NotANumber);
        }
        let mut used: Resources<Option<Amount>> = Resources::default();
        for (resource, name, unit) in [
            (Resource::Cpu, ResourceName::Cpu, 1),
            (Resource::Memory, ResourceName::Memory, 1000),
        ] {
            let measured = metrics.measurement(&name, None);
            match measured.map(|measured| u64::try_from(measured.value)) {
                Some(Ok(milli)) => used[resource] = Some(Amount::new(milli.div_ceil(unit))),
                Some(Err(_)) => dropped.add(DropCause::Negative),
                None => {}
            }
        }
        let name = names.get(&namespace, &metrics.pod);
        usage.insert_pod(&name, &used);
        usage.insert_pod_span(&name, Span::new(metrics.timestamp, metrics.window));
    });
    let unreadable = read.map_err(|error| MetricsError::malformed(&error, body))?;
    let is_empty = usage.pod_spans.is_empty();
    answer(usage, dropped, &unreadable, is_empty, body)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use evenkeel_objects::pod_name::PodName;
    use evenkeel_units::Bytes;
    use hyper::{Request, Response};
    use kube::client::Body;

    use super::*;
    use crate::metrics::query_rounds::{QueryRounds, QueryTimeLimits};
    use crate::metrics::round::MetricsRound;

    const NODES: &str =
        include_str!("../../../../../tests/fixtures/metrics/node-metrics-list.json");
    const PODS: &str = include_str!("../../../../../tests/fixtures/metrics/pod-metrics-list.json");

    /// A client of a cluster that answers with these bodies.
    fn source(answer: fn(&str) -> (u16, &'static str)) -> MetricsApiSource {
        limited(answer, Bytes(64 * 1024))
    }

    fn limited(answer: fn(&str) -> (u16, &'static str), body_limit: Bytes) -> MetricsApiSource {
        let service = tower::service_fn(move |request: Request<Body>| async move {
            let (status, body) = answer(request.uri().path());
            Ok::<_, Infallible>(
                Response::builder()
                    .status(status)
                    .body(Body::from(body.as_bytes().to_vec()))
                    .unwrap(),
            )
        });
        let bounds = ApiCallLimits {
            timeout: Duration::from_secs(5),
            body_limit,
        };
        MetricsApiSource::new(kube::Client::new(service, "default"), bounds)
    }

    async fn ask(source: MetricsApiSource) -> Result<MetricsRound, Arc<MetricsError>> {
        let limits = QueryTimeLimits {
            deadline: Duration::from_mins(1),
            patience: Duration::from_mins(1),
        };
        let mut asking = QueryRounds::new(Arc::new(source), limits);
        asking.round(Timestamp::UNIX_EPOCH).await
    }

    #[tokio::test]
    async fn nodes_and_pods_are_read_with_their_own_times() {
        let source = source(|path| match path {
            "/apis/metrics.k8s.io/v1beta1/nodes" => (200, NODES),
            "/apis/metrics.k8s.io/v1beta1/pods" => (200, PODS),
            _ => (404, ""),
        });
        let round = ask(source).await.unwrap();
        let node = round.usage.node("worker-1");
        let cpu = node[Resource::Cpu].unwrap();
        assert_eq!(cpu.value, Amount::new(157));
        assert_eq!(cpu.at, "2026-03-02T09:15:04Z".parse().unwrap());
        assert_eq!(cpu.window, SignedDuration::from_millis(20_061));
        let memory = node[Resource::Memory].unwrap();
        assert_eq!(memory.value, Amount::new(1_870_648 * 1024));
        assert_eq!(memory.window, SignedDuration::ZERO);
        assert_eq!(node[Resource::NetworkIo], None);
        let minute = round.usage.node("worker-2")[Resource::Cpu].unwrap();
        assert_eq!(minute.window, SignedDuration::from_millis(60_500));
        let pod = round
            .usage
            .pod(&PodName::new("shop", "web-7d4b9c6f5-abcde"));
        assert_eq!(pod[Resource::Cpu], Some(Amount::new(13 + 1)));
        assert_eq!(pod[Resource::Memory], Some(Amount::new(30 * 1024 * 1024)));
        let span = round.usage.span_of_pod("shop", "web-7d4b9c6f5-abcde");
        let span = span.map(|span| (span.end().to_string(), span.window()));
        let window = SignedDuration::from_millis(15_200);
        assert_eq!(span, Some(("2026-03-02T09:15:03Z".to_owned(), window)));
        assert_eq!(round.usage.span_of_pod("shop", "web"), None);
        assert_eq!(round.failures().count(), 0);
    }

    #[tokio::test]
    async fn pods_that_cannot_be_listed_leave_the_nodes() {
        let source = source(|path| {
            if path.ends_with("/nodes") {
                (200, NODES)
            } else {
                (503, "try later")
            }
        });
        let round = ask(source).await.unwrap();
        assert_eq!(round.usage.node_names().len(), 2);
        let failures: Vec<_> = round
            .failures()
            .map(|(query, error)| (query.as_str(), error.reason()))
            .collect();
        assert_eq!(failures, [("podMetrics", "HttpStatus")]);
    }

    #[tokio::test]
    async fn each_way_to_have_no_nodes_has_its_reason() {
        type Reply = fn(&str) -> (u16, &'static str);
        let cases: [(Reply, &str); 6] = [
            (|_| (404, "404 page not found"), "NotServed"),
            (
                |_| (403, "nodes.metrics.k8s.io is forbidden"),
                "Unauthorized",
            ),
            (|_| (503, "service unavailable"), "HttpStatus"),
            (|_| (200, "{\"items\":[{}"), "Malformed"),
            (
                |_| {
                    (
                        200,
                        "{\"items\":[{\"metadata\":{\"name\":\"a\"},\"timestamp\":\"now\"}]}",
                    )
                },
                "Malformed",
            ),
            (
                |path| {
                    if path.ends_with("/nodes") {
                        (503, "try later")
                    } else {
                        (200, PODS)
                    }
                },
                "HttpStatus",
            ),
        ];
        for (answer, reason) in cases {
            let error = ask(source(answer)).await.unwrap_err();
            assert_eq!(error.reason(), reason, "{error}");
        }
    }

    #[tokio::test]
    async fn an_answer_beyond_the_limit_is_not_read_whole() {
        let source = limited(|_| (200, NODES), Bytes(16));
        let error = ask(source).await.unwrap_err();
        assert_eq!(error.reason(), "TooLarge");
    }

    #[tokio::test]
    async fn the_version_that_is_served_is_read() {
        for served in ["v1beta1", "v1"] {
            let answer: fn(&str) -> (u16, &'static str) = match served {
                "v1" => |path| match path {
                    "/apis/metrics.k8s.io/v1/nodes" => (200, NODES),
                    "/apis/metrics.k8s.io/v1/pods" => (200, PODS),
                    _ => (404, "404 page not found"),
                },
                _ => |path| match path {
                    "/apis/metrics.k8s.io/v1beta1/nodes" => (200, NODES),
                    "/apis/metrics.k8s.io/v1beta1/pods" => (200, PODS),
                    _ => (404, "404 page not found"),
                },
            };
            let round = ask(source(answer)).await.unwrap();
            assert_eq!(round.usage.node_names().len(), 2, "{served}");
            assert_eq!(round.failures().count(), 0, "{served}");
        }
    }

    /// The harm: one node that was not measured yet took the measurements of all others away.
    #[test]
    fn a_node_that_cannot_be_read_is_named_and_leaves_the_others() {
        let node =
            |name: &str, fields: &str| format!(r#"{{"metadata":{{"name":"{name}"}},{fields}}}"#);
        let time = r#""timestamp":"2026-03-02T09:15:04Z","window":"10s""#;
        let good = format!(r#"{time},"usage":{{"cpu":"1","memory":"1Ki"}}"#);
        for broken in [
            format!(r#"{time},"usage":null"#),
            format!(r#"{time},"usage":[]"#),
            format!(r#"{time},"usage":{{"cpu":[1]}}"#),
            time.to_owned(),
            r#""timestamp":"now","window":"10s","usage":{}"#.to_owned(),
            r#""timestamp":null,"window":"10s","usage":{}"#.to_owned(),
        ] {
            let list = [node("a", &good), node("bad", &broken), node("b", &good)].join(",");
            let answer = read_nodes(format!(r#"{{"items":[{list}]}}"#).as_bytes()).unwrap();
            let warning = answer.warning.unwrap();
            assert!(
                warning.starts_with("1 of its items cannot be read, the first is bad: "),
                "{warning}"
            );
            let Content::Usage(usage) = answer.content else {
                panic!("a list tells usage");
            };
            assert_eq!(usage.node_names(), ["a", "b"].into(), "{broken}");
        }
    }

    /// A quantity may be a number, as of API servers' own decoders.
    #[test]
    fn a_quantity_is_read_as_a_text_or_a_number() {
        for (written, millicores) in [("1", 1000), ("0.5", 500), ("\"250m\"", 250)] {
            let body = format!(
                r#"{{"items":[{{"metadata":{{"name":"a"}},"timestamp":"2026-03-02T09:15:04Z",
                "window":"10s","usage":{{"cpu":{written},"memory":1024}}}}]}}"#
            );
            let answer = read_nodes(body.as_bytes()).unwrap();
            assert_eq!(answer.warning, None, "{written}");
            let Content::Usage(usage) = answer.content else {
                panic!("a list tells usage");
            };
            let value = |resource| usage.node("a")[resource].map(|one| one.value.get());
            assert_eq!(value(Resource::Cpu), Some(millicores), "{written}");
            assert_eq!(value(Resource::Memory), Some(1024), "{written}");
        }
    }

    #[test]
    fn a_usage_that_is_no_quantity_is_dropped_and_counted() {
        let body = br#"{"items":[{"metadata":{"name":"a"},"timestamp":"2026-03-02T09:15:04Z",
            "window":"10s","usage":{"cpu":"lots","memory":"1Ki"}}]}"#;
        let answer = read_nodes(body).unwrap();
        assert_eq!(answer.dropped.count(DropCause::NotANumber), 1);
        let Content::Usage(usage) = answer.content else {
            panic!("a list tells usage");
        };
        assert_eq!(usage.node("a")[Resource::Cpu], None);
        assert!(usage.node("a")[Resource::Memory].is_some());
    }

    #[test]
    fn a_pod_with_a_container_that_was_not_measured_is_not_measured() {
        let body = br#"{"items":[
            {"metadata":{"name":"a","namespace":"shop"},"timestamp":"2026-03-02T09:15:04Z",
             "window":"10s","containers":[{"name":"app","usage":{"memory":"1Ki"}},
                {"name":"side","usage":{"cpu":"20m","memory":"1Ki"}}]},
            {"metadata":{"name":"b","namespace":"shop"},"timestamp":"2026-03-02T09:15:04Z",
             "window":"10s","containers":[{"name":"app","usage":{"cpu":"-1","memory":"500m"}}]}]}"#;
        let answer = read_pods(body, &Mutex::default()).unwrap();
        assert_eq!(answer.dropped.count(DropCause::Negative), 1);
        let Content::Usage(usage) = answer.content else {
            panic!("a list tells usage");
        };
        for (pod, memory) in [("a", 2048), ("b", 1)] {
            let of = |resource| usage.of_pod("shop", pod, resource).map(Amount::get);
            assert_eq!(of(Resource::Cpu), None, "{pod}");
            assert_eq!(of(Resource::Memory), Some(memory), "{pod}");
        }
    }
}
