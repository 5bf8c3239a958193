//! The models of targets' traffic that are to be fitted, from which pasts, and what came of them.

use std::sync::Arc;

use jiff::Timestamp;

use super::Targets;
use super::fit_past::{FitPast, Lane, hour};
use super::key::Key;
use super::state::TargetState;
use super::traffic_state::TrafficTold;
use crate::metrics::prometheus::WorkloadName;
use evenkeel_core::scaling::TrafficRefusal;
use evenkeel_core::scaling::signal::Signal;
#[cfg(test)]
use evenkeel_core::scaling::signal::{PromQl, PromQlMetric};
use evenkeel_core::units::Resource;
#[cfg(test)]
use evenkeel_kubernetes::kinds::Kind;
#[cfg(test)]
use evenkeel_kubernetes::plan::scaling::TargetRef;
use evenkeel_kubernetes::pod_names;

/// A model that is to be fitted.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::controller::scaling) struct TrafficWork {
    pub(in crate::controller::scaling) key: Key,
    /// The end of the past.
    pub(in crate::controller::scaling) end: Timestamp,
    /// Where the past of each kind of traffic is had from, with its name.
    pub(in crate::controller::scaling) kinds: Vec<(String, FitPast)>,
    /// The same of the load that is told of each replica.
    pub(in crate::controller::scaling) of: (String, FitPast),
    signals: (Vec<Signal>, Signal),
}

/// What came of a fit.
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
    fn lane(&self) -> Lane {
        let mut pasts = self.kinds.iter().chain([&self.of]);
        let is_by_query = pasts.any(|(_, past)| past.lane() == Lane::Queries);
        if is_by_query {
            Lane::Queries
        } else {
            Lane::Workloads
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
            key: Key {
                namespace: "shop".into(),
                autoscaler: None,
                workload: TargetRef::of_kind(Kind::Deployment, "shop", name),
            },
            end,
            kinds: kinds.collect(),
            of: ("cpu".to_owned(), FitPast::Workloads(Signal::CPU)),
            signals: (signals, Signal::CPU),
        }
    }
}

impl Targets {
    /// The model to be fitted next in a lane, those first whose targets act, and of these those that there is none of; it
    /// counts as asked for from here on.
    pub(super) fn next_traffic(&mut self, lane: Lane, now: Timestamp) -> Option<TrafficWork> {
        loop {
            let states = self.states.iter().filter(|(_, state)| state.mode.is_some());
            let due = states.filter_map(|(key, state)| {
                let end = state.traffic.due(hour(key), now)?;
                let work = work(key, state, state.traffic.of.clone()?, end);
                // It is told at once that there is none.
                let of_lane = work.as_ref().map_or(Lane::Workloads, TrafficWork::lane);
                let rank = (!state.acts(), state.traffic.asked.is_some(), end);
                (of_lane == lane).then_some((rank, key, work))
            });
            let ((.., end), key, work) = due.min_by_key(|(rank, ..)| *rank)?;
            let key = key.clone();
            let state = self.states.get_mut(&key)?;
            state.traffic.ask(end, now);
            if work.is_some() {
                return work;
            }
            let refusal = TrafficRefusal {
                reason: "NoPast",
                why: "its past cannot be told from that of others: the names of its Pods do not tell which \
                      workload they belong to"
                    .to_owned(),
            };
            state.traffic.take(TrafficTold::Failed(refusal), now);
        }
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

/// A fit of a target; `None` where some past of it cannot be had.
fn work(
    key: &Key,
    state: &TargetState,
    signals: (Vec<Signal>, Signal),
    end: Timestamp,
) -> Option<TrafficWork> {
    let workload = &key.workload;
    pod_names::ending(workload.object().kind(), workload.name())?;
    let past = |signal: &Signal| Some((signal.label(), past(state, signal)?));
    Some(TrafficWork {
        key: key.clone(),
        end,
        kinds: signals.0.iter().map(past).collect::<Option<_>>()?,
        of: past(&signals.1)?,
        signals,
    })
}

/// Where the past of a signal is had from.
fn past(state: &TargetState, signal: &Signal) -> Option<FitPast> {
    let measured = [Signal::CPU, Signal::from(Resource::NetworkIo)];
    if measured.contains(signal) {
        return Some(FitPast::Workloads(signal.clone()));
    }
    let mut queries = state.past_queries.iter();
    let (_, query) = queries.find(|(known, _)| known == signal)?;
    Some(FitPast::Query(Arc::clone(query)))
}
