//! The state of all targets, and one tick over them: measure, decide, plan, show.
//!
//! It runs on the blocking pool, one tick at a time, since ten thousand targets take a fifth of a
//! second. What is forgotten with a target is forgotten for good: one that comes back starts anew.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::board::BoardEntry;
use super::refill::{Asked, Filled};
use super::samples::Sample;
use super::show::{self, Picture};
use super::trace::{self, Trace, Traces};
use crate::api::history::ForecastBand;
use crate::api::scaling::{ObjectName, TargetStatus};
use crate::metrics::prometheus::WorkloadName;
use evenkeel_core::forecast::Shared;
use evenkeel_core::scaling::LimitedBy;
use evenkeel_core::scaling::tracker::{TickReport, Tracker};
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::Write;
use evenkeel_kubernetes::plan::scaling::contest::ContestInquiry;
use evenkeel_kubernetes::plan::scaling::owner::Owner;
use evenkeel_kubernetes::plan::scaling::refill::{self, RefillState};
use evenkeel_kubernetes::plan::scaling::{
    self, Context, Observed, PlanMemory, Resolved, Settings, TargetRef, conflicts, take_turns,
};

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
    states: HashMap<Key, TargetState>,
    tick: u64,
    /// The parameters that the models of all targets share.
    pub(super) shared: Arc<Shared>,
}

/// Everything that one tick reads.
pub(super) struct Tick<'a> {
    pub(super) now: Timestamp,
    pub(super) settings: Settings,
    /// The parameters that the models of all targets share.
    pub(super) shared: &'a Shared,
    /// The newest round of measurements, unless it is too old to hold.
    pub(super) sample: Option<&'a Sample>,
    /// True where this tick decides, and does not only measure.
    pub(super) decides: bool,
    /// The name of this replica in Events, where it plans.
    pub(super) leads: Option<&'a str>,
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
    /// The memory that all of them take.
    pub(super) bytes: usize,
}

/// One target at one tick.
#[derive(Clone, Copy)]
struct TargetView<'a> {
    key: &'a Key,
    observed: &'a Observed,
    resolved: &'a Resolved,
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
        for (observed, conflict) in observed.iter().zip(conflicts(observed)) {
            let key = Key::of(observed);
            let state = self.states.entry(key.clone()).or_default();
            state.tick = self.tick;
            let resolved = scaling::resolve(
                observed,
                conflict,
                &tick.settings,
                state.plans.record(tick.now),
                tick.now,
            );
            let target = TargetView {
                key: &key,
                observed,
                resolved: &resolved,
            };
            state.ask_for_past(target, tick, &mut ticked.past);
            state.measure(target, tick);
            if tick.decides {
                state.decide(target, tick, &mut ticked);
            }
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
    fn ask_for_past(&mut self, target: TargetView<'_>, tick: &Tick<'_>, past: &mut Asked) {
        let TargetView {
            observed, resolved, ..
        } = target;
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
    fn measure(&mut self, target: TargetView<'_>, tick: &Tick<'_>) {
        let TargetView {
            observed, resolved, ..
        } = target;
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

    fn decide(&mut self, target: TargetView<'_>, tick: &Tick<'_>, ticked: &mut Ticked) {
        let TargetView {
            observed, resolved, ..
        } = target;
        let now = tick.now;
        let report = resolved.target.as_ref().map(|target| {
            self.tracker
                .tick(&target.policy, &target.input(now, tick.shared))
        });
        if let Some(report) = &report {
            let limit = report.decision.limited_by.map_or("none", LimitedBy::reason);
            *self.decisions.entry(limit).or_default() += 1;
        }
        if let Some(reporter) = tick.leads
            && !self.waits_for_contester(target, ticked)
        {
            let context = Context { now, reporter };
            let writes = scaling::plan(
                observed,
                resolved,
                report.as_ref(),
                &mut self.plans,
                &context,
            );
            ticked.writes.extend(writes);
        }
        let picture = Picture {
            observed,
            resolved,
            report: report.as_ref(),
            status: self.plans.status(),
            refill: self.refill,
            now,
        };
        if let Some(status) = show::shown(&picture) {
            if let Some(report) = &report {
                draw(&status, report, tick);
            }
            let decisions = self.decisions.iter().map(|(by, count)| (*by, *count));
            ticked.shown.push(BoardEntry {
                status: Arc::new(status),
                decisions: decisions.collect(),
            });
        }
    }

    /// True while planning waits for the name of the other writer of contested bounds, which Event
    /// and condition are to name.
    fn waits_for_contester(&mut self, target: TargetView<'_>, ticked: &mut Ticked) -> bool {
        let TargetView {
            key,
            observed,
            resolved,
        } = target;
        let object = Owner::of(observed).and_then(|owner| owner.object(&observed.namespace));
        let before = self.contest;
        self.contest = before.next(resolved.is_contested(), object.is_some());
        if let Some(object) = object
            && before == ContestInquiry::None
            && self.contest == ContestInquiry::Asked
        {
            ticked.contested.push(Contested {
                key: key.clone(),
                object,
            });
        }
        self.contest == ContestInquiry::Asked
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
