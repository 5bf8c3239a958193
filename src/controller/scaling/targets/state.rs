//! The state of one target between two ticks, and its load of this moment.

use std::collections::BTreeMap;

use super::answers::AnswersTaken;
use super::key::Seen;
use super::tick::Tick;
use crate::controller::scaling::refill::Asked;
use crate::controller::scaling::samples;
use evenkeel_core::scaling::carriers::Carriers;
use evenkeel_core::scaling::tracker::Tracker;
use evenkeel_kubernetes::plan::scaling::contest::ContestInquiry;
use evenkeel_kubernetes::plan::scaling::refill::{self, RefillState};
use evenkeel_kubernetes::plan::scaling::{
    self, Measured, Observed, PlanMemory, Quarantine, Resolved, TargetReaction, Told,
};

/// The state of one target.
#[derive(Debug, Default)]
pub(super) struct TargetState {
    pub(super) tracker: Tracker,
    pub(super) answers: AnswersTaken,
    pub(super) carriers: Carriers,
    pub(super) plans: PlanMemory,
    pub(super) refill: Option<RefillState>,
    /// The tick at which the past was asked for.
    pub(super) asked: u64,
    pub(super) contest: ContestInquiry,
    pub(super) decisions: BTreeMap<&'static str, u64>,
    pub(super) tick: u64,
    /// The count at the last tick, where it is reconciled here.
    pub(super) reconciled: Option<i32>,
    /// Where its work has panicked, until that counts as mended.
    pub(super) quarantine: Option<Quarantine>,
}

impl TargetState {
    /// Begins a tick: the objects of the target, resolved, and its load of this moment.
    pub(super) fn begin(&mut self, seen: Seen<'_>, tick: &Tick<'_>, past: &mut Asked) -> Resolved {
        let Seen {
            observed, conflict, ..
        } = seen;
        let remembered = self.plans.record(tick.now);
        let resolved = scaling::resolve(observed, conflict, &tick.settings, remembered, tick.now);
        self.ask_for_past(observed, &resolved, tick, past);
        self.measure(observed, &resolved, tick);
        resolved
    }

    /// What the HPA's algorithm reads of a target, where it is run here.
    pub(super) fn measured(
        &mut self,
        observed: &Observed,
        resolved: &Resolved,
        tick: &Tick<'_>,
    ) -> Option<Measured> {
        let target = resolved.target.as_ref();
        let target = target.filter(|one| matches!(one.reaction, TargetReaction::Reconciled(_)));
        let count = target.map(|target| target.current);
        let before = std::mem::replace(&mut self.reconciled, count);
        target?;
        let Observed {
            namespace, pods, ..
        } = observed;
        let readings = tick.sample.map_or_else(samples::unmeasured, |sample| {
            let max_age = tick.settings.max_age;
            sample.readings(namespace, &pods.members, tick.now, max_age)
        });
        let told = if before == count {
            Told::default()
        } else {
            scaling::told(observed)
        };
        Some(Measured::new(observed, readings, told))
    }

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

    /// Takes the load that has just become known, for the time that it is of.
    fn measure(&mut self, observed: &Observed, resolved: &Resolved, tick: &Tick<'_>) {
        let members = &observed.pods.members;
        self.carriers.see(members, tick.now);
        let Some((target, sample)) = resolved.target.as_ref().zip(tick.sample) else {
            return;
        };
        let signals = target.signals.iter().map(|scaled| &scaled.signal);
        let namespace = &observed.namespace;
        let observation = sample.observe(namespace, members, &self.carriers, signals.clone());
        for signal in signals {
            let load = observation.load(signal);
            if let Some(load) = load.filter(|_| self.answers.take(signal, sample, tick.now)) {
                // It is finite and not negative; one that is older than the history tells nothing.
                let _ = self.tracker.measure(signal, &load, tick.now);
            }
        }
    }
}
