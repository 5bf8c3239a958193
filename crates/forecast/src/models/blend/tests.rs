//! Blends of models with forecasts that can be computed by hand.

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::context::ModelAssets;
use crate::historical_load::Recording;
use crate::load_ring_buffer::LoadRingBuffer;
use crate::models::ModelSet;

const HORIZON: NonZeroUsize = NonZeroUsize::new(6).unwrap();
const STEP: SignedDuration = SignedDuration::from_mins(5);

fn at(index: usize) -> Timestamp {
    Timestamp::from_second(300 * i64::try_from(index).unwrap()).unwrap()
}

struct Followed {
    blend: Blend,
    next: usize,
    history: LoadRingBuffer,
    shared: ModelAssets,
}

impl Followed {
    fn fitted(members: &[ModelSet], values: &[Option<f64>]) -> Self {
        let members = members.iter().map(|set| set.model(HORIZON)).collect();
        Self::of(Blend::towards(members, HORIZON), values)
    }

    fn of(blend: Blend, values: &[Option<f64>]) -> Self {
        let mut followed = Self {
            blend,
            next: 0,
            history: LoadRingBuffer::default(),
            shared: ModelAssets::default(),
        };
        followed.fit(values);
        followed
    }

    fn fit(&mut self, values: &[Option<f64>]) {
        self.next = values.len();
        let past = RegularSeries::new(at(0), STEP, values.to_vec()).unwrap();
        let known: Vec<f64> = values.iter().map(|value| value.unwrap_or(0.0)).collect();
        let recorded = Recording::new(at(0), STEP, &known);
        let context = ForecastContext {
            history: &recorded,
            origin: at(values.len().saturating_sub(1)),
            step: STEP,
            shared: &self.shared,
        };
        let _ = self.blend.fit(&past, &context);
    }

    fn context(&self, index: usize) -> ForecastContext<'_> {
        ForecastContext {
            history: &self.history,
            origin: at(index),
            step: STEP,
            shared: &self.shared,
        }
    }

    fn observe(&mut self, value: Option<f64>) {
        let context = ForecastContext {
            history: &self.history,
            origin: at(self.next),
            step: STEP,
            shared: &self.shared,
        };
        self.blend.observe(value, &context);
        self.next += 1;
    }

    fn forecast(&self, horizon: usize) -> Result<Forecast, NotEnoughHistory> {
        self.blend.forecast(horizon, &self.context(self.next - 1))
    }
}

/// A line, on which `tes` is exact and the last value is not.
fn line(count: u32) -> Vec<Option<f64>> {
    (0..count)
        .map(|index| Some(100.0 + f64::from(index)))
        .collect()
}

#[test]
fn the_member_that_was_right_of_late_is_followed() {
    let followed = Followed::fitted(&[ModelSet::Naive, ModelSet::Tes], &line(600));
    let forecast = followed.forecast(8).unwrap();
    for (step, expected) in forecast
        .steps
        .iter()
        .zip([700.0, 701.0, 702.0, 703.0, 704.0, 705.0])
    {
        assert!((step.mean - expected).abs() < 0.01, "{forecast:?}");
    }
    // Beyond its horizon the blend stays constant.
    assert!(
        (forecast.steps[7].mean - 705.0).abs() < 0.01,
        "{forecast:?}"
    );
    assert_eq!(
        followed.blend.summary().unwrap(),
        "at step 6: naive 0 %, tes 100 %"
    );
}

/// The harm: of a load with a peak at each third step, the last value was not taken where it is exact, because the
/// horizon with weights before that is another one.
#[test]
fn with_weights_at_each_step_a_short_rhythm_is_followed() {
    let values: Vec<_> = (0..601_u32)
        .map(|index| Some(if index % 3 == 0 { 100.0 } else { 20.0 }))
        .collect();
    let members = || [ModelSet::Naive, ModelSet::Ets].map(|set| set.model(HORIZON));
    let third_step = |blend: Blend| {
        let forecast = Followed::of(blend, &values).forecast(6).unwrap();
        forecast.steps[2].mean
    };
    let each = third_step(Blend::at_each_step(members().into(), HORIZON));
    assert!((each - 100.0).abs() < 1.0, "{each}");
    let nearest = third_step(Blend::towards(members().into(), HORIZON));
    assert!(nearest < 70.0, "{nearest}");
}

