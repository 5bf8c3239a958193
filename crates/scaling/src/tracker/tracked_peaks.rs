//! The peaks that the load of a target may rise to, and the level of them that floors cover.
//!
//! Each minute of the load runs through a [`Counterfactual`]. It gives the level that meets the
//! target's risk, and whether floors at that level pay at this time of day.

use std::sync::Arc;

use evenkeel_forecast::{
    Cover, LoadRingBuffer, MinuteForecast, ModelAssets, ModelTrust, OwnPeaks, PeakForecaster,
    SelectedForecast,
};
use jiff::Timestamp;

use super::pod_count_history::PodCountHistory;
use super::tick_input::ScaledSignal;
use crate::counterfactual::pareto_frontier::is_avoidably_under_provisioned;
use crate::counterfactual::{Counterfactual, CounterfactualResult, TimeOfDay, TrialPods};
use crate::load::horizon::{Horizon, Lag};
use crate::recommend::policy::TargetPolicy;

/// The forecaster of `auto`, with the level that its floors cover.
#[derive(Debug)]
pub(super) struct TrackedPeaks {
    forecaster: PeakForecaster,
    trial: Counterfactual,
    /// The Pods of the last tick, by the capacity for this load.
    pods: Option<TrialPods>,
    /// The quarter of the day that it is.
    quarter: TimeOfDay,
    /// The newest minute that was held against Pods, since the epoch.
    passed: i64,
    /// True where floors pay in a quarter of the day, as far as is known.
    pays: [bool; TimeOfDay::COUNT],
}

/// The step of a history up to which a load is followed.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrackedStep {
    pub(super) newest: Timestamp,
    /// The minutes that the largest load is of.
    pub(super) window: usize,
}

/// The context that the minutes of a load are compared with.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrackedPeakContext<'a> {
    /// The scaled signal of the load; `None` if the target no longer scales by it.
    pub(super) scaled: Option<&'a ScaledSignal>,
    pub(super) policy: &'a TargetPolicy,
    /// How much later it is measured.
    pub(super) lag: Lag,
    pub(super) carried: &'a PodCountHistory,
    pub(super) shared: &'a ModelAssets,
}

impl TrackedPeaks {
    /// A forecaster that has judged nothing, with the trees of the target's own that there are.
    pub(super) fn new(risk: f64, own: Option<&Arc<OwnPeaks>>) -> Self {
        let trial = Counterfactual::default();
        let mut forecaster = PeakForecaster::new(Cover::new(risk, trial.distance(risk)));
        if let Some(own) = own {
            forecaster.adopt(Arc::clone(own));
        }
        Self {
            forecaster,
            trial,
            pods: None,
            quarter: TimeOfDay::default(),
            pays: [false; TimeOfDay::COUNT],
            passed: i64::MIN,
        }
    }

    /// Follows the minutes of a load, and finds the level that its floors are to cover.
    pub(super) fn follow(
        &mut self,
        history: &LoadRingBuffer,
        upto: TrackedStep,
        known: &TrackedPeakContext<'_>,
    ) {
        let TrackedPeakContext {
            scaled,
            policy,
            lag,
            carried,
            shared,
        } = *known;
        let TrackedStep { newest, window } = upto;
        let risk = policy.risk.get();
        if (self.forecaster.cover().risk() - risk).abs() > f64::EPSILON {
            *self.forecaster.cover_mut() = Cover::new(risk, self.trial.distance(risk));
            self.weigh();
        }
        let minutes = self
            .forecaster
            .follow(history, newest, shared.for_peaks(), window);
        let horizon = Horizon {
            lag,
            lead: policy.lead,
        };
        self.pods = scaled.map(|scaled| {
            TrialPods::new(scaled.capacity, policy.bounds, &horizon)
                .ruled_by(policy.tolerances, policy.behavior.as_ref())
        });
        if minutes.is_empty() {
            return;
        }
        for minute in minutes {
            self.quarter = TimeOfDay::of(minute.second_of_day);
            if let Some(pods) = &self.pods {
                self.trial.pass(&minute, pods);
            }
            let is_new = minute.minute > self.passed;
            self.passed = self.passed.max(minute.minute);
            let scaled = scaled.filter(|_| is_new);
            let too_much = scaled.and_then(|scaled| too_much(&minute, scaled, policy, carried));
            if let Some(too_much) = too_much {
                self.forecaster.cover_mut().pass(too_much);
            }
        }
        self.weigh();
    }

