//! The newest answers to the questions of a tick.

use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;

use crate::metrics::cache::{Entry, Failed};
use crate::metrics::error::MetricsError;
use evenkeel_core::scaling::hpa::Reading;
use evenkeel_kubernetes::metric_query::MetricQuery;

/// The state of one question.
#[derive(Debug, Clone, Default)]
pub struct SignalReading {
    /// The newest answer, however old.
    pub answer: Option<Entry<Reading>>,
    /// The last attempt to get a newer one, where it failed.
    pub failed: Option<Failed>,
    /// The span before its time that a value is made of, where the answer does not tell.
    pub look_back: SignedDuration,
}

impl SignalReading {
    /// Why the last attempt to get a newer answer failed.
    #[must_use]
    pub fn error(&self) -> Option<&MetricsError> {
        self.failed.as_ref().map(|failed| &*failed.error)
    }

    /// When it was last asked, where there was nothing in the answer. That is no value to scale by, but it is not
    /// that nobody answered.
    #[must_use]
    pub fn empty_at(&self) -> Option<Timestamp> {
        let failed = self.failed.as_ref();
        let empty = failed.filter(|failed| failed.error.is_empty());
        empty.map(|empty| empty.attempted_at)
    }
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
