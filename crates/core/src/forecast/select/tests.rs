//! Who is listened to, on loads that one model or the other is better at.

use super::*;

const STEP: SignedDuration = SignedDuration::from_secs(15);
const HORIZON: NonZeroUsize = NonZeroUsize::new(6).unwrap();

/// A past that is the same every day, or none at all.
struct Days(fn(i64) -> Option<f64>);

impl Past for Days {
    fn at(&self, time: Timestamp) -> Option<f64> {
        (self.0)(time.as_second().div_euclid(15))
    }

    fn known_from(&self, time: Timestamp) -> Option<Timestamp> {
        self.at(time).map(|_| time)
    }
}

const NO_PAST: Days = Days(|_| None);

fn float(slot: i64) -> f64 {
    f64::from(i32::try_from(slot).unwrap())
}

fn hill(slot: i64) -> f64 {
    500.0 + 400.0 * (float(slot) / 40.0).sin()
}

/// Steps up and down without warning, the same every day.
fn stairs(slot: i64) -> f64 {
    100.0 + 90.0 * float((slot.rem_euclid(5760) * 7) / 40 % 5)
}

fn at(slot: i64) -> Timestamp {
    Timestamp::from_second(slot * 15).unwrap()
}

fn follow(
    candidates: &mut Candidates,
    slots: std::ops::Range<i64>,
    load: fn(i64) -> f64,
    past: &Days,
) {
    for slot in slots {
        candidates.advance(at(slot), Some(load(slot)), past);
        candidates.choose(at(slot));
    }
}

fn fresh(models: Models) -> Candidates {
    let mut candidates = Candidates::new(models, HORIZON, STEP);
    let series = Series::new(at(-1), STEP, vec![]).unwrap();
    candidates.begin(&series);
    candidates
}

#[test]
fn the_best_model_of_the_load_is_chosen() {
    let mut candidates = fresh(Models::Auto);
    follow(
        &mut candidates,
        0..200,
        stairs,
        &Days(|slot| Some(stairs(slot))),
    );
    let selected = candidates.selected(8, &Days(|slot| Some(stairs(slot))));
    assert_eq!(selected.model, "seasonal-naive");
    assert!(selected.trust.is_trusted(), "{}", selected.trust);
    assert_eq!(selected.forecast.unwrap().steps.len(), 8);

    let mut candidates = fresh(Models::Auto);
    follow(&mut candidates, 0..200, hill, &NO_PAST);
    let smooth = candidates.selected(8, &NO_PAST);
    assert_ne!(smooth.model, "seasonal-naive");
    assert!(smooth.trust.is_trusted(), "{}", smooth.trust);
}

#[test]
fn s_hpa_alone_has_no_company() {
    let mut candidates = fresh(Models::SHpa);
    let past = Days(|slot| Some(stairs(slot)));
    follow(&mut candidates, 0..200, stairs, &past);
    assert_eq!(candidates.selected(8, &past).model, "s-hpa");
    assert_eq!(candidates.lacking(&past), []);
    let anew = |models| {
        let series = Series::new(at(0), STEP, vec![Some(1.0); 30]).unwrap();
        candidates
            .learnt_anew((models, HORIZON), &series, &past)
            .models()
    };
    assert_eq!(
        (anew(Models::SHpa), anew(Models::Auto)),
        (Models::SHpa, Models::Auto)
    );
}

#[test]
fn what_is_lacking_is_told_with_its_time() {
    let mut candidates = fresh(Models::Auto);
    follow(&mut candidates, 0..8, hill, &NO_PAST);
    let told: Vec<_> = candidates
        .lacking(&NO_PAST)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        ["s-hpa ready in 3 min", "seasonal-naive ready in 24 h"]
    );
    let selected = candidates.selected(8, &NO_PAST);
    assert_eq!(selected.trust.reason(), "Unproven");
}

/// A choice with made-up scores: each model errs by a constant share of the naive one's error.
fn scored(errors: [f64; 3]) -> Candidates {
    let mut candidates = fresh(Models::Auto);
    let card = |error: f64| {
        let mut card = Scorecard::new(NonZeroUsize::MIN);
        for now in 0..60 {
            let mean = f64::from(now) + 1.0 + error;
            let interval = crate::forecast::Interval {
                lower: 0.0,
                upper: 1e6,
            };
            let step = crate::forecast::Step {
                mean,
                interval80: interval,
                interval95: interval,
            };
            let forecast = Forecast {
                origin: at(0),
                step: STEP,
                steps: vec![step],
                clamped: 0,
            };
            card.record(Some(f64::from(now)), Some(&forecast));
        }
        card
    };
    candidates.s_hpa.card = card(errors[0]);
    let others = candidates.others.as_mut().unwrap();
    others.tes.card = card(errors[1]);
    others.yesterday.card = card(errors[2]);
    candidates
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
        ([0.5, 0.5, 0.5], [0.5, 0.5, 0.5], hour, "s-hpa"),
        ([0.5, 0.8, 0.9], [1.5, 1.3, 1.4], 1, "tes"),
    ] {
        let mut candidates = scored(before);
        candidates.choose(at(0));
        assert_eq!(candidates.chosen.unwrap().kind, Kind::SHpa);
        let chosen = candidates.chosen;
        candidates = scored(after);
        candidates.chosen = chosen;
        candidates.choose(at(slots));
        let selected = candidates.selected(1, &NO_PAST);
        assert_eq!(
            selected.model, model,
            "{before:?} to {after:?} after {slots}"
        );
    }
}

#[test]
fn with_another_horizon_all_is_scored_anew_on_the_past() {
    let mut candidates = fresh(Models::Auto);
    follow(&mut candidates, 0..120, hill, &NO_PAST);
    let longer = NonZeroUsize::new(10).unwrap();
    let values = (0..120).map(|slot| Some(hill(slot))).collect();
    let series = Series::new(at(0), STEP, values).unwrap();
    let anew = candidates.learnt_anew((Models::Auto, longer), &series, &NO_PAST);
    assert_eq!(anew.horizon(), 10);
    let (before, after) = (
        candidates.selected(10, &NO_PAST),
        anew.selected(10, &NO_PAST),
    );
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
