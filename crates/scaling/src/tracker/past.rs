//! The past of a target's loads: values from elsewhere, and the results learnt from a longer past.

use evenkeel_forecast::Resolution;
use evenkeel_metrics::signal::Signal;
use jiff::Timestamp;

use super::TargetState;
use super::load_model::LoadModel;
use super::load_past_fit::LoadPastFit;
use super::own_fit::{LastFit, OwnFit};
use super::tick_report::ScaledSignal;

impl TargetState {
    /// Takes values of the past from elsewhere and learns from them; values that were measured here
    /// stay. Where Pods started, the past leaves times out, and models are led across them. Returns the
    /// number of gaps that were filled.
    pub fn refill(
        &mut self,
        signal: &Signal,
        resolution: Resolution,
        points: impl Iterator<Item = (Timestamp, f64)>,
        now: Timestamp,
    ) -> usize {
        let load = self.load_of(signal);
        let filled = points
            .filter(|&(at, value)| load.history.refill(resolution, at, value, now) == Ok(true));
        let filled = filled.count();
        if filled > 0 {
            load.complete_past();
        }
        filled
    }

    /// Keeps the past of the loads that are to be forecast; of the others, only the values that
    /// give their load now. Returns true if a load among them has an unknown past.
    pub fn keep_pasts(&mut self, scaled: &[ScaledSignal]) -> bool {
        let mut unknown = false;
        for ScaledSignal {
            signal,
            is_forecast,
            ..
        } in scaled
        {
            let known = self.loads.iter_mut().find(|load| load.signal == *signal);
            unknown |= known.is_some_and(|load| load.history.keep_past(*is_forecast));
        }
        unknown
    }

    /// Lets the forecasts of a signal's load go on from what its past taught.
    pub fn adopt_learnt(&mut self, signal: &Signal, learnt: LoadPastFit) {
        if let Some(load) = self.loads.iter_mut().find(|load| load.signal == *signal) {
            load.adopt(learnt);
        }
    }

    /// Lets the forecasts of a signal's load be those of a model that was fitted on its past, where that is the one
    /// that it is to be forecast by.
    pub fn adopt_model(&mut self, signal: &Signal, model: LoadModel, now: Timestamp) {
        if let Some(load) = self.loads.iter_mut().find(|load| load.signal == *signal) {
            load.adopt_model(model, now);
        }
    }

    /// The loads that need trees or models of their own fitted: once half a day is known, then
    /// daily on the past up to the target's `hour` of the day, and after a change of the window.
    pub fn fits_due(&self, hour: i64, now: Timestamp) -> impl Iterator<Item = OwnFit<'_>> {
        self.loads.iter().filter_map(move |load| {
            let LastFit { end, window, .. } = load.fit_due(hour, now)?;
            Some(OwnFit {
                signal: &load.signal,
                window,
                lesson: load.lesson()?,
                end,
                is_first: !load.was_fitted(),
            })
        })
    }

    /// Takes note that the trees of a load are being fitted, so that they are not asked for again.
    pub fn fitting(&mut self, signal: &Signal, hour: i64, now: Timestamp) {
        for load in self.loads.iter_mut().filter(|load| load.signal == *signal) {
            if let Some(fit) = load.fit_due(hour, now) {
                load.fitting(fit);
            }
        }
    }

    /// Takes note that the past of a load is too short to learn from, so that it is asked for again when more is known.
    pub fn fit_too_short(&mut self, signal: &Signal, now: Timestamp) {
        for load in self.loads.iter_mut().filter(|load| load.signal == *signal) {
            load.fit_too_short(now);
        }
    }

    /// Takes note that nothing came of the fit of a load, so that it is tried again after a while.
    pub(crate) fn fit_failed(&mut self, signal: &Signal, now: Timestamp) {
        for load in self.loads.iter_mut().filter(|load| load.signal == *signal) {
            load.fit_failed(now);
        }
    }
}
