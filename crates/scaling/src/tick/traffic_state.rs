//! The model of one target's traffic: when it is to be fitted, and what came of it.
//!
//! A model is of what its target asks: with other queries it begins anew, and where nothing or another load is asked for
//! for a while, as without Pods that request anything, it rests for a time before it is given up. It is fitted each day up to the target's own hour, and where the past was too short, each hour again; what failed is tried again as
//! the fits of trees are.

use std::sync::Arc;

use evenkeel_metrics::signal::Signal;
use jiff::{SignedDuration, Timestamp};

use crate::recommend::traffic_fit::{AcceptedTraffic, TrafficFit, TrafficRefusal};
use crate::targets::traffic::TargetTraffic;
use crate::tracker::fit_times::{newest_daily, newest_hour, rest_after};

/// The time for which a model rests while nothing is asked for: targets sleep and are paused.
const RESTS: SignedDuration = SignedDuration::from_hours(24);
/// The time for which it rests while it is asked for another load.
const RESTS_BESIDE: SignedDuration = SignedDuration::from_mins(10);

/// The model of a target's traffic.
#[derive(Debug, Default)]
pub(super) struct TrafficState {
    /// The signals of the model: the kinds of traffic, and the load that is reported for each replica.
    pub(super) of: Option<(Vec<Signal>, Signal)>,
    fit: TrafficFit,
    /// Since when it rests.
    rests: Option<Timestamp>,
    /// The end of the past that was last asked for.
    pub(super) asked: Option<Timestamp>,
    /// True where the past was too short.
    is_young: bool,
    /// The fits of late that failed, one after the other.
    failures: u8,
    /// When the last was asked for, or ended.
    tried: Timestamp,
}

/// The result of a fit on a past.
#[derive(Debug)]
pub enum TrafficTold {
    Accepted(Box<AcceptedTraffic>),
    /// It is long enough, and gives no model.
    Refused(TrafficRefusal),
    /// It is too short: a model that there is stays.
    TooShort(TrafficRefusal),
    /// It could not be had, or could not be worked on: a model that there is stays, and it is to be tried again.
    Failed(TrafficRefusal),
}

impl TrafficState {
    /// Rests, or begins anew, where the target asks for another model than before.
    pub(super) fn follow(&mut self, traffic: Option<&TargetTraffic>, now: Timestamp) {
        let of = traffic.map(|traffic| {
            let kinds = traffic.kinds.iter().map(|kind| kind.signal.clone());
            (kinds.collect::<Vec<_>>(), traffic.of.clone())
        });
        let patience = match (&self.of, &of) {
            (known, asked) if known == asked => {
                self.rests = None;
                return;
            }
            // There is nothing that could rest.
            _ if self.fit == TrafficFit::Awaited => SignedDuration::ZERO,
            (Some(_), None) => RESTS,
            (Some((known, _)), Some((asked, _))) if known == asked => RESTS_BESIDE,
            _ => SignedDuration::ZERO,
        };
        let since = *self.rests.get_or_insert(now);
        if now.duration_since(since) >= patience {
            *self = Self {
                of,
                ..Self::default()
            };
        }
    }

    /// The result of the fit for the signals that are asked for now.
    pub(super) const fn fit(&self) -> &TrafficFit {
        const AWAITED: &TrafficFit = &TrafficFit::Awaited;
        match self.rests {
            None => &self.fit,
            Some(_) => AWAITED,
        }
    }

    /// The end of the past of the fit that is due; `None` where none is.
    pub(super) fn due(&self, hour: i64, now: Timestamp) -> Option<Timestamp> {
        if self.rests.is_some() {
            return None;
        }
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

#[cfg(test)]
mod tests {
    use evenkeel_metrics::signal::{PromQl, PromQlMetric, ValueScope};
    use evenkeel_units::Ratio;

    use super::*;
    use crate::load::hpa_aware::PodCapacity;
    use crate::tracker::ScaledSignal;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + minute * 60).unwrap()
    }

    fn asks(query: &str, of: &Signal) -> TargetTraffic {
        let signal = Signal::PromQl(PromQl {
            metric: PromQlMetric::Traffic(1),
            query: query.into(),
        });
        let kind = ScaledSignal {
            signal,
            capacity: PodCapacity::new(1.0, Ratio::ONE).unwrap(),
            scope: ValueScope::Whole,
            is_forecast: true,
            only_here: true,
        };
        TargetTraffic {
            kinds: vec![kind],
            questions: Vec::new(),
            of: of.clone(),
            target: 300.0,
        }
    }

    fn refused() -> TrafficTold {
        TrafficTold::Refused(TrafficRefusal {
            reason: "Unexplained",
            why: String::new(),
        })
    }

    #[test]
    fn a_model_rests_while_it_is_not_asked_for_and_another_query_begins_anew() {
        let asked = asks("a", &Signal::CPU);
        let mut state = TrafficState::default();
        state.follow(Some(&asked), at(0));
        state.take(refused(), at(0));
        let is_there = |state: &TrafficState| *state.fit() != TrafficFit::Awaited;
        assert!(is_there(&state));
        // A target that sleeps, or scales by another load while its Pods are not known.
        for (beside, minutes) in [(None, 1439), (Some(asks("a", &Signal::MEMORY)), 9)] {
            state.follow(beside.as_ref(), at(1));
            state.follow(beside.as_ref(), at(1 + minutes));
            assert!(!is_there(&state));
            assert_eq!(state.due(0, at(3000)), None, "nobody asks");
            state.follow(Some(&asked), at(1 + minutes));
            assert!(is_there(&state));
            state.follow(beside.as_ref(), at(2));
            state.follow(beside.as_ref(), at(3 + minutes));
            state.follow(Some(&asked), at(3 + minutes));
            assert!(!is_there(&state), "it was given up");
            state.follow(Some(&asked), at(4 + minutes));
            state.take(refused(), at(4 + minutes));
        }
        state.follow(Some(&asks("b", &Signal::CPU)), at(1));
        assert_eq!(
            state.of.as_ref().unwrap().0[0],
            asks("b", &Signal::CPU).kinds[0].signal
        );
        assert!(!is_there(&state) && state.due(0, at(3000)).is_some());
    }
}
