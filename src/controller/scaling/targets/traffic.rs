//! The models of targets' traffic that are to be fitted, from which pasts, and what came of them.

use jiff::Timestamp;

use super::ScalingTargets;
use super::fit_past::{FitLane, FitPast, hour, past};
use super::key::TargetKey;
use super::state::TargetRuntime;
use super::traffic_state::TrafficTold;
use crate::metrics::prometheus::WorkloadName;
use evenkeel_core::scaling::TrafficRefusal;
use evenkeel_core::scaling::signal::Signal;
#[cfg(test)]
use evenkeel_core::scaling::signal::{PromQl, PromQlMetric};
#[cfg(test)]
use evenkeel_kubernetes::kinds::Kind;
#[cfg(test)]
use evenkeel_kubernetes::plan::scaling::TargetRef;
use evenkeel_kubernetes::pod_names;

/// A model that is to be fitted.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::controller::scaling) struct TrafficWork {
    pub(in crate::controller::scaling) key: TargetKey,
    /// The end of the past.
    pub(in crate::controller::scaling) end: Timestamp,
    /// Where the past of each kind of traffic is had from, with its name.
    pub(in crate::controller::scaling) kinds: Vec<(String, FitPast)>,
    /// The same of the load that is told of each replica.
    pub(in crate::controller::scaling) of: (String, FitPast),
    signals: (Vec<Signal>, Signal),
}

/// The result of a fit.
#[derive(Debug)]
pub(in crate::controller::scaling) struct TrafficFitted {
    pub(in crate::controller::scaling) work: TrafficWork,
    pub(in crate::controller::scaling) told: TrafficTold,
}

impl TrafficWork {
    /// The workload as Pods' names tell it.
    pub(in crate::controller::scaling) fn workload(&self) -> WorkloadName {
        self.key.workload_name()
    }

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

    /// Queries for the traffic of a Deployment in the namespace `shop`, and its cpu.
    #[cfg(test)]
    pub(in crate::controller::scaling) fn of_deployment(
        name: &str,
        queries: &[&str],
        end: Timestamp,
    ) -> Self {
        let signal = |(number, query): (u8, &&str)| {
            let (metric, query) = (PromQlMetric::Traffic(number), (*query).into());
            Signal::PromQl(PromQl { metric, query })
        };
        let signals: Vec<_> = (1..).zip(queries).map(signal).collect();
        let kinds = signals.iter().zip(queries);
        let kinds = kinds.map(|(signal, query)| (signal.label(), FitPast::Query((*query).into())));
        Self {
            key: TargetKey {
                namespace: "shop".into(),
                scaler: None,
                workload: TargetRef::of_kind(Kind::Deployment, "shop", name),
            },
            end,
            kinds: kinds.collect(),
            of: ("cpu".to_owned(), FitPast::Workloads(Signal::CPU)),
            signals: (signals, Signal::CPU),
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
    state: &TargetRuntime,
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
