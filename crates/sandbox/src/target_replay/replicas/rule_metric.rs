//! The second metric of a replayed HPA with a seasonal rule.

use jiff::SignedDuration;

use super::ScaledPods;
use super::amounts::milli;
use crate::{autoscaler, seasonal_metric};

impl ScaledPods {
    /// Adds the metric to the HPA, with the target load of one Pod as its `averageValue`.
    pub(in crate::target_replay) fn follow_rule(&mut self) {
        let capacity = self.target.capacity;
        let of_pod = capacity.request() * capacity.target();
        let of_pod = milli(self.target.resource, of_pod);
        self.autoscaler.add_metric(seasonal_metric::metric(of_pod));
    }

    /// The value of the metric at `at`, in the unit of the load.
    pub(in crate::target_replay) fn take_rule(&mut self, at: SignedDuration, load: f64) {
        let date = autoscaler::date(self.begin.saturating_add(at));
        let value = milli(self.target.resource, load);
        seasonal_metric::set(&mut self.seen.readings, date, value);
    }
}
