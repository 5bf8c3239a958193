//! The model of one target's traffic: when it is to be fitted, and what came of it.
//!
//! A model is of what its target asks: with other queries, or another load to tell of, it begins anew. It is fitted
//! each day up to the target's own hour, and where the past was too short, each hour again; what failed is tried again as
//! the fits of trees are.

use std::sync::Arc;

use jiff::Timestamp;

use evenkeel_core::scaling::fit_times::{newest_daily, newest_hour, rest_after};
use evenkeel_core::scaling::signal::Signal;
use evenkeel_core::scaling::{AcceptedTraffic, TrafficFit, TrafficRefusal};
use evenkeel_kubernetes::plan::scaling::TargetTraffic;

/// The model of a target's traffic.
#[derive(Debug, Default)]
pub(super) struct TrafficState {
    /// What it is of: the kinds of traffic, and the load that is told of each replica.
    pub(super) of: Option<(Vec<Signal>, Signal)>,
    pub(super) fit: TrafficFit,
    /// The end of the past that was last asked for.
    pub(super) asked: Option<Timestamp>,
    /// True where the past was too short.
    is_young: bool,
    /// The fits of late that failed, one after the other.
    failures: u8,
    /// When the last was asked for, or ended.
    tried: Timestamp,
}

/// What a past says of its traffic.
#[derive(Debug)]
pub(in crate::controller::scaling) enum TrafficTold {
    Accepted(Box<AcceptedTraffic>),
    /// It is long enough, and gives no model.
    Refused(TrafficRefusal),
    /// It is too short: a model that there is stays.
    TooShort(TrafficRefusal),
    /// It could not be had, or could not be worked on: a model that there is stays, and it is to be tried again.
    Failed(TrafficRefusal),
}

impl TrafficState {
    /// Begins anew where the target asks for another model than before.
    pub(super) fn follow(&mut self, traffic: Option<&TargetTraffic>) {
        let of = traffic.map(|traffic| {
            let kinds = traffic.kinds.iter().map(|kind| kind.signal.clone());
            (kinds.collect(), traffic.of.clone())
        });
        if self.of != of {
            *self = Self {
                of,
                ..Self::default()
            };
        }
    }

    /// The end of the past of the fit that is due; `None` where none is.
    pub(super) fn due(&self, hour: i64, now: Timestamp) -> Option<Timestamp> {
        let daily = newest_daily(hour, now)?;
        if self.failures > 0 {
            let rested = now.duration_since(self.tried) >= rest_after(self.failures);
            // The same past again, of which a part may have been had.
            return rested.then(|| self.asked.map_or(daily, |asked| asked.max(daily)));
        }
        let later = |end: &Timestamp| self.asked.is_none_or(|asked| asked < *end);
        let hourly = newest_hour(now).filter(|_| self.is_young);
        [Some(daily), hourly].into_iter().flatten().find(later)
    }

    /// Takes note that a fit on the past up to `end` has been asked for.
    pub(super) const fn ask(&mut self, end: Timestamp, now: Timestamp) {
        self.asked = Some(end);
        self.tried = now;
    }

    pub(super) fn take(&mut self, told: TrafficTold, now: Timestamp) {
        self.is_young = matches!(told, TrafficTold::TooShort(_));
        self.failures = match told {
            TrafficTold::Failed(_) => self.failures.saturating_add(1),
            _ => 0,
        };
        self.tried = now;
        let before = match &self.fit {
            TrafficFit::Accepted(before) => Some(Arc::clone(before)),
            TrafficFit::Awaited | TrafficFit::Refused(_) => None,
        };
        self.fit = match (told, before) {
            (TrafficTold::Accepted(accepted), _) => TrafficFit::Accepted(Arc::new(*accepted)),
            (TrafficTold::Refused(refusal), _) => TrafficFit::Refused(refusal),
            (TrafficTold::TooShort(_) | TrafficTold::Failed(_), Some(before)) => {
                TrafficFit::Accepted(before)
            }
            (TrafficTold::TooShort(refusal) | TrafficTold::Failed(refusal), None) => {
                TrafficFit::Refused(refusal)
            }
        };
    }
}
