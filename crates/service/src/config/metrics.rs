//! `metrics`: the source of measured usage, how often it is asked, and how long it is believed.

mod prometheus;
mod queries;

use std::time::Duration;

use evenkeel_objects::yaml_values::YamlText;
use evenkeel_units::max_age;
use jiff::SignedDuration;
use prometheus::PrometheusSection;
use serde::{Deserialize, Serialize};

use super::check::Checker;
use super::section::section;
use crate::metrics::{
    ApiCallLimits, Authorization, BODY_LIMIT, EndpointAccess, MetricsSourceSettings,
    QueryTimeLimits, Settings, kubelet, poller, signals,
};

section! {
    /// `metrics` as it is written.
    MetricsSection {
        source: SourceName = SourceName::default(),
        interval: YamlText = "15s".into(),
        max_age: YamlText = max_age::DEFAULT.into(),
        timeout: YamlText = "10s".into(),
        disk: DiskSourceName = DiskSourceName::default(),
        kubelet: KubeletSection = KubeletSection::default(),
        prometheus: PrometheusSection = PrometheusSection::default(),
    }

    /// `metrics.kubelet` as it is written.
    KubeletSection {
        token_file: Option<YamlText> = None,
        // Where kubelet puts what a Pod knows the API server by.
        ca_file: YamlText = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt".into(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SourceName {
    #[default]
    Prometheus,
    MetricsApi,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum DiskSourceName {
    #[default]
    Kubelet,
    Queries,
    None,
}

impl MetricsSection {
    /// The section without `maxAge`, which is part of the scheduling policy.
    pub(super) fn check(&self, max_age: SignedDuration, check: &mut Checker) -> Settings {
        let Self {
            source,
            interval,
            max_age: _,
            timeout,
            disk,
            kubelet,
            prometheus,
        } = self;
        let timeout = check.period("metrics.timeout", timeout);
        // A query is given up when its answer would be too old to be used.
        let patience = timeout.saturating_mul(4).min(max_age.unsigned_abs());
        let mut prometheus = prometheus.check(patience, check);
        let built_in_disk = *disk != DiskSourceName::Queries && prometheus.queries.leave_disk_out();
        let asks_kubelets = *disk == DiskSourceName::Kubelet
            && match source {
                SourceName::Prometheus => built_in_disk,
                SourceName::MetricsApi => true,
                SourceName::None => false,
            };
        let kubelet = asks_kubelets.then(|| kubelet.settings(timeout.min(patience)));
        Settings {
            source: match source {
                SourceName::Prometheus => MetricsSourceSettings::Prometheus(Box::new(prometheus)),
                SourceName::MetricsApi => MetricsSourceSettings::MetricsApi(ApiCallLimits {
                    timeout: patience,
                    body_limit: BODY_LIMIT,
                }),
                SourceName::None => MetricsSourceSettings::None,
            },
            poller: poller::Settings {
                interval: check.period("metrics.interval", interval),
                limits: QueryTimeLimits {
                    deadline: timeout.min(patience),
                    patience,
                },
            },
            kubelet,
            signals: signals::Settings {
                timeout: timeout.min(patience),
            },
        }
    }
}

impl KubeletSection {
    fn settings(&self, timeout: Duration) -> kubelet::Settings {
        let Self {
            token_file,
            ca_file,
        } = self;
        kubelet::Settings {
            access: EndpointAccess {
                authorization: token_file.as_ref().map_or(Authorization::None, |file| {
                    Authorization::Bearer(file.as_ref().into())
                }),
                ca_file: Some(ca_file.as_ref().into()),
                identity: None,
            },
            timeout,
        }
    }
}
