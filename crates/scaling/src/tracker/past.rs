//! The past of a target's loads: values from elsewhere, and the results learnt from a longer past.

use evenkeel_forecast::Resolution;
use evenkeel_metrics::signal::Signal;
use jiff::Timestamp;

use super::LoadTracker;
use super::load_history::LoadHistory;
use super::own_fit::{FitEnd, LastFit, OwnFit};
use super::tick_input::ScaledSignal;

impl LoadTracker {
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
            unknown |= self
                .known(signal)
                .is_some_and(|load| load.history.keep_past(*is_forecast));
        }
        unknown
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
        if let Some(load) = self.known(signal)
            && let Some(fit) = load.fit_due(hour, now)
        {
            load.fit = Some(fit);
        }
    }

    /// Takes what came of the fit of a load.
    pub fn fitted(&mut self, signal: &Signal, end: FitEnd, now: Timestamp) {
        let Some(load) = self.known(signal) else {
            return;
        };
        match end {
            FitEnd::Learnt(learnt) => load.adopt(*learnt),
            FitEnd::Model(model) => load.adopt_model(model, now),
            FitEnd::TooShort => load.fit_too_short(now),
            FitEnd::Failed => load.fit_failed(now),
        }
    }

    fn known(&mut self, signal: &Signal) -> Option<&mut LoadHistory> {
        self.loads.iter_mut().find(|load| load.signal == *signal)
    }
}