    /// Finds the level that holds the risk by now or is worth more, and whether floors at it pay.
    fn weigh(&mut self) {
        let cover = self.forecaster.cover_mut();
        let risk = cover.risk();
        let meeting = self.trial.meeting_distance(risk) + cover.correction();
        let worthwhile = self.trial.worthwhile_distance(risk);
        cover.put(meeting, worthwhile, self.trial.affordable());
        if let Some(trust) = self.trust() {
            self.pays[self.quarter.place()] = trust.is_trusted();
        }
    }

    /// The trust in floors at this time of day, by their result in its quarter of the day. While
    /// little is known of the quarter, the whole day counts; `None` while little is known at all.
    fn trust(&self) -> Option<ModelTrust> {
        let all_day = self.tried()?;
        if all_day.cost_more {
            return Some(ModelTrust::COST_MORE);
        }
        let distance = self.cover().distance();
        let in_quarter = self.trial.tried_in(self.quarter, distance);
        let tried = in_quarter.unwrap_or(all_day);
        let pays = self.pays[self.quarter.place()];
        Some(ModelTrust::by_worth(tried.ratio(), pays))
    }

    /// The forecast as a decision reads it.
    pub(super) fn select(
        &self,
        history: &LoadRingBuffer,
        upto: TrackedStep,
        shared: &ModelAssets,
    ) -> SelectedForecast {
        let TrackedStep { newest, window } = upto;
        let mut selected = self
            .forecaster
            .select(history, newest, shared.for_peaks(), window);
        if let Some(trust) = self.trust() {
            selected.trust = trust;
        }
        selected
    }

    /// The result of floors at the level in force; `None` as long as too little is known.
    pub(super) fn tried(&self) -> Option<CounterfactualResult> {
        self.trial.tried(self.cover().distance())
    }

    pub(super) const fn cover(&self) -> &Cover {
        self.forecaster.cover()
    }

    /// The Pods that a trial of its past is of.
    pub(super) const fn pods(&self) -> Option<&TrialPods> {
        self.pods.as_ref()
    }

    /// Goes on from trees of the target's own, or from what all targets share where there are none, and
    /// from what the past would have been with them.
    pub(super) fn adopt(&mut self, own: Option<&Arc<OwnPeaks>>, trial: Counterfactual) {
        match own {
            Some(own) => self.forecaster.adopt(Arc::clone(own)),
            None => self.forecaster.retire(),
        }
        self.trial = trial;
        // It ends with an hour that is over, and goes on with what is remembered of the time since.
        self.forecaster.begin_anew();
        self.weigh();
    }

    /// Follows the history anew after its past has changed.
    pub(super) fn begin_anew(&mut self) {
        self.forecaster.begin_anew();
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() - size_of::<PeakForecaster>() + self.forecaster.bytes()
    }
}

/// True where the Pods that were ready in a minute carried too much; `None` where their count is not
/// remembered. Where it was at its most, no forecast could have brought more.
fn too_much(
    minute: &MinuteForecast,
    scaled: &ScaledSignal,
    policy: &TargetPolicy,
    carried: &PodCountHistory,
) -> Option<bool> {
    let middle = Timestamp::from_second(minute.minute * 60 - 30).ok()?;
    let lead = &policy.lead;
    let start_up = lead.start_up.saturating_add(lead.node_start_up);
    let ready = carried.ready(middle, start_up)?;
    let most = policy.bounds.max();
    Some(is_avoidably_under_provisioned(
        minute.load,
        ready,
        scaled.capacity,
        most,
    ))
}
