use evenkeel_forecast::{GlobalPeaks, Masks, Quantiles, inputs};
use evenkeel_hpa::{BehaviorSpec, PolicyType, RulesSpec, ScalingPolicy, Tolerances};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_units::{Ratio, count_as_f64};
use jiff::SignedDuration;

use super::cost_benefit;
use super::cost_benefit::{CostBenefitObjection, CostBenefitVerdict};
use super::*;
use crate::load::horizon::{Horizon, Lead};
use crate::load::hpa_aware::PodCapacity;

/// Pods that carry 100 each.
fn pods(max: i32) -> TrialPods {
    let capacity = PodCapacity::new(200.0, Ratio::share(0.5).unwrap()).unwrap();
    let horizon = Horizon {
        lead: Lead {
            start_up: SignedDuration::from_mins(3),
            ..Lead::default()
        },
        ..Horizon::default()
    };
    TrialPods::new(capacity, ReplicaBounds::new(1, max).unwrap(), &horizon)
}

/// A load of 300 that is 600 for ten minutes of each hour.
fn hourly(minute: usize) -> f64 {
    if (50..60).contains(&(minute % 60)) {
        600.0
    } else {
        300.0
    }
}

/// Quantiles around a load, with a tenth of it from the middle to the 80 % quantile.
fn around(load: f64) -> Quantiles {
    Quantiles::new([0.85, 1.0, 1.1, 1.2].map(|share| share * load))
}

fn followed(minute: usize, load: f64, forecast: Option<Quantiles>) -> MinuteForecast {
    let minute = i64::try_from(minute).unwrap();
    MinuteForecast {
        minute,
        second_of_day: minute * 60 % 86_400,
        load,
        forecast,
    }
}

/// Three days of the hourly load, where at the end of each minute `told` is forecast.
fn tried(pods: &TrialPods, told: impl Fn(usize) -> Option<f64>) -> Counterfactual {
    let mut trial = Counterfactual::default();
    for minute in 0..3 * 1440 {
        let forecast = told(minute).map(around);
        trial.pass(&followed(minute, hourly(minute), forecast), pods);
    }
    trial
}

/// The largest load of the four minutes after `minute`.
fn foreseen(minute: usize) -> f64 {
    (minute + 1..minute + 5).map(hourly).fold(0.0, f64::max)
}

#[test]
fn floors_on_forecasts_that_see_the_rise_coming_are_worth_it() {
    let trial = tried(&pods(50), |minute| Some(foreseen(minute)));
    let tried = trial.tried(BEGIN - SPARED).unwrap();
    // The initial assumption has not wholly faded.
    assert!(tried.floors.under < 0.006, "{tried:?}");
    // Four minutes of each hour pass until the HPA's own Pods are ready.
    assert!((0.03..0.09).contains(&tried.plain.under), "{tried:?}");
    assert!(tried.rival.replicas >= tried.plain.replicas, "{tried:?}");
    assert!(tried.ratio() < 0.6, "{tried:?}");
    // It costs a third more replicas, so what is affordable lies below the least for the risk.
    let (distance, most) = (trial.distance(0.01), tried.plain.replicas * MOST_COST);
    assert!(tried.floors.replicas > most, "{tried:?}");
    assert!(distance < BEGIN - SPARED, "{distance}");
}

/// The harm: at a high risk of under-provisioning, floors cost 1.38 times the replicas of the HPA.
#[test]
fn floors_cost_at_most_the_limit() {
    // One minute in forty it is 1.1 to 1.9 times what it was.
    let mut trial = Counterfactual::default();
    for minute in 0..3 * 1440 {
        let share = (count_as_f64(minute) * 0.618_033_988_75).fract();
        let load = if minute % 40 == 0 {
            11_000.0 + 8_000.0 * share
        } else {
            10_000.0
        };
        let told = Quantiles::new([9_000.0, 10_000.0, 11_000.0, 12_000.0]);
        trial.pass(&followed(minute, load, Some(told)), &pods(1000));
    }
    let tried = |distance: f64| trial.tried(distance).unwrap();
    let held = tried(trial.distance(0.0001));
    assert!(
        held.floors.replicas <= held.plain.replicas * MOST_COST + 1e-6,
        "{held:?}"
    );
    let dearest = tried(DISTANCES[DISTANCES.len() - 1]);
    assert!(
        dearest.floors.replicas > held.plain.replicas * MOST_COST,
        "{dearest:?}"
    );
    assert!(held.floors.replicas > held.plain.replicas * 1.1, "{held:?}");
}

