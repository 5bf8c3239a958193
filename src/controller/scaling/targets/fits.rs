//! The loads whose own trees are to be fitted, and the trees that came of it.
//!
//! Loads whose past is one answer are fitted together, and each target has an hour of the day of its
//! own, so that ten thousand of them are spread over it.

use std::sync::Arc;

use jiff::Timestamp;

use super::Targets;
use super::key::Key;
use super::state::TargetState;
use crate::metrics::prometheus::WorkloadName;
use evenkeel_core::fnv::fnv1a;
use evenkeel_core::panicked::caught;
use evenkeel_core::scaling::signal::Signal;
use evenkeel_core::scaling::tracker::{Learnt, OwnFit};
use evenkeel_core::scaling::trial::TrialPods;
#[cfg(test)]
use evenkeel_core::scaling::{Bounds, horizon::Horizon, hpa_aware::PodCapacity};
#[cfg(test)]
use evenkeel_core::units::Ratio;
#[cfg(test)]
use evenkeel_kubernetes::kinds::Kind;
#[cfg(test)]
use evenkeel_kubernetes::plan::scaling::TargetRef;
use evenkeel_kubernetes::pod_names;

/// The most loads that are fitted together: their pasts take 2 MB, and the names of their workloads fit into
/// a query.
const TOGETHER: usize = 64;

/// Loads whose trees are to be fitted on the past up to one time.
#[derive(Debug)]
pub(in crate::controller::scaling) struct FitBatch {
    pub(in crate::controller::scaling) end: Timestamp,
    pub(in crate::controller::scaling) past: FitPast,
    pub(in crate::controller::scaling) loads: Vec<FitLoad>,
}

/// The past that loads are fitted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::controller::scaling) enum FitPast {
    /// Of a signal of the targets' workloads.
    Workloads(Signal),
    /// Of a query.
    Query(Arc<str>),
}

/// A load whose trees are to be fitted.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::controller::scaling) struct FitLoad {
    pub(in crate::controller::scaling) key: Key,
    pub(in crate::controller::scaling) signal: Signal,
    /// The minutes of the window that they are to answer for.
    pub(in crate::controller::scaling) window: usize,
    /// The Pods that its past is tried with.
    pub(in crate::controller::scaling) pods: TrialPods,
}

/// What came of a fit.
#[derive(Debug)]
pub(in crate::controller::scaling) struct Fitted {
    pub(in crate::controller::scaling) load: FitLoad,
    pub(in crate::controller::scaling) learnt: Learnt,
}

impl FitLoad {
    /// The workload as Pods' names tell it.
    pub(in crate::controller::scaling) fn workload(&self) -> WorkloadName {
        self.key.workload_name()
    }

    /// The cpu of a Deployment in the namespace `shop`.
    #[cfg(test)]
    pub(in crate::controller::scaling) fn of_deployment(name: &str, window: usize) -> Self {
        let capacity = PodCapacity::new(50.0, Ratio::share(0.6).expect("a share"));
        let capacity = capacity.expect("a capacity");
        let bounds = Bounds::new(1, 20).expect("bounds");
        Self {
            key: Key {
                namespace: "shop".into(),
                autoscaler: None,
                workload: TargetRef::of_kind(Kind::Deployment, "shop", name),
            },
            signal: Signal::CPU,
            window,
            pods: TrialPods::new(capacity, bounds, &Horizon::default()),
        }
    }
}

/// A load that is due.
struct Due<'a> {
    key: &'a Key,
    fit: OwnFit<'a>,
    past: FitPast,
}

impl Targets {
    /// The loads to be fitted next, those without any trees first; they count as asked for from here on.
    pub(in crate::controller::scaling) fn next_fits(&mut self, now: Timestamp) -> Option<FitBatch> {
        let due = self
            .states
            .iter()
            .flat_map(|(key, state)| due(key, state, now));
        let due: Vec<_> = due.collect();
        let first = due
            .iter()
            .min_by_key(|one| (!one.fit.is_first, one.fit.end))?;
        let (end, past) = (first.fit.end, first.past.clone());
        let same = |one: &&Due<'_>| one.fit.end == end && one.past == past;
        let loads = due.iter().filter(same).take(TOGETHER).map(|one| FitLoad {
            key: one.key.clone(),
            signal: one.fit.signal.clone(),
            window: one.fit.window,
            pods: one.fit.pods.clone(),
        });
        let loads: Vec<_> = loads.collect();
        for FitLoad { key, signal, .. } in &loads {
            if let Some(state) = self.states.get_mut(key) {
                state.tracker.fitting(signal, hour(key), now);
            }
        }
        Some(FitBatch { end, past, loads })
    }

    /// Takes what came of a fit, where its target is still there.
    pub(in crate::controller::scaling) fn take_fitted(&mut self, fitted: Fitted) {
        let Fitted { load, learnt } = fitted;
        if let Some(state) = self.states.get_mut(&load.key) {
            state.tracker.adopt_learnt(&load.signal, learnt);
        }
    }
}

/// The loads of a target that are due, as far as there is a past to be had. A target that cannot be
/// judged is left out: its next tick finds out why.
fn due<'a>(key: &'a Key, state: &'a TargetState, now: Timestamp) -> Vec<Due<'a>> {
    if !state.decides {
        return Vec::new();
    }
    let fits = caught(|| state.tracker.fits_due(hour(key), now).collect::<Vec<_>>());
    let fits = fits.unwrap_or_default().into_iter();
    let due = fits.filter_map(|fit| {
        let past = past(key, state, fit.signal)?;
        Some(Due { key, fit, past })
    });
    due.collect()
}

/// Where the past of a load is had from; `None` where it cannot be had.
pub(super) fn past(key: &Key, state: &TargetState, signal: &Signal) -> Option<FitPast> {
    if [Signal::CPU, Signal::MEMORY].contains(signal) {
        let workload = &key.workload;
        pod_names::ending(workload.object().kind(), workload.name())?;
        return Some(FitPast::Workloads(signal.clone()));
    }
    let mut queries = state.past_queries.iter();
    let (_, query) = queries.find(|(known, _)| known == signal)?;
    Some(FitPast::Query(Arc::clone(query)))
}

/// The hour of the day at which a target is fitted, the same on every replica.
fn hour(key: &Key) -> i64 {
    let text = format!("{}/{}", key.namespace, key.workload);
    i64::try_from(fnv1a(text.as_bytes()) % 24).unwrap_or_default()
}
