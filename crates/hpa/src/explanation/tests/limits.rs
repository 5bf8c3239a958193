//! The limit of a count is named: the bound before the window, a disabled direction before both.

use super::super::*;
use super::{assert_says, condition, explained};
use crate::tests::{SECOND, cpu, hpa, now, pods, scale, usage};
use crate::{
    BehaviorSpec, ConditionType, HorizontalPodAutoscaler, HpaMemory, ObservedTarget, SelectPolicy,
    TimedRecommendation,
};

const WINDOW: i32 = 60;

/// An HPA by cpu at 50 % with a scaleUp window.
fn with_window() -> HorizontalPodAutoscaler {
    let mut hpa = hpa(vec![cpu(50)]);
    let mut behavior = BehaviorSpec::default().defaulted();
    behavior.scale_up.stabilization_window_seconds = Some(WINDOW);
    hpa.spec.behavior = Some(behavior);
    hpa
}

fn disabled(direction: ScaleDirection) -> HorizontalPodAutoscaler {
    let mut hpa = with_window();
    let behavior = hpa.spec.behavior.as_mut().unwrap();
    match direction {
        ScaleDirection::Up => behavior.scale_up.select_policy = SelectPolicy::Disabled,
        ScaleDirection::Down => behavior.scale_down.select_policy = SelectPolicy::Disabled,
    }
    hpa
}

fn of_count(hpa: &HorizontalPodAutoscaler, count: usize, milli: i64) -> HpaExplanation {
    let pods = pods(count);
    let history = RescaleHistory::default();
    explained(hpa, Ok(scale(&pods, &[])), &usage(count, milli), &history)
}

fn assert_omits(explanation: &HpaExplanation, parts: &[&str]) {
    let text = explanation.summary.join("\n");
    for part in parts {
        assert!(!text.contains(part), "{part:?} is in\n{text}");
    }
}

/// The metrics ask for 40 replicas.
#[test]
fn a_scale_up_window_hides_neither_the_bound_nor_a_step() {
    const MAX: &str = "maxReplicas 10 limits the count: the metrics ask for 40.";
    const STEP: &str = "The scaleUp policies (Pods=4/15s, Percent=100/15s) allow a change to 16 \
                        in this step: the metrics ask for 40.";
    const HELD: &str = "The scaleUp window of 60 s holds 8 replicas: the metrics ask for 40.";
    for (count, max, reason, said, is_held) in [
        (10, 10, None, MAX, false),
        (10, 10, Some("TooManyReplicas"), MAX, false),
        (8, 20, Some("ScaleUpLimit"), STEP, false),
        (8, 20, None, HELD, true),
    ] {
        let mut hpa = with_window();
        hpa.spec.max_replicas = max;
        if let Some(reason) = reason {
            condition(&mut hpa, ConditionType::ScalingLimited, reason);
        }
        let count_milli = i64::try_from(count).unwrap();
        let found = of_count(&hpa, count, 20_000 / count_milli);
        assert_says(&found, &[said]);
        assert_eq!(found.window.is_some(), is_held, "{count} {reason:?}");
    }
}

#[test]
fn a_disabled_direction_keeps_the_count_before_window_and_policies() {
    const DOWN: &str =
        "selectPolicy Disabled of scaleDown keeps 10 replicas: the metrics ask for 3.";
    const UP: &str = "selectPolicy Disabled of scaleUp keeps 10 replicas: the metrics ask for 14.";
    for (direction, reason, milli, said) in [
        (ScaleDirection::Down, None, 150, DOWN),
        (ScaleDirection::Down, Some("ScaleDownLimit"), 150, DOWN),
        (ScaleDirection::Up, None, 700, UP),
        (ScaleDirection::Up, Some("ScaleUpLimit"), 700, UP),
    ] {
        let mut hpa = disabled(direction);
        if let Some(reason) = reason {
            condition(&mut hpa, ConditionType::ScalingLimited, reason);
        }
        let found = of_count(&hpa, 10, milli);
        assert_says(&found, &[said]);
        assert_omits(&found, &["It ends", "in this step", "window of"]);
        assert_eq!((found.decided_replicas, found.window), (Some(10), None));
    }
}

