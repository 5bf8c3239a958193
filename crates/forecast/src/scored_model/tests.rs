//! The score of a model, on loads that it is good at and on others.

use super::*;
use crate::context::ModelAssets;
use crate::historical_load::HistoricalLoad as _;
use crate::load_ring_buffer::{LoadRingBuffer, Resolution};
use crate::noise;
use crate::prediction::{ForecastStep, Interval};

const STEP: SignedDuration = SignedDuration::from_secs(15);
const HORIZON: NonZeroUsize = NonZeroUsize::new(6).unwrap();
/// Begin of the first slot, in seconds.
const START: i64 = 1_800_000_000;
const DAY: i64 = 86_400;

fn at(slot: i64) -> Timestamp {
    Timestamp::from_second(START + slot * 15).unwrap()
}

fn float(number: i64) -> f64 {
    f64::from(i32::try_from(number).unwrap())
}

fn hill(slot: i64) -> f64 {
    500.0 + 400.0 * (float(slot) / 40.0).sin()
}

/// A load that turns without warning every five minutes, an hour of it a day ago.
fn zigzag() -> LoadRingBuffer {
    let mut history = LoadRingBuffer::default();
    for turn in -2..14 {
        let time = Timestamp::from_second(START - DAY + turn * 300).unwrap();
        let level = 100.0 + 90.0 * float((turn * 7).rem_euclid(5));
        let refilled = history.refill(Resolution::FiveMinutes, time, level, at(0));
        refilled.unwrap();
    }
    history
}

/// The load repeats the day before.
fn repeated(history: &LoadRingBuffer) -> impl Fn(i64) -> f64 {
    |slot| {
        let before = Timestamp::from_second(START - DAY + slot * 15).unwrap();
        history.at(before).unwrap()
    }
}

struct Load {
    model: ScoredModel,
    history: LoadRingBuffer,
    shared: ModelAssets,
}

impl Load {
    fn new(set: ModelSet, history: LoadRingBuffer) -> Self {
        Self {
            model: ScoredModel::new(set, HORIZON),
            history,
            shared: ModelAssets::default(),
        }
    }

    fn context(&self, slot: i64) -> ForecastContext<'_> {
        context(&self.history, &self.shared, slot)
    }

    fn follow(&mut self, slots: std::ops::Range<i64>, load: impl Fn(i64) -> f64) {
        for slot in slots {
            let context = context(&self.history, &self.shared, slot);
            self.model.observe(Some(load(slot)), &context);
            self.selected(1, slot);
        }
    }

    fn selected(&mut self, steps: usize, slot: i64) -> SelectedForecast {
        let context = context(&self.history, &self.shared, slot);
        let request = self.model.request(steps, context);
        let forecast = request.model.forecast(request.horizon, &request.context);
        self.model.select(forecast, STEP)
    }
}

fn context<'a>(
    history: &'a LoadRingBuffer,
    shared: &'a ModelAssets,
    slot: i64,
) -> ForecastContext<'a> {
    ForecastContext {
        history,
        origin: at(slot),
        step: STEP,
        shared,
    }
}

#[test]
fn a_model_is_trusted_on_the_loads_that_it_is_good_at() {
    let past = zigzag();
    for (set, is_trusted) in [(ModelSet::SeasonalNaive, true), (ModelSet::SHpa, false)] {
        let mut load = Load::new(set, past.clone());
        load.follow(0..200, repeated(&past));
        let selected = load.selected(8, 199);
        assert_eq!(
            (selected.model, selected.lacking),
            (set.as_str(), Vec::new())
        );
        assert_eq!(
            selected.trust.is_trusted(),
            is_trusted,
            "{}",
            selected.trust
        );
        assert_eq!(selected.forecast.unwrap().steps.len(), 8);
    }
    let mut load = Load::new(ModelSet::Tes, LoadRingBuffer::default());
    load.follow(0..200, hill);
    let smooth = load.selected(8, 199);
    assert!(smooth.trust.is_trusted(), "{}", smooth.trust);
    assert!(load.model.is(ModelSet::Tes, HORIZON));
    assert!(!load.model.is(ModelSet::SHpa, HORIZON));
}

