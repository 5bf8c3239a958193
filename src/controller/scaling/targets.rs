//! The state of all targets, and one tick over them: measure, decide, plan, show.
//!
//! It runs on the blocking pool, one tick at a time, since ten thousand targets take a fifth of a
//! second. What is forgotten with a target is forgotten for good: one that comes back starts anew.

mod checks;
mod crons;
mod fit_past;
mod fits;
mod key;
mod panic_isolation;
mod signal_answers;
mod state;
mod target_tick;
mod tick;
mod traffic;
mod traffic_state;

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use self::crons::{CronMemories, Crons};
use self::key::{TargetKey, WatchedTarget};
use self::state::TargetRuntime;
use self::target_tick::{TickingTarget, decisions, key_of};
use super::history_backfill::{BackfillNamespaces, FilledQuery, SignalBackfill};
use super::recent_history::RecentTargetHistory;
use evenkeel_core::scaling::cron::CronSpec;
use evenkeel_kubernetes::plan::scaling::contest::ContestInquiry;
use evenkeel_kubernetes::plan::scaling::history_backfill::RefillState;
use evenkeel_kubernetes::plan::scaling::{TargetObjects, conflicts, take_turns};

pub(super) use self::fit_past::{FitLane, FitPast};
pub(super) use self::fits::{FitBatch, FitEnd, FitLoad, FitTold, FitWork, LoadFitResult};
pub(super) use self::tick::{ContestedTarget, ScalingTickInput, ScalingTickOutput};
pub(super) use self::traffic::{TrafficFitted, TrafficWork};
pub(super) use self::traffic_state::TrafficTold;

/// The number of targets with models that forecast together: enough for models that are faster at
/// many, and few enough for the processor's caches.
const TOGETHER: usize = 64;

/// The state of all targets.
#[derive(Debug, Default)]
pub(super) struct ScalingTargets {
    states: HashMap<TargetKey, Box<TargetRuntime>>,
    crons: CronMemories,
    /// The lanes in which loads are to be fitted before the next model of traffic.
    loads_turn: HashSet<FitLane>,
    tick: u64,
}

impl ScalingTargets {
    /// One tick over everything that is observed.
    pub(super) fn tick(
        &mut self,
        observed: &[TargetObjects],
        tick: &ScalingTickInput<'_>,
    ) -> ScalingTickOutput {
        self.tick += 1;
        let mut ticked = ScalingTickOutput::default();
        let conflicts = conflicts(observed);
        let seen = observed.iter().zip(&conflicts).enumerate();
        let seen = seen.map(|(place, (observed, &conflict))| WatchedTarget {
            observed,
            place,
            conflict,
        });
        let seen: Vec<_> = seen.collect();
        let mut crons = Crons::new(observed, &conflicts, tick, &mut self.crons);
        for together in seen.chunks(TOGETHER) {
            let targets = together.iter().map(|&seen| {
                let key = TargetKey::of(seen.observed);
                let mut state = self.states.remove(&key).unwrap_or_default();
                state.tick = self.tick;
                TickingTarget::begin(key, state, seen, tick, &mut ticked.asks)
            });
            let mut targets: Vec<_> = targets.collect();
            let reports = if tick.decides {
                for target in &mut targets {
                    target.follow_crons(tick, &mut crons, &mut ticked);
                }
                decisions(&mut targets, tick)
            } else {
                Vec::new()
            };
            for (target, report) in targets.iter_mut().zip(reports) {
                target.tell(report, tick, &mut ticked);
            }
            let states = targets.into_iter().map(|target| (target.key, target.state));
            self.states.extend(states);
        }
        crons.refuse_the_others(tick, &mut ticked);
        take_turns(&mut ticked.writes, self.tick);
        let newest = self.tick;
        self.states.retain(|_, state| state.tick == newest);
        let mut traces = tick.traces.lock();
        if tick.decides {
            let there: HashSet<_> = ticked
                .shown
                .iter()
                .map(|entry| key_of(&entry.status))
                .collect();
            traces.retain(|key, _| there.contains(key));
        }
        let quarantines = self
            .states
            .values()
            .filter_map(|state| state.quarantine.as_ref());
        let resting = quarantines.filter(|one| tick.now < one.until());
        ticked.quarantined = resting.count();
        let states = self.states.values().map(|state| state.tracker.bytes());
        let rules = tick.crons.iter().filter_map(|cron| cron.rules().ok());
        let kept = states.chain(traces.values().map(RecentTargetHistory::bytes));
        ticked.bytes = kept.chain(rules.map(CronSpec::bytes)).sum();
        ticked
    }

    /// Takes a part of the past.
    pub(super) fn fill(&mut self, filled: &SignalBackfill, now: Timestamp) {
        let SignalBackfill {
            signal,
            resolution,
            sums,
        } = filled;
        for (key, state) in &mut self.states {
            if state.refill != Some(RefillState::Running) {
                continue;
            }
            if let Some(points) = sums.sums.get(&key.workload_name()) {
                state.take_past(&key.workload, signal, (*resolution, points), now);
            }
        }
    }

    /// Takes a part of the past of a query.
    pub(super) fn fill_query(&mut self, filled: &FilledQuery, now: Timestamp) {
        let FilledQuery {
            query,
            resolution,
            points,
        } = filled;
        for (key, state) in &mut self.states {
            let mut own = state.past_queries.iter();
            let signal = own.find(|(_, text)| text == query);
            if let Some((signal, _)) = signal.cloned() {
                state.take_past(&key.workload, &signal, (*resolution, points), now);
            }
        }
    }

    /// Takes note that the targets of these namespaces have all of the past that there is; those
    /// that came since are still asked for.
    pub(super) fn filled(&mut self, namespaces: &BackfillNamespaces) {
        for (key, state) in &mut self.states {
            let asked = namespaces.get(&*key.namespace);
            if let Some((before, &answered)) = state.refill.zip(asked) {
                state.refill = Some(before.after_answer(state.asked, answered));
            }
        }
    }

    /// Records the writer that contests the bounds of a target, if it is known.
    pub(super) fn contested_by(&mut self, key: &TargetKey, manager: Option<String>) {
        if let Some(state) = self.states.get_mut(key) {
            state.contest = ContestInquiry::Answered;
            if let Some(manager) = manager {
                state.plans.name_contester(manager);
            }
        }
    }
}

#[cfg(test)]
mod tests;