/// At the target; the nearest changes lead to another count.
#[test]
fn a_threshold_beyond_a_lasting_limit_names_it() {
    let bounds = |min: i32, max: i32| {
        let mut hpa = with_window();
        (hpa.spec.min_replicas, hpa.spec.max_replicas) = (min, max);
        hpa
    };
    for (hpa, said) in [
        (
            bounds(2, 10),
            "would make the metrics ask for 12. maxReplicas 10 would limit the count.",
        ),
        (
            bounds(10, 20),
            "would make the metrics ask for 9. minReplicas 10 would hold the count.",
        ),
        (
            disabled(ScaleDirection::Up),
            "ask for 12. selectPolicy Disabled of scaleUp would keep 10 replicas.",
        ),
        (
            disabled(ScaleDirection::Down),
            "ask for 9. selectPolicy Disabled of scaleDown would keep 10 replicas.",
        ),
    ] {
        assert_says(&of_count(&hpa, 10, 500), &[said]);
    }
    let windows = of_count(&bounds(2, 20), 10, 500);
    assert_says(
        &windows,
        &["Windows, policies and bounds would allow 10 at first."],
    );
}

/// A rescale, or a look without metrics, does not show that the metrics asked for the count.
#[test]
fn only_a_look_without_a_hold_begins_the_window() {
    const LATEST: &str = "It ends at 13:51:40 UTC at the latest, if";
    const ABOUT: &str = "It holds until about 13:51:40 UTC, if";
    for (reason, is_active, end) in [
        ("ReadyForNewScale", true, ABOUT),
        ("ScaleUpStabilized", true, ABOUT),
        ("ReadyForNewScale", false, LATEST),
        ("ScaleDownStabilized", true, LATEST),
        ("SucceededRescale", true, LATEST),
        ("SucceededGetScale", true, LATEST),
    ] {
        let mut hpa = hpa(vec![cpu(50)]);
        hpa.status.desired_replicas = 4;
        condition(&mut hpa, ConditionType::AbleToScale, reason);
        if is_active {
            condition(&mut hpa, ConditionType::ScalingActive, "ValidMetricFound");
        }
        assert_says(&of_count(&hpa, 4, 300), &[end]);
    }
}

#[test]
fn a_step_after_a_window_counts_from_what_the_window_leaves() {
    let (hpa, pods, readings) = (with_window(), pods(4), usage(4, 5000));
    let recommended = TimedRecommendation {
        replicas: 12,
        at: now() - SECOND(10),
    };
    let input = HpaDecisionInput {
        controller: &Controller::default(),
        hpa: &hpa,
        observed: ObservedTarget {
            scale: Ok(scale(&pods, &[])),
            readings: &readings,
        },
        memory: &HpaMemory {
            recommendations: Some(vec![recommended]),
            ..HpaMemory::default()
        },
        now: now(),
    };
    let found = explain(&input, &RescaleHistory::default());
    assert_says(
        &found,
        &[
            "The scaleUp window of 60 s holds 12 replicas: the metrics ask for 40.",
            "allow a change to 8 in this step: the window leaves 12.",
        ],
    );
}

#[test]
fn only_an_hpa_with_behavior_has_a_select_policy() {
    let select = |hpa: &HorizontalPodAutoscaler| {
        let directions = of_count(hpa, 4, 500).directions;
        directions
            .iter()
            .map(|one| one.select_policy)
            .collect::<Vec<_>>()
    };
    assert_eq!(select(&hpa(vec![cpu(50)])), [None, None]);
    let down = disabled(ScaleDirection::Down);
    assert_eq!(select(&down), [Some("Max"), Some("Disabled")]);
}
