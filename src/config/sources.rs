//! `metrics`: where measured usage comes from, how often, and how long it is believed.

use std::path::PathBuf;

use evenkeel_http_client::Uri;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::value::{Number, Text};
use crate::metrics::prometheus::LabelName;

/// `metrics` as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct MetricsFile {
    source: SourceFile,
    interval: Text,
    pub(crate) max_age: Text,
    timeout: Text,
    prometheus: PrometheusFile,
    replay: ReplayFile,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SourceFile {
    #[default]
    Prometheus,
    MetricsApi,
    Replay,
    None,
}

impl Default for MetricsFile {
    fn default() -> Self {
        Self {
            source: SourceFile::default(),
            interval: "15s".into(),
            max_age: "3m".into(),
            timeout: "10s".into(),
            prometheus: PrometheusFile::default(),
            replay: ReplayFile::default(),
        }
    }
}

/// `metrics.prometheus` as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct PrometheusFile {
    url: Text,
    bearer_token_file: Option<Text>,
    ca_file: Option<Text>,
    window: Text,
    node_label: Option<Text>,
    queries: QueriesFile,
}

impl Default for PrometheusFile {
    fn default() -> Self {
        Self {
            // What kube-prometheus-stack and the Prometheus operator call their Service.
            url: "http://prometheus-operated.monitoring.svc:9090".into(),
            bearer_token_file: None,
            ca_file: None,
            // Four scrapes at the 30 s that the operator's chart sets.
            window: "2m".into(),
            node_label: None,
            queries: QueriesFile::default(),
        }
    }
}

/// `metrics.prometheus.queries` as it is written; a query left out is the built-in one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping from query names to PromQL"
)]
pub struct QueriesFile {
    pub(crate) node_cpu: Option<Text>,
    pub(crate) node_memory: Option<Text>,
    pub(crate) node_network_io: Option<Text>,
    pub(crate) node_disk_io: Option<Text>,
    pub(crate) node_disk: Option<Text>,
    pub(crate) pod_cpu: Option<Text>,
    pub(crate) pod_memory: Option<Text>,
    pub(crate) pod_network_io: Option<Text>,
    pub(crate) pod_disk_io: Option<Text>,
    pub(crate) pod_disk: Option<Text>,
    pub(crate) network_capacity: Option<Text>,
}

/// `metrics.replay` as it is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping of fields"
)]
pub struct ReplayFile {
    file: Option<Text>,
    speed: Number,
}

impl Default for ReplayFile {
    fn default() -> Self {
        Self {
            file: None,
            speed: Number(1.0),
        }
    }
}

/// Where measured usage comes from, and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Metrics {
    /// Where usage is read.
    pub source: Source,
    /// How often.
    pub interval: SignedDuration,
    /// How long one reading may take.
    pub timeout: SignedDuration,
}

/// Where usage is read.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A Prometheus server, or what speaks its API.
    Prometheus(Box<Prometheus>),
    /// metrics.k8s.io: cpu and memory only.
    MetricsApi,
    /// A trace in a file.
    Replay(Replay),
    /// Nowhere: loads are the sums of the Pods' demands.
    None,
}

/// How to ask a Prometheus server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prometheus {
    /// The base URL, without `/api/v1`.
    pub url: String,
    /// A file with a bearer token, read anew at each use since tokens are rotated.
    pub bearer_token_file: Option<PathBuf>,
    /// CAs to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// The range of `rate()`.
    pub window: SignedDuration,
    /// The label that holds the node's name; found out at start where it is not given.
    pub node_label: Option<String>,
    /// PromQL in place of the built-in queries.
    pub queries: Queries,
}

/// PromQL by what it measures; `None` for the built-in query.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)] // each is named after what it measures
pub struct Queries {
    pub node_cpu: Option<String>,
    pub node_memory: Option<String>,
    pub node_network_io: Option<String>,
    pub node_disk_io: Option<String>,
    pub node_disk: Option<String>,
    pub pod_cpu: Option<String>,
    pub pod_memory: Option<String>,
    pub pod_network_io: Option<String>,
    pub pod_disk_io: Option<String>,
    pub pod_disk: Option<String>,
    pub network_capacity: Option<String>,
}

