//! The state of all targets, and one tick over them: measure, decide, plan, show.
//!
//! It runs on the blocking pool, one tick at a time, since ten thousand targets take a fifth of a
//! second. What is forgotten with a target is forgotten for good: one that comes back starts anew.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::board::BoardEntry;
use super::plans::{Decided, Plans};
use super::refill::{Asked, Filled};
use super::samples::Sample;
use super::show::{self, Picture};
use super::trace::{self, Trace, Traces};
use crate::api::history::ForecastBand;
use crate::api::scaling::{ObjectName, TargetStatus};
use crate::metrics::prometheus::WorkloadName;
use evenkeel_core::forecast::Shared;
use evenkeel_core::scaling::LimitedBy;
use evenkeel_core::scaling::tracker::{TargetTick, TickReport, Tracker, tick_together};
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::Write;
use evenkeel_kubernetes::plan::scaling::contest::ContestInquiry;
use evenkeel_kubernetes::plan::scaling::owner::Owner;
use evenkeel_kubernetes::plan::scaling::refill::{self, RefillState};
use evenkeel_kubernetes::plan::scaling::{
    self, Observed, PlanMemory, Resolved, Settings, TargetRef, conflicts, take_turns,
};

/// The number of targets whose models forecast together: as many as a model wants that is faster at
/// many, and so few that all of it stays near the processor.
const TOGETHER: usize = 64;

/// The identity of a target as long as it lasts, whichever object carries its bounds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    namespace: Arc<str>,
    autoscaler: Option<String>,
    workload: TargetRef,
}

impl Key {
    fn of(observed: &Observed) -> Self {
        let autoscaler = observed.autoscaler.as_ref();
        Self {
            namespace: Arc::clone(&observed.namespace),
            autoscaler: autoscaler.and_then(|autoscaler| autoscaler.metadata.name.clone()),
            workload: observed.target.clone(),
        }
    }
}

/// The state of one target.
#[derive(Debug, Default)]
struct TargetState {
    tracker: Tracker,
    plans: PlanMemory,
    refill: Option<RefillState>,
    /// The tick at which the past was asked for.
    asked: u64,
    contest: ContestInquiry,
    decisions: BTreeMap<&'static str, u64>,
    tick: u64,
}

/// The state of all targets.
#[derive(Debug, Default)]
pub(super) struct Targets {
    states: HashMap<Key, Box<TargetState>>,
    tick: u64,
}

/// Everything that one tick reads.
pub(super) struct Tick<'a> {
    pub(super) now: Timestamp,
    pub(super) settings: Settings,
    /// The context that the models of all targets share.
    pub(super) shared: &'a Shared,
    /// The newest round of measurements, unless it is too old to hold.
    pub(super) sample: Option<&'a Sample>,
    /// True where this tick decides, and does not only measure.
    pub(super) decides: bool,
    pub(super) plans: &'a Plans,
    /// True where there is a past to be asked for.
    pub(super) has_past: bool,
    pub(super) traces: &'a Traces,
}

/// The work that one tick leaves.
#[derive(Debug, Default)]
pub(super) struct Ticked {
    pub(super) writes: Vec<Write>,
    pub(super) shown: Vec<BoardEntry>,
    /// Namespaces with targets whose past is not known.
    pub(super) past: Asked,
    /// Targets whose bounds somebody contests.
    pub(super) contested: Vec<Contested>,
    /// Targets whose bounds are still to be put back, where that is what is planned.
    pub(super) restoring: usize,
    /// The memory that all of them take.
    pub(super) bytes: usize,
}

/// One target at one tick.
struct TickingTarget<'a> {
    key: Key,
    state: Box<TargetState>,
    observed: &'a Observed,
    resolved: Resolved,
}

/// A target whose bounds somebody contests.
#[derive(Debug)]
pub(super) struct Contested {
    pub(super) key: Key,
    pub(super) object: ObjectRef,
}

