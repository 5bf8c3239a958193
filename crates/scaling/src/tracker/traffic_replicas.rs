//! The replicas that the traffic of a target needs, from its measurements and forecasts and the model of
//! what replicas carry by it.
//!
//! Each kind of traffic counts as it will be at its largest within the horizon, where its forecast is
//! trusted, as that of any load is, and else as it is now. The model knows what hours of the day and of the week
//! add; what it adds now and what it adds at the end of the horizon are both to be carried. An outage is no
//! traffic of 0: while one kind is not known, nothing is.

use evenkeel_forecast::{Calendar, CalendarInputs};
use evenkeel_objects::bounds::ReplicaBounds;
use jiff::SignedDuration;

use super::current_load::CurrentLoad;
use super::tick_input::{TickInput, TrafficInput};
use super::traffic_check::{PodNow, TrafficCheck};
use crate::recommend::ds_hpa;
use crate::recommend::expected_load::ExpectedLoad;
use crate::recommend::input::{DecisionInput, SignalLoad};
use crate::recommend::policy::{Strategy, TargetPolicy};
use crate::recommend::traffic::{Demand, TrafficReplicas, needed};
use crate::recommend::traffic_fit::{AcceptedTraffic, TrafficFit};
use crate::recommend::traffic_need::{TrafficLack, TrafficNeed, TrafficOfKind, TrafficStanding};

/// The time for which traffic that is not known holds what stands. Longer than an outage, it is a metric that is
/// called otherwise by now.
const UNKNOWN_HOLDS: SignedDuration = SignedDuration::from_hours(3);

/// The traffic of a target at one tick.
pub(super) struct Traffic<'a> {
    input: TrafficInput<'a>,
    /// The loads of its kinds.
    kinds: &'a [CurrentLoad<'a>],
    policy: &'a TargetPolicy,
    calendar: &'a Calendar,
    /// The Pods that are ready.
    ready: i32,
}

/// The state of the traffic, after its model was compared with the current load of the Pods.
pub(super) fn standing(
    traffic: &Traffic<'_>,
    input: &DecisionInput<'_>,
    check: &mut TrafficCheck,
) -> Option<TrafficStanding> {
    if input.strategy == Strategy::Off {
        return None;
    }
    traffic.check(input, check);
    if !matches!(traffic.input.fit, TrafficFit::Accepted(_)) {
        // The traffic is not queried yet, so nothing is unanswered.
        check.known(input.now);
    }
    let without = |lack, why: &str| TrafficStanding::Without {
        lack,
        why: why.to_owned(),
    };
    Some(match traffic.input.fit {
        TrafficFit::Awaited => without(TrafficLack::Awaited, "its history has not been read yet"),
        TrafficFit::Refused(refusal) => without(TrafficLack::Refused(refusal.reason), &refusal.why),
        TrafficFit::Accepted(_) if traffic.kinds.is_empty() => without(
            TrafficLack::TargetTooLow,
            "the Pods exceed their target even without traffic",
        ),
        TrafficFit::Accepted(_) if check.is_contradicted() => without(
            TrafficLack::Contradicted,
            "the model predicted more than 1.5 times the measured load, and has not been right for five minutes since",
        ),
        TrafficFit::Accepted(accepted) => match traffic.need(accepted, input) {
            Some(need) => {
                check.known(input.now);
                TrafficStanding::Needs(need)
            }
            None if check.unknown_for(input.now) < UNKNOWN_HOLDS => TrafficStanding::Unknown,
            None => without(
                TrafficLack::Unanswered,
                "its queries have had no answer for three hours",
            ),
        },
    })
}

