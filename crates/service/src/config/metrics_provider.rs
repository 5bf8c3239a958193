//! `metricsProvider`: where series are told, and how much of them at a time.

use std::net::SocketAddr;

use evenkeel_metrics::series_query::RangeLimits;
use evenkeel_objects::yaml_values::YamlText;

use super::check::Checker;
use super::section::section;
use super::value::Count;
use crate::metrics_provider::{ConfiguredQuery, ConfiguredQueryError, Settings};

/// The most points of a series: three months by the minute, some 2 MB in a message.
const POINTS: u32 = 130_000;

section! {
    /// `metricsProvider` as it is written.
    MetricsProviderSection {
        enabled: bool = false,
        grpc: Option<YamlText> = None,
        plaintext_grpc: Option<YamlText> = None,
        // A month, as the jobs that learn from the past ask for at most.
        max_range: YamlText = "744h".into(),
        // A month by the minute.
        max_points: Count = Count(45_000),
        timeout: YamlText = "30s".into(),
        queries: Vec<ProviderQuerySection> = vec![ProviderQuerySection::ready_pods()],
    }
    /// A metric that is read from Prometheus, as it is written.
    ProviderQuerySection {
        name: YamlText = "".into(),
        query: YamlText = "".into(),
        object_label: Option<YamlText> = None,
    }
}

impl ProviderQuerySection {
    /// The ready Pods of a workload, by the name that Kapacity has for them.
    fn ready_pods() -> Self {
        Self {
            name: "ready_pods_count".into(),
            query: "sum(kube_pod_status_ready{condition=\"true\"})".into(),
            object_label: None,
        }
    }

    fn check(&self, path: &str, check: &mut Checker) -> Option<ConfiguredQuery> {
        let Self {
            name,
            query,
            object_label,
        } = self;
        let label = object_label.as_ref().map(AsRef::as_ref);
        match ConfiguredQuery::new(name.as_ref(), query.as_ref(), label) {
            Ok(query) => Some(query),
            Err(error) => {
                let field = match error {
                    ConfiguredQueryError::NoName => "name",
                    ConfiguredQueryError::NoSeries => "query",
                    ConfiguredQueryError::Label => "objectLabel",
                };
                check.refuse(&format!("{path}.{field}"), error);
                None
            }
        }
    }
}

impl MetricsProviderSection {
    /// The settings; `None` where nothing is told.
    pub(super) fn check(&self, check: &mut Checker) -> Option<Settings> {
        let Self {
            enabled,
            grpc,
            plaintext_grpc,
            max_range,
            max_points,
            timeout,
            queries,
        } = self;
        let points = check.at_least_one("metricsProvider.maxPoints", *max_points);
        let points = u32::try_from(points.get()).unwrap_or(u32::MAX);
        if points > POINTS {
            let accepted = "a whole number of at most 130000";
            check.refuse_value("metricsProvider.maxPoints", points, accepted);
        }
        let mut checked: Vec<ConfiguredQuery> = Vec::new();
        for (place, query) in queries.iter().enumerate() {
            let path = format!("metricsProvider.queries[{place}]");
            let Some(query) = query.check(&path, check) else {
                continue;
            };
            if checked.iter().any(|other| other.name == query.name) {
                let name = &query.name;
                check.refuse(
                    &path,
                    format_args!("{name:?} is listed twice: one query for each name"),
                );
            }
            checked.push(query);
        }
        let settings = Settings {
            grpc: address("metricsProvider.grpc", grpc.as_ref(), check),
            plaintext_grpc: address(
                "metricsProvider.plaintextGrpc",
                plaintext_grpc.as_ref(),
                check,
            ),
            limits: RangeLimits {
                longest: check.duration("metricsProvider.maxRange", max_range),
                points,
            },
            timeout: check.period("metricsProvider.timeout", timeout),
            queries: checked,
        };
        enabled.then_some(settings)
    }
}

fn address(path: &str, text: Option<&YamlText>, check: &mut Checker) -> Option<SocketAddr> {
    text.map(|text| check.listen(path, text))
}