impl Targets {
    /// One tick over everything that is observed.
    pub(super) fn tick(&mut self, observed: &[Observed], tick: &Tick<'_>) -> Ticked {
        self.tick += 1;
        let mut ticked = Ticked::default();
        let conflicts = conflicts(observed);
        let together = observed.chunks(TOGETHER).zip(conflicts.chunks(TOGETHER));
        for (observed, conflicts) in together {
            let mut targets: Vec<_> = observed
                .iter()
                .zip(conflicts)
                .map(|(observed, &conflict)| self.begin(observed, conflict, tick, &mut ticked.past))
                .collect();
            let reports = if tick.decides {
                decisions(&mut targets, tick)
            } else {
                Vec::new()
            };
            for (target, report) in targets.iter_mut().zip(reports) {
                target.tell(report.as_ref(), tick, &mut ticked);
            }
            let states = targets.into_iter().map(|target| (target.key, target.state));
            self.states.extend(states);
        }
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
        let states = self.states.values().map(|state| state.tracker.bytes());
        ticked.bytes = states.chain(traces.values().map(Trace::bytes)).sum();
        ticked
    }

    /// Begins the tick of one target, whose state is the tick's until it is over.
    fn begin<'a>(
        &mut self,
        observed: &'a Observed,
        conflict: bool,
        tick: &Tick<'_>,
        past: &mut Asked,
    ) -> TickingTarget<'a> {
        let key = Key::of(observed);
        let mut state = self.states.remove(&key).unwrap_or_default();
        state.tick = self.tick;
        let remembered = state.plans.record(tick.now);
        let resolved = scaling::resolve(observed, conflict, &tick.settings, remembered, tick.now);
        state.ask_for_past(observed, &resolved, tick, past);
        state.measure(observed, &resolved, tick);
        TickingTarget {
            key,
            state,
            observed,
            resolved,
        }
    }

    /// Takes a part of the past.
    pub(super) fn fill(&mut self, filled: &Filled, now: Timestamp) {
        let Filled {
            signal,
            resolution,
            sums,
        } = filled;
        for (key, state) in &mut self.states {
            if state.refill != Some(RefillState::Running) {
                continue;
            }
            let workload = WorkloadName {
                namespace: key.namespace.as_ref().into(),
                workload: format!("{}/{}", key.workload.kind(), key.workload.name()).into(),
            };
            if let Some(points) = sums.sums.get(&workload) {
                let points = points.iter().copied();
                state.tracker.refill(signal, *resolution, points, now);
            }
        }
    }

    /// Takes note that the targets of these namespaces have all of the past that there is; those
    /// that came since are still asked for.
    pub(super) fn filled(&mut self, namespaces: &Asked) {
        for (key, state) in &mut self.states {
            let asked = namespaces.get(&*key.namespace);
            if let Some((before, &answered)) = state.refill.zip(asked) {
                state.refill = Some(before.after_answer(state.asked, answered));
            }
        }
    }

    /// Takes note of who contests the bounds of a target, as far as that could be learned.
    pub(super) fn contested_by(&mut self, key: &Key, manager: Option<String>) {
        if let Some(state) = self.states.get_mut(key) {
            state.contest = ContestInquiry::Answered;
            if let Some(manager) = manager {
                state.plans.name_contester(manager);
            }
        }
    }
}

impl TargetState {
    /// Sees to it that the past of a new target is asked for, where there is one to be had.
    fn ask_for_past(
        &mut self,
        observed: &Observed,
        resolved: &Resolved,
        tick: &Tick<'_>,
        past: &mut Asked,
    ) {
        if self.refill.is_some() || resolved.target.is_none() {
            return;
        }
        let state = refill::begin(&observed.target, tick.has_past);
        if state == RefillState::Running {
            self.asked = self.tick;
            past.insert(observed.namespace.as_ref().into(), self.tick);
        }
        self.refill = Some(state);
    }

    /// Takes the load of this moment.
    ///
    /// Half of the age that a measurement may have is left to it for being scraped and asked for;
    /// the tracker lets it stand for the other half.
    fn measure(&mut self, observed: &Observed, resolved: &Resolved, tick: &Tick<'_>) {
        let Some((target, sample)) = resolved.target.as_ref().zip(tick.sample) else {
            return;
        };
        let signals = target.signals.iter().map(|scaled| &scaled.signal);
        let members = &observed.pods.members;
        let observation = sample.observe(&observed.namespace, members, signals.clone());
        for signal in signals {
            let Some(load) = observation.load(signal) else {
                continue;
            };
            if tick.now.duration_since(load.measured) <= tick.settings.max_age {
                // It is finite and not negative, and of now.
                let _ = self.tracker.measure(signal, tick.now, load.value, tick.now);
            }
        }
    }
}

