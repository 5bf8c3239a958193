//! The queries for signals of one target alone, to a metrics API or to Prometheus. Paths and
//! selectors are the HPA controller's own, so that an adapter answers both alike.

use std::sync::Arc;

use evenkeel_label_selector::{LabelSelector, Selector, SelectorError};
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::api_reading::MetricsApiReading;
use crate::metrics_api::MetricsApi;
use crate::sample::PodSample;
use crate::signal::{MetricIdentifier, ObjectReference, ResourceName, Signal};

use crate::metric_values::ValuesError;

use evenkeel_objects::json::ParseError;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::truncate::{OF_VALUE, excerpt};

use crate::{metric_values, pod_metrics};

const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// The question for one signal of one target. Two targets with equal questions have one answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricQuery {
    pub namespace: Arc<str>,
    pub subject: MetricSubject,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricSubject {
    /// A metric that the API server serves, itself or by an adapter.
    Served(ServedMetric),
    PromQl(Arc<str>),
}

/// A metric that is asked for at the API server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServedMetric {
    /// Usage by one container of each Pod that a selector selects.
    Container {
        selector: Box<str>,
        resource: ResourceName,
        container: String,
    },
    /// Usage by each Pod that a selector selects, as a whole; an empty one selects all.
    Usage {
        selector: Box<str>,
        resource: ResourceName,
    },
    Pods {
        selector: Box<str>,
        metric: MetricIdentifier,
    },
    /// A custom metric of each object of a kind that a selector selects; the reference names none.
    Objects {
        object: Box<ObjectReference>,
        selector: Box<str>,
        metric: MetricIdentifier,
    },
    Object {
        object: Box<ObjectReference>,
        metric: MetricIdentifier,
    },
    External(MetricIdentifier),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    #[error("its selector is invalid: {0}")]
    Selector(#[from] SelectorError),
    /// It would be another path than that of a metric.
    #[error("{0:?} is not a valid name in a path")]
    Name(String),
    /// The group and version of a described object: another path than that of its kinds.
    #[error(
        "{0:?} is not an apiVersion; accepted: a group and a version, such as networking.k8s.io/v1"
    )]
    ApiVersion(String),
}

impl QueryError {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Selector(_) => "InvalidSelector",
            Self::Name(_) | Self::ApiVersion(_) => "InvalidName",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CustomNames<'a> {
    pub version: &'a str,
    /// The described object's resource, such as `ingresses.networking.k8s.io`; unused for other
    /// metrics.
    pub resource: &'a str,
}

impl MetricQuery {
    pub const fn api(&self) -> MetricsApi {
        match &self.subject {
            MetricSubject::Served(served) => served.api(),
            MetricSubject::PromQl(_) => MetricsApi::Prometheus,
        }
    }

    /// True where the answer holds the values of single Pods.
    pub const fn is_by_pod(&self) -> bool {
        match &self.subject {
            MetricSubject::Served(
                ServedMetric::Container { .. }
                | ServedMetric::Usage { .. }
                | ServedMetric::Pods { .. },
            ) => true,
            MetricSubject::Served(
                ServedMetric::Objects { .. }
                | ServedMetric::Object { .. }
                | ServedMetric::External(_),
            )
            | MetricSubject::PromQl(_) => false,
        }
    }

    /// The memory that its texts take, in bytes.
    pub fn text_bytes(&self) -> usize {
        let own = match &self.subject {
            MetricSubject::Served(ServedMetric::Container {
                selector,
                resource,
                container,
            }) => selector.len() + resource.as_str().len() + container.len(),
            MetricSubject::Served(ServedMetric::Usage { selector, resource }) => {
                selector.len() + resource.as_str().len()
            }
            MetricSubject::Served(ServedMetric::Pods { selector, metric }) => {
                selector.len() + identifier_bytes(metric)
            }
            MetricSubject::Served(ServedMetric::Objects {
                object,
                selector,
                metric,
            }) => reference_bytes(object) + selector.len() + identifier_bytes(metric),
            MetricSubject::Served(ServedMetric::Object { object, metric }) => {
                reference_bytes(object) + identifier_bytes(metric)
            }
            MetricSubject::Served(ServedMetric::External(metric)) => identifier_bytes(metric),
            MetricSubject::PromQl(text) => text.len(),
        };
        self.namespace.len() + own
    }
}