/// Slower Pods move the horizon from tick to tick, and each time all is learnt anew.
#[test]
fn what_is_learnt_anew_keeps_its_trust_within_the_band() {
    for (error, before, kept) in [
        (0.97, 0.5, true),
        (1.03, 0.5, true),
        (1.07, 0.5, false),
        (0.97, 0.97, false),
    ] {
        let mut anew = scored(error);
        anew.model.keep_trust_of(&scored(before).model);
        let selected = anew.selected(1, 0);
        assert_eq!(
            selected.trust.is_trusted(),
            kept,
            "{error}: {}",
            selected.trust
        );
    }
    let mut other = ScoredModel::new(ModelSet::Tes, HORIZON);
    other.card = scored(1.03).model.card;
    other.keep_trust_of(&scored(0.5).model);
    assert!(!other.card.trust().is_trusted(), "another model");
}

#[test]
fn a_model_that_is_not_ready_says_when_it_will_be() {
    for (set, told) in [
        (ModelSet::SHpa, "s-hpa ready in 3 min"),
        (ModelSet::SeasonalNaive, "seasonal-naive ready in 24 h"),
    ] {
        let mut load = Load::new(set, LoadRingBuffer::default());
        load.follow(0..8, hill);
        let selected = load.selected(8, 7);
        let lacking: Vec<_> = selected.lacking.iter().map(ToString::to_string).collect();
        assert_eq!(lacking, [told]);
        assert_eq!(selected.trust.reason(), "Unproven");
    }
}

/// A made-up score: the model's error is a constant share of the naive error.
fn scored(error: f64) -> Load {
    let mut load = Load::new(ModelSet::SHpa, LoadRingBuffer::default());
    let card = {
        let mut card = Scorecard::new(NonZeroUsize::MIN);
        for now in 0..60 {
            let mean = f64::from(now) + 1.0 + error;
            let interval = Interval {
                lower: 0.0,
                upper: 1e6,
            };
            let step = ForecastStep {
                mean,
                interval80: interval,
                interval95: interval,
            };
            let forecast = Forecast {
                origin: at(0),
                step: STEP,
                steps: vec![step],
                clamped: 0,
                unbounded: Box::default(),
            };
            card.record(Some(f64::from(now)), Some(&forecast));
        }
        card
    };
    load.model.card = card;
    load
}

#[test]
fn with_another_horizon_all_is_scored_anew_on_the_past() {
    let mut load = Load::new(ModelSet::SHpa, LoadRingBuffer::default());
    load.follow(0..120, hill);
    let longer = NonZeroUsize::new(10).unwrap();
    let values = (0..120).map(|slot| Some(hill(slot))).collect();
    let series = RegularSeries::new(at(0), STEP, values).unwrap();
    let mut anew = ScoredModel::new(ModelSet::SHpa, longer);
    anew.learn(&series, &load.context(0));
    anew.keep_trust_of(&load.model);
    assert!(anew.is(ModelSet::SHpa, longer) && !load.model.is(ModelSet::SHpa, longer));
    let before = load.selected(10, 119);
    load.model = anew;
    let after = load.selected(10, 119);
    let means = |selected: &SelectedForecast| -> Vec<u64> {
        let steps = &selected.forecast.as_ref().unwrap().steps;
        steps.iter().map(|step| step.mean.to_bits()).collect()
    };
    assert_eq!(
        means(&before),
        means(&after),
        "the same observations, the same means"
    );
    assert!(after.accuracy.scored > 60 && after.accuracy.mae > before.accuracy.mae);
}

#[test]
fn a_fit_that_fails_a_required_check_is_not_trusted() {
    use ResidualChecks::{Report, Require};
    let plain: Vec<f64> = noise::normal(4, 400)
        .iter()
        .map(|one| 100.0 + one)
        .collect();
    let mut spiked = plain.clone();
    for value in spiked.iter_mut().step_by(37) {
        *value += 40.0;
    }
    for (values, residual_checks, reason) in [
        (&plain, Report, "Unproven"),
        (&plain, Require, "Unproven"),
        (&spiked, Report, "Unproven"),
        (&spiked, Require, "ResidualsFailed"),
    ] {
        for set in [ModelSet::Arima, ModelSet::Ets] {
            let mut load = Load::new(set, LoadRingBuffer::default());
            load.shared.residual_checks = residual_checks;
            let values = values.iter().copied().map(Some).collect();
            let past = RegularSeries::new(at(0), STEP, values).unwrap();
            let context = context(&load.history, &load.shared, 400);
            load.model.fit(&past, &context).unwrap();
            let found = load.selected(1, 400).trust.reason();
            let expected = if set == ModelSet::Arima {
                reason
            } else {
                "Unproven"
            };
            assert_eq!(found, expected, "{set} {residual_checks}");
        }
    }
}