/// A trace that stands in for measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The file.
    pub file: PathBuf,
    /// Seconds of the trace for each second of the clock.
    pub speed: f64,
}

impl MetricsFile {
    /// The section without `maxAge`, which is part of the scheduling policy.
    pub(crate) fn check(&self, check: &mut Checker) -> Metrics {
        let Self {
            source,
            interval,
            max_age: _,
            timeout,
            prometheus,
            replay,
        } = self;
        // All are checked, so that a mistake shows before the source is switched.
        let prometheus = prometheus.check(check);
        let speed = replay.check(check);
        Metrics {
            source: match source {
                SourceFile::Prometheus => Source::Prometheus(Box::new(prometheus)),
                SourceFile::MetricsApi => Source::MetricsApi,
                SourceFile::Replay => Source::Replay(Replay {
                    file: replay.file(check),
                    speed,
                }),
                SourceFile::None => Source::None,
            },
            interval: check.duration("metrics.interval", interval),
            timeout: check.duration("metrics.timeout", timeout),
        }
    }
}

impl PrometheusFile {
    fn check(&self, check: &mut Checker) -> Prometheus {
        let Self {
            url,
            bearer_token_file,
            ca_file,
            window,
            node_label,
            queries,
        } = self;
        let path = |text: &Option<Text>| text.as_ref().map(|path| PathBuf::from(path.as_ref()));
        check_url(check, url.as_ref());
        if let Some(label) = node_label
            && let Err(error) = label.as_ref().parse::<LabelName>()
        {
            check.refuse("metrics.prometheus.nodeLabel", error);
        }
        Prometheus {
            url: url.as_ref().trim_end_matches('/').to_owned(),
            bearer_token_file: path(bearer_token_file),
            ca_file: path(ca_file),
            window: check.duration("metrics.prometheus.window", window),
            node_label: node_label.clone().map(|Text(label)| label),
            queries: queries.check(),
        }
    }
}

/// Credentials are refused in a URL because the effective configuration and logs show it.
fn check_url(check: &mut Checker, url: &str) {
    const PATH: &str = "metrics.prometheus.url";
    let parsed: Option<Uri> = url.parse().ok();
    let authority = |uri: &Uri| uri.authority().map(ToString::to_string);
    match parsed {
        Some(uri) if authority(&uri).is_some_and(|text| text.contains('@')) => {
            check.refuse(
                PATH,
                "a user name or password in the URL is not accepted: \
                 metrics.prometheus.bearerTokenFile names a file with a token",
            );
        }
        Some(uri) if matches!(uri.scheme_str(), Some("http" | "https")) => {}
        _ => check.refuse_value(
            PATH,
            url,
            "an http or https URL, such as http://prometheus.monitoring.svc:9090",
        ),
    }
}

impl ReplayFile {
    fn check(&self, check: &mut Checker) -> f64 {
        let Self {
            file: _,
            speed: Number(speed),
        } = self;
        if !(speed.is_finite() && *speed > 0.0) {
            check.refuse_value("metrics.replay.speed", speed, "a number above 0");
        }
        *speed
    }

    fn file(&self, check: &mut Checker) -> PathBuf {
        let file = self.file.as_ref().map_or("", AsRef::as_ref);
        if file.is_empty() {
            check.refuse(
                "metrics.replay.file",
                "is needed by metrics.source replay: the path of a trace",
            );
        }
        file.into()
    }
}

impl QueriesFile {
    fn check(&self) -> Queries {
        let Self {
            node_cpu,
            node_memory,
            node_network_io,
            node_disk_io,
            node_disk,
            pod_cpu,
            pod_memory,
            pod_network_io,
            pod_disk_io,
            pod_disk,
            network_capacity,
        } = self;
        let given = |query: &Option<Text>| query.clone().map(|Text(query)| query);
        Queries {
            node_cpu: given(node_cpu),
            node_memory: given(node_memory),
            node_network_io: given(node_network_io),
            node_disk_io: given(node_disk_io),
            node_disk: given(node_disk),
            pod_cpu: given(pod_cpu),
            pod_memory: given(pod_memory),
            pod_network_io: given(pod_network_io),
            pod_disk_io: given(pod_disk_io),
            pod_disk: given(pod_disk),
            network_capacity: given(network_capacity),
        }
    }
}