impl<'a> Traffic<'a> {
    /// The traffic that a target names; `None` where it names none.
    pub(super) fn of(
        input: &TickInput<'a>,
        policy: &'a TargetPolicy,
        kinds: &'a [CurrentLoad<'a>],
    ) -> Option<Self> {
        Some(Self {
            input: input.traffic?,
            kinds,
            policy,
            calendar: &input.shared.calendar,
            ready: input.ready,
        })
    }

    /// Holds what the model tells of each Pod now against what each carries, where both are known.
    fn check(&self, input: &DecisionInput<'_>, check: &mut TrafficCheck) {
        let TrafficFit::Accepted(accepted) = self.input.fit else {
            return;
        };
        let fresh = |load: &SignalLoad<'_>| load.fresh(input.now, self.policy.max_age);
        let now = self.kinds.iter().map(|kind| fresh(&kind.signal_load()));
        let mut loads = input.loads.iter();
        let carried = loads.find(|load| load.signal == self.input.of);
        let (Some(now), Some(carried)) =
            (now.collect::<Option<Vec<f64>>>(), carried.and_then(fresh))
        else {
            return;
        };
        if self.ready <= 0 || now.is_empty() {
            return;
        }
        let (model, ready) = (&accepted.model, f64::from(self.ready));
        let moment = CalendarInputs::of(input.now, self.calendar);
        let told = model.function.utilisation(&now, ready, moment);
        let pod = PodNow {
            told,
            carried: carried / ready,
            target: self.input.target,
        };
        check.take(model.learnt.1, pod);
    }

    /// The replicas that the traffic needs; `None` if the current value of a kind is unknown.
    fn need(&self, accepted: &AcceptedTraffic, input: &DecisionInput<'_>) -> Option<TrafficNeed> {
        let kinds = self.kinds.iter();
        let kinds = kinds.map(|kind| of_kind(kind, self.policy, input));
        let kinds = kinds.collect::<Option<Vec<_>>>()?;
        let times = [input.now, input.now.checked_add(input.ahead).ok()?];
        let moments = times.map(|at| CalendarInputs::of(at, self.calendar));
        need(&self.input, accepted, kinds, moments, self.policy.bounds)
    }
}

/// One kind of traffic; `None` where it is not known as it is now.
fn of_kind(
    kind: &CurrentLoad<'_>,
    policy: &TargetPolicy,
    input: &DecisionInput<'_>,
) -> Option<TrafficOfKind> {
    let load = kind.signal_load();
    let now = load.fresh(input.now, policy.max_age)?;
    let expected = ds_hpa::expected(&load, policy, input, None);
    Some(TrafficOfKind {
        signal: load.signal.clone(),
        now,
        expected: expected.unwrap_or_else(|| ExpectedLoad::of(now, None)),
    })
}

/// The replicas that are needed at the more demanding of two moments.
fn need(
    traffic: &TrafficInput<'_>,
    accepted: &AcceptedTraffic,
    kinds: Vec<TrafficOfKind>,
    moments: [CalendarInputs; 2],
    bounds: ReplicaBounds,
) -> Option<TrafficNeed> {
    let expected: Vec<f64> = kinds.iter().map(|kind| kind.expected.load).collect();
    // One is needed whatever there is to serve, unless the target may sleep and there is nothing.
    let may_sleep = bounds.min() == 0 && expected.iter().all(|&load| load <= 0.0);
    let at = |moment| {
        let demand = Demand {
            traffic: &expected,
            moment,
        };
        let bounds = ReplicaBounds::new(1, bounds.max().max(1)).ok()?;
        Some(needed(
            &accepted.model.function,
            &demand,
            traffic.target,
            bounds,
        ))
    };
    let [now, then] = moments.map(at);
    let (now, then) = (now?, then?);
    let TrafficReplicas {
        replicas,
        utilisation,
        limit,
    } = if then.replicas > now.replicas {
        then
    } else {
        now
    };
    Some(TrafficNeed {
        replicas: if may_sleep { 0 } else { replicas },
        utilisation: utilisation?,
        target: traffic.target,
        of: traffic.of.clone(),
        limit,
        kinds,
    })
}
