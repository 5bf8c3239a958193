//! One target at one tick: it begins, decides together with others, and tells what it decided.
//!
//! A panic in the work on a target is that target's: its state, which is half changed, is thrown
//! away, and it rests in quarantine while the others go on.

use std::sync::Arc;

use evenkeel_metrics::load_unit::LoadUnit;
use evenkeel_objects::plan::Write;
use evenkeel_objects::plan::context::PlanContext;
use evenkeel_units::panic_error::{PanicError, caught};

use super::crons::{Crons, ScaledTarget};
use super::input_output::{
    ContestedTarget, PanickedWork, Plans, ScalingTickInput, ScalingTickOutput, WorkPanic,
};
use super::key::{TargetKey, WatchedTarget};
use super::panic_isolation::{TargetWorkStep, isolated};
use super::quarantine::Quarantine;
use super::target_state::TargetState;
use super::{checks, target_status};
use crate::bounds_record::contest_inquiry::ContestInquiry;
use crate::external_metrics::{KnownLoad, ServedLoad};
use crate::limits::LimitedBy;
use crate::merge::recommendation::Recommendation;
use crate::recommend::merged_portraits::StabilityCheck;
use crate::status::memory::PlanMemory;
use crate::targets::hpa_input::HpaInput;
use crate::targets::owner::Owner;
use crate::targets::problem::TargetProblem;
use crate::targets::resolve;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::target_objects::TargetObjects;
use crate::tracker::{ScaledSignal, TargetTick, TickInput, TickReport, tick_together};
use crate::writes;
use crate::writes::scale_in;

/// One target at one tick.
pub(super) struct TickingTarget<'a> {
    pub(super) key: TargetKey,
    pub(super) state: Box<TargetState>,
    seen: WatchedTarget<'a>,
    resolved: ResolvedTarget,
    measured: Option<HpaInput>,
    /// Its stability checks, with what was learned for each.
    checks: Vec<StabilityCheck>,
    /// The kinds of its traffic, with what one Pod carries of each.
    traffic: Vec<ScaledSignal>,
    /// The requests of the CronHPAs, if they are followed.
    crons: Option<Vec<Recommendation>>,
}

/// The decision of a target, or the panic in its work.
type TickReportResult = Result<TickReport, PanicError>;