const fn reference_bytes(object: &ObjectReference) -> usize {
    let ObjectReference {
        api_version,
        kind,
        name,
    } = object;
    api_version.len() + kind.len() + name.len()
}

fn identifier_bytes(metric: &MetricIdentifier) -> usize {
    let selector = metric.selector.as_ref().map_or(0, |selector| {
        let LabelSelector {
            match_labels,
            match_expressions,
        } = selector;
        let labels = match_labels.iter();
        let labels = labels.map(|(key, value)| key.len() + value.len() + 2 * size_of::<String>());
        let requirements = match_expressions.iter().map(|one| {
            let values = one.values.iter();
            let values = values.map(|value| value.len() + size_of::<String>());
            one.key.len() + values.sum::<usize>() + 2 * size_of::<Vec<String>>()
        });
        labels.sum::<usize>() + requirements.sum::<usize>()
    });
    metric.name.len() + selector
}

impl ServedMetric {
    /// The query for `signal` of the Pods that `selector` selects; `None` if the signal has no
    /// query of its own, or lacks the selector that it needs.
    pub fn of(signal: &Signal, selector: Option<&str>) -> Option<Self> {
        Some(match signal {
            Signal::ContainerResource {
                resource,
                container,
            } => Self::Container {
                selector: selector?.into(),
                resource: resource.clone(),
                container: container.clone(),
            },
            Signal::Pods(metric) => Self::Pods {
                selector: selector?.into(),
                metric: metric.clone(),
            },
            Signal::Object { object, metric } => Self::Object {
                object: object.clone(),
                metric: metric.clone(),
            },
            Signal::External(metric) => Self::External(metric.clone()),
            Signal::Resource(_) | Signal::PromQl(_) => return None,
        })
    }

    pub const fn api(&self) -> MetricsApi {
        match self {
            Self::Container { .. } | Self::Usage { .. } => MetricsApi::Resource,
            Self::Pods { .. } | Self::Objects { .. } | Self::Object { .. } => MetricsApi::Custom,
            Self::External(_) => MetricsApi::External,
        }
    }

    /// The path that is asked, with its query.
    ///
    /// # Errors
    /// A selector that is none, or a name that no path holds.
    pub fn path(&self, namespace: &str, names: CustomNames<'_>) -> Result<String, QueryError> {
        let space = segment(namespace)?;
        let custom = format!("/apis/{}/{}", Kind::CustomMetrics.group(), names.version);
        Ok(match self {
            Self::Container { selector, .. } | Self::Usage { selector, .. } => {
                let base = Kind::PodMetrics.api_version();
                let query = query(&[("labelSelector", selector)]);
                format!("/apis/{base}/namespaces/{space}/pods{query}")
            }
            Self::Pods { selector, metric } => {
                let name = segment(&metric.name)?;
                let own = of_metric(metric)?;
                let query = query(&[("labelSelector", selector), ("metricLabelSelector", &own)]);
                format!("{custom}/namespaces/{space}/pods/%2A/{name}{query}")
            }
            Self::Objects {
                selector, metric, ..
            } => {
                let resource = segment(&names.resource.to_ascii_lowercase())?;
                let (name, own) = (segment(&metric.name)?, of_metric(metric)?);
                let query = query(&[("labelSelector", selector), ("metricLabelSelector", &own)]);
                format!("{custom}/namespaces/{space}/{resource}/%2A/{name}{query}")
            }
            Self::Object { object, metric } => {
                let (of, name) = (segment(&object.name)?, segment(&metric.name)?);
                let query = query(&[("metricLabelSelector", &of_metric(metric)?)]);
                // Whatever namespace it names: an HPA is to learn nothing of others than its own.
                if Kind::of(&object.api_version, &object.kind) == Some(Kind::Namespace) {
                    return Ok(format!("{custom}/namespaces/{space}/metrics/{name}{query}"));
                }
                let resource = segment(&names.resource.to_ascii_lowercase())?;
                format!("{custom}/namespaces/{space}/{resource}/{of}/{name}{query}")
            }
            Self::External(metric) => {
                // The Go client takes the name for a resource, and writes these in lower case.
                let name = segment(&metric.name.to_lowercase())?;
                let base = Kind::ExternalMetrics.api_version();
                let query = query(&[("labelSelector", &of_metric(metric)?)]);
                format!("/apis/{base}/namespaces/{space}/{name}{query}")
            }
        })
    }

