//! A point model that follows a series: gaps filled or restarted from, means bounded, intervals
//! learnt from its own errors as the observations come in.
//!
//! Fitting is nothing but updating from an empty state, so a model that was fitted once and one
//! that followed along hold the same numbers.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::interval::Widths;
use super::series::{Arrival, Filler};
use super::{Forecast, Forecaster, NotEnoughHistory, PointModel, Series};

/// A [`Forecaster`] made of a [`PointModel`].
#[derive(Debug, Clone)]
pub struct Rolling<M> {
    model: M,
    widths: Widths,
    filler: Filler,
    have: usize,
    last: f64,
    grid: Option<(Timestamp, SignedDuration)>,
}

impl<M: PointModel> Rolling<M> {
    /// Follows a series by `model` and learns the errors of the next `horizons` steps. A forecast
    /// may reach further, with intervals that widen as those of a random walk.
    #[must_use]
    pub fn new(model: M, horizons: usize) -> Self {
        Self::with(model, Widths::up_to(horizons))
    }

    /// As [`Self::new`], but learns only the errors of `horizon` steps and, below, of powers of two:
    /// what one horizon needs, in little memory.
    #[must_use]
    pub fn towards(model: M, horizon: NonZeroUsize) -> Self {
        Self::with(model, Widths::towards(horizon))
    }

    fn with(model: M, widths: Widths) -> Self {
        Self {
            model,
            widths,
            filler: Filler::default(),
            have: 0,
            last: 0.0,
            grid: None,
        }
    }

    /// The model itself.
    pub const fn model(&self) -> &M {
        &self.model
    }

    /// The memory of the intervals, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.widths.heap_bytes()
    }

    fn take(&mut self, observation: Option<f64>) {
        match self.filler.accept(observation) {
            Arrival::Values(filling, value) => {
                filling.for_each(|filled| self.learn(filled));
                self.widths.score(value);
                self.learn(value);
            }
            Arrival::Restart => {
                self.model.restart();
                self.widths.restart();
                self.have = 0;
            }
            Arrival::Nothing => {}
        }
    }

    fn learn(&mut self, value: f64) {
        self.model.observe(value);
        self.have += 1;
        self.last = value;
        if self.have >= self.model.need() {
            let Self { model, widths, .. } = self;
            widths.issue(|means| {
                model.predict(means);
                bound(means, value);
            });
        }
    }

    fn lacking(&self) -> NotEnoughHistory {
        NotEnoughHistory {
            need: self.model.need() + 1,
            have: self.have,
        }
    }
}

impl<M: PointModel> Forecaster for Rolling<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    fn fit(&mut self, series: &Series) -> Result<(), NotEnoughHistory> {
        self.model.restart();
        self.widths = self.widths.anew();
        self.filler = Filler::default();
        self.have = 0;
        self.grid = Some((series.end(), series.step()));
        series.values().iter().for_each(|&value| self.take(value));
        let lacking = self.lacking();
        if lacking.have < lacking.need {
            return Err(lacking);
        }
        Ok(())
    }

    /// Before [`Forecaster::fit`] there is no grid to follow, and observations are lost.
    fn update(&mut self, observation: Option<f64>) {
        if let Some((latest, step)) = self.grid {
            let latest = latest.checked_add(step).unwrap_or(Timestamp::MAX);
            self.grid = Some((latest, step));
            self.take(observation);
        }
    }

    fn forecast(&self, horizon: usize) -> Result<Forecast, NotEnoughHistory> {
        let lacking = self.lacking();
        let Some((origin, step)) = self.grid.filter(|_| lacking.have >= lacking.need) else {
            return Err(lacking);
        };
        let missing = self.filler.missing();
        let mut means = vec![0.0; missing + horizon];
        self.model.predict(&mut means);
        let clamped = bound(&mut means[missing..], self.last);
        let ahead = means.into_iter().zip(1..).skip(missing);
        let steps = ahead.map(|(mean, ahead)| self.widths.step(mean, ahead));
        Ok(Forecast {
            origin,
            step,
            steps: steps.collect::<Option<_>>().ok_or(lacking)?,
            clamped,
        })
    }
}

