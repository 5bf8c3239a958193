//! The recommender of the Vertical Pod Autoscaler 1.4 with its default flags, and its updater in
//! place. The target is the 90th percentile of a decaying histogram plus 15 %. Between the 50th and
//! the 95th, each with the same margin and widened while little is known, a Pod is only changed if
//! it is twelve hours old and the change is a tenth or more. Cpu has a sample a minute, weighted by
//! the request; memory has the peak of each 24 hours, and a kill counts as a fifth above the limit
//! or 100 MiB, whichever is more. Requests are taken for limits, as in a Guaranteed Pod.

use evenkeel_units::cpu_memory::TunedResource;
use evenkeel_units::{Amount, count_as_f64};
use jiff::{SignedDuration, Timestamp};

use super::container::{ContainerDemand, Tuner, scaled};
use super::histogram::Histogram;

const TARGET: f64 = 0.9;
/// Percentiles between which a young Pod is left alone.
const BOUNDS: [f64; 2] = [0.5, 0.95];
/// Margin of 15 % on each of them.
const MARGIN: f64 = 1.15;
/// Smaller changes are not worth a resize within the bounds.
const WORTH: f64 = 0.1;
/// Age of a Pod from which changes within the bounds are made.
const OLD: SignedDuration = SignedDuration::from_hours(12);
const PEAK: SignedDuration = SignedDuration::from_hours(24);
/// Between two recommendations.
const EVERY: SignedDuration = SignedDuration::from_mins(1);
/// Least weight of a sample of cpu, in cores.
const LEAST_WEIGHT: f64 = 0.1;
/// Samples of a day, for the confidence.
const OF_DAY: f64 = 1440.0;
/// Least addition of a kill to the limit, in bytes.
const BUMP: f64 = 100.0 * 1024.0 * 1024.0;
/// Least factor of a kill on the limit.
const BUMP_RATIO: f64 = 1.2;

pub(super) struct Vpa {
    resource: TunedResource,
    histogram: Histogram,
    least: f64,
    /// Peak of memory, and the begin of its span.
    peak: Option<(f64, Timestamp)>,
    since: Option<Timestamp>,
    newest: Timestamp,
    samples: usize,
    recommended: Option<Timestamp>,
    /// Also the weight of a sample of cpu.
    request: Amount,
    was_killed: bool,
    margin: f64,
}

impl Vpa {
    pub(super) fn new(wanted: &ContainerDemand, margin: f64) -> Self {
        let (first, most, least) = match wanted.resource {
            TunedResource::Cpu => (10.0, 1_000_000.0, 25.0),
            TunedResource::Memory => (1e7, 1e12, 250.0 * 1024.0 * 1024.0),
        };
        Self {
            resource: wanted.resource,
            histogram: Histogram::new(first, most),
            least,
            peak: None,
            since: None,
            newest: wanted.start,
            samples: 0,
            recommended: None,
            request: wanted.limit,
            was_killed: false,
            margin,
        }
    }

    /// A new peak of its span replaces the one before.
    fn see_memory(&mut self, at: Timestamp, used: f64) {
        let current = self.peak;
        match current.filter(|(_, begun)| at.duration_since(*begun) < PEAK) {
            Some((peak, _)) if used <= peak => {}
            Some((peak, begun)) => {
                self.histogram.add(peak, -1.0, begun);
                self.histogram.add(used, 1.0, begun);
                self.peak = Some((used, begun));
            }
            None => {
                self.histogram.add(used, 1.0, at);
                self.peak = Some((used, at));
            }
        }
    }

    /// In days: the smaller of the samples' span and their number divided by 1440.
    fn confidence(&self) -> f64 {
        let span = self.since.map_or(0.0, |since| {
            self.newest.duration_since(since).as_secs_f64() / (24.0 * 3600.0)
        });
        span.min(count_as_f64(self.samples) / OF_DAY)
    }

    /// With the margins, times a factor.
    fn estimate(&self, percentile: f64, factor: f64) -> Amount {
        let estimate = self.histogram.percentile(percentile) * MARGIN * factor;
        scaled(Amount::from_f64(estimate.max(self.least)), self.margin)
    }

    /// The updater would resize the Pod.
    fn is_worth(&self, at: Timestamp, wanted: Amount, current: Amount) -> bool {
        let confidence = self.confidence();
        let [lower, upper] = BOUNDS;
        let lower = self.estimate(lower, (1.0 + 0.001 / confidence).powi(-2));
        let upper = self.estimate(upper, 1.0 + 1.0 / confidence);
        if current < lower || current > upper || self.was_killed {
            return true;
        }
        let change = (wanted.as_f64() - current.as_f64()).abs() / current.as_f64().max(1.0);
        let age = self.since.map(|since| at.duration_since(since));
        age.is_some_and(|age| age >= OLD) && change >= WORTH
    }
}

impl Tuner for Vpa {
    fn see(&mut self, at: Timestamp, used: Amount, killed: bool) {
        self.since.get_or_insert(at);
        self.newest = at;
        self.samples += 1;
        self.was_killed |= killed;
        match self.resource {
            TunedResource::Cpu => {
                let weight = (self.request.as_f64() / 1000.0).max(LEAST_WEIGHT);
                self.histogram.add(used.as_f64(), weight, at);
            }
            TunedResource::Memory => {
                let used = used.as_f64();
                let bumped = (used * BUMP_RATIO).max(used + BUMP);
                self.see_memory(at, if killed { bumped } else { used });
            }
        }
    }

    fn limit(&mut self, at: Timestamp, current: Amount) -> Amount {
        self.request = current;
        let is_due = |last: Timestamp| at.duration_since(last) >= EVERY;
        if !self.recommended.is_none_or(is_due) {
            return current;
        }
        self.recommended = Some(at);
        let wanted = self.estimate(TARGET, 1.0);
        if self.is_worth(at, wanted, current) {
            self.was_killed = false;
            self.request = wanted;
        }
        self.request
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_cpu_weigh_as_much_as_the_request() {
        let wanted = ContainerDemand {
            resource: TunedResource::Cpu,
            start: Timestamp::UNIX_EPOCH,
            step: EVERY,
            values: Vec::new(),
            limit: Amount::new(200),
            skipped: 0,
        };
        let target = |heavy: u64| {
            let mut vpa = Vpa::new(&wanted, 1.0);
            for minute in 0..40_i64 {
                // A quarter of the time little is used.
                let (request, used) = if minute < 10 {
                    (heavy, 100)
                } else {
                    (200, 1000)
                };
                vpa.request = Amount::new(request);
                let at = Timestamp::from_second(minute * 60).unwrap();
                vpa.see(at, Amount::new(used), false);
            }
            vpa.estimate(TARGET, 1.0).get()
        };
        assert!(target(200) > 1000, "most of the time a core is used");
        assert!(
            target(20_000) < 200,
            "most of the weight is on a tenth of one"
        );
    }
}
