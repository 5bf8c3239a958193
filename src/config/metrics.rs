//! `metrics`: the source of measured usage, how often it is asked, and how long it is believed.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use evenkeel_core::max_age;
use evenkeel_core::units::Ratio;
use evenkeel_http_client::{AddressError, Uri};
use jiff::SignedDuration;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::check::Checker;
use super::section::section;
use super::value::Number;
use crate::metrics::prometheus::{Connection, ExporterMatchers, Matchers, NodeLabel, Queries};
use crate::metrics::{BODY_LIMIT, Bounds, Limits, Query, Settings, Source};
use crate::metrics::{poller, prometheus, replay, signals};
use evenkeel_kubernetes::written::Text;

section! {
    /// `metrics` as it is written.
    MetricsSection {
        source: SourceName = SourceName::default(),
        interval: Text = "15s".into(),
        max_age: Text = max_age::DEFAULT.into(),
        timeout: Text = "10s".into(),
        prometheus: PrometheusSection = PrometheusSection::default(),
        replay: ReplaySection = ReplaySection::default(),
    }

    /// `metrics.prometheus` as it is written.
    PrometheusSection {
        // What kube-prometheus-stack and the Prometheus operator call their Service.
        url: Text = "http://prometheus-operated.monitoring.svc:9090".into(),
        bearer_token_file: Option<Text> = None,
        ca_file: Option<Text> = None,
        // Four scrapes at the 30 s that the operator's chart sets.
        window: Text = "2m".into(),
        node_label: Option<Text> = None,
        matchers: MatchersSection = MatchersSection::default(),
        queries: QueriesSection = QueriesSection::default(),
    }

    /// `metrics.prometheus.matchers` as it is written.
    MatchersSection {
        all: Option<Text> = None,
        node_exporter: Option<Text> = None,
        cadvisor: Option<Text> = None,
        kube_state_metrics: Option<Text> = None,
        dcgm_exporter: Option<Text> = None,
    }

    /// `metrics.replay` as it is written.
    ReplaySection {
        file: Option<Text> = None,
        speed: Number = Number(1.0),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SourceName {
    #[default]
    Prometheus,
    MetricsApi,
    Replay,
    None,
}

/// `metrics.prometheus.queries` as it is written: PromQL for some of [`Query::SETTABLE`], in their
/// order; a query left out is the built-in one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct QueriesSection([Option<Text>; Query::SETTABLE.len()]);

impl MetricsSection {
    /// The section without `maxAge`, which is part of the scheduling policy.
    pub(super) fn check(&self, max_age: SignedDuration, check: &mut Checker) -> Settings {
        let Self {
            source,
            interval,
            max_age: _,
            timeout,
            prometheus,
            replay,
        } = self;
        let timeout = check.period("metrics.timeout", timeout);
        // All are checked, so that a mistake shows before the source is switched.
        // A query is given up when its answer would be too old to be used.
        let patience = timeout.saturating_mul(4).min(max_age.unsigned_abs());
        let prometheus = prometheus.check(patience, check);
        let replayed = replay.check(check);
        if *source == SourceName::Replay && replayed.file.as_os_str().is_empty() {
            check.refuse(
                "metrics.replay.file",
                "is needed by metrics.source replay: the path of a trace",
            );
        }
        Settings {
            source: match source {
                SourceName::Prometheus => Source::Prometheus(Box::new(prometheus)),
                SourceName::MetricsApi => Source::MetricsApi(Bounds {
                    timeout: patience,
                    body_limit: BODY_LIMIT,
                }),
                SourceName::Replay => Source::Replay(replayed),
                SourceName::None => Source::None,
            },
            poller: poller::Settings {
                interval: check.period("metrics.interval", interval),
                limits: Limits {
                    deadline: timeout.min(patience),
                    patience,
                },
            },
            signals: signals::Settings {
                timeout: timeout.min(patience),
            },
        }
    }
}

impl PrometheusSection {
    fn check(&self, patience: Duration, check: &mut Checker) -> prometheus::Settings {
        let Self {
            url,
            bearer_token_file,
            ca_file,
            window,
            node_label,
            matchers,
            queries: QueriesSection(queries),
        } = self;
        let path = |text: &Option<Text>| text.as_ref().map(|path| PathBuf::from(path.as_ref()));
        let mut settings = prometheus::Settings {
            connection: Connection {
                url: check_url(check, url.as_ref()),
                bearer_token_file: path(bearer_token_file),
                ca_file: path(ca_file),
                timeout: patience,
                body_limit: BODY_LIMIT,
            },
            window: check.duration("metrics.prometheus.window", window),
            node_label: node_label
                .as_ref()
                .map_or(NodeLabel::Automatic, |label| check_label(check, label)),
            matchers: matchers.check(check),
            queries: Queries::default(),
        };
        for (query, promql) in Query::SETTABLE.into_iter().zip(queries) {
            if let Some(Text(promql)) = promql {
                settings.queries.set(query, promql);
            }
        }
        settings
    }
}

impl MatchersSection {
    fn check(&self, check: &mut Checker) -> ExporterMatchers {
        let Self {
            all,
            node_exporter,
            cadvisor,
            kube_state_metrics,
            dcgm_exporter,
        } = self;
        let mut parse = |name, text: &Option<Text>| {
            let text = text.as_ref().map_or("", AsRef::as_ref);
            let path = format!("metrics.prometheus.matchers.{name}");
            check.take(&path, text.parse(), Matchers::default())
        };
        ExporterMatchers {
            all: parse("all", all),
            node_exporter: parse("nodeExporter", node_exporter),
            cadvisor: parse("cadvisor", cadvisor),
            kube_state_metrics: parse("kubeStateMetrics", kube_state_metrics),
            dcgm_exporter: parse("dcgmExporter", dcgm_exporter),
        }
    }
}

/// Credentials are refused in a URL because the effective configuration and logs show it.
fn check_url(check: &mut Checker, url: &str) -> Uri {
    const PATH: &str = "metrics.prometheus.url";
    evenkeel_http_client::server_address(url).unwrap_or_else(|error| {
        match error {
            AddressError::Credentials => check.refuse(
                PATH,
                format!("{error}: metrics.prometheus.bearerTokenFile names a file with a token"),
            ),
            AddressError::NotHttp => check.refuse_value(
                PATH,
                url,
                "an http or https URL, such as http://prometheus.monitoring.svc:9090",
            ),
            AddressError::Port => check.refuse_value(PATH, url, "a port from 1 to 65535"),
        }
        Uri::default()
    })
}

fn check_label(check: &mut Checker, Text(label): &Text) -> NodeLabel {
    let label = label.parse().map(NodeLabel::Named);
    check.take("metrics.prometheus.nodeLabel", label, NodeLabel::Automatic)
}

impl ReplaySection {
    fn check(&self, check: &mut Checker) -> replay::Settings {
        let Self {
            file,
            speed: Number(speed),
        } = self;
        let ratio = Ratio::new(*speed).ok().filter(|_| *speed > 0.0);
        if ratio.is_none() {
            check.refuse_value("metrics.replay.speed", speed, "a number above 0");
        }
        let real_time = Ratio::share(1.0).expect("1 is a share");
        replay::Settings {
            file: file.as_ref().map_or("", AsRef::as_ref).into(),
            speed: ratio.unwrap_or(real_time),
        }
    }
}

impl Serialize for QueriesSection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = Query::SETTABLE.into_iter().map(Query::as_str);
        serializer.collect_map(names.zip(&self.0))
    }
}

impl<'de> Deserialize<'de> for QueriesSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct QueriesVisitor;

        impl<'de> Visitor<'de> for QueriesVisitor {
            type Value = QueriesSection;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping from query names to PromQL")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut queries = QueriesSection::default();
                while let Some(QueryName(position)) = map.next_key()? {
                    queries.0[position] = map.next_value()?;
                }
                Ok(queries)
            }
        }

        deserializer.deserialize_map(QueriesVisitor)
    }
}

/// The name of a query, as its position in [`Query::SETTABLE`].
struct QueryName(usize);

impl<'de> Deserialize<'de> for QueryName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let mut names = Query::SETTABLE.into_iter().map(Query::as_str);
        names
            .position(|known| known == name)
            .map(Self)
            .ok_or_else(|| {
                let known = Query::SETTABLE.map(|query| format!("`{}`", query.as_str()));
                let known = known.join(", ");
                de::Error::custom(format_args!(
                    "unknown field `{name}`, expected one of {known}"
                ))
            })
    }
}
