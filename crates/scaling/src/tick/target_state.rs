//! The state of one target between two ticks, and its load of this moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_forecast::Resolution;
use evenkeel_metrics::signal::{Signal, ValueScope};
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_units::panic_error::caught;
use jiff::Timestamp;

use super::checks;
use super::input_output::{Asks, PanickedWork, ScalingTickInput, WorkPanic};
use super::key::{TargetKey, WatchedTarget};
use super::pod_coverage::PodCoverage;
use super::quarantine::Quarantine;
use super::signal_answers::{SignalAnswers, readings, signal_answers};
use super::traffic_state::TrafficState;
use crate::ihpa;
use crate::load::observation::TargetObservation;
use crate::load::serving_pods::ServingPods;
use crate::status::last_status;
use crate::status::memory::PlanMemory;
use crate::targets::history_backfill::{Points, RefillState};
use crate::targets::hpa_input::{HpaInput, LastStatus};
use crate::targets::problem::TargetProblem;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::scaling_target::TargetReaction;
use crate::targets::target_objects::TargetObjects;
use crate::targets::{history_backfill, resolve};
use crate::tracker::measurement_dedup::AnswersTaken;
use crate::tracker::{LoadTracker, ScaledSignal, UNSCALED};

/// Why nothing is decided on what some of the Pods use.
const PODS_MISSING: &str = "too few of its Pods are known yet";

/// The state of one target between two ticks.
#[derive(Debug, Default)]
pub(super) struct TargetState {
    pub(super) tracker: LoadTracker,
    pub(super) answers: AnswersTaken,
    /// The signals with one value for each Pod.
    pub(super) of_each_pod: Vec<Signal>,
    /// The signals by queries, each with the text by which its past was asked for.
    pub(super) past_queries: Vec<(Signal, Arc<str>)>,
    pub(super) traffic: TrafficState,
    pub(super) carriers: ServingPods,
    pub(super) missing_pods: PodCoverage,
    pub(super) plans: PlanMemory,
    pub(super) refill: Option<RefillState>,
    /// The tick at which the past was asked for.
    pub(super) asked: u64,
    pub(super) decisions: BTreeMap<&'static str, u64>,
    /// How decisions on it act, where its newest tick came to one.
    pub(super) mode: Option<ScalingMode>,
    /// Where its work has panicked, until that counts as mended.
    pub(super) quarantine: Option<Quarantine>,
}

impl TargetState {
    /// True where its decisions change replicas: what it learns is not to wait for that of others.
    pub(super) const fn acts(&self) -> bool {
        matches!(self.mode, Some(ScalingMode::Floor | ScalingMode::Direct))
    }

    /// Begins a tick: the objects of the target, resolved, and its load of this moment.
    pub(super) fn begin(
        &mut self,
        seen: WatchedTarget<'_>,
        tick: &ScalingTickInput<'_>,
        asks: &mut Asks,
    ) -> ResolvedTarget {
        let WatchedTarget {
            observed, conflict, ..
        } = seen;
        if let Some(&count) = tick.scaled.get(observed.target.object()) {
            self.tracker.decision.written(count);
        }
        let remembered = self.plans.record(tick.now);
        let mut resolved =
            resolve::resolve(observed, conflict, &tick.settings, remembered, tick.now);
        ihpa::portray(observed, &mut resolved, &mut self.plans, tick.now);
        if let Some(problem) = self.missing_pods.see(observed, tick.now) {
            resolved.refuse(problem);
        }
        self.ask_for_past(observed, &resolved, tick, asks);
        self.carriers.see(&observed.pods.members, tick.now);
        let target = resolved.target.as_ref();
        self.traffic
            .follow(target.and_then(|target| target.traffic.as_ref()), tick.now);
        if let Some(target) = target {
            let portraits = target.portraits.as_deref();
            let checks = portraits.map(|portraits| checks::wanted(observed, portraits));
            asks.checks.extend(checks.into_iter().flatten());
            let known = signal_answers(observed, target, tick, &mut asks.wanted);
            if tick.has_past {
                self.ask_for_past_of_queries(&known.queries, asks);
            }
            let problems = if self.missing_pods.are_missing() {
                known.problems
            } else {
                self.measure(observed, &target.measured(), known, tick)
            };
            resolved.problems.extend(problems);
        }
        resolved
    }

    /// Takes a part of the past of a signal; one that breaks the target costs it all that it knows.
    pub(super) fn take_past(
        &mut self,
        key: &TargetKey,
        signal: &Signal,
        (resolution, points): (Resolution, &Points),
        now: Timestamp,
    ) -> Option<WorkPanic> {
        let points = points.iter().copied();
        let filled = caught(|| self.tracker.refill(signal, resolution, points, now));
        let error = filled.err()?;
        *self = Self {
            refill: Some(RefillState::Done),
            ..Self::default()
        };
        Some(WorkPanic::of_target(key, PanickedWork::History, error))
    }

