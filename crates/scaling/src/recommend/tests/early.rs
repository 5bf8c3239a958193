//! Scaling in ahead of a falling load, by a floor, by a count of one's own and among portraits.

use evenkeel_api::replica_counts::ReplicaCounts;

use super::*;
use crate::merge::recommendation::Ask;
use crate::recommend::merged_portraits::{PortraitInput, ProviderRef};
use crate::staged_change::StagedBehavior;

fn early(mode: ScalingMode, behavior: Option<Behavior>) -> TargetPolicy {
    TargetPolicy {
        mode,
        behavior,
        scale_down: ScaleDown::Early,
        ..policy()
    }
}

/// A load of 8 Pods that falls from 9.6 to 3.6 cores, with a forecast that is as much; its upper 95 % bound is
/// a fifth above.
fn falling(second: i64) -> Told {
    let load = if second <= 75 { 8000.0 } else { 3600.0 };
    Told {
        strategy: Method::Forecast,
        ..Told::new(second, 8, load, load)
    }
}

/// The times at which the floor of a falling load changes, with what it is from then on.
fn floors(policy: &TargetPolicy, told: impl Fn(i64) -> Told) -> Vec<(i64, i32)> {
    let (mut state, mut found, mut before) = (DecisionState::default(), Vec::new(), 0);
    for second in (0..900).step_by(15) {
        let (decision, next) = told(second).decide(policy, state);
        if decision.replicas != before {
            found.push((second, decision.replicas));
        }
        (state, before) = (next, decision.replicas);
    }
    found
}

/// The harm: `scale-down: early` changed nothing in mode floor.
#[test]
fn an_early_floor_does_not_wait_for_the_window_and_keeps_to_the_policies() {
    for (behavior, expected) in [
        (None, vec![(0, 7), (90, 4)]),
        (Some(scale_down(Some(600), 100, 15)), vec![(0, 7), (90, 4)]),
        // One Pod a minute. The cool-down of 120 s holds back early steps alone: at 195 s the window is over, and
        // the floor falls as it would without the option.
        (
            Some(scale_down(Some(120), 1, 60)),
            vec![(0, 7), (90, 6), (195, 5), (255, 4)],
        ),
    ] {
        let policy = early(ScalingMode::Floor, behavior);
        let found = floors(&policy, falling);
        assert_eq!(found, expected, "{:?}", policy.behavior);
        let reactive = TargetPolicy {
            scale_down: ScaleDown::Reactive,
            ..policy
        };
        let at = |floors: &[(i64, i32)], second| {
            let before = floors.iter().rev().find(|(from, _)| *from <= second);
            before.map(|(_, floor)| *floor)
        };
        let reactive = floors(&reactive, falling);
        for second in (0..900).step_by(15) {
            let (early, reactive) = (at(&found, second), at(&reactive, second));
            assert!(early <= reactive, "{second}: {early:?} after {reactive:?}");
        }
    }
    let later = floors(
        &TargetPolicy {
            scale_down: ScaleDown::Reactive,
            ..early(ScalingMode::Floor, None)
        },
        falling,
    );
    assert!(later[1].0 > 300, "{later:?}");
}

#[test]
fn a_floor_stays_where_the_bound_or_the_trust_is_missing() {
    let above = |second| Told {
        // The upper bound takes seven Pods still.
        mean: Some(if second <= 75 { 8000.0 } else { 6500.0 }),
        ..falling(second)
    };
    let untrusted = |second| Told {
        trust: if second <= 75 { TRUSTED } else { DISTRUSTED },
        ..falling(second)
    };
    let policy = early(ScalingMode::Floor, None);
    for found in [floors(&policy, above), floors(&policy, untrusted)] {
        assert!(
            found
                .iter()
                .all(|&(second, _)| !(15..300).contains(&second)),
            "{found:?}"
        );
    }
}

#[test]
fn what_was_taken_away_is_not_given_back_by_a_reaction_that_remembers() {
    let policy = early(ScalingMode::Direct, None);
    let told = |second, current, load| Told {
        reactive: Some(8),
        ..Told::new(second, current, load, load * 0.9)
    };
    let (decision, state) = told(0, 8, 4100.0).decide(&policy, DecisionState::default());
    assert_eq!(decision.replicas, 4);
    // The count has not been seen yet.
    let (decision, state) = told(15, 8, 4100.0).decide(&policy, state);
    assert_eq!(decision.replicas, 4, "{decision:?}");
    let (decision, state) = told(30, 4, 5400.0).decide(&policy, state);
    assert_eq!(decision.replicas, 5, "as the load asks: {decision:?}");
    let (decision, _) = told(60, 5, 4100.0).decide(&policy, state);
    let pause = Some(LimitedBy::CoolDown { until: at(300) });
    assert_eq!((decision.replicas, decision.limited_by), (5, pause));
}

/// A tick of a target with a reaction and a forecast, which have the same priority, beside a constant.
fn portrayed(policy: &TargetPolicy, told: &Told, constant: i32) -> i32 {
    let speaker = |name: &str| ProviderRef {
        by: name.into(),
        priority: 1,
    };
    let constant = speaker("static").recommend((Ask::Exactly(constant), None));
    let (reactive, predictive) = (speaker("reactive"), speaker("predictive"));
    let mut state = DecisionState::default();
    told.with_input(|input| {
        let portraits = PortraitInput {
            given: std::slice::from_ref(&constant),
            reactive: Some(&reactive),
            predictive: Some(&predictive),
            behavior: &StagedBehavior::default(),
            counts: ReplicaCounts::all_online(told.current),
            reached: None,
            change: None,
            checks: &[],
            holds: &[],
            resume: None,
            told: None,
            generation: None,
            rests_at_zero: false,
        };
        portray(policy, &mut state, input, &portraits)
            .staged
            .counts
            .online
    })
}

/// The harm: `forecast.scaleDown: early` of an IHPA changed nothing in any mode.
#[test]
fn among_portraits_neither_reaction_nor_forecast_hold_up_an_early_scale_in() {
    let told = Told {
        reactive: Some(8),
        strategy: Method::Forecast,
        ..Told::new(0, 8, 3600.0, 3600.0)
    };
    let early = early(ScalingMode::Direct, None);
    let reactive = TargetPolicy {
        scale_down: ScaleDown::Reactive,
        ..early.clone()
    };
    assert_eq!(portrayed(&reactive, &told, 1), 8);
    assert_eq!(portrayed(&early, &told, 1), 4);
    assert_eq!(portrayed(&early, &told, 6), 6, "others say what they say");
    let blind = Told {
        reactive: None,
        ..told
    };
    assert_eq!(portrayed(&early, &blind, 8), 8, "metrics are missing");
}

proptest! {
    /// Whatever a forecast takes away, the load as it is now and the bounds of the user are kept to.
    #[test]
    fn an_early_count_carries_the_load_as_it_is(
        load in 100.0..9_000.0_f64, mean in 10.0..9_000.0_f64, current in 4..10_i32, held in 4..10_i32
    ) {
        let told = Told { reactive: Some(held), ..Told::new(0, current, load, mean) };
        let (decision, _) = told.decide(&early(ScalingMode::Direct, None), DecisionState::default());
        let tolerances = Tolerances::default();
        let now = capacity().reactive(current, load, tolerances);
        let bounds = policy().bounds;
        prop_assert!(decision.replicas >= bounds.clamp(now.min(held)), "{decision:?}");
    }
}
