//! The sources that answer a question for one target's signal.

use std::sync::Arc;

use async_trait::async_trait;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::metric_query::{MetricQuery, MetricSubject};
use evenkeel_metrics::pod::PodFacts;
use jiff::{SignedDuration, Timestamp};

use super::served::ServedSource;
use crate::metrics::error::MetricsError;
use crate::metrics::prometheus::PrometheusSource;
use crate::metrics::target_queries::TargetQuerySource;

pub struct SignalSources {
    pub served: ServedSource,
    pub prometheus: Option<Arc<PrometheusSource>>,
}

#[async_trait]
impl TargetQuerySource<MetricQuery> for SignalSources {
    async fn fetch(
        &self,
        query: &MetricQuery,
        _: Option<&Vec<Arc<PodFacts>>>,
        now: Timestamp,
    ) -> Result<MetricsApiReading, MetricsError> {
        match (&query.subject, &self.prometheus) {
            (MetricSubject::Served(metric), _) => {
                self.served.value(&query.namespace, metric, now).await
            }
            (MetricSubject::PromQl(text), Some(prometheus)) => prometheus.value(text, now).await,
            // Plans ask for none if there is no Prometheus.
            (MetricSubject::PromQl(_), None) => Err(MetricsError::Skipped),
        }
    }

    fn look_back(&self, query: &MetricQuery) -> SignedDuration {
        match (&query.subject, &self.prometheus) {
            (MetricSubject::PromQl(text), Some(prometheus)) => prometheus.look_back(text),
            (MetricSubject::PromQl(_) | MetricSubject::Served(_), _) => SignedDuration::ZERO,
        }
    }
}