    /// Sees to it that the past of a query is asked for once, whichever Pods it names later.
    fn ask_for_past_of_queries(&mut self, queries: &[(Signal, Arc<str>)], asks: &mut Asks) {
        self.past_queries
            .retain(|(known, _)| queries.iter().any(|(signal, _)| signal == known));
        for (signal, query) in queries {
            if self.past_queries.iter().any(|(known, _)| known == signal) {
                continue;
            }
            self.past_queries.push((signal.clone(), Arc::clone(query)));
            asks.past_queries.push(Arc::clone(query));
        }
    }

    /// Takes the loads that have just become known, each for the time that it is of. Gives the signals
    /// that cannot be had.
    fn measure(
        &mut self,
        observed: &TargetObjects,
        signals: &[ScaledSignal],
        known: SignalAnswers,
        tick: &ScalingTickInput<'_>,
    ) -> Vec<TargetProblem> {
        self.follow_scopes(signals);
        self.tracker.forget_but(signals);
        self.answers.forget_but(signals);
        if self.of_each_pod.len() > signals.len() + UNSCALED {
            let is_scaled = |known: &Signal| signals.iter().any(|one| one.signal == *known);
            self.of_each_pod.retain(is_scaled);
        }
        let SignalAnswers {
            samples,
            asked,
            queries: _,
            problems,
        } = known;
        let observation = TargetObservation {
            pods: &observed.pods.members,
            carriers: &self.carriers,
            replicas: observed.replicas_of_pods(),
            samples,
        };
        for ScaledSignal { signal, scope, .. } in signals {
            let load = observation.load(signal, *scope);
            let asked = asked.iter().find(|(of, _)| of == signal);
            let Some((load, (_, asked))) = load.zip(asked) else {
                continue;
            };
            if self.answers.take(signal, *asked, tick.now) {
                // It is finite and not negative; one that is older than the history tells nothing.
                let _ = self.tracker.measure(signal, &load, tick.now);
            }
        }
        if self.tracker.keep_pasts(signals) {
            // It is asked for again at the next tick.
            self.refill = None;
        }
        problems
    }

    /// Forgets the past of signals with values that mean another load than at the tick before.
    fn follow_scopes(&mut self, signals: &[ScaledSignal]) {
        for ScaledSignal { signal, scope, .. } in signals {
            let known = self.of_each_pod.iter().position(|of| of == signal);
            match (scope, known) {
                (ValueScope::Whole, Some(place)) => drop(self.of_each_pod.swap_remove(place)),
                (ValueScope::EachPod, None) => self.of_each_pod.push(signal.clone()),
                (ValueScope::Whole, None) | (ValueScope::EachPod, Some(_)) => continue,
            }
            self.tracker.forget(signal);
        }
    }

    /// The readings of the HPA's algorithm for a target, if Evenkeel runs the algorithm.
    pub(super) fn measured(
        &self,
        observed: &TargetObjects,
        resolved: &ResolvedTarget,
        tick: &ScalingTickInput<'_>,
    ) -> Option<HpaInput> {
        let target = resolved.target.as_ref();
        let target = target.filter(|one| {
            let portraits = one.portraits.as_ref();
            let is_checked = portraits.is_some_and(|portraits| portraits.are_checked());
            is_checked || matches!(one.reaction, TargetReaction::Reconciled(_))
        });
        let target = target?;
        let mut readings = readings(observed, target, tick);
        if self.missing_pods.are_missing() {
            readings.withhold(PODS_MISSING);
        }
        // A memory that began anew, as after the clock was set back, goes on from what it told.
        let told = if self.tracker.has_reconciled(target.current) {
            LastStatus::default()
        } else {
            last_status::told(observed)
        };
        Some(HpaInput::new(observed, readings, told))
    }

    /// Sees to it that the past of a new target is asked for, where there is one to be had.
    fn ask_for_past(
        &mut self,
        observed: &TargetObjects,
        resolved: &ResolvedTarget,
        tick: &ScalingTickInput<'_>,
        asks: &mut Asks,
    ) {
        if self.refill.is_some() || resolved.target.is_none() {
            return;
        }
        let state = history_backfill::begin(&observed.target, tick.has_past);
        if state == RefillState::Running {
            self.asked = asks.tick;
            let namespace = observed.namespace.as_ref().into();
            asks.past.insert(namespace, asks.tick);
        }
        self.refill = Some(state);
    }
}
