//! One target at one tick: it begins, decides together with others, and tells what it decided.
//!
//! A panic in the work on a target is that target's: its state, which is half changed, is thrown
//! away, and it rests in quarantine while the others go on.

use std::sync::Arc;

use super::checks;
use super::crons::{Crons, ScaledTarget};
use super::isolated::{Step, isolated};
use super::key::{Key, Seen};
use super::state::TargetState;
use super::tick::{Asks, Contested, Tick, Ticked};
use crate::api::history::ForecastBand;
use crate::api::scaling::{ObjectName, TargetStatus};
use crate::controller::scaling::board::BoardEntry;
use crate::controller::scaling::plans::{Decided, Plans};
use crate::controller::scaling::served::served;
use crate::controller::scaling::show::{self, Picture};
use crate::controller::scaling::trace;
use evenkeel_core::panicked::{Panicked, caught};
use evenkeel_core::scaling::contribution::Contribution;
use evenkeel_core::scaling::tracker::{ScaledSignal, TargetTick, TickReport, tick_together};
use evenkeel_core::scaling::{Check, LimitedBy};
use evenkeel_kubernetes::plan::scaling::contest::ContestInquiry;
use evenkeel_kubernetes::plan::scaling::owner::Owner;
use evenkeel_kubernetes::plan::scaling::{self, HpaInput, Learned, Quarantine, Resolved};

/// One target at one tick.
pub(super) struct TickingTarget<'a> {
    pub(super) key: Key,
    pub(super) state: Box<TargetState>,
    seen: Seen<'a>,
    resolved: Resolved,
    measured: Option<HpaInput>,
    /// Its stability checks, with what was learned for each.
    checks: Vec<Check>,
    /// The kinds of its traffic, with what one Pod carries of each.
    traffic: Vec<ScaledSignal>,
    /// What the CronHPAs ask for, where they are followed.
    crons: Option<Vec<Contribution>>,
}

/// The decision of a target, or the panic in its work.
type Reported = Result<TickReport, Panicked>;

