//! The trend of a load that also moves by known steps, for example when a Pod comes or goes. Such a
//! step moves level, pending forecasts and last value alike, so that no model sees a slope in it
//! and none is judged by it. Double smoothing (`[Brown]`) follows the rest, because noise bends its
//! line less than a parabola. A trend that is no better than the last value is not used.

use std::num::NonZeroUsize;

use super::accuracy::Scorecard;
use super::point_model::PointModel as _;
use super::prediction::ForecastStep;
use super::series::{Arrival, Filler};
use super::smoothing::{Alpha, Tes, Variant};
use crate::units::count_as_f64;

/// In steps of one length.
#[derive(Debug, Clone)]
pub(crate) struct ShiftedTrend {
    model: Tes,
    filler: Filler,
    card: Scorecard,
    /// Values since the last restart, counted up to those that the model needs.
    have: usize,
}

impl ShiftedTrend {
    /// Told and scored `horizon` steps ahead.
    pub(crate) fn new(alpha: Alpha, horizon: NonZeroUsize) -> Self {
        Self {
            model: Tes::new(alpha, Variant::Brown),
            filler: Filler::default(),
            card: Scorecard::new(horizon),
            have: 0,
        }
    }

    /// A step of the load that is no part of its trend.
    pub(crate) fn shift(&mut self, by: f64) {
        self.model.shift(by);
        self.filler.shift(by);
        self.card.shift(by);
    }

    /// Moves the load so that `next` continues the trend: a known step of unknown size.
    pub(crate) fn shift_to(&mut self, next: f64) {
        if self.is_ready() {
            let ahead = count_as_f64(self.filler.missing() + 1);
            self.shift(next - self.model.brown().line().at(ahead));
        }
    }

    /// The next step, `None` where it is missing.
    pub(crate) fn observe(&mut self, observation: Option<f64>) {
        match self.filler.accept(observation) {
            Arrival::Values(filling, value) => {
                for value in filling.chain([value]) {
                    self.model.observe(value);
                    self.have = (self.have + 1).min(self.model.need());
                }
            }
            Arrival::Restart => {
                self.model.restart();
                self.have = 0;
            }
            Arrival::Nothing => {}
        }
        let told = self.ahead().map(ForecastStep::mean_alone);
        self.card.record_step(observation, told.as_ref());
    }

    /// The load as far ahead as it is scored; `None` without trust or with the last step missing.
    pub(crate) fn trusted(&self) -> Option<f64> {
        self.ahead().filter(|_| self.card.trust().is_trusted())
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.card.heap_bytes()
    }

    fn ahead(&self) -> Option<f64> {
        let is_known = self.is_ready() && self.filler.missing() == 0;
        let line = is_known.then(|| self.model.brown().line())?;
        let mean = line.at(count_as_f64(self.card.horizon()));
        mean.is_finite().then_some(mean.max(0.0))
    }

    fn is_ready(&self) -> bool {
        self.have >= self.model.need()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn trend() -> ShiftedTrend {
        ShiftedTrend::new(Alpha::clamped(0.2), NonZeroUsize::new(10).unwrap())
    }

    /// Wobbles by a part of itself that repeats every seven steps.
    fn wobble(step: u32) -> f64 {
        [0.0, 3.0, -2.0, 1.0, -4.0, 5.0, -3.0][usize::try_from(step % 7).unwrap()]
    }

    #[test]
    fn a_line_is_told_once_it_has_beaten_the_last_value_often_enough() {
        let mut trend = trend();
        for step in 0..32 {
            trend.observe(Some(1000.0 + 10.0 * f64::from(step)));
            // Twenty scores, the first of them of what three values gave.
            assert_eq!(trend.trusted().is_some(), step >= 31, "{step}");
        }
        let told = trend.trusted().unwrap();
        assert!((told - 1410.0).abs() < 10.0, "{told}");
    }

    #[test]
    fn a_load_that_stands_still_has_no_trend() {
        let mut trend = trend();
        (0..200).for_each(|_| trend.observe(Some(500.0)));
        assert_eq!(trend.trusted(), None, "the last value is exact");
    }

    #[test]
    fn a_long_gap_forgets_what_was_before_and_a_short_one_tells_nothing_meanwhile() {
        let mut trend = trend();
        let line = |step: u32| Some(1000.0 + 10.0 * f64::from(step));
        (0..60).for_each(|step| trend.observe(line(step)));
        trend.observe(None);
        assert_eq!(trend.trusted(), None);
        trend.observe(line(61));
        let told = trend.trusted().unwrap();
        assert!((told - 1710.0).abs() < 10.0, "{told}");
        (0..3).for_each(|_| trend.observe(None));
        trend.observe(Some(5.0));
        assert_eq!(trend.trusted(), None);
    }

    #[test]
    fn it_stays_small() {
        // Four of them on each of 5,000 nodes are below 10 MiB.
        let bytes = trend().bytes();
        assert!(bytes <= 480, "{bytes}");
    }

    proptest! {
        #[test]
        fn a_step_that_is_told_changes_no_trend(
            steps in prop::collection::vec((0_u32..300, -400.0..4000.0_f64), 0..20),
            slope in -1.0..20.0_f64,
        ) {
            let (mut told, mut plain) = (trend(), trend());
            let mut level = 0.0;
            for step in 0..300 {
                for (_, by) in steps.iter().filter(|(at, _)| *at == step) {
                    told.shift(*by);
                    level += by;
                }
                let value = 100_000.0 + slope * f64::from(step) + wobble(step);
                told.observe(Some(value + level));
                plain.observe(Some(value));
                // Waiting forecasts are kept in 32 bits.
                let (found, expected) = (told.trusted(), plain.trusted());
                if let (Some(found), Some(expected)) = (found, expected) {
                    prop_assert!((found - level - expected).abs() < 1e-3, "{found} {expected}");
                }
            }
        }

        #[test]
        fn a_step_of_unknown_size_leaves_the_slope(by in -900.0..4000.0_f64) {
            let mut trend = trend();
            let line = |step: u32| 1000.0 + 10.0 * f64::from(step);
            (0..100).for_each(|step| trend.observe(Some(line(step))));
            trend.shift_to(line(100) + by);
            trend.observe(Some(line(100) + by));
            let rise = trend.trusted().unwrap() - line(100) - by;
            prop_assert!((rise - 100.0).abs() < 1.0, "{rise}");
        }
    }
}