#[test]
fn a_blend_of_the_last_value_is_the_last_value() {
    let values: Vec<_> = (0..80_u32)
        .map(|index| Some(f64::from(index * 37 % 11)))
        .collect();
    let mut followed = Followed::fitted(&[ModelSet::Naive], &values);
    for value in [5.0, 1.0, 8.0] {
        followed.observe(Some(value));
        let forecast = followed.forecast(6).unwrap();
        assert!(
            forecast
                .steps
                .iter()
                .all(|step| step.mean.to_bits() == value.to_bits())
        );
    }
}

#[test]
fn members_that_need_more_past_leave_the_word_to_the_others() {
    let members = [ModelSet::Naive, ModelSet::Ets, ModelSet::Gbdt];
    // 12 values are too few for all but the last value, and 9 for a blend.
    let mut followed = Followed::fitted(&members, &line(12));
    let forecast = followed.forecast(1).unwrap();
    assert!((forecast.steps[0].mean - 111.0).abs() < 1e-9);
    assert_eq!(
        followed.blend.summary().unwrap(),
        "at step 6: naive 100 %, ets 0 %, gbdt 0 %"
    );
    // Fitted again on more, the others count.
    for value in line(240).into_iter().skip(12) {
        followed.observe(value);
    }
    followed.fit(&line(240));
    for value in line(300).into_iter().skip(240) {
        followed.observe(value);
    }
    let forecast = followed.forecast(1).unwrap();
    assert!(
        (forecast.steps[0].mean - 400.0).abs() < 0.05,
        "{forecast:?}"
    );
    let few = Followed::fitted(&members, &line(9));
    assert_eq!(few.forecast(1), Err(NotEnoughHistory { need: 10, have: 0 }));
}

#[test]
fn after_a_gap_it_waits_for_a_value() {
    let mut followed = Followed::fitted(&[ModelSet::Naive, ModelSet::Tes], &line(600));
    followed.observe(None);
    assert!((followed.forecast(1).unwrap().steps[0].mean - 701.0).abs() < 0.01);
    followed.observe(None);
    followed.observe(None);
    assert!(followed.forecast(1).is_err());
    followed.observe(Some(50.0));
    followed.observe(Some(50.0));
    assert!((followed.forecast(1).unwrap().steps[0].mean - 50.0).abs() < 1e-9);
}

#[test]
fn the_same_values_give_the_same_bits() {
    let values: Vec<_> = (0..400_u32)
        .map(|index| Some(f64::from(index * 37 % 101)))
        .collect();
    let sets = [ModelSet::Naive, ModelSet::Arima, ModelSet::Ets];
    let told = || {
        let forecast = Followed::fitted(&sets, &values).forecast(6).unwrap();
        forecast
            .steps
            .iter()
            .map(|step| step.mean.to_bits())
            .collect::<Vec<_>>()
    };
    assert_eq!(told(), told());
}

fn loads() -> impl Strategy<Value = Vec<Option<f64>>> {
    let value = prop_oneof![
        6 => (0.0..1e6_f64).prop_map(Some),
        1 => Just(None),
        1 => Just(Some(0.0)),
        1 => prop::num::f64::ANY.prop_map(Some),
    ];
    prop::collection::vec(value, 1..120)
}

proptest! {
    #[test]
    fn forecasts_are_finite_not_negative_and_nested(values in loads(), share in 0.0..1.0_f64) {
        let count = evenkeel_units::count_as_f64(values.len());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of few")]
        let fitted = ((share * count) as usize).max(1);
        let members = [ModelSet::Naive, ModelSet::SeasonalNaive, ModelSet::Tes, ModelSet::Ets];
        let mut followed = Followed::fitted(&members, &values[..fitted]);
        for &value in &values[fitted..] {
            followed.observe(value);
            let Ok(forecast) = followed.forecast(6) else { continue };
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