/// The decisions of targets, whose models forecast together; `None` for one that is none.
pub(super) fn decisions(
    targets: &mut [TickingTarget<'_>],
    tick: &Tick<'_>,
) -> Vec<Option<Reported>> {
    let decides = |target: &TickingTarget<'_>| target.resolved.target.is_some();
    let deciding: Vec<bool> = targets.iter().map(decides).collect();
    let ticks = targets.iter_mut().filter_map(|target| {
        let TickingTarget {
            state,
            resolved,
            measured,
            checks,
            traffic: kinds,
            ..
        } = target;
        let TargetState {
            tracker, traffic, ..
        } = &mut **state;
        let resolved = resolved.target.as_ref()?;
        let named = resolved.traffic.as_ref();
        let traffic = named.map(|named| named.input(kinds, traffic.fit()));
        let learned = Learned {
            measured: measured.as_ref(),
            traffic,
            checks,
        };
        Some(TargetTick {
            tracker,
            policy: &resolved.policy,
            input: resolved.input(tick.now, tick.shared, learned),
        })
    });
    let mut ticks: Vec<_> = ticks.collect();
    let mut reports = tick_together(&mut ticks).into_iter();
    let reports = deciding
        .into_iter()
        .map(|decides| decides.then(|| reports.next()).flatten());
    reports.collect()
}

impl<'a> TickingTarget<'a> {
    /// Begins the tick of one target, whose state is the tick's until it is over.
    pub(super) fn begin(
        key: Key,
        mut state: Box<TargetState>,
        seen: Seen<'a>,
        tick: &Tick<'_>,
        asks: &mut Asks,
    ) -> Self {
        let now = tick.now;
        state.quarantine = state.quarantine.take().filter(|one| !one.is_mended(now));
        let resting = state.quarantine.as_mut();
        let resting = resting.and_then(|one| one.holds(seen.observed, now).then_some(&*one));
        let begun = match resting {
            Some(quarantine) => Ok((refused(quarantine, seen, tick), None)),
            None => isolated(&key, Step::Begin, || {
                let resolved = state.begin(seen, tick, asks);
                // Between two decisions nothing is reconciled.
                let measured = tick
                    .decides
                    .then(|| state.measured(seen.observed, &resolved, tick));
                (resolved, measured.flatten())
            }),
        };
        let (resolved, measured) = begun
            .unwrap_or_else(|panicked| (quarantined(&key, &mut state, seen, panicked, tick), None));
        let target = resolved.target.as_ref().filter(|_| tick.decides);
        let portraits = target.and_then(|target| target.portraits.as_deref());
        let checks = portraits.map_or_else(Vec::new, |portraits| {
            checks::learned(seen.observed, portraits, measured.as_ref(), tick)
        });
        let named = resolved.target.as_ref();
        let named = named.and_then(|target| target.traffic.as_ref());
        let traffic = named.map(|traffic| traffic.kinds_by(state.traffic.fit()));
        Self {
            key,
            state,
            seen,
            resolved,
            checks,
            measured,
            traffic: traffic.unwrap_or_default(),
            crons: None,
        }
    }

    /// One tick of the CronHPAs of the target, which decides within the bounds that they ask for.
    pub(super) fn follow_crons(
        &mut self,
        tick: &Tick<'_>,
        crons: &mut Crons<'_>,
        ticked: &mut Ticked,
    ) {
        let target = ScaledTarget {
            seen: self.seen,
            resolved: &self.resolved,
            is_contested: self.resolved.is_direct() && self.state.tracker.is_contested(tick.now),
        };
        let named = crons.named(self.seen.place);
        let followed = caught(|| crons.follow_all(&target, tick, ticked));
        if self.seen.observed.ihpa.is_some() && !named.is_empty() {
            let conflict = scaling::Problem::CronConflict(named.into());
            self.resolved.problems.push(conflict);
        }
        let taken = followed.and_then(|asked| {
            self.crons = asked;
            self.take_crons(tick)
        });
        if let Err(panicked) = taken {
            self.rest(panicked, tick);
        }
    }

    /// Puts what the CronHPAs ask for into what is resolved.
    fn take_crons(&mut self, tick: &Tick<'_>) -> Result<(), Panicked> {
        let crons = self.crons.clone();
        caught(|| {
            if let Some(crons) = crons {
                self.resolved.take_crons(crons, tick.now);
            }
        })
    }

    /// Plans and shows what was decided. Where that panics, it does so once more for a target in
    /// quarantine; where that panics too, only the log tells of it.
    pub(super) fn tell(&mut self, report: Option<Reported>, tick: &Tick<'_>, ticked: &mut Ticked) {
        let report = match report {
            Some(Err(panicked)) => {
                self.rest(panicked, tick);
                None
            }
            Some(Ok(report)) => Some(report),
            None => None,
        };
        let target = self.resolved.target.as_ref();
        let decided = report.as_ref().and(target);
        self.state.mode = decided.map(|target| target.policy.mode);
        let told = self
            .tries_to_tell(report.as_ref(), tick)
            .or_else(|panicked| {
                self.rest(panicked, tick);
                self.tries_to_tell(None, tick)
            });
        match told {
            Ok(told) => ticked.absorb(told),
            Err(error) => tracing::error!(
                namespace = &*self.key.namespace,
                target = %self.key.workload,
                %error,
                "a target in quarantine cannot be shown"
            ),
        }
    }

    fn rest(&mut self, panicked: Panicked, tick: &Tick<'_>) {
        self.resolved = quarantined(&self.key, &mut self.state, self.seen, panicked, tick);
        // Where that panics as well, there are no bounds, and those of the object stay as they are.
        let _ = self.take_crons(tick);
    }

    fn tries_to_tell(
        &mut self,
        report: Option<&TickReport>,
        tick: &Tick<'_>,
    ) -> Result<Ticked, Panicked> {
        let key = self.key.clone();
        isolated(&key, Step::Tell, || {
            let mut told = Ticked::default();
            self.tell_of(report, tick, &mut told);
            told
        })
    }

    fn tell_of(&mut self, report: Option<&TickReport>, tick: &Tick<'_>, ticked: &mut Ticked) {
        let now = tick.now;
        if let Some(report) = report {
            let limit = report.decision.limited_by.map_or("none", LimitedBy::reason);
            *self.state.decisions.entry(limit).or_default() += 1;
            if tick.serves {
                ticked.served.extend(served(self.seen.observed, report));
            }
        }
        let names_contester = matches!(tick.plans, Plans::Decisions(_));
        if !names_contester || !self.waits_for_contester(report, ticked) {
            let decided = Decided {
                observed: self.seen.observed,
                resolved: &self.resolved,
                report,
                now,
            };
            let mut writes = tick.plans.writes(&decided, &mut self.state.plans);
            if tick.balances_scale_in {
                let scale_in = tick.plans.scale_in(&decided, &mut writes);
                ticked.scale_ins.extend(scale_in);
            }
            let is_left = !writes.is_empty() || self.resolved.has_damaged_record();
            ticked.restoring += usize::from(*tick.plans == Plans::Restore && is_left);
            ticked.writes.extend(writes);
        }
        let picture = Picture {
            observed: self.seen.observed,
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
                mode: self.resolved.mode,
                status: Arc::new(status),
                decisions: decisions.collect(),
            });
        }
    }

    /// True while planning waits for the name of the other writer of contested bounds, which Event
    /// and condition are to name.
    fn waits_for_contester(&mut self, report: Option<&TickReport>, ticked: &mut Ticked) -> bool {
        let owner = Owner::of(self.seen.observed);
        let object = owner.and_then(|owner| owner.object(&self.seen.observed.namespace));
        let before = self.state.contest;
        let contested = report.is_some_and(|report| report.decision.is_contested());
        let contested = contested || self.resolved.is_contested();
        self.state.contest = before.next(contested, object.is_some());
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

/// Puts a target into quarantine, and forgets its state.
fn quarantined(
    key: &Key,
    state: &mut TargetState,
    seen: Seen<'_>,
    panicked: Panicked,
    tick: &Tick<'_>,
) -> Resolved {
    let before = state.quarantine.take();
    tracing::error!(
        namespace = &*key.namespace,
        target = %key.workload,
        error = %panicked,
        "the work on a scaling target panicked; it is paused, and other targets continue"
    );
    let quarantine = Quarantine::begin(seen.observed, panicked, before.as_ref(), tick.now);
    let resolved = refused(&quarantine, seen, tick);
    *state = TargetState {
        tick: state.tick,
        quarantine: Some(quarantine),
        ..TargetState::default()
    };
    resolved
}

/// The resolved form of a target in quarantine; its objects may be what broke the work.
fn refused(quarantine: &Quarantine, seen: Seen<'_>, tick: &Tick<'_>) -> Resolved {
    let Seen {
        observed, conflict, ..
    } = seen;
    let resolved = caught(|| scaling::resolve(observed, conflict, &tick.settings, None, tick.now));
    quarantine.refuse(resolved.ok())
}

/// Adds the loads, forecasts and counts of this tick to the trace of a target.
fn draw(shown: &TargetStatus, report: &TickReport, tick: &Tick<'_>) {
    let loads: Vec<trace::Observed> = report
        .loads
        .iter()
        .map(|load| trace::Observed {
            signal: load.signal.clone(),
            load: load.at.zip(load.now),
            forecast: load.model.and_then(|model| {
                let step = model.at_horizon?;
                let due = tick.now.checked_add(report.horizon.ahead()).ok()?;
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

pub(super) fn key_of(shown: &TargetStatus) -> trace::Key {
    let ObjectName { kind, name } = &shown.object;
    trace::Key {
        namespace: shown.namespace.as_ref().into(),
        kind: kind.clone(),
        name: name.clone(),
    }
}
