//! The model of one target's traffic: when it is to be fitted, and what came of it.
//!
//! A model is of what its target asks: with other queries, or another load to tell of, it begins anew. It is fitted
//! each day up to the target's own hour, and where the past was not enough, each hour again.

use std::sync::Arc;

use jiff::Timestamp;

use evenkeel_core::scaling::fit_times::{newest_daily, newest_hour};
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
    /// True where the past was not enough, or could not be had.
    lacks_past: bool,
}

/// What a past says of its traffic.
#[derive(Debug)]
pub(in crate::controller::scaling) enum TrafficTold {
    Accepted(Box<AcceptedTraffic>),
    /// It is long enough, and gives no model.
    Refused(TrafficRefusal),
    /// It cannot be had, is too short, or could not be worked on: a model that there is stays.
    Lacking(TrafficRefusal),
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
        let later = |end: &Timestamp| self.asked.is_none_or(|asked| asked < *end);
        let hourly = newest_hour(now).filter(|_| self.lacks_past);
        [Some(daily), hourly].into_iter().flatten().find(later)
    }

    pub(super) fn take(&mut self, told: TrafficTold) {
        self.lacks_past = matches!(told, TrafficTold::Lacking(_));
        self.fit = match (told, &self.fit) {
            (TrafficTold::Accepted(accepted), _) => TrafficFit::Accepted(Arc::new(*accepted)),
            (TrafficTold::Lacking(_), TrafficFit::Accepted(before)) => {
                TrafficFit::Accepted(Arc::clone(before))
            }
            (TrafficTold::Refused(refusal) | TrafficTold::Lacking(refusal), _) => {
                TrafficFit::Refused(refusal)
            }
        };
    }
}
