//! How kube-scheduler's choices end for the Pods that its extender answered for.

use std::sync::atomic::{AtomicU64, Ordering};

use evenkeel_placement::node_table::{ChoiceEnd, ChoiceTally};
use jiff::Timestamp;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabel {
    end: &'static str,
}

impl EndLabel {
    const fn of(end: ChoiceEnd) -> Self {
        let end = match end {
            ChoiceEnd::Told => "told",
            ChoiceEnd::Untold => "untold",
            ChoiceEnd::Unbound => "unbound",
        };
        Self { end }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct ChoiceMetrics {
    times: Family<EndLabel, Counter>,
    in_a_row: Family<EndLabel, Gauge>,
    since: Family<EndLabel, Gauge<f64, AtomicU64>>,
}

impl ChoiceMetrics {
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "extender_choices",
            "Choices of nodes for Pods that were scored here: reported and bound, bound without \
             report, or reported and not bound",
            self.times.clone(),
        );
        registry.register(
            "extender_choices_in_a_row",
            "How many of the newest choices had this end in a row; 0 if the last one had another \
             end",
            self.in_a_row.clone(),
        );
        registry.register(
            "extender_seconds_since_last_choice",
            "Seconds since the last choice with this end; -1 if there was none",
            self.since.clone(),
        );
    }

    /// Brings them in line with the table's count.
    pub(super) fn observe(&self, tally: &ChoiceTally, now: Timestamp) {
        for end in ChoiceEnd::ALL {
            let label = EndLabel::of(end);
            let counter = self.times.get_or_create_owned(&label);
            counter.inner().store(tally.times(end), Ordering::Relaxed);
            let in_a_row = i64::try_from(tally.in_a_row(end)).unwrap_or(i64::MAX);
            self.in_a_row.get_or_create(&label).set(in_a_row);
            let since = tally
                .last(end)
                .map_or(-1.0, |last| now.duration_since(last).as_secs_f64().max(0.0));
            self.since.get_or_create(&label).set(since);
        }
    }
}
