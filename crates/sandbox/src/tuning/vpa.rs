//! The recommender of the Vertical Pod Autoscaler 1.4 as its documentation and flags describe it, and its
//! updater in place: the 90th percentile of a decaying histogram, and 15 % above it.
//!
//! Cpu is a sample a minute; of memory the peak of each 24 hours counts, and one that was killed counts as
//! a fifth above its limit or 100 MB, whichever is more. A change of less than a tenth is not made before
//! the Pod is twelve hours old. Its requests are taken for limits, as those of a Guaranteed Pod are.

use jiff::{SignedDuration, Timestamp};

use super::container::{Tuner, scaled};
use super::histogram::Histogram;
use evenkeel_core::tuning::TunedResource;
use evenkeel_core::units::Amount;

/// The percentile that is aimed at.
const TARGET: f64 = 0.9;
/// What is added to it.
const MARGIN: f64 = 1.15;
/// A change of less than this share is not worth a resize.
const WORTH: f64 = 0.1;
/// The age of a Pod from which on any change is made.
const OLD: SignedDuration = SignedDuration::from_hours(12);
/// The span of which the peak of memory counts.
const PEAK: SignedDuration = SignedDuration::from_hours(24);
/// The time between two recommendations.
const EVERY: SignedDuration = SignedDuration::from_mins(1);
/// What a kill adds at least, in bytes.
const BUMP: f64 = 100_000_000.0;
/// What a kill multiplies at least.
const BUMP_RATIO: f64 = 1.2;

pub(super) struct Vpa {
    resource: TunedResource,
    histogram: Histogram,
    least: f64,
    /// The peak of memory, and when its span began.
    peak: Option<(f64, Timestamp)>,
    since: Option<Timestamp>,
    recommended: Option<Timestamp>,
    last: Amount,
    margin: f64,
}

impl Vpa {
    pub(super) fn new(resource: TunedResource, margin: f64) -> Self {
        let (first, most, least) = match resource {
            TunedResource::Cpu => (10.0, 1_000_000.0, 25.0),
            TunedResource::Memory => (1e7, 1e12, 250.0 * 1024.0 * 1024.0),
        };
        Self {
            resource,
            histogram: Histogram::new(first, most),
            least,
            peak: None,
            since: None,
            recommended: None,
            last: Amount::ZERO,
            margin,
        }
    }

    /// Takes memory: a new peak of its span takes the place of the one before.
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
}

impl Tuner for Vpa {
    fn see(&mut self, at: Timestamp, used: Amount, killed: bool) {
        self.since.get_or_insert(at);
        match self.resource {
            TunedResource::Cpu => self.histogram.add(used.as_f64(), 1.0, at),
            TunedResource::Memory => {
                let used = used.as_f64();
                let bumped = (used * BUMP_RATIO).max(used + BUMP);
                self.see_memory(at, if killed { bumped } else { used });
            }
        }
    }

    fn limit(&mut self, at: Timestamp, current: Amount) -> Amount {
        let is_due = |last: Timestamp| at.duration_since(last) >= EVERY;
        if !self.recommended.is_none_or(is_due) {
            return current;
        }
        self.recommended = Some(at);
        let target = (self.histogram.percentile(TARGET) * MARGIN).max(self.least);
        let wanted = scaled(Amount::from_f64(target), self.margin);
        let change = (wanted.as_f64() - current.as_f64()).abs() / current.as_f64().max(1.0);
        let is_old = self
            .since
            .is_some_and(|since| at.duration_since(since) >= OLD);
        if self.last == wanted || (change <= WORTH && !is_old) {
            return current;
        }
        self.last = wanted;
        wanted
    }
}
