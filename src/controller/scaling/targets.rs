//! The memory of all targets, and one tick over them: measure, decide, plan, show.
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
use crate::api::scaling::{ObjectName, RefillState, TargetStatus};
use crate::metrics::prometheus::WorkloadName;
use evenkeel_core::forecast::Shared;
use evenkeel_core::scaling::LimitedBy;
use evenkeel_core::scaling::tracker::{Report, Tracker};
use evenkeel_core::units::Resources;
use evenkeel_kubernetes::object_ref::ObjectRef;
use evenkeel_kubernetes::plan::Write;
use evenkeel_kubernetes::plan::scaling::owner::Owner;
use evenkeel_kubernetes::plan::scaling::{self, Context, Observed, Resolved, Settings, conflicts};

/// Kinds whose Pods tell by their names what they belong to.
const NAMED: [&str; 2] = ["Deployment", "StatefulSet"];

/// A Deployment with a longer name has Pods whose names are cut short.
const LONGEST_NAME: usize = 46;

/// What a target is known by as long as it lasts, whichever object carries its bounds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    namespace: Arc<str>,
    autoscaler: Option<String>,
    workload: scaling::Reference,
}

impl Key {
    fn of(observed: &Observed) -> Self {
        let autoscaler = observed.autoscaler.as_ref();
        Self {
            namespace: Arc::clone(&observed.namespace),
            autoscaler: autoscaler.and_then(|autoscaler| autoscaler.metadata.name.clone()),
            workload: observed.reference.clone(),
        }
    }
}

/// What is kept of one target.
#[derive(Debug, Default)]
struct Kept {
    tracker: Tracker,
    plans: scaling::Memory,
    refill: Option<RefillState>,
    /// The tick at which the past was asked for.
    asked: u64,
    contest: Contest,
    decisions: BTreeMap<&'static str, u64>,
    tick: u64,
}

/// Whether it is known who contests the bounds of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Contest {
    /// Nobody does.
    #[default]
    None,
    /// The API server is being asked.
    Asked,
    /// It has been asked.
    Known,
}

/// All targets.
#[derive(Debug, Default)]
pub(super) struct Targets {
    kept: HashMap<Key, Kept>,
    tick: u64,
    /// What their models share.
    pub(super) shared: Arc<Shared>,
}

/// What one tick works on.
pub(super) struct Tick<'a> {
    pub(super) now: Timestamp,
    pub(super) settings: Settings,
    /// What the models of all targets share.
    pub(super) shared: &'a Shared,
    /// The newest round of measurements, unless it is too old to hold.
    pub(super) sample: Option<&'a Sample>,
    /// Whether this tick decides, or only measures.
    pub(super) decides: bool,
    /// Whether this replica plans, and its name in Events.
    pub(super) leads: Option<&'a str>,
    /// Whether there is a past to be asked for.
    pub(super) has_past: bool,
    pub(super) traces: &'a Traces,
}

/// What one tick leaves to be done.
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
        let measured = tick.sample.map(Sample::measured);
        for (observed, conflict) in observed.iter().zip(conflicts(observed)) {
            let key = Key::of(observed);
            let kept = self.kept.entry(key.clone()).or_default();
            kept.tick = self.tick;
            let resolved =
                scaling::resolve(observed, conflict, &tick.settings, &kept.plans, tick.now);
            kept.ask_for_past(observed, &resolved, tick, &mut ticked.past);
            kept.measure(observed, &resolved, (tick, measured.as_ref()));
            if tick.decides {
                kept.decide(&key, (observed, &resolved), tick, &mut ticked);
            }
        }
        take_turns(&mut ticked.writes, self.tick);
        let newest = self.tick;
        self.kept.retain(|_, kept| kept.tick == newest);
        let mut traces = tick.traces.lock();
        if tick.decides {
            let there: HashSet<_> = ticked
                .shown
                .iter()
                .map(|entry| key_of(&entry.status))
                .collect();
            traces.retain(|key, _| there.contains(key));
        }
        let kept = self.kept.values().map(|kept| kept.tracker.bytes());
        ticked.bytes = kept.chain(traces.values().map(Trace::bytes)).sum();
        ticked
    }

    /// Takes a part of the past.
    pub(super) fn fill(&mut self, filled: &Filled, now: Timestamp) {
        let Filled {
            resource,
            resolution,
            sums,
        } = filled;
        for (key, kept) in &mut self.kept {
            if kept.refill != Some(RefillState::Running) {
                continue;
            }
            let scaling::Reference { kind, name } = &key.workload;
            let workload = WorkloadName {
                namespace: key.namespace.as_ref().into(),
                workload: format!("{kind}/{name}").into(),
            };
            if let Some(points) = sums.sums.get(&workload) {
                let points = points.iter().copied();
                kept.tracker.refill(*resource, *resolution, points, now);
            }
        }
    }

    /// Takes note that the targets of these namespaces have all of the past that there is; those
    /// that came since are still asked for.
    pub(super) fn filled(&mut self, namespaces: &Asked) {
        for (key, kept) in &mut self.kept {
            let asked = namespaces.get(&*key.namespace);
            let theirs = asked.is_some_and(|&tick| kept.asked <= tick);
            if theirs && kept.refill == Some(RefillState::Running) {
                kept.refill = Some(RefillState::Done);
            }
        }
    }

    /// Takes note of who contests the bounds of a target, as far as that could be learned.
    pub(super) fn contested_by(&mut self, key: &Key, manager: Option<String>) {
        if let Some(kept) = self.kept.get_mut(key) {
            kept.contest = Contest::Known;
            if let Some(manager) = manager {
                kept.plans.name_contester(manager);
            }
        }
    }
}