/// The decisions of targets, with models that forecast together; `None` for an object that is no target.
pub(super) fn decisions(
    targets: &mut [TickingTarget<'_>],
    tick: &ScalingTickInput<'_>,
) -> Vec<Option<TickReportResult>> {
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
        Some(TargetTick {
            tracker,
            policy: &resolved.policy,
            input: TickInput {
                traffic,
                ..resolved.input(tick.now, tick.shared, measured.as_ref(), checks)
            },
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
    /// Begins the tick of one target; the tick owns the state until it is over.
    pub(super) fn begin(
        key: TargetKey,
        mut state: Box<TargetState>,
        seen: WatchedTarget<'a>,
        tick: &ScalingTickInput<'_>,
        ticked: &mut ScalingTickOutput,
    ) -> Self {
        let now = tick.now;
        state.quarantine = state.quarantine.take().filter(|one| !one.is_mended(now));
        let resting = state.quarantine.as_mut();
        let resting = resting.and_then(|one| one.holds(seen.observed, now).then_some(&*one));
        let begun = match resting {
            Some(quarantine) => Ok((refused(quarantine, seen, tick), None)),
            None => isolated(&key, TargetWorkStep::Begin, || {
                let resolved = state.begin(seen, tick, &mut ticked.asks);
                // Between two decisions nothing is reconciled.
                let measured = tick
                    .decides
                    .then(|| state.measured(seen.observed, &resolved, tick));
                (resolved, measured.flatten())
            }),
        };
        let (resolved, measured) = begun.unwrap_or_else(|panicked| {
            let panic = WorkPanic::of_target(&key, PanickedWork::Target, panicked.clone());
            ticked.panics.push(panic);
            (quarantined(&mut state, seen, panicked, tick), None)
        });
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
        tick: &ScalingTickInput<'_>,
        crons: &mut Crons<'_>,
        ticked: &mut ScalingTickOutput,
    ) {
        let contest = &self.state.tracker.decision.contest;
        let target = ScaledTarget {
            seen: self.seen,
            resolved: &self.resolved,
            is_contested: contest.until(tick.now).is_some() && self.resolved.is_direct(),
        };
        let named = crons.named(self.seen.place);
        let followed = caught(|| crons.follow_all(&target, tick, ticked));
        if self.seen.observed.ihpa.is_some() && !named.is_empty() {
            let conflict = TargetProblem::CronConflict(named.into());
            self.resolved.problems.push(conflict);
        }
        let taken = followed.and_then(|asked| {
            self.crons = asked;
            self.take_crons(tick)
        });
        if let Err(panicked) = taken {
            self.rest(panicked, tick, ticked);
        }
    }

    /// Puts what the CronHPAs ask for into what is resolved.
    fn take_crons(&mut self, tick: &ScalingTickInput<'_>) -> Result<(), PanicError> {
        let crons = self.crons.clone();
        caught(|| {
            if let Some(crons) = crons {
                self.resolved.take_crons(crons, tick.now);
            }
        })
    }

    /// Plans and shows what was decided. Where that panics, it does so once more for a target in
    /// quarantine; where that panics too, only the log tells of it.
    pub(super) fn tell(
        &mut self,
        report: Option<TickReportResult>,
        tick: &ScalingTickInput<'_>,
        ticked: &mut ScalingTickOutput,
    ) {
        let report = match report {
            Some(Err(panicked)) => {
                self.rest(panicked, tick, ticked);
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
                self.rest(panicked, tick, ticked);
                self.tries_to_tell(None, tick)
            });
        match told {
            Ok(told) => ticked.absorb(told),
            Err(error) => ticked.panics.push(WorkPanic::of_target(
                &self.key,
                PanickedWork::Quarantined,
                error,
            )),
        }
    }

    fn rest(
        &mut self,
        panicked: PanicError,
        tick: &ScalingTickInput<'_>,
        ticked: &mut ScalingTickOutput,
    ) {
        let panic = WorkPanic::of_target(&self.key, PanickedWork::Target, panicked.clone());
        ticked.panics.push(panic);
        self.resolved = quarantined(&mut self.state, self.seen, panicked, tick);
        // Where that panics as well, there are no bounds, and those of the object stay as they are.
        let _ = self.take_crons(tick);
    }

    fn tries_to_tell(
        &mut self,
        report: Option<&TickReport>,
        tick: &ScalingTickInput<'_>,
    ) -> Result<ScalingTickOutput, PanicError> {
        let key = self.key.clone();
        isolated(&key, TargetWorkStep::Tell, || {
            let mut told = ScalingTickOutput::default();
            self.tell_of(report, tick, &mut told);
            told
        })
    }

    fn tell_of(
        &mut self,
        report: Option<&TickReport>,
        tick: &ScalingTickInput<'_>,
        ticked: &mut ScalingTickOutput,
    ) {
        if let Some(report) = report {
            let limit = report.decision.limited_by.map_or("none", LimitedBy::reason);
            *self.state.decisions.entry(limit).or_default() += 1;
            if tick.serves {
                ticked.served.extend(served(self.seen.observed, report));
            }
        }
        let names_contester = matches!(tick.plans, Plans::Decisions(_));
        if !names_contester || !self.waits_for_contester(report, ticked) {
            let mut writes = self.writes(report, tick);
            if tick.balances_scale_in && names_contester {
                let (observed, now) = (self.seen.observed, tick.now);
                let scale_in =
                    scale_in::scale_in(observed, &self.resolved, report, now, &mut writes);
                ticked.scale_ins.extend(scale_in);
            }
            let is_left = !writes.is_empty() || self.resolved.has_damaged_record();
            ticked.restoring += usize::from(*tick.plans == Plans::Restore && is_left);
            ticked.writes.extend(writes);
        }
        let (observed, state) = (self.seen.observed, &self.state);
        let status = target_status::shown(observed, &self.resolved, report, state, tick.now);
        ticked.shown.extend(status.map(Arc::new));
    }

    /// The writes that this replica makes for the target.
    fn writes(&mut self, report: Option<&TickReport>, tick: &ScalingTickInput<'_>) -> Vec<Write> {
        let (observed, resolved, now) = (self.seen.observed, &self.resolved, tick.now);
        let memory = &mut self.state.plans;
        match tick.plans {
            Plans::Nothing => {
                writes::follow(resolved, memory, now);
                Vec::new()
            }
            Plans::Decisions(reporter) => {
                let context = PlanContext { now, reporter };
                writes::plan(observed, resolved, report, memory, &context)
            }
            Plans::Restore => {
                let writes = writes::restore(observed, resolved);
                if writes.is_empty() {
                    // Nothing is left to restore, so the memory of earlier writes has no more use.
                    *memory = PlanMemory::default();
                }
                writes
            }
        }
    }

    /// True while planning waits for the name of the other writer of contested bounds, which Event
    /// and condition are to name.
    fn waits_for_contester(
        &mut self,
        report: Option<&TickReport>,
        ticked: &mut ScalingTickOutput,
    ) -> bool {
        let owner = Owner::of(self.seen.observed);
        let object = owner.and_then(|owner| owner.object(&self.seen.observed.namespace));
        let contested = report.is_some_and(|report| report.decision.is_contested());
        let contested = contested || self.resolved.is_contested();
        let memory = &mut self.state.plans;
        let before = std::mem::take(&mut memory.contest);
        let begins = before == ContestInquiry::None;
        memory.contest = before.next(contested, object.is_some());
        let waits = memory.contest == ContestInquiry::Asked;
        if let Some(object) = object.filter(|_| begins && waits) {
            ticked.contested.push(ContestedTarget {
                key: self.key.clone(),
                object,
            });
        }
        waits
    }
}

/// Puts a target into quarantine, and forgets its state.
fn quarantined(
    state: &mut TargetState,
    seen: WatchedTarget<'_>,
    panicked: PanicError,
    tick: &ScalingTickInput<'_>,
) -> ResolvedTarget {
    let before = state.quarantine.take();
    let quarantine = Quarantine::begin(seen.observed, panicked, before.as_ref(), tick.now);
    let resolved = refused(&quarantine, seen, tick);
    *state = TargetState {
        quarantine: Some(quarantine),
        ..TargetState::default()
    };
    resolved
}

/// The resolved form of a target in quarantine; its objects may be what broke the work.
fn refused(
    quarantine: &Quarantine,
    seen: WatchedTarget<'_>,
    tick: &ScalingTickInput<'_>,
) -> ResolvedTarget {
    let WatchedTarget {
        observed, conflict, ..
    } = seen;
    let resolved = caught(|| resolve::resolve(observed, conflict, &tick.settings, None, tick.now));
    quarantine.refuse(resolved.ok())
}

/// The loads of one target that are forecast, known or not: of one that is reacted to only, none is
/// expected.
fn served(
    observed: &TargetObjects,
    report: &TickReport,
) -> impl Iterator<Item = (Arc<str>, ServedLoad)> {
    let forecast = report.loads.iter().filter(|load| load.is_forecast);
    forecast.map(|load| {
        let known = load.expected.zip(load.measured);
        let known = known.map(|(expected, measured)| KnownLoad {
            value: LoadUnit::of(&load.signal).quantity(expected.load),
            basis: expected.basis,
            measured,
        });
        let (kind, name) = (observed.target.kind(), observed.target.name());
        let load = ServedLoad::new(kind, name, &load.signal.to_string(), known);
        (Arc::clone(&observed.namespace), load)
    })
}