/// The harm: levels that were affordable when they were chosen cost 1.36 times the replicas of the
/// HPA.
#[test]
fn what_affordable_floors_cost_later_counts() {
    let mut trial = Counterfactual::default();
    for minute in 0..6 * 1440 {
        // The forecast is vague in every second half of a day.
        let high = if minute / 720 % 2 == 0 { 1.02 } else { 1.5 };
        let told = Quantiles::new([0.95, 1.0, high, 2.0 * high - 1.0].map(|one| one * 10_000.0));
        trial.pass(&followed(minute, 10_000.0, Some(told)), &pods(1000));
    }
    let plain = trial.plain[0].outcome().replicas;
    let cost = trial.limited.outcome().replicas / plain;
    assert!(cost > MOST_COST, "{cost}");
    let tried = trial.tried(trial.affordable()).unwrap().floors;
    let most = plain * MOST_COST * MOST_COST / cost;
    assert!(tried.replicas <= most * 1.001, "{tried:?} {most}");
}

/// The harm: what is forecast too late costs replicas when the load has fallen again, and a target that
/// is a little lower would have been enough.
#[test]
fn floors_on_forecasts_that_come_too_late_are_not() {
    let mut trial = Counterfactual::default();
    for minute in 0..3 * 1440 {
        let (load, told) = match minute % 60 {
            50..60 => (360.0, 300.0),
            0..20 => (300.0, 360.0),
            _ => (300.0, 300.0),
        };
        let told = Quantiles::new([told; 4]);
        trial.pass(&followed(minute, load, Some(told)), &pods(50));
    }
    let tried = trial.tried(trial.distance(0.01)).unwrap();
    assert!(tried.floors.under > 0.03, "{tried:?}");
    assert!(tried.rival.under < 0.002, "{tried:?}");
    assert!(tried.ratio() > 2.0, "{tried:?}");
}

/// The harm: a day with one quarter in which floors save much and three in which they come too late was
/// judged as a whole, and they acted in all of it or in none.
#[test]
fn what_pays_at_one_time_of_day_need_not_at_another() {
    let mut trial = Counterfactual::default();
    let morning = TimeOfDay::of(6 * 3600);
    let late = |minute: usize| match minute % 60 {
        50..60 => (360.0, 300.0),
        0..20 => (300.0, 360.0),
        _ => (300.0, 300.0),
    };
    for minute in 0..3 * 1440 {
        let (load, told) = if minute / 360 % 4 == 1 {
            (hourly(minute), around(foreseen(minute)))
        } else {
            let (load, told) = late(minute);
            (load, Quantiles::new([told; 4]))
        };
        let known = trial.tried_in(morning, 1.0).is_some();
        assert_eq!(
            known,
            minute >= 12 * 60,
            "a whole quarter is to have passed, and half a day"
        );
        trial.pass(&followed(minute, load, Some(told)), &pods(50));
    }
    let distance = trial.distance(0.01);
    let ratio = |hour: i64| {
        trial
            .tried_in(TimeOfDay::of(hour * 3600), distance)
            .unwrap()
            .ratio()
    };
    assert!(ratio(6) < 0.6, "{}", ratio(6));
    for elsewhere in [0, 12, 18] {
        assert!(ratio(elsewhere) > 2.0, "{elsewhere}: {}", ratio(elsewhere));
    }
}

#[test]
fn without_forecasts_floors_are_the_plain_hpa() {
    let trial = tried(&pods(50), |_| None);
    let tried = trial.tried(trial.distance(0.01)).unwrap();
    assert!((tried.floors.replicas - tried.plain.replicas).abs() < 1e-3);
    // The initial assumption has hardly faded.
    assert!(
        (tried.floors.under - tried.plain.under).abs() < 0.02,
        "{tried:?}"
    );
}

#[test]
fn a_smaller_risk_is_held_at_a_greater_distance() {
    let assumed = [0.05, 0.01, 0.001].map(|risk| Counterfactual::default().distance(risk));
    assert!(assumed.is_sorted_by(|low, high| low < high), "{assumed:?}");
    assert!((assumed[1] - BEGIN).abs() < 0.02, "{assumed:?}");
    // One minute in twenty it is 1.1 to 1.5 times what it was, evenly spread.
    let mut trial = Counterfactual::default();
    for minute in 0..10_000 {
        let share = (count_as_f64(minute) * 0.618_033_988_75).fract();
        let rises = minute % 20 == 0;
        let load = if rises {
            1100.0 + 400.0 * share
        } else {
            1000.0
        };
        let told = Quantiles::new([900.0, 1000.0, 1100.0, 1200.0]);
        trial.pass(&followed(minute, load, Some(told)), &pods(1000));
    }
    let distances = [0.05, 0.02, 0.01].map(|risk| trial.distance(risk));
    assert!(
        distances.is_sorted_by(|low, high| low < high),
        "{distances:?}"
    );
    for (risk, distance) in [0.02, 0.01].into_iter().zip(&distances[1..]) {
        let under = trial.tried(*distance).unwrap().floors.under;
        // Between two distances that are tried it is a line.
        assert!((0.5..2.0).contains(&(under / risk)), "{risk}: {under}");
    }
}

