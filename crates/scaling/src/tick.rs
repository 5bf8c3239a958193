//! The state of all targets, and one tick over them: measure, decide, plan, show.
//!
//! It runs on the blocking pool, one tick at a time, since ten thousand targets take a fifth of a
//! second. What is forgotten with a target is forgotten for good: one that comes back starts anew.

pub mod cadence;
mod checks;
mod cron_tally;
mod crons;
mod fit_past;
mod fits;
mod input_output;
mod key;
mod panic_isolation;
pub(crate) mod pod_coverage;
pub(crate) mod quarantine;
pub mod query_answers;
mod samples;
mod signal_answers;
mod target_state;
mod target_status;
mod target_tick;
mod traffic;
mod traffic_state;

use std::collections::{HashMap, HashSet};

use evenkeel_cron::CronSpec;
use jiff::Timestamp;

use self::crons::{CronMemories, Crons};
use self::key::WatchedTarget;
use self::target_state::TargetState;
use self::target_tick::{TickingTarget, decisions};
use crate::bounds_record::contest_inquiry::ContestInquiry;
use crate::targets::history_backfill::{
    BackfillNamespaces, FilledQuery, RefillState, SignalBackfill,
};
use crate::targets::resolve::conflicts;
use crate::targets::target_objects::TargetObjects;
use crate::writes::fairness::take_turns;

pub use self::cron_tally::CronTally;
pub use self::fit_past::{FitLane, FitPast};
pub use self::fits::{FitBatch, FitLoad, FitTold, FitWork, LoadFitResult};
pub use self::input_output::{
    Asks, ContestedTarget, PanickedWork, Plans, ScalingTickInput, ScalingTickOutput, WorkPanic,
};
pub use self::key::TargetKey;
pub use self::samples::{ScalingSample, resource_of};
pub use self::traffic::{TrafficFitted, TrafficWork};
pub use self::traffic_state::TrafficTold;

/// The number of targets with models that forecast together: enough for models that are faster at
/// many, and few enough for the processor's caches.
const TOGETHER: usize = 64;

/// The state of all targets.
#[derive(Debug, Default)]
pub struct ScalingTargets {
    states: HashMap<TargetKey, Box<TargetState>>,
    crons: CronMemories,
    /// The lanes in which loads are to be fitted before the next model of traffic.
    loads_turn: HashSet<FitLane>,
    tick: u64,
    /// False before the first tick that decides.
    has_decided: bool,
}

impl ScalingTargets {
    /// One tick over everything that is observed.
    pub fn tick(
        &mut self,
        observed: &[TargetObjects],
        tick: &ScalingTickInput<'_>,
    ) -> ScalingTickOutput {
        self.tick += 1;
        self.has_decided |= tick.decides;
        let mut ticked = ScalingTickOutput::default();
        ticked.asks.tick = self.tick;
        let conflicts = conflicts(observed);
        let seen = observed.iter().zip(&conflicts).enumerate();
        let seen = seen.map(|(place, (observed, &conflict))| WatchedTarget {
            observed,
            place,
            conflict,
        });
        let seen: Vec<_> = seen.collect();
        let mut crons = Crons::new(observed, &conflicts, tick, &mut self.crons);
        let states = HashMap::with_capacity(observed.len());
        let mut before = std::mem::replace(&mut self.states, states);
        for together in seen.chunks(TOGETHER) {
            let targets = together.iter().map(|&seen| {
                let key = TargetKey::of(seen.observed);
                let state = before.remove(&key).unwrap_or_default();
                TickingTarget::begin(key, state, seen, tick, &mut ticked)
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
        let quarantines = self
            .states
            .values()
            .filter_map(|state| state.quarantine.as_ref());
        let resting = quarantines.filter(|one| tick.now < one.until());
        ticked.quarantined = resting.count();
        let states = self.states.values().map(|state| state.tracker.bytes());
        let rules = tick.crons.iter().filter_map(|cron| cron.rules().ok());
        ticked.bytes = states.chain(rules.map(CronSpec::bytes)).sum();
        ticked
    }

    /// Takes a part of the past.
    pub fn fill(&mut self, filled: &SignalBackfill, now: Timestamp) -> Vec<WorkPanic> {
        let mut panics = Vec::new();
        let SignalBackfill {
            signal,
            resolution,
            sums,
        } = filled;
        for (key, state) in &mut self.states {
            if state.refill != Some(RefillState::Running) {
                continue;
            }
            if let Some(points) = sums.get(&key.workload_name()) {
                panics.extend(state.take_past(key, signal, (*resolution, points), now));
            }
        }
        panics
    }

    /// Takes a part of the past of a query.
    pub fn fill_query(&mut self, filled: &FilledQuery, now: Timestamp) -> Vec<WorkPanic> {
        let mut panics = Vec::new();
        let FilledQuery {
            query,
            resolution,
            points,
        } = filled;
        for (key, state) in &mut self.states {
            let mut own = state.past_queries.iter();
            let signal = own.find(|(_, text)| text == query);
            if let Some((signal, _)) = signal.cloned() {
                panics.extend(state.take_past(key, &signal, (*resolution, points), now));
            }
        }
        panics
    }

    /// Takes note that the targets of these namespaces have all of the past that there is; those
    /// that came since are still asked for.
    pub fn filled(&mut self, namespaces: &BackfillNamespaces) {
        for (key, state) in &mut self.states {
            let asked = namespaces.get(&*key.namespace);
            if let Some((before, &answered)) = state.refill.zip(asked) {
                state.refill = Some(before.after_answer(state.asked, answered));
            }
        }
    }

    /// Records the writer that contests the bounds of a target, if it is known.
    pub fn contested_by(&mut self, key: &TargetKey, manager: Option<String>) {
        if let Some(state) = self.states.get_mut(key) {
            state.plans.contest = ContestInquiry::Answered(manager);
        }
    }
}

#[cfg(test)]
mod tests;
