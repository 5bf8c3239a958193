//! How kube-scheduler's choices end for the Pods that its extender answered for.

use std::sync::atomic::Ordering;

use evenkeel_placement::node_table::{ChoiceEnd, ChoiceTally};
use jiff::Timestamp;

use crate::telemetry::metric_families::families;

families! {
    pub(super) struct ChoiceMetrics {
        times: Counter[end] = "extender_choices",
            "Choices of nodes for Pods that were scored here: reported and bound, bound without \
             report, or reported and not bound";
        in_a_row: Gauge[end] = "extender_choices_in_a_row",
            "How many of the newest choices had this end in a row; 0 if the last one had another \
             end";
        since: FloatGauge[end] = "extender_seconds_since_last_choice",
            "Seconds since the last choice with this end; -1 if there was none";
    }
}

impl ChoiceMetrics {
    /// Brings them in line with the table's count.
    pub(super) fn observe(&self, tally: &ChoiceTally, now: Timestamp) {
        for end in ChoiceEnd::ALL {
            let label = match end {
                ChoiceEnd::Told => "told",
                ChoiceEnd::Untold => "untold",
                ChoiceEnd::Unbound => "unbound",
            };
            let times = tally.times(end);
            self.times(label).inner().store(times, Ordering::Relaxed);
            let in_a_row = i64::try_from(tally.in_a_row(end)).unwrap_or(i64::MAX);
            self.in_a_row(label).set(in_a_row);
            let since = tally
                .last(end)
                .map_or(-1.0, |last| now.duration_since(last).as_secs_f64().max(0.0));
            self.since(label).set(since);
        }
    }
}
