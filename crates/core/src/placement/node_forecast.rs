//! Forecasts the rise of the measured load of one node, as far as the Pods on it cause it.
//! Placement moves a load in steps, which are no trend. So the trend leaves out the load of Pods in
//! flight and of ended Pods. If a Pod joins or leaves, its sampled usage is the step; without a
//! sample, the whole change of the round is. A forecast counts only if it has beaten the last value
//! on this node, and it never lowers a load.

use std::num::NonZeroUsize;

use jiff::SignedDuration;

use super::usage::NodeSample;
use crate::forecast::{Alpha, ShiftedTrend};
use crate::units::{Amount, Resource, Resources};

/// Fine enough for a ramp of minutes, and coarse enough that rates over a minute do not overlap.
const STEP: SignedDuration = SignedDuration::from_secs(60);

const AHEAD: NonZeroUsize = NonZeroUsize::new(10).expect("it is not 0");

/// As `tes`: twice as much made no difference beyond chance in `simulate`.
const FACTOR: f64 = 0.2;

/// About the time after which a workload that scales has answered a rise itself.
pub const HORIZON: SignedDuration = SignedDuration::from_mins(10);

/// Local storage is left out: it is measured every few minutes only, and grows by writes, not by
/// the hour.
const FOLLOWED: [Resource; 4] = [
    Resource::Cpu,
    Resource::Memory,
    Resource::NetworkIo,
    Resource::DiskIo,
];

#[derive(Debug, Clone, Default)]
pub(super) struct NodeForecast(Resources<Option<Box<ResourceTrend>>>);

#[derive(Debug, Clone)]
struct ResourceTrend {
    trend: ShiftedTrend,
    /// The newest observed step, counted from the epoch.
    newest: i64,
    /// In the measured load.
    in_flight: PodUsageSum,
    /// By Pods that joined or left since the last observation.
    moved: PodUsageSum,
    /// Over the last observation; `None` if the forecast is not trusted.
    rise: Option<Amount>,
}

#[derive(Debug, Clone, Copy, Default)]
struct PodUsageSum {
    sum: f64,
    is_unknown: bool,
}

impl PodUsageSum {
    fn add(&mut self, sign: f64, used: Option<Amount>) {
        match used {
            Some(used) => self.sum += sign * used.as_f64(),
            None => self.is_unknown = true,
        }
    }
}

impl NodeForecast {
    /// Starts the count of Pods in flight for a new sample.
    pub(super) fn begin_count(&mut self) {
        self.each(|_, followed| followed.in_flight = PodUsageSum::default());
    }

    /// Leaves a Pod in flight out of the trend, given its measured part.
    pub(super) fn leave_out(&mut self, in_measured: &Resources<Option<Amount>>) {
        self.each(|resource, followed| followed.in_flight.add(1.0, in_measured[resource]));
    }

    /// Adds a Pod to the trend, given its sampled usage.
    pub(super) fn join(&mut self, shown: &Resources<Option<Amount>>) {
        self.each(|resource, followed| followed.moved.add(1.0, shown[resource]));
    }

    /// Removes a Pod from the trend.
    pub(super) fn leave(&mut self, shown: &Resources<Option<Amount>>) {
        self.each(|resource, followed| followed.moved.add(-1.0, shown[resource]));
    }

    /// The newest measurements, and the part of ended Pods in them. The first round of a step
    /// counts.
    pub(super) fn observe(
        &mut self,
        measured: &Resources<Option<NodeSample>>,
        gone: &Resources<Amount>,
    ) {
        for resource in FOLLOWED {
            if let Some(measured) = measured[resource] {
                let followed =
                    self.0[resource].get_or_insert_with(|| Box::new(ResourceTrend::new(&measured)));
                followed.observe(&measured, gone[resource]);
            }
        }
    }

    /// Over [`HORIZON`], 0 for a fall. `None` if no forecast is trusted.
    pub(super) fn rises(&self) -> Resources<Option<Amount>> {
        Resources::from_fn(|resource| self.0[resource].as_ref()?.rise)
    }

    fn each(&mut self, mut with: impl FnMut(Resource, &mut ResourceTrend)) {
        for resource in FOLLOWED {
            if let Some(followed) = &mut self.0[resource] {
                with(resource, followed);
            }
        }
    }
}

impl ResourceTrend {
    fn new(first: &NodeSample) -> Self {
        Self {
            trend: ShiftedTrend::new(Alpha::clamped(FACTOR), AHEAD),
            newest: step_of(first) - 1,
            in_flight: PodUsageSum::default(),
            moved: PodUsageSum::default(),
            rise: None,
        }
    }

    fn observe(&mut self, measured: &NodeSample, gone: Amount) {
        let step = step_of(measured);
        let passed = step.saturating_sub(self.newest);
        if passed <= 0 {
            return;
        }
        // Longer gaps make no difference.
        let most = i64::try_from(2 * AHEAD.get()).unwrap_or(i64::MAX);
        (1..passed.min(most)).for_each(|_| self.trend.observe(None));
        self.newest = step;
        let resident = measured.value.as_f64() - gone.as_f64() - self.in_flight.sum;
        let resident = resident.max(0.0);
        let moved = std::mem::take(&mut self.moved);
        if moved.is_unknown || self.in_flight.is_unknown {
            self.trend.shift_to(resident);
        } else {
            self.trend.shift(moved.sum);
        }
        self.trend.observe(Some(resident));
        let foreseen = self.trend.trusted();
        self.rise = foreseen.map(|foreseen| Amount::from_f64((foreseen - resident).max(0.0)));
    }
}

fn step_of(measured: &NodeSample) -> i64 {
    measured.at.as_second().div_euclid(STEP.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_is_that_of_the_steps_and_a_trend_stays_small() {
        assert_eq!(HORIZON, STEP * i32::try_from(AHEAD.get()).unwrap());
        // Without the pending forecasts: four of these on 5,000 nodes are 11 MB with them.
        assert!(
            size_of::<ResourceTrend>() <= 320,
            "{}",
            size_of::<ResourceTrend>()
        );
    }
}
