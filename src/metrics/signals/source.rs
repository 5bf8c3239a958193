//! Who answers a question for one target's signal.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::served::ServedSource;
use crate::metrics::error::MetricsError;
use crate::metrics::prometheus::PrometheusSource;
use evenkeel_core::scaling::hpa::Reading;
use evenkeel_kubernetes::metric_query::{MetricQuery, MetricSubject};

/// Something that answers questions for single targets.
#[async_trait]
pub trait SignalSource: Send + Sync {
    /// The answer to a question of the time `now`.
    ///
    /// # Errors
    /// There is none.
    async fn fetch(&self, query: &MetricQuery, now: Timestamp) -> Result<Reading, MetricsError>;

    /// The span before its time that a value is made of, where the answer does not tell.
    fn look_back(&self, _query: &MetricQuery) -> SignedDuration {
        SignedDuration::ZERO
    }
}

/// The sources of a cluster.
pub struct Sources {
    pub served: ServedSource,
    /// Where there is one.
    pub prometheus: Option<Arc<PrometheusSource>>,
}

#[async_trait]
impl SignalSource for Sources {
    async fn fetch(&self, query: &MetricQuery, now: Timestamp) -> Result<Reading, MetricsError> {
        match (&query.subject, &self.prometheus) {
            (MetricSubject::Served(metric), _) => {
                self.served.value(&query.namespace, metric, now).await
            }
            (MetricSubject::PromQl(text), Some(prometheus)) => prometheus.value(text, now).await,
            // Plans ask for none where there is nobody to ask.
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
