//! The choice of a model, on loads that one model or the other is better at.

use super::*;
use crate::forecast::context::Shared;
use crate::forecast::history::{History, Resolution};
use crate::forecast::model::forecast_together;
use crate::forecast::past::Past as _;
use crate::forecast::prediction::{Interval, Step};

const STEP: SignedDuration = SignedDuration::from_secs(15);
const HORIZON: NonZeroUsize = NonZeroUsize::new(6).unwrap();
/// The second at which the first slot begins.
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

/// The past of a load that turns without warning every five minutes, an hour of it a day ago.
fn zigzag() -> History {
    let mut history = History::default();
    for turn in -2..14 {
        let time = Timestamp::from_second(START - DAY + turn * 300).unwrap();
        let level = 100.0 + 90.0 * float((turn * 7).rem_euclid(5));
        let refilled = history.refill(Resolution::FiveMinutes, time, level, at(0));
        refilled.unwrap();
    }
    history
}

/// The load that is the same as the day before.
fn repeated(history: &History) -> impl Fn(i64) -> f64 {
    |slot| {
        let before = Timestamp::from_second(START - DAY + slot * 15).unwrap();
        history.at(before).unwrap()
    }
}

/// The candidates of a load, and all that they read.
struct Load {
    candidates: Candidates,
    history: History,
    shared: Shared,
}

impl Load {
    fn new(set: ModelSet, history: History) -> Self {
        Self {
            candidates: Candidates::new(set, HORIZON),
            history,
            shared: Shared::default(),
        }
    }

    fn context(&self, slot: i64) -> Context<'_> {
        context(&self.history, &self.shared, slot)
    }

    fn follow(&mut self, slots: std::ops::Range<i64>, load: impl Fn(i64) -> f64) {
        for slot in slots {
            let context = context(&self.history, &self.shared, slot);
            self.candidates.observe(Some(load(slot)), &context);
            self.selected(1, slot);
        }
    }

    fn selected(&mut self, steps: usize, slot: i64) -> Selected {
        let context = context(&self.history, &self.shared, slot);
        let requests: Vec<_> = self.candidates.requests(steps, context).collect();
        let forecasts = forecast_together(&requests);
        self.candidates.select(forecasts, STEP, at(slot))
    }
}

fn context<'a>(history: &'a History, shared: &'a Shared, slot: i64) -> Context<'a> {
    Context {
        history,
        origin: at(slot),
        step: STEP,
        shared,
    }
}

#[test]
fn the_best_model_of_the_load_is_chosen() {
    let past = zigzag();
    let mut load = Load::new(ModelSet::Auto, past.clone());
    load.follow(0..200, repeated(&past));
    let selected = load.selected(8, 199);
    assert_eq!(selected.model, "seasonal-naive");
    assert!(selected.trust.is_trusted(), "{}", selected.trust);
    assert_eq!(selected.forecast.unwrap().steps.len(), 8);

    let mut load = Load::new(ModelSet::Auto, History::default());
    load.follow(0..200, hill);
    let smooth = load.selected(8, 199);
    assert_ne!(smooth.model, "seasonal-naive");
    assert!(smooth.trust.is_trusted(), "{}", smooth.trust);
}

#[test]
fn s_hpa_alone_has_no_company() {
    let past = zigzag();
    let mut load = Load::new(ModelSet::SHpa, past.clone());
    load.follow(0..200, repeated(&past));
    let selected = load.selected(8, 199);
    assert_eq!((selected.model, selected.lacking), ("s-hpa", Vec::new()));
    assert!(load.candidates.are(ModelSet::SHpa, HORIZON));
    assert!(!load.candidates.are(ModelSet::Auto, HORIZON));
}