    /// The values in the answer to a question of the time `asked`.
    ///
    /// # Errors
    /// The answer is none, or holds no value.
    pub fn read(&self, body: &[u8], asked: Timestamp) -> Result<MetricsApiReading, ValuesError> {
        match self {
            Self::Container {
                resource,
                container,
                ..
            } => usage(body, resource, Some(container)),
            Self::Usage { resource, .. } => usage(body, resource, None),
            Self::Pods { .. } | Self::Objects { .. } => metric_values::of_pods(body, asked),
            Self::Object { .. } => metric_values::of_object(body, asked),
            Self::External(_) => metric_values::of_series(body, asked),
        }
    }
}

/// Usage by each Pod as a whole, or by one container of each; a Pod that lacks it is not measured.
fn usage(
    body: &[u8],
    resource: &ResourceName,
    container: Option<&str>,
) -> Result<MetricsApiReading, ValuesError> {
    let mut samples = Vec::new();
    let read = pod_metrics::for_each(body, |pod| {
        let measured = pod.metrics.measurement(resource, container);
        samples.extend(measured.map(|measurement| PodSample {
            pod: pod.metrics.pod,
            measurement,
        }));
    });
    let malformed = |path: &str, error: String| ParseError {
        path: path.to_owned(),
        message: error,
    };
    let unreadable = read.map_err(|error| malformed(".", error.to_string()))?;
    if samples.is_empty() && unreadable.count > 0 {
        return Err(malformed("items", unreadable.to_string()).into());
    }
    if samples.is_empty() {
        return Err(ValuesError::Empty);
    }
    Ok(MetricsApiReading::Pods(samples))
}

/// The selector of a metric as text; as for the HPA controller, none equals an empty one.
fn of_metric(metric: &MetricIdentifier) -> Result<String, QueryError> {
    let empty = LabelSelector::default();
    let selector = metric.selector.as_ref().unwrap_or(&empty);
    Ok(Selector::try_from(selector)?.to_string())
}