impl Kept {
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
        let scaling::Reference { kind, name } = &observed.reference;
        let state = if !tick.has_past {
            RefillState::NoPrometheus
        } else if !NAMED.contains(&&**kind) || name.len() > LONGEST_NAME {
            RefillState::NotByName
        } else {
            self.asked = self.tick;
            past.insert(observed.namespace.as_ref().into(), self.tick);
            RefillState::Running
        };
        self.refill = Some(state);
    }

    /// Takes the load of this moment.
    ///
    /// Half of the age that a measurement may have is left to it for being scraped and asked for;
    /// the tracker lets it stand for the other half.
    fn measure(
        &mut self,
        observed: &Observed,
        resolved: &Resolved,
        (tick, measured): (&Tick<'_>, Option<&Resources<Timestamp>>),
    ) {
        let (Some(target), Some(sample), Some(measured)) =
            (&resolved.target, tick.sample, measured)
        else {
            return;
        };
        for &(resource, _) in &target.capacities {
            let at = measured[resource];
            if tick.now.duration_since(at) > tick.settings.max_age {
                continue;
            }
            if let Some(sum) = sample.load(&observed.pods, resource) {
                // It is finite and not negative, and of now.
                let _ = self.tracker.measure(resource, tick.now, sum, tick.now);
            }
        }
    }

    fn decide(
        &mut self,
        key: &Key,
        (observed, resolved): (&Observed, &Resolved),
        tick: &Tick<'_>,
        ticked: &mut Ticked,
    ) {
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
            && !self.waits_for_contester(key, (observed, resolved), ticked)
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
            draw(&status, (resolved, report.as_ref()), tick);
            let decisions = self.decisions.iter().map(|(by, count)| (*by, *count));
            ticked.shown.push(BoardEntry {
                status: Arc::new(status),
                decisions: decisions.collect(),
            });
        }
    }

    /// Whether planning has to wait until it is known who contests the bounds: the Event and the
    /// condition are to name them.
    fn waits_for_contester(
        &mut self,
        key: &Key,
        (observed, resolved): (&Observed, &Resolved),
        ticked: &mut Ticked,
    ) -> bool {
        let contested = resolved.is_contested();
        self.contest = match (contested, self.contest) {
            (false, _) => Contest::None,
            (true, Contest::None) => {
                let owner = Owner::of(observed);
                match owner.and_then(|owner| owner.object(&observed.namespace)) {
                    Some(object) => {
                        ticked.contested.push(Contested {
                            key: key.clone(),
                            object,
                        });
                        Contest::Asked
                    }
                    None => Contest::Known,
                }
            }
            (true, asked) => asked,
        };
        self.contest == Contest::Asked
    }
}

/// Begins with another write at each tick, so that where the queue has no room for all it is not
/// always the same that find none.
fn take_turns(writes: &mut [Write], tick: u64) {
    // Multiples of the golden ratio lie evenly between 0 and 1, here between 0 and 2^64.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    let share = u128::from(tick.wrapping_mul(GOLDEN));
    let length = u128::try_from(writes.len()).unwrap_or_default();
    writes.rotate_left(usize::try_from((share * length) >> 64).unwrap_or_default());
}

/// Draws what this tick saw and said.
fn draw(shown: &TargetStatus, (resolved, report): (&Resolved, Option<&Report>), tick: &Tick<'_>) {
    let Some(report) = report else { return };
    let loads: Vec<trace::Observed> = report
        .loads
        .iter()
        .map(|load| trace::Observed {
            resource: load.resource,
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
    let floor = resolved
        .bounds
        .as_ref()
        .and_then(|bounds| bounds.floor(tick.now));
    let floor = floor.map(|floor| floor.replicas);
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
