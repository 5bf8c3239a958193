//! The replicas that the traffic of a target needs, from its measurements and forecasts and the model of
//! what replicas carry by it.
//!
//! Each kind of traffic counts as it will be at its largest within the horizon, where its forecast is
//! trusted, as that of any load is, and else as it is now. The model knows what hours of the day and of the week
//! add; what it adds now and what it adds at the end of the horizon are both to be carried. An outage is no
//! traffic of 0: while one kind is not known, nothing is.

use super::current_load::CurrentLoad;
use super::tick::TrafficInput;
use crate::forecast::{Calendar, Moment};
use crate::scaling::bounds::Bounds;
use crate::scaling::ds_hpa;
use crate::scaling::expected_load::ExpectedLoad;
use crate::scaling::input::DecisionInput;
use crate::scaling::policy::{Policy, Strategy};
use crate::scaling::traffic::{Demand, Needed, needed};
use crate::scaling::traffic_fit::{AcceptedTraffic, TrafficFit};
use crate::scaling::traffic_need::{TrafficNeed, TrafficOfKind, TrafficStanding};

/// What is known of the traffic at a tick, with the loads of its kinds.
pub(super) fn standing(
    traffic: &TrafficInput<'_>,
    kinds: &[CurrentLoad<'_>],
    policy: &Policy,
    input: &DecisionInput<'_>,
    calendar: &Calendar,
) -> Option<TrafficStanding> {
    if input.strategy == Strategy::Off {
        return None;
    }
    let without = |why: &str, is_awaited| TrafficStanding::Without {
        why: why.to_owned(),
        is_awaited,
    };
    Some(match traffic.fit {
        TrafficFit::Awaited => without("its past has not been looked at yet", true),
        TrafficFit::Refused(refusal) => without(&refusal.why, false),
        TrafficFit::Accepted(_) if traffic.kinds.is_empty() => without(
            "Pods carry more than they are to even without any traffic",
            false,
        ),
        TrafficFit::Accepted(accepted) => {
            let kinds = kinds.iter().map(|kind| of_kind(kind, policy, input));
            let need = kinds.collect::<Option<Vec<_>>>().and_then(|kinds| {
                let times = [input.now, input.now.checked_add(input.ahead).ok()?];
                let moments = times.map(|at| Moment::of(at, calendar));
                need(traffic, accepted, kinds, moments, policy.bounds)
            });
            need.map_or(TrafficStanding::Unknown, TrafficStanding::Needs)
        }
    })
}

/// One kind of traffic; `None` where it is not known as it is now.
fn of_kind(
    kind: &CurrentLoad<'_>,
    policy: &Policy,
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
    moments: [Moment; 2],
    bounds: Bounds,
) -> Option<TrafficNeed> {
    let expected: Vec<f64> = kinds.iter().map(|kind| kind.expected.load).collect();
    // One is needed whatever there is to serve, unless the target may sleep and there is nothing.
    let may_sleep = bounds.min() == 0 && expected.iter().all(|&load| load <= 0.0);
    let at = |moment| {
        let demand = Demand {
            traffic: &expected,
            moment,
        };
        let bounds = Bounds::new(1, bounds.max().max(1)).ok()?;
        Some(needed(
            &accepted.model.function,
            &demand,
            traffic.target,
            bounds,
        ))
    };
    let [now, then] = moments.map(at);
    let (now, then) = (now?, then?);
    let Needed {
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