#[test]
fn a_choice_is_kept_where_its_model_is_there() {
    for (errors, set, kept) in [
        ([0.5, 0.8, 0.9], ModelSet::SHpa, Some("s-hpa")),
        ([0.8, 0.5, 0.9], ModelSet::SHpa, None),
        ([0.8, 0.5, 0.9], ModelSet::Auto, Some("tes")),
    ] {
        let mut before = scored(errors).candidates;
        before.choose(at(0));
        let mut after = Candidates::new(set, HORIZON);
        after.keep_choice_and_trust_of(&before);
        let chosen = after
            .chosen
            .map(|choice| after.members[choice.index].model.name());
        assert_eq!(chosen, kept, "{errors:?} to {set:?}");
    }
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
        let mut anew = scored([error, 1.5, 1.5]);
        let before = scored([before, 1.5, 1.5]).candidates;
        anew.candidates.keep_choice_and_trust_of(&before);
        let selected = anew.selected(1, 0);
        assert_eq!(selected.model, "s-hpa");
        assert_eq!(
            selected.trust.is_trusted(),
            kept,
            "{error}: {}",
            selected.trust
        );
    }
}

#[test]
fn models_that_are_not_ready_say_when_they_will_be() {
    let mut load = Load::new(ModelSet::Auto, History::default());
    load.follow(0..8, hill);
    let selected = load.selected(8, 7);
    let told: Vec<_> = selected.lacking.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["s-hpa ready in 3 min", "seasonal-naive ready in 24 h"]
    );
    assert_eq!(selected.trust.reason(), "Unproven");
}

/// Made-up scores: each model errs by a constant share of the naive one's error.
fn scored(errors: [f64; 3]) -> Load {
    let mut load = Load::new(ModelSet::Auto, History::default());
    let card = |error: f64| {
        let mut card = Scorecard::new(NonZeroUsize::MIN);
        for now in 0..60 {
            let mean = f64::from(now) + 1.0 + error;
            let interval = Interval {
                lower: 0.0,
                upper: 1e6,
            };
            let step = Step {
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
    for (candidate, error) in load.candidates.members.iter_mut().zip(errors) {
        candidate.card = card(error);
    }
    load
}

#[test]
fn a_choice_stands_an_hour_and_moves_for_five_percent() {
    let hour = 240;
    for (before, after, slots, model) in [
        ([0.5, 0.8, 0.9], [0.8, 0.5, 0.9], hour - 1, "s-hpa"),
        ([0.5, 0.8, 0.9], [0.8, 0.5, 0.9], hour, "tes"),
        ([0.5, 0.8, 0.9], [0.5, 0.48, 0.9], hour, "s-hpa"),
        ([0.5, 0.8, 0.9], [0.5, 0.47, 0.9], hour, "tes"),
        ([0.5, 0.8, 0.9], [1.2, 0.8, 0.7], 1, "seasonal-naive"),
        ([0.5, 0.8, 0.9], [0.97, 0.9, 0.8], 1, "seasonal-naive"),
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], hour, "s-hpa"),
        ([0.5, 0.8, 0.9], [1.5, 1.3, 1.4], 1, "tes"),
    ] {
        let mut first = scored(before);
        first.candidates.choose(at(0));
        assert_eq!(first.selected(1, 0).model, "s-hpa");
        let mut then = scored(after);
        then.candidates.chosen = first.candidates.chosen;
        let selected = then.selected(1, slots);
        assert_eq!(
            selected.model, model,
            "{before:?} to {after:?} after {slots}"
        );
    }
}

#[test]
fn with_another_horizon_all_is_scored_anew_on_the_past() {
    let mut load = Load::new(ModelSet::Auto, History::default());
    load.follow(0..120, hill);
    let longer = NonZeroUsize::new(10).unwrap();
    let values = (0..120).map(|slot| Some(hill(slot))).collect();
    let series = Series::new(at(0), STEP, values).unwrap();
    let mut anew = Candidates::new(ModelSet::Auto, longer);
    anew.learn(&series, &load.context(0));
    anew.keep_choice_and_trust_of(&load.candidates);
    assert!(anew.are(ModelSet::Auto, longer) && !load.candidates.are(ModelSet::Auto, longer));
    let before = load.selected(10, 119);
    load.candidates = anew;
    let after = load.selected(10, 119);
    assert_eq!(after.model, before.model, "the choice stands");
    let means = |selected: &Selected| -> Vec<u64> {
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