#[test]
fn nothing_is_said_of_what_pays_before_half_a_day() {
    let mut trial = Counterfactual::default();
    for minute in 0..720 {
        assert_eq!(trial.tried(1.0), None, "{minute}");
        trial.pass(&followed(minute, 300.0, None), &pods(50));
    }
    assert!(trial.tried(1.0).is_some());
}

#[test]
fn at_the_most_replicas_nothing_is_too_much() {
    let trial = tried(&pods(2), |_| None);
    let tried = trial.tried(1.0).unwrap();
    assert!(tried.plain.under < 1e-6, "{tried:?}");
}

#[test]
fn a_past_is_run_with_what_had_not_seen_it() {
    let values = (0..2000).map(|minute| if minute % 60 < 50 { 300.0 } else { 600.0 });
    let past = Minutes::new(0, values.collect());
    let global = GlobalPeaks::shipped();
    let forecast = |past: &Minutes, index| {
        let inputs = inputs(&past.past(index), 5, Masks::NONE);
        inputs.map(|inputs| global.quantiles(None, &inputs))
    };
    let trial = Counterfactual::over(&past, 500, &pods(50), |index| forecast(&past, index));
    assert!((trial.minutes() - 1500.0).abs() < 1e-9);
    let tried = trial.tried(trial.distance(0.01)).unwrap();
    assert!(tried.floors.replicas > tried.plain.replicas, "{tried:?}");
    let gaps = Minutes::new(0, vec![f32::NAN; 100]);
    let nothing = Counterfactual::over(&gaps, 0, &pods(50), |index| forecast(&gaps, index));
    assert_eq!(nothing, Counterfactual::default());
}

/// Pods of an HPA with rules of its own.
fn ruled(up: ScalingPolicy, down_window: i32) -> TrialPods {
    let behavior = BehaviorSpec {
        scale_up: Some(RulesSpec {
            policies: Some(vec![up]),
            ..RulesSpec::default()
        }),
        scale_down: Some(RulesSpec {
            stabilization_window_seconds: Some(down_window),
            ..RulesSpec::default()
        }),
    };
    pods(50).ruled_by(Tolerances::default(), Some(&behavior.defaulted()))
}

/// The harm: lanes jumped where the target's HPA allows one Pod a minute, and let Pods go after five minutes where
/// it looks back for half an hour.
#[test]
fn pods_come_and_go_by_the_rules_of_the_targets_hpa() {
    let policy = |value, period_seconds| ScalingPolicy {
        policy_type: PolicyType::Pods,
        value,
        period_seconds,
    };
    let outcome = |pods: &TrialPods| tried(pods, |_| None).tried(1.0).unwrap().plain;
    let usual = outcome(&pods(50));
    let wide = outcome(&ruled(policy(100, 15), 300));
    assert_eq!(wide, usual, "limits that no count meets");
    // From 3 to 6 takes three minutes in place of none.
    let slow = outcome(&ruled(policy(1, 60), 300));
    let later = (slow.under - usual.under) * 60.0;
    assert!((1.5..3.5).contains(&later), "{slow:?} {usual:?}");
    let slower = outcome(&ruled(policy(2, 300), 300));
    assert!(slower.under > slow.under, "{slower:?} {slow:?}");
    // Half of the hour at 6 in place of a quarter.
    let patient = outcome(&ruled(policy(100, 15), 1800));
    let more = patient.replicas - usual.replicas;
    assert!((1.0..1.5).contains(&more), "{patient:?} {usual:?}");
    let at_once = outcome(&ruled(policy(100, 15), 0));
    assert!(at_once.replicas < usual.replicas, "{at_once:?} {usual:?}");
}

/// The harm: half a day of Pods that rose at a tenth more than the target was told to be held.
#[test]
fn a_wider_tolerance_leaves_more_undone() {
    let minute = |minute: usize| if minute % 60 < 30 { 300.0 } else { 345.0 };
    let outcome = |tolerances| {
        let pods = pods(50).ruled_by(tolerances, None);
        let mut trial = Counterfactual::default();
        for at in 0..1440 {
            trial.pass(&followed(at, minute(at), None), &pods);
        }
        trial.tried(1.0).unwrap().plain
    };
    let usual = outcome(Tolerances::default());
    let wide = outcome(Tolerances { up: 0.2, down: 0.1 });
    assert!(
        usual.replicas > 3.3 && wide.replicas < 3.1,
        "{usual:?} {wide:?}"
    );
    assert!(wide.under > 0.45, "{wide:?}");
}

