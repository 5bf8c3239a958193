//! The past that a target's models are fitted on: where it is had from, and up to which hour of the day.

use std::sync::Arc;

use evenkeel_metrics::signal::Signal;
use evenkeel_objects::pod_names;

use super::key::TargetKey;
use super::samples::resource_of;
use super::target_state::TargetState;
use crate::tracker::fit_times::daily_hour;

/// The lane in which work is done. What targets' own queries are asked for may hang, and others do not wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FitLane {
    Workloads,
    Queries,
}

/// The past that models are fitted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FitPast {
    /// The past of a signal of the targets' workloads.
    Workloads(Signal),
    /// The past of a query.
    Query(Arc<str>),
}

impl FitPast {
    /// The lane in which it is asked for.
    pub(super) const fn lane(&self) -> FitLane {
        match self {
            Self::Workloads(_) => FitLane::Workloads,
            Self::Query(_) => FitLane::Queries,
        }
    }
}

/// Where the past of a load is had from; `None` where it cannot be had.
pub(super) fn past(key: &TargetKey, state: &TargetState, signal: &Signal) -> Option<FitPast> {
    if resource_of(signal).is_some() {
        let workload = &key.workload;
        pod_names::ending(workload.object().kind(), workload.name())?;
        return Some(FitPast::Workloads(signal.clone()));
    }
    let mut queries = state.past_queries.iter();
    let (_, query) = queries.find(|(known, _)| known == signal)?;
    Some(FitPast::Query(Arc::clone(query)))
}

/// The hour of the day at which a target is fitted, the same on every replica.
pub(super) fn hour(key: &TargetKey) -> i64 {
    let workload = &key.workload;
    daily_hour(&key.namespace, workload.kind(), workload.name())
}