/// One segment of a path, by the API server's own rule for names that become one.
fn segment(name: &str) -> Result<String, QueryError> {
    if matches!(name, "" | "." | "..") || name.contains(['/', '%']) {
        return Err(QueryError::Name(excerpt(name, OF_VALUE)));
    }
    Ok(encoded(name))
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

fn query(fields: &[(&str, &str)]) -> String {
    let fields = fields.iter().filter(|(_, value)| !value.is_empty());
    let written: Vec<_> = fields
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    if written.is_empty() {
        String::new()
    } else {
        format!("?{}", written.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_label_selector::{LabelOperator, LabelSelectorRequirement};

    use super::*;

    fn metric(name: &str, selector: Option<LabelSelector>) -> MetricIdentifier {
        MetricIdentifier {
            name: name.to_owned(),
            selector,
        }
    }

    fn labels() -> LabelSelector {
        LabelSelector {
            match_labels: [("b".to_owned(), "1".to_owned())].into(),
            match_expressions: vec![LabelSelectorRequirement {
                key: "a/x".to_owned(),
                operator: LabelOperator::In,
                values: vec!["z".to_owned(), "y".to_owned()],
            }],
        }
    }

    fn object(api_version: &str, kind: &str) -> Signal {
        Signal::Object {
            object: Box::new(ObjectReference {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                name: "web".to_owned(),
            }),
            metric: metric("rps", None),
        }
    }

    #[test]
    fn paths_are_those_of_the_hpa_controller() {
        let container = Signal::ContainerResource {
            resource: ResourceName::Cpu,
            container: "app".to_owned(),
        };
        for (signal, path) in [
            (
                container,
                "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app%3Dweb",
            ),
            (
                Signal::Pods(metric("rps", Some(labels()))),
                "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/%2A/rps\
                 ?labelSelector=app%3Dweb\
                 &metricLabelSelector=a%2Fx%20in%20%28y%2Cz%29%2Cb%3D1",
            ),
            (
                object("networking.k8s.io/v1", "Ingress"),
                "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/\
                 ingresses.networking.k8s.io/web/rps",
            ),
            (
                Signal::External(metric("Queue|Length", Some(labels()))),
                "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue%7Clength\
                 ?labelSelector=a%2Fx%20in%20%28y%2Cz%29%2Cb%3D1",
            ),
        ] {
            let served = ServedMetric::of(&signal, Some("app=web")).unwrap();
            let names = CustomNames {
                version: "v1beta2",
                resource: "ingresses.networking.k8s.io",
            };
            assert_eq!(served.path("shop", names).as_deref(), Ok(path));
        }
    }

    /// The harm: an HPA that names another namespace learned its metrics.
    #[test]
    fn a_metric_of_a_namespace_is_that_of_the_hpas_own() {
        let base = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop";
        for (api_version, path) in [
            ("v1", "metrics/rps"),
            ("", "metrics/rps"),
            ("/v1", "metrics/rps"),
            // A kind of another group that has the name, too.
            (
                "tenancy.example.com/v1",
                "namespaces.tenancy.example.com/web/rps",
            ),
        ] {
            let signal = object(api_version, "Namespace");
            let served = ServedMetric::of(&signal, None).unwrap();
            let names = CustomNames {
                version: "v1beta2",
                resource: "namespaces.tenancy.example.com",
            };
            let asked = served.path("shop", names).unwrap();
            assert_eq!(asked, format!("{base}/{path}"), "{api_version}");
        }
    }

    #[test]
    fn what_cannot_be_asked_is_no_question() {
        assert_eq!(ServedMetric::of(&Signal::CPU, Some("a=b")), None);
        let pods = Signal::Pods(metric("rps", None));
        assert_eq!(ServedMetric::of(&pods, None), None);
        let bad = LabelSelectorRequirement {
            key: "a".to_owned(),
            operator: "Like".into(),
            values: Vec::new(),
        };
        let selector = LabelSelector {
            match_expressions: vec![bad],
            ..LabelSelector::default()
        };
        let external = Signal::External(metric("queue", Some(selector)));
        let served = ServedMetric::of(&external, None).unwrap();
        let names = CustomNames {
            version: "v1beta2",
            resource: "",
        };
        let refused = served.path("shop", names).unwrap_err();
        assert_eq!(refused.reason(), "InvalidSelector");
        for name in ["", ".", "..", "../../secrets", "a/b", "%2e"] {
            let external = Signal::External(metric(name, None));
            let served = ServedMetric::of(&external, None).unwrap();
            let refused = served.path("shop", names).unwrap_err();
            assert_eq!(refused.reason(), "InvalidName", "{name}");
        }
    }

    #[test]
    fn one_container_of_each_pod_is_read_and_others_are_not_measured() {
        let text = include_str!("../../../tests/fixtures/metrics/pod-metrics-list.json");
        let of = |container: &str| {
            let served = ServedMetric::Container {
                selector: "app=web".into(),
                resource: ResourceName::Cpu,
                container: container.to_owned(),
            };
            served.read(text.as_bytes(), Timestamp::UNIX_EPOCH)
        };
        assert_eq!(of("nobody").unwrap_err(), ValuesError::Empty);
        let list: serde_json::Value = serde_json::from_str(text).unwrap();
        let container = list["items"][0]["containers"][0]["name"].as_str().unwrap();
        let MetricsApiReading::Pods(found) = of(container).unwrap() else {
            panic!("no Pods");
        };
        assert_eq!(
            Some(&*found[0].pod),
            list["items"][0]["metadata"]["name"].as_str()
        );
        assert!(found[0].measurement.value > 0);
    }
}
