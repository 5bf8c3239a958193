//! Makes a point model follow a series: fills or restarts at gaps, bounds means, and learns
//! intervals from the model's errors.

use std::num::NonZeroUsize;

use super::bounded_forecast::{bound, outlook};
use super::context::ForecastContext;
use super::interval_widths::Widths;
use super::model::Model;
use super::not_ready::NotEnoughHistory;
use super::point_model::PointModel;
use super::prediction::Forecast;
use super::series::{Arrival, Filler, RegularSeries};

#[derive(Debug, Clone)]
pub struct RollingModel<M> {
    model: M,
    widths: Widths,
    filler: Filler,
    have: usize,
    last: f64,
}

impl<M: PointModel> RollingModel<M> {
    /// Learns the errors of `horizon` steps and of the powers of two below, to save memory. A
    /// forecast may reach further, with intervals that widen as those of a random walk.
    pub fn towards(model: M, horizon: NonZeroUsize) -> Self {
        Self {
            model,
            widths: Widths::towards(horizon),
            filler: Filler::default(),
            have: 0,
            last: 0.0,
        }
    }

    fn learn(&mut self, value: f64) {
        self.model.observe(value);
        self.have += 1;
        self.last = value;
        if self.have >= self.model.need() && self.model.is_fitted() {
            let Self { model, widths, .. } = self;
            widths.issue(|means| {
                model.predict(means);
                bound(means, value);
            });
        }
    }
}

