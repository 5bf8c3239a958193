//! The newest answers to the questions of a tick.

use std::collections::HashMap;
use std::sync::Arc;

use crate::metrics::cache::Entry;
use crate::metrics::error::MetricsError;
use evenkeel_core::scaling::hpa::Reading;
use evenkeel_kubernetes::metric_query::MetricQuery;

/// The state of one question.
#[derive(Debug, Clone, Default)]
pub struct SignalReading {
    /// The newest answer, however old.
    pub answer: Option<Entry<Reading>>,
    /// Why the last attempt to get a newer one failed.
    pub error: Option<Arc<MetricsError>>,
}

/// The newest answers by question.
#[derive(Debug, Clone, Default)]
pub struct SignalReadings(HashMap<MetricQuery, SignalReading>);

impl SignalReadings {
    /// The state of a question; `None` for one that was not wanted before.
    #[must_use]
    pub fn get(&self, query: &MetricQuery) -> Option<&SignalReading> {
        self.0.get(query)
    }
}

impl FromIterator<(MetricQuery, SignalReading)> for SignalReadings {
    fn from_iter<I: IntoIterator<Item = (MetricQuery, SignalReading)>>(readings: I) -> Self {
        Self(readings.into_iter().collect())
    }
}
