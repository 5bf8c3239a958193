//! The models of targets' traffic that are to be fitted, from which pasts, and what came of them.

use std::sync::Arc;

use jiff::Timestamp;

use super::Targets;
use super::fit_past::{FitPast, hour};
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
    /// The model to be fitted next, one that there is none of first; it counts as asked for from here on.
    pub(super) fn next_traffic(&mut self, now: Timestamp) -> Option<TrafficWork> {
        let due = self.states.iter().filter(|(_, state)| state.decides);
        let due = due.filter_map(|(key, state)| {
            let of = state.traffic.of.clone()?;
            Some((key, state, of, state.traffic.due(hour(key), now)?))
        });
        let (key, state, signals, end) =
            due.min_by_key(|(_, state, _, end)| (state.traffic.asked.is_some(), *end))?;
        let (key, work) = (key.clone(), work(key, state, signals, end));
        let state = self.states.get_mut(&key)?;
        state.traffic.asked = Some(end);
        if work.is_none() {
            state.traffic.take(TrafficTold::Lacking(TrafficRefusal {
                reason: "NoPast",
                why: "its past cannot be told from that of others: the names of its Pods do not tell which \
                      workload they belong to"
                    .to_owned(),
            }));
        }
        work
    }

    /// Takes what came of a fit, where its target is still there and asks for the same.
    pub(super) fn take_traffic(&mut self, fitted: TrafficFitted) {
        let TrafficFitted { work, told } = fitted;
        if let Some(state) = self.states.get_mut(&work.key)
            && state.traffic.of.as_ref() == Some(&work.signals)
        {
            state.traffic.take(told);
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
