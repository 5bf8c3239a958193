//! The models of targets' traffic that are to be fitted, from which pasts, and what came of them.

use evenkeel_metrics::signal::Signal;
use evenkeel_objects::pod_names;
use jiff::Timestamp;

use super::ScalingTargets;
use super::fit_past::{FitLane, FitPast, hour, past};
use super::key::TargetKey;
use super::target_state::TargetState;
use super::traffic_state::TrafficTold;
use crate::recommend::traffic_fit::TrafficRefusal;

/// A model that is to be fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficWork {
    pub key: TargetKey,
    /// The end of the past.
    pub end: Timestamp,
    /// Where the past of each kind of traffic is had from, with its name.
    pub kinds: Vec<(String, FitPast)>,
    /// The same of the load that is told of each replica.
    pub of: (String, FitPast),
    /// The signals of the model, as the target asks for them.
    pub signals: (Vec<Signal>, Signal),
}

/// The result of a fit.
#[derive(Debug)]
pub struct TrafficFitted {
    pub work: TrafficWork,
    pub told: TrafficTold,
}

impl TrafficWork {
    /// The lane in which it is done.
    fn lane(&self) -> FitLane {
        let mut pasts = self.kinds.iter().chain([&self.of]);
        let is_by_query = pasts.any(|(_, past)| past.lane() == FitLane::Queries);
        if is_by_query {
            FitLane::Queries
        } else {
            FitLane::Workloads
        }
    }
}

impl ScalingTargets {
    /// The model to be fitted next in a lane. Targets that act come first, and among them those
    /// without a model. The model counts as requested from here on.
    pub(super) fn next_traffic(&mut self, lane: FitLane, now: Timestamp) -> Option<TrafficWork> {
        let mut first: Option<((bool, bool, Timestamp), TrafficWork)> = None;
        let states = self.states.iter_mut();
        for (key, state) in states.filter(|(_, state)| state.mode.is_some()) {
            let Some(end) = state.traffic.due(hour(key), now) else {
                continue;
            };
            let of = state.traffic.of.clone();
            let Some(work) = of.and_then(|of| work(key, state, of, end)) else {
                state.traffic.ask(end, now);
                state.traffic.take(TrafficTold::Failed(untold()), now);
                continue;
            };
            let rank = (!state.acts(), state.traffic.asked.is_some(), end);
            let is_first = first.as_ref().is_none_or(|(least, _)| rank < *least);
            if work.lane() == lane && is_first {
                first = Some((rank, work));
            }
        }
        let (_, work) = first?;
        let state = self.states.get_mut(&work.key)?;
        state.traffic.ask(work.end, now);
        Some(work)
    }

    /// Takes what came of a fit, where its target is still there and asks for the same.
    pub(super) fn take_traffic(&mut self, fitted: TrafficFitted, now: Timestamp) {
        let TrafficFitted { work, told } = fitted;
        if let Some(state) = self.states.get_mut(&work.key)
            && state.traffic.of.as_ref() == Some(&work.signals)
        {
            state.traffic.take(told, now);
        }
    }
}

/// The refusal for a target with a past that cannot be read.
fn untold() -> TrafficRefusal {
    TrafficRefusal {
        reason: "NoPast",
        why: "its history cannot be separated from that of others: the names of its Pods do not \
              show the workload that they belong to"
            .to_owned(),
    }
}

/// A fit of a target; `None` where some past of it cannot be had.
fn work(
    key: &TargetKey,
    state: &TargetState,
    signals: (Vec<Signal>, Signal),
    end: Timestamp,
) -> Option<TrafficWork> {
    let workload = &key.workload;
    pod_names::ending(workload.object().kind(), workload.name())?;
    let past = |signal: &Signal| Some((signal.label(), past(key, state, signal)?));
    Some(TrafficWork {
        key: key.clone(),
        end,
        kinds: signals.0.iter().map(past).collect::<Option<_>>()?,
        of: past(&signals.1)?,
        signals,
    })
}
