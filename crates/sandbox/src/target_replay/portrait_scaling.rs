//! A target by portraits, tick by tick: its Pods, the HPA's algorithm as one provider, and the
//! count of the service's tick. Unlike an HPA's floor the count is written in the tick that decides
//! it, as in the service.

use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_cron::ScheduleCache;
use evenkeel_forecast::RegularSeries;
use evenkeel_hpa::{Controller, HpaSpec, HpaStatus, reconciler};
use evenkeel_metrics::signal::ObjectReference;
use evenkeel_scaling::counterfactual::pareto_frontier::Cost;
use evenkeel_scaling::merge::recommendation::Recommendation;
use evenkeel_scaling::recommend::merged_portraits::{PortraitInput, ProviderRef};
use evenkeel_scaling::specs::ihpa::{PortraitSource, Provider};
use evenkeel_scaling::staged_change::StagedChange;
use evenkeel_scaling::tracker::{Reaction, ReconciledTarget};
use jiff::Timestamp;

use super::forecasting::Forecaster;
use super::hpa_run::{ReplayTick, ReplayTickState};
use super::replicas::{ScaledPods, metric};
use super::settings::{ReplayTarget, Start};
use super::tick::TickObservation;
use crate::portraits::Portraits;

pub(super) struct PortraitScaledTarget<'a> {
    pods: ScaledPods,
    forecaster: Forecaster,
    portraits: &'a Portraits,
    /// By provider, mostly without windows.
    agendas: Vec<ScheduleCache>,
    reactive: Option<ProviderRef>,
    predictive: Option<ProviderRef>,
    controller: Controller,
    spec: HpaSpec,
    told: HpaStatus,
    counts: ReplicaCounts,
    change: Option<StagedChange>,
    /// The user's minimum.
    least: i32,
}

impl<'a> PortraitScaledTarget<'a> {
    pub(super) fn new(
        target: &ReplayTarget,
        (load, start): (&RegularSeries, Start),
        portraits: &'a Portraits,
        forecaster: Forecaster,
    ) -> Self {
        let share = target.capacity.target();
        let speaker =
            |provider: &Provider| ProviderRef::of_portrait(&provider.name, provider.priority);
        let (reactive, predictive) = (portraits.reactive(), portraits.predictive());
        Self {
            pods: ScaledPods::new(target, load, share, start),
            forecaster,
            agendas: vec![ScheduleCache::default(); portraits.providers.len()],
            reactive: reactive.map(|(provider, _)| speaker(provider)),
            predictive: predictive.map(|(provider, _)| speaker(provider)),
            portraits,
            controller: Controller::default(),
            spec: HpaSpec {
                scale_target: ObjectReference::default(),
                min_replicas: target.bounds.min(),
                max_replicas: target.bounds.max(),
                metrics: vec![metric(target, share)],
                behavior: reactive.and_then(|(_, settings)| settings.behavior.clone()),
            },
            told: HpaStatus::default(),
            counts: ReplicaCounts::all_online(target.initial(load)),
            change: None,
            least: target.bounds.min(),
        }
    }

    /// The tick, and the time up to the next one.
    pub(super) fn tick(&mut self, tick: &ReplayTick) -> ReplayTickState {
        let ReplayTick { now, at, load } = *tick;
        let load = self.pods.arriving(at, load);
        self.pods.look(at, load);
        let expected = self.forecaster.expected(now);
        self.decide(tick);
        self.pods.bring_to(self.counts, at);
        let passed = ReplayTickState {
            replicas: self.pods.replicas(),
            ready: self.pods.ready(at),
            floor: self.least,
            load,
            forecast: expected,
        };
        self.pods.pass(at, load);
        passed
    }

    /// The service's step.
    fn decide(&mut self, tick: &ReplayTick) {
        let ReplayTick { now, at, .. } = *tick;
        let given = self.given(now);
        let counts = self.counts;
        let told = Some(counts.online);
        let reconciled = ReconciledTarget {
            input: reconciler::Input {
                controller: &self.controller,
                namespace: "",
                spec: &self.spec,
                observed: self.pods.observed(counts.online),
                told: &self.told,
            },
            told,
            generation: None,
        };
        let decided = self.forecaster.decide(&TickObservation {
            now,
            measured: self.pods.measured(),
            current: counts.online,
            ready: self.pods.ready(at),
            starts: self.pods.starts(),
            reaction: match &self.reactive {
                Some(_) => Reaction::Reconciled(reconciled),
                None => Reaction::Nobody,
            },
            portraits: Some(PortraitInput {
                given: &given,
                reactive: self.reactive.as_ref(),
                predictive: self.predictive.as_ref(),
                behavior: &self.portraits.behavior,
                counts,
                reached: None,
                change: self.change.as_ref(),
                checks: &[],
                holds: &[],
                resume: None,
                told,
                generation: None,
                rests_at_zero: false,
            }),
        });
        if let Some(step) = decided.step {
            (self.counts, self.change) = (step.counts, step.change);
        }
    }

    /// The recommendations of the providers that do not depend on the load.
    fn given(&mut self, now: Timestamp) -> Vec<Recommendation> {
        let providers = self.portraits.providers.iter().zip(&mut self.agendas);
        let known = providers.filter_map(|(provider, agenda)| match &provider.source {
            PortraitSource::Portrait(portrait) => {
                let by = ProviderRef::of_portrait(&provider.name, provider.priority);
                Some(by.recommend(portrait.at(agenda, now)))
            }
            PortraitSource::Reactive(_)
            | PortraitSource::Predictive(_)
            | PortraitSource::External { .. } => None,
        });
        known.collect()
    }

    /// `None` without a predictive provider.
    pub(super) fn forecaster(&mut self) -> Option<&mut Forecaster> {
        self.predictive.is_some().then_some(&mut self.forecaster)
    }

    /// Resets the counters.
    pub(super) fn forget_cost(&mut self) {
        self.pods.forget_cost();
    }

    pub(super) const fn cost(&self) -> Cost {
        self.pods.cost()
    }
}

#[cfg(test)]
mod tests;