impl<M: PointModel> Model for RollingModel<M> {
    fn name(&self) -> &'static str {
        M::NAME
    }

    /// Widths are learnt from errors of earlier forecasts; before there are any, from those on the
    /// values that the parameters were estimated on.
    fn fit(
        &mut self,
        past: &RegularSeries,
        context: &ForecastContext<'_>,
    ) -> Result<(), NotEnoughHistory> {
        let usable = past.usable();
        let again = self
            .model
            .fit(&usable.values, context.shared.trainer.as_deref())?;
        let Some(from) = usable.values.len().checked_sub(again).filter(|_| again > 0) else {
            return Ok(());
        };
        let first = !self.widths.is_known();
        self.have = 0;
        self.filler = Filler::after(&usable);
        for &value in &usable.values[from..] {
            if first {
                self.widths.score(value);
                self.learn(value);
            } else {
                self.model.observe(value);
                self.have += 1;
                self.last = value;
            }
        }
        Ok(())
    }

    fn summary(&self) -> Option<String> {
        self.model.summary()
    }

    fn passes_checks(&self) -> Option<bool> {
        self.model.passes_checks()
    }

    fn observe(&mut self, observation: Option<f64>, context: &ForecastContext<'_>) {
        match self.filler.accept(observation) {
            Arrival::Values(filling, value) => {
                filling.for_each(|filled| self.learn(filled));
                if context.is_judged() {
                    self.widths.score(value);
                }
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

    fn forecast(
        &self,
        horizon: usize,
        context: &ForecastContext<'_>,
    ) -> Result<Forecast, NotEnoughHistory> {
        let not_enough = NotEnoughHistory {
            need: self.model.need() + 1, // an interval takes one error
            // Without a fit, the number of observations does not suffice.
            have: if self.model.is_fitted() {
                self.have
            } else {
                self.have.min(self.model.need())
            },
        };
        if not_enough.have < not_enough.need {
            return Err(not_enough);
        }
        let missing = self.filler.missing();
        let mut means = vec![0.0; missing + horizon];
        self.model.predict(&mut means);
        outlook(means, self.last, missing, &self.widths, context).ok_or(not_enough)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.widths.heap_bytes() + self.model.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use proptest::prelude::*;

    use super::*;
    use crate::context::ModelAssets;
    use crate::load_ring_buffer::LoadRingBuffer;
    use crate::models::baseline::Naive;
    use crate::models::smoothing::{Alpha, SHpa, Tes, Variant};

    const HORIZON: NonZeroUsize = NonZeroUsize::new(4).unwrap();

    /// A grid of 15 seconds that begins 15 seconds after the epoch.
    struct ModelRun {
        model: Box<dyn Model>,
        history: LoadRingBuffer,
        shared: ModelAssets,
        steps: i64,
    }

    impl ModelRun {
        fn new(model: impl Model + 'static) -> Self {
            Self {
                model: Box::new(model),
                history: LoadRingBuffer::default(),
                shared: ModelAssets::default(),
                steps: 0,
            }
        }

        fn context(&self) -> ForecastContext<'_> {
            context(self.steps, &self.history, &self.shared)
        }

        fn observe(&mut self, observation: Option<f64>) {
            self.steps += 1;
            let context = context(self.steps, &self.history, &self.shared);
            self.model.observe(observation, &context);
        }

        fn forecast(&self, horizon: usize) -> Result<Forecast, NotEnoughHistory> {
            self.model.forecast(horizon, &self.context())
        }
    }

    fn context<'a>(
        steps: i64,
        history: &'a LoadRingBuffer,
        shared: &'a ModelAssets,
    ) -> ForecastContext<'a> {
        ForecastContext {
            history,
            origin: Timestamp::from_second(15 * steps).unwrap(),
            step: SignedDuration::from_secs(15),
            shared,
        }
    }

    fn models() -> Vec<ModelRun> {
        let tes = |variant| Tes::new(Alpha::new(0.3).unwrap(), variant);
        vec![
            ModelRun::new(RollingModel::towards(Naive::default(), HORIZON)),
            ModelRun::new(RollingModel::towards(tes(Variant::Brown), HORIZON)),
            ModelRun::new(RollingModel::towards(tes(Variant::Paper), HORIZON)),
            ModelRun::new(RollingModel::towards(SHpa::default(), HORIZON)),
        ]
    }

    #[test]
    fn a_model_needs_a_history_without_a_gap() {
        for (mut followed, need) in models().into_iter().zip([2, 4, 4, 20]) {
            let name = followed.model.name();
            for have in 0..need {
                let not_enough = NotEnoughHistory { need, have };
                assert_eq!(followed.forecast(1), Err(not_enough), "{name}");
                followed.observe(Some(5.0));
            }
            assert_eq!(followed.forecast(3).unwrap().steps.len(), 3);
            (0..3).for_each(|_| followed.observe(None));
            let not_enough = NotEnoughHistory { need, have: 0 };
            assert_eq!(followed.forecast(1), Err(not_enough), "{name}");
        }
    }

    #[test]
    fn steps_count_from_the_last_step_of_the_grid_even_if_it_is_missing() {
        let tes = Tes::new(Alpha::EVEN, Variant::Brown);
        let mut followed = ModelRun::new(RollingModel::towards(tes, HORIZON));
        (0..200).for_each(|i| followed.observe(Some(f64::from(i))));
        followed.observe(None);
        followed.observe(None);
        let forecast = followed.forecast(2).unwrap();
        assert_eq!(forecast.origin.as_second(), 202 * 15);
        assert!((forecast.steps[0].mean - 202.0).abs() < 1e-6);
        assert!((forecast.steps[1].mean - 203.0).abs() < 1e-6);
    }

    #[test]
    fn a_fall_below_zero_is_clamped_and_counted() {
        let tes = Tes::new(Alpha::EVEN, Variant::Brown);
        let mut followed = ModelRun::new(RollingModel::towards(tes, HORIZON));
        (0..50)
            .rev()
            .for_each(|i| followed.observe(Some(f64::from(i))));
        let forecast = followed.forecast(4).unwrap();
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
            for mut followed in models() {
                for &value in &values {
                    followed.observe(value);
                }
                let Ok(forecast) = followed.forecast(horizon) else { continue };
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
    }
}