/// Replaces what no load can be: below zero by 0, not finite by the last observation. Returns how
/// many were replaced.
fn bound(means: &mut [f64], last: f64) -> usize {
    let mut clamped = 0;
    for mean in means {
        let possible = if mean.is_finite() { *mean } else { last }.max(0.0);
        clamped += usize::from(possible.to_bits() != (*mean + 0.0).to_bits());
        *mean = possible;
    }
    clamped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::forecast::{Alpha, Naive, SHpa, SeasonalNaive, Tes, Variant};

    const STEP: SignedDuration = SignedDuration::from_secs(15);

    fn series(values: &[Option<f64>]) -> Series {
        Series::new(Timestamp::UNIX_EPOCH, STEP, values.to_vec()).unwrap()
    }

    fn models() -> Vec<Box<dyn Forecaster>> {
        let season = SeasonalNaive::new(NonZeroUsize::new(6).unwrap());
        let tes = |variant| Tes::new(Alpha::new(0.3).unwrap(), variant);
        vec![
            Box::new(Rolling::new(Naive::default(), 4)),
            Box::new(Rolling::new(season, 4)),
            Box::new(Rolling::new(tes(Variant::Brown), 4)),
            Box::new(Rolling::new(tes(Variant::Paper), 4)),
            Box::new(Rolling::new(SHpa::default(), 4)),
            Box::new(Rolling::towards(
                SHpa::default(),
                NonZeroUsize::new(6).unwrap(),
            )),
        ]
    }

    #[test]
    fn what_is_lacking_is_told_until_it_is_there() {
        for (mut model, need) in models().into_iter().zip([2, 7, 4, 4, 20, 20]) {
            let empty = NotEnoughHistory { need, have: 0 };
            assert_eq!(model.forecast(1), Err(empty), "{}", model.name());
            assert_eq!(model.fit(&series(&[])), Err(empty), "{}", model.name());
            for have in 1..need {
                model.update(Some(5.0));
                assert_eq!(
                    model.forecast(1),
                    Err(NotEnoughHistory {
                        need,
                        have: have.min(need - 1)
                    })
                );
            }
            model.update(Some(5.0));
            assert_eq!(model.forecast(3).unwrap().steps.len(), 3);
            (0..3).for_each(|_| model.update(None));
            assert_eq!(model.forecast(1), Err(empty), "{}", model.name());
        }
    }

    #[test]
    fn steps_count_from_the_last_step_of_the_grid_even_if_it_is_missing() {
        let mut model = Rolling::new(Tes::new(Alpha::EVEN, Variant::Brown), 4);
        let line: Vec<_> = (0..200).map(|i| Some(f64::from(i))).collect();
        model.fit(&series(&line)).unwrap();
        model.update(None);
        model.update(None);
        let forecast = model.forecast(2).unwrap();
        assert_eq!(forecast.origin.as_second(), 201 * 15);
        assert!((forecast.steps[0].mean - 202.0).abs() < 1e-6);
        assert!((forecast.steps[1].mean - 203.0).abs() < 1e-6);
    }

    #[test]
    fn a_fall_below_zero_is_clamped_and_counted() {
        let mut model = Rolling::new(Tes::new(Alpha::EVEN, Variant::Brown), 4);
        let line: Vec<_> = (0..50).rev().map(|i| Some(f64::from(i))).collect();
        model.fit(&series(&line)).unwrap();
        let forecast = model.forecast(4).unwrap();
        assert_eq!(forecast.clamped, 4);
        assert!(forecast.steps.iter().all(|step| step.mean == 0.0));
    }

    fn loads() -> impl Strategy<Value = Vec<Option<f64>>> {
        let value = prop_oneof![
            6 => (0.0..1e6_f64).prop_map(Some),
            1 => Just(None),
            1 => prop::num::f64::ANY.prop_map(Some),
        ];
        prop::collection::vec(value, 0..120)
    }

    proptest! {
        #[test]
        fn forecasts_are_finite_not_negative_and_nested(values in loads(), horizon in 0_usize..9) {
            for mut model in models() {
                let _ = model.fit(&series(&values));
                let Ok(forecast) = model.forecast(horizon) else { continue };
                prop_assert_eq!(forecast.steps.len(), horizon);
                for step in forecast.steps {
                    prop_assert!(step.mean.is_finite() && step.mean >= 0.0);
                    let (inner, outer) = (step.interval80, step.interval95);
                    prop_assert!(inner.contains(step.mean) && outer.upper.is_finite());
                    prop_assert!(outer.lower >= 0.0);
                    prop_assert!(outer.lower <= inner.lower && inner.upper <= outer.upper);
                }
            }
        }

        #[test]
        fn following_along_is_fitting_to_the_last_bit(values in loads(), cut in 0_usize..120) {
            let cut = cut.min(values.len());
            for (mut whole, mut followed) in models().into_iter().zip(models()) {
                let _ = whole.fit(&series(&values));
                let _ = followed.fit(&series(&values[..cut]));
                values[cut..].iter().for_each(|&value| followed.update(value));
                let bits = |model: &dyn Forecaster| {
                    model.forecast(5).map(|forecast| {
                        let steps = forecast.steps.into_iter();
                        let all = steps.map(|s| [s.mean, s.interval80.lower, s.interval95.upper]);
                        all.map(|s| s.map(f64::to_bits)).collect::<Vec<_>>()
                    })
                };
                prop_assert_eq!(bits(whole.as_ref()), bits(followed.as_ref()));
            }
        }
    }
}
