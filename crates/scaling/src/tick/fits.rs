//! The loads to fit trees or models for, and the results.
//!
//! Loads that share one answer for their past are fitted together. Each target has its own hour of
//! the day, which spreads ten thousand of them over the day.

use evenkeel_metrics::signal::Signal;
use evenkeel_units::panic_error::caught;
use jiff::Timestamp;

use super::ScalingTargets;
use super::fit_past::{FitLane, FitPast, hour, past};
use super::key::TargetKey;
use super::target_state::TargetState;
use super::traffic::{TrafficFitted, TrafficWork};
use crate::targets::history_backfill::RefillState;
use crate::targets::reference::TargetRef;
use crate::tracker::{FitEnd, FitTask, KnownLoads, OwnFit};

/// The most loads that are fitted together: their pasts take 2 MB, and the names of their workloads fit into
/// a query.
const TOGETHER: usize = 64;

/// One piece of work for the fitter.
#[derive(Debug)]
pub enum FitWork {
    Trees(FitBatch),
    Traffic(Box<TrafficWork>),
}

/// The result of one piece of work.
#[derive(Debug)]
pub enum FitTold {
    Trees(Box<LoadFitResult>),
    Traffic(Box<TrafficFitted>),
}

/// Loads to fit trees or models for, on the same past up to `end`.
#[derive(Debug)]
pub struct FitBatch {
    pub end: Timestamp,
    pub past: FitPast,
    pub loads: Vec<FitLoad>,
}

/// A load to fit trees or a model for.
#[derive(Debug, Clone, PartialEq)]
pub struct FitLoad {
    pub key: TargetKey,
    pub signal: Signal,
    /// The minutes of the window that they are to answer for.
    pub window: usize,
    pub lesson: FitTask,
}

/// The result of a fit.
#[derive(Debug)]
pub struct LoadFitResult {
    pub load: FitLoad,
    pub end: FitEnd,
}

/// A load that is due.
struct DueFit<'a> {
    key: &'a TargetKey,
    /// True where decisions on its target change replicas.
    acts: bool,
    fit: OwnFit<'a>,
    past: FitPast,
}

impl ScalingTargets {
    /// The next work of a lane: models of traffic and loads take turns.
    pub fn next_work(&mut self, lane: FitLane, now: Timestamp) -> Option<FitWork> {
        let is_loads_turn = self.loads_turn.remove(&lane);
        let traffic = |targets: &mut Self| {
            let work = targets.next_traffic(lane, now);
            work.map(|work| FitWork::Traffic(Box::new(work)))
        };
        // Without its model, traffic raises nothing; without trees of its own, a load is forecast all the same.
        let first = (!is_loads_turn).then(|| traffic(self)).flatten();
        if first.is_some() {
            self.loads_turn.insert(lane);
            return first;
        }
        let loads = self.next_fits(lane, now).map(FitWork::Trees);
        loads.or_else(|| is_loads_turn.then(|| traffic(self)).flatten())
    }

    /// Takes what came of it.
    pub fn take_told(&mut self, told: FitTold, now: Timestamp) {
        match told {
            FitTold::Trees(fitted) => self.take_fitted(*fitted, now),
            FitTold::Traffic(fitted) => self.take_traffic(*fitted, now),
        }
    }

    /// The known loads of a workload, for a forecast beside the ticks; `None` where it is no target.
    pub fn known_loads(&self, workload: &TargetRef, now: Timestamp) -> Option<KnownLoads> {
        if !self.has_decided {
            return Some(KnownLoads {
                loads: Vec::new(),
                is_filling: true,
            });
        }
        let mut states = self.states.iter();
        let is_of = |key: &TargetKey| key.workload.is_same_workload(workload);
        let (_, state) = states.find(|(key, state)| is_of(key) && state.mode.is_some())?;
        Some(KnownLoads {
            loads: state.tracker.known_loads(now),
            is_filling: matches!(state.refill, None | Some(RefillState::Running)),
        })
    }

    /// The loads to be fitted next. Targets that act come first, and among them loads without any
    /// trees. The loads count as requested from here on.
    pub(crate) fn next_fits(&mut self, lane: FitLane, now: Timestamp) -> Option<FitBatch> {
        let due = self
            .states
            .iter()
            .flat_map(|(key, state)| due(key, state, now));
        let mut due: Vec<_> = due.filter(|one| one.past.lane() == lane).collect();
        due.sort_by_key(|one| (!one.acts, !one.fit.is_first, one.fit.end));
        let first = due.first()?;
        let (end, past) = (first.fit.end, first.past.clone());
        let same = |one: &&DueFit<'_>| one.fit.end == end && one.past == past;
        let loads = due.iter().filter(same).take(TOGETHER).map(|one| FitLoad {
            key: one.key.clone(),
            signal: one.fit.signal.clone(),
            window: one.fit.window,
            lesson: one.fit.lesson.clone(),
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
    pub(crate) fn take_fitted(&mut self, fitted: LoadFitResult, now: Timestamp) {
        let LoadFitResult { load, end } = fitted;
        if let Some(state) = self.states.get_mut(&load.key) {
            state.tracker.fitted(&load.signal, end, now);
        }
    }
}

/// The loads of a target that are due, as far as there is a past to be had. A target that cannot be
/// judged is left out: its next tick finds out why.
fn due<'a>(key: &'a TargetKey, state: &'a TargetState, now: Timestamp) -> Vec<DueFit<'a>> {
    if state.mode.is_none() {
        return Vec::new();
    }
    let fits = caught(|| state.tracker.fits_due(hour(key), now).collect::<Vec<_>>());
    let fits = fits.unwrap_or_default().into_iter();
    let due = fits.filter_map(|fit| {
        let past = past(key, state, fit.signal)?;
        let acts = state.acts();
        Some(DueFit {
            key,
            acts,
            fit,
            past,
        })
    });
    due.collect()
}
