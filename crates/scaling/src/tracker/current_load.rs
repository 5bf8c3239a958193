//! One load of a target as it stands at one tick: what a decision reads of it, and what is reported.

use evenkeel_forecast::{Cover, Resolution, SelectedForecast};
use jiff::Timestamp;

use super::load_history::LoadHistory;
use super::tick_input::ScaledSignal;
use super::tick_report::{LoadReport, ModelReport};
use crate::counterfactual::CounterfactualResult;
use crate::load::observation::LoadSample;
use crate::recommend::ds_hpa;
use crate::recommend::ds_hpa::ActiveForecast;
use crate::recommend::expected_load::ExpectedLoad;
use crate::recommend::input::{DecisionInput, LoadEstimate, Prediction, SignalLoad};
use crate::recommend::policy::TargetPolicy;

/// The validity of a load at a tick.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadValidity {
    fresh: bool,
    is_estimated: bool,
    expected: Option<ExpectedLoad>,
}

impl LoadValidity {
    /// The standing of a load, with `active`, the forecast that stands.
    pub(super) fn of(
        load: &SignalLoad<'_>,
        policy: &TargetPolicy,
        input: &DecisionInput<'_>,
        active: Option<&ActiveForecast>,
    ) -> Self {
        let (now, max_age) = (input.now, policy.max_age);
        Self {
            fresh: load.fresh(now, max_age).is_some(),
            is_estimated: load.is_estimated(now, max_age),
            expected: ds_hpa::expected(load, policy, input, active),
        }
    }
}

/// One load as it stands at one tick.
pub(super) struct CurrentLoad<'a> {
    scaled: &'a ScaledSignal,
    recent: Vec<f64>,
    certain: Option<LoadSample>,
    estimate: Option<LoadEstimate>,
    cover: Option<Cover>,
    tried: Option<CounterfactualResult>,
    pub(super) selected: Option<&'a SelectedForecast>,
}

impl<'a> CurrentLoad<'a> {
    /// The load of a signal with the forecast of its model; empty where it was never measured.
    fn new(
        scaled: &'a ScaledSignal,
        tracked: Option<&LoadHistory>,
        selected: Option<&'a SelectedForecast>,
    ) -> Self {
        let series = tracked.and_then(|load| load.history.series(Resolution::Fine));
        Self {
            scaled,
            recent: series.map_or_else(Vec::new, |series| series.usable().values),
            certain: tracked.and_then(|load| load.certain),
            estimate: tracked.and_then(|load| load.estimate),
            cover: tracked.and_then(LoadHistory::cover),
            tried: tracked.and_then(LoadHistory::tried),
            selected,
        }
    }

    /// The load of a signal among the tracked ones; the forecasts in `selected` are in their order.
    pub(super) fn among(
        loads: &[LoadHistory],
        selected: &'a [Option<SelectedForecast>],
        scaled: &'a ScaledSignal,
    ) -> Self {
        let mut known = loads.iter().zip(selected);
        let found = known.find(|(load, _)| load.signal == scaled.signal);
        let (tracked, selected) = found.unzip();
        Self::new(scaled, tracked, selected.and_then(Option::as_ref))
    }

    pub(super) fn signal_load(&self) -> SignalLoad<'_> {
        let forecast = self
            .selected
            .map(|selected| (selected, selected.forecast.as_ref()));
        SignalLoad {
            signal: &self.scaled.signal,
            capacity: self.scaled.capacity,
            recent: &self.recent,
            measured: self.certain.map(|certain| certain.measured),
            estimate: self.estimate,
            is_forecast: self.scaled.is_forecast,
            only_here: self.scaled.only_here,
            prediction: forecast.and_then(|(selected, forecast)| {
                Some(Prediction {
                    model: selected.model,
                    forecast: forecast.ok()?,
                    cover: selected.cover,
                    trust: selected.trust,
                })
            }),
            lacking: forecast.and_then(|(_, forecast)| forecast.err().copied()),
        }
    }

    /// The load for a user, with its forecast for the time `at`.
    pub(super) fn report(self, at: Timestamp, standing: LoadValidity) -> LoadReport {
        let model = self.selected.map(|selected| ModelReport {
            name: selected.model,
            at_horizon: selected
                .forecast
                .as_ref()
                .ok()
                .and_then(|forecast| forecast.at(at).copied()),
            trust: selected.trust,
            accuracy: selected.accuracy,
        });
        LoadReport {
            signal: self.scaled.signal.clone(),
            now: self.recent.last().copied(),
            at: self.certain.map(|certain| certain.at),
            measured: self.certain.map(|certain| certain.measured),
            fresh: standing.fresh,
            estimate: self.estimate,
            is_estimated: standing.is_estimated,
            expected: standing.expected,
            is_forecast: self.scaled.is_forecast,
            capacity: self.scaled.capacity,
            model,
            cover: self.cover,
            tried: self.tried,
            lacking: self
                .selected
                .map_or_else(Vec::new, |selected| selected.lacking.clone()),
        }
    }
}