/// The harm: where no floor holds the risk, since spikes come out of nothing, the highest were taken, for nearly
/// half as many replicas again, and held against a rival that had fewer.
#[test]
fn what_cannot_be_foreseen_is_not_covered_at_any_price() {
    let mut trial = Counterfactual::default();
    for minute in 0..3 * 1440 {
        let spike = minute % 71 < 2;
        let load = if spike { 2500.0 } else { 1000.0 };
        let told = Quantiles::new([850.0, 1000.0, 1150.0, 1400.0]);
        trial.pass(&followed(minute, load, Some(told)), &pods(1000));
    }
    let distance = trial.distance(0.01);
    let tried = trial.tried(distance).unwrap();
    // The least that is kept for a risk, which the highest would have cost twice as much as.
    assert!((distance - (BEGIN - SPARED)).abs() < 1e-9, "{distance}");
    let highest = trial.tried(4.0).unwrap().floors.replicas;
    let more = |replicas: f64| replicas - tried.plain.replicas;
    assert!(
        more(highest) > 2.0 * more(tried.floors.replicas),
        "{highest} {tried:?}"
    );
    assert_eq!(
        cost_benefit::judge_trial(&tried),
        CostBenefitVerdict::Not(CostBenefitObjection::LowerTarget)
    );
}

/// The harm: where a high risk was accepted, floors stayed just below what foreseen rises need. A lower target would
/// have been about as good.
#[test]
fn floors_that_are_worth_more_lie_further_from_the_middle() {
    let mut trial = Counterfactual::default();
    for minute in 0..3 * 1440 {
        let load = |minute| {
            if hourly(minute) > 300.0 {
                36_000.0
            } else {
                30_000.0
            }
        };
        let rises_to = (minute + 1..minute + 5).map(load).fold(0.0, f64::max);
        let told = Quantiles::new([0.7, 0.8, 0.9, 0.96].map(|share| share * rises_to));
        trial.pass(&followed(minute, load(minute), Some(told)), &pods(1000));
    }
    let (meeting, worthwhile) = (trial.meeting_distance(0.1), trial.worthwhile_distance(0.1));
    assert!(
        (meeting - (BEGIN - A_TENTH - SPARED)).abs() < 1e-9,
        "{meeting}"
    );
    assert!(
        (worthwhile - (MOST_FOR_WORTH - MORE_FOR_A_TENTH)).abs() < 1e-9,
        "{worthwhile}"
    );
    let ratio = |distance: f64| trial.tried(distance).unwrap().ratio();
    assert!(
        ratio(worthwhile) < 0.7 * ratio(meeting),
        "{} {}",
        ratio(worthwhile),
        ratio(meeting)
    );
    assert!((trial.distance(0.1) - worthwhile).abs() < 1e-9);
    // A smaller risk asks for more than the distance of the best benefit.
    assert!(trial.distance(0.001) > trial.worthwhile_distance(0.001));
}

/// The harm: floors beyond the HPA with the lowest target were held against it, as if it had cost as much.
#[test]
fn floors_cost_no_more_than_the_lowest_target() {
    // A load that doubles within a minute and is told to double at any time.
    let told = |spread: f64| Quantiles::new([300.0, 300.0, 300.0 * spread, 600.0 * spread]);
    let over = |spread: f64| {
        let mut trial = Counterfactual::default();
        for minute in 0..3 * 1440 {
            let load = if minute % 20 == 0 { 600.0 } else { 300.0 };
            trial.pass(&followed(minute, load, Some(told(spread))), &pods(1000));
        }
        trial
    };
    let trial = over(1.2);
    let tried = trial.tried(trial.distance(0.001)).unwrap();
    assert!(!tried.cost_more, "{tried:?}");
    // Each of them has twice as many.
    let mut trial = Counterfactual::default();
    for minute in 0..3 * 1440 {
        let told = Quantiles::new([700.0; 4]);
        trial.pass(
            &followed(minute, hourly(minute).min(310.0), Some(told)),
            &pods(1000),
        );
    }
    let tried = trial.tried(trial.distance(0.01)).unwrap();
    assert!(tried.cost_more, "{tried:?}");
}

#[test]
fn a_minute_is_run_once() {
    let mut trial = tried(&pods(50), |_| None);
    let before = trial.clone();
    for again in 4000..3 * 1440 {
        trial.pass(&followed(again, 1000.0, None), &pods(50));
    }
    assert_eq!(trial, before);
    trial.pass(&followed(3 * 1440, 1000.0, None), &pods(50));
    assert_ne!(trial, before);
}