/// The decisions of targets, whose models forecast together; `None` for one that is none.
fn decisions(targets: &mut [TickingTarget<'_>], tick: &Tick<'_>) -> Vec<Option<TickReport>> {
    let decides = |target: &TickingTarget<'_>| target.resolved.target.is_some();
    let deciding: Vec<bool> = targets.iter().map(decides).collect();
    let ticks = targets.iter_mut().filter_map(|target| {
        let TickingTarget {
            state, resolved, ..
        } = target;
        let resolved = resolved.target.as_ref()?;
        Some(TargetTick {
            tracker: &mut state.tracker,
            policy: &resolved.policy,
            input: resolved.input(tick.now, tick.shared),
        })
    });
    let mut ticks: Vec<_> = ticks.collect();
    let mut reports = tick_together(&mut ticks).into_iter();
    let reports = deciding
        .into_iter()
        .map(|decides| decides.then(|| reports.next()).flatten());
    reports.collect()
}

impl TickingTarget<'_> {
    /// Plans and shows what was decided.
    fn tell(&mut self, report: Option<&TickReport>, tick: &Tick<'_>, ticked: &mut Ticked) {
        let now = tick.now;
        if let Some(report) = report {
            let limit = report.decision.limited_by.map_or("none", LimitedBy::reason);
            *self.state.decisions.entry(limit).or_default() += 1;
        }
        let names_contester = matches!(tick.plans, Plans::Decisions(_));
        if !names_contester || !self.waits_for_contester(ticked) {
            let decided = Decided {
                observed: self.observed,
                resolved: &self.resolved,
                report,
                now,
            };
            let writes = tick.plans.writes(&decided, &mut self.state.plans);
            let restores = *tick.plans == Plans::Restore && !writes.is_empty();
            ticked.restoring += usize::from(restores);
            ticked.writes.extend(writes);
        }
        let picture = Picture {
            observed: self.observed,
            resolved: &self.resolved,
            report,
            status: self.state.plans.status(),
            refill: self.state.refill,
            now,
        };
        if let Some(status) = show::shown(&picture) {
            if let Some(report) = report {
                draw(&status, report, tick);
            }
            let decisions = &self.state.decisions;
            let decisions = decisions.iter().map(|(by, count)| (*by, *count));
            ticked.shown.push(BoardEntry {
                status: Arc::new(status),
                decisions: decisions.collect(),
            });
        }
    }

    /// True while planning waits for the name of the other writer of contested bounds, which Event
    /// and condition are to name.
    fn waits_for_contester(&mut self, ticked: &mut Ticked) -> bool {
        let owner = Owner::of(self.observed);
        let object = owner.and_then(|owner| owner.object(&self.observed.namespace));
        let before = self.state.contest;
        self.state.contest = before.next(self.resolved.is_contested(), object.is_some());
        if let Some(object) = object
            && before == ContestInquiry::None
            && self.state.contest == ContestInquiry::Asked
        {
            ticked.contested.push(Contested {
                key: self.key.clone(),
                object,
            });
        }
        self.state.contest == ContestInquiry::Asked
    }
}

/// Adds the loads, forecasts and counts of this tick to the trace of a target.
fn draw(shown: &TargetStatus, report: &TickReport, tick: &Tick<'_>) {
    let loads: Vec<trace::Observed> = report
        .loads
        .iter()
        .map(|load| trace::Observed {
            signal: load.signal.clone(),
            load: load.now.filter(|_| load.measured == Some(tick.now)),
            forecast: load.model.and_then(|model| {
                let step = model.at_horizon?;
                let due = tick.now.checked_add(report.horizon).ok()?;
                let band = ForecastBand {
                    mean: step.mean,
                    lower80: step.interval80.lower,
                    upper80: step.interval80.upper,
                };
                Some(trace::DueForecast { due, band })
            }),
        })
        .collect();
    let floor = shown.floor.as_ref().map(|floor| floor.replicas);
    let mut traces = tick.traces.lock();
    let trace = traces.entry(key_of(shown)).or_default();
    trace.record(tick.now, shown.current, floor, &loads);
}

fn key_of(shown: &TargetStatus) -> trace::Key {
    let ObjectName { kind, name } = &shown.object;
    trace::Key {
        namespace: shown.namespace.as_ref().into(),
        kind: kind.clone(),
        name: name.clone(),
    }
}

#[cfg(test)]
mod tests;
