//! Options that have no effect: each is named by a condition, and none that acts is.

use evenkeel_objects::annotations::{
    BEHAVIOR, MAX_REPLICAS, MIN_REPLICAS, PREDICT, PREDICT_MEMORY, RISK, SCALE_DOWN, TRAFFIC,
};
use evenkeel_objects::scaling_mode::ScaleDown;
use proptest::prelude::*;

use super::*;

const RULES: &str = r#"{"scaleDown": {"stabilizationWindowSeconds": 17}}"#;

fn on_workload(world: &mut World, annotations: &[(&str, &str)]) {
    for (key, value) in annotations {
        world.workload.as_mut().unwrap()["metadata"]["annotations"][*key] = json!(value);
    }
}

fn memory() -> Value {
    json!({"type": "Resource", "resource": {"name": "memory",
        "target": {"type": "AverageValue", "averageValue": "600Mi"}}})
}

/// The options that are said to have no effect.
fn ignored(resolved: &ResolvedTarget) -> Vec<&'static str> {
    let named = resolved
        .problems
        .iter()
        .filter_map(|problem| match problem {
            TargetProblem::OptionIgnored { option, .. } => Some(*option),
            _ => None,
        });
    named.collect()
}

/// Annotations of the HPA, what else is there, and the options that have no effect.
type Case = (
    &'static [(&'static str, &'static str)],
    fn(&mut World),
    &'static [&'static str],
);

const OF_FORECASTS: [Case; 15] = [
    (&[], |_| (), &[]),
    (&[(SCALE_DOWN, "early")], |_| (), &[]),
    (&[(SCALE_DOWN, "reactive"), (PREDICT, "off")], |_| (), &[]),
    (
        &[
            (SCALE_DOWN, "early"),
            (RISK, "2%"),
            (PREDICT_MEMORY, "true"),
            (TRAFFIC, "network"),
            (PREDICT, "off"),
        ],
        |_| (),
        &[SCALE_DOWN, RISK, PREDICT_MEMORY, TRAFFIC],
    ),
    (
        &[
            (SCALE_DOWN, "early"),
            (RISK, "2%"),
            (TRAFFIC, "network"),
            (PREDICT, "traffic"),
        ],
        |_| (),
        &[SCALE_DOWN],
    ),
    (
        &[(SCALE_DOWN, "early"), (RISK, "2%")],
        |world| world.hpa()["spec"]["metrics"] = json!([memory()]),
        &[SCALE_DOWN, RISK],
    ),
    (
        &[
            (SCALE_DOWN, "early"),
            (RISK, "2%"),
            (PREDICT_MEMORY, "true"),
        ],
        |world| world.hpa()["spec"]["metrics"] = json!([memory()]),
        &[],
    ),
    (
        &[(SCALE_DOWN, "early")],
        |world| {
            world.hpa()["spec"]["behavior"] = json!({"scaleDown": {"selectPolicy": "Disabled"}});
        },
        &[SCALE_DOWN],
    ),
    (&[(RISK, "2%"), (PREDICT, "ds-hpa")], |_| (), &[RISK]),
    (&[(RISK, "2%"), (PREDICT, "gbdt")], |_| (), &[RISK]),
    (
        &[(RISK, "2%"), (PREDICT, "gbdt"), (TRAFFIC, "network")],
        |_| (),
        &[],
    ),
    (&[(PREDICT_MEMORY, "true")], |_| (), &[PREDICT_MEMORY]),
    (&[(PREDICT_MEMORY, "false")], |_| (), &[]),
    // While there are no Pods, the loads are not known.
    (
        &[(PREDICT_MEMORY, "true"), (SCALE_DOWN, "early")],
        |world| world.has_pods = false,
        &[],
    ),
    // That of the namespace is for all of its targets.
    (
        &[(PREDICT, "ds-hpa")],
        |world| {
            world.namespace.insert(RISK.to_owned(), "2%".to_owned());
        },
        &[],
    ),
];

const OF_LOADS_AND_BOUNDS: [Case; 15] = [
    (
        &[(TARGET, "cpu=70%"), (BEHAVIOR, RULES)],
        |_| (),
        &[TARGET, BEHAVIOR],
    ),
    (
        &[],
        |world| on_workload(world, &[(TARGET, "cpu=70%")]),
        &[TARGET],
    ),
    (&[(QUERY, "gpu"), (QUERY_TARGET, "700m")], |_| (), &[]),
    (
        &[(QUERY, "memory"), (QUERY_TARGET, "1Gi")],
        |_| (),
        &[QUERY],
    ),
    (
        &[
            (QUERY, "memory"),
            (QUERY_TARGET, "1Gi"),
            (PREDICT_MEMORY, "true"),
        ],
        |_| (),
        &[],
    ),
    (
        &[(QUERY, "gpu"), (QUERY_TARGET, "700m"), (PREDICT, "off")],
        |_| (),
        &[QUERY],
    ),
    (&[(QUERY_TARGET, "700m")], |_| (), &[QUERY_TARGET]),
    (&[(MIN_REPLICAS, "3"), (MAX_REPLICAS, "9")], |_| (), &[]),
    (
        &[
            (MIN_REPLICAS, "3"),
            (MAX_REPLICAS, "9"),
            (SCALING, "recommend"),
        ],
        |_| (),
        &[MIN_REPLICAS, MAX_REPLICAS],
    ),
    (
        &[],
        |world| on_workload(world, &[(MIN_REPLICAS, "3"), (MAX_REPLICAS, "9")]),
        &[MIN_REPLICAS, MAX_REPLICAS],
    ),
    // The same as its fields.
    (
        &[],
        |world| on_workload(world, &[(MIN_REPLICAS, "2"), (MAX_REPLICAS, "10")]),
        &[],
    ),
    (&[(MIN_REPLICAS, "11")], |_| (), &[MIN_REPLICAS]),
    (&[(MIN_REPLICAS, "0")], |_| (), &[MIN_REPLICAS]),
    (
        &[],
        |world| {
            *world = World::with_keda();
            world.annotate(MIN_REPLICAS, json!("3"));
        },
        &[],
    ),
    (
        &[],
        |world| {
            *world = World::alone(&[
                (SCALING, "direct"),
                (PREDICT, "off"),
                (MIN_REPLICAS, "3"),
                (MAX_REPLICAS, "9"),
                (TARGET, "cpu=70%"),
                (BEHAVIOR, RULES),
                (QUERY, "gpu"),
                (QUERY_TARGET, "700m"),
            ]);
        },
        &[],
    ),
];

/// The harm: an option without effect was accepted without a word.
#[test]
fn an_option_without_effect_is_named_and_one_that_acts_is_not() {
    for (annotations, change, expected) in OF_FORECASTS.iter().chain(&OF_LOADS_AND_BOUNDS) {
        let mut world = World::new();
        for (key, value) in *annotations {
            world.annotate(key, json!(value));
        }
        change(&mut world);
        let resolved = world.resolve(at(0));
        assert!(resolved.target.is_some(), "{:?}", resolved.problems);
        assert_eq!(ignored(&resolved), *expected, "{annotations:?}");
        world.tick(None, 0);
        let told = world.status().unwrap();
        let told = told.condition("OptionIgnored").map(|one| &*one.message);
        assert_eq!(told.is_some(), !expected.is_empty(), "{annotations:?}");
        for option in *expected {
            let named = format!("{option} has no effect: ");
            assert!(told.unwrap().contains(&named), "{told:?}");
        }
        let warned = world.reasons().contains(&"OptionIgnored");
        assert_eq!(warned, !expected.is_empty(), "{annotations:?}");
    }
}

/// The harm: a scale-in ahead of the load of one metric took Pods away that another one needed, which could not be
/// followed.
#[test]
fn no_scale_in_is_early_where_a_metric_of_the_count_is_not_followed() {
    let mut world = World::alone(&[
        (SCALING, "direct"),
        (MIN_REPLICAS, "3"),
        (MAX_REPLICAS, "9"),
        (TARGET, "cpu=70%"),
        (QUERY, "gpu"),
        (QUERY_TARGET, "700m"),
        (SCALE_DOWN, "early"),
    ]);
    let rule = |world: &World| {
        let resolved = world.resolve(at(0));
        let target = resolved.target.as_ref().unwrap();
        (target.policy.scale_down, ignored(&resolved))
    };
    assert_eq!(rule(&world), (ScaleDown::Early, Vec::new()));
    world.requests = None;
    assert_eq!(rule(&world), (ScaleDown::Reactive, vec![SCALE_DOWN]));
    world.has_pods = false;
    assert_eq!(
        rule(&world),
        (ScaleDown::Early, Vec::new()),
        "nothing is known"
    );
}

#[test]
fn an_option_without_effect_withdraws_no_floor_and_is_no_reason_for_it() {
    let mut world = World::new();
    world.annotate(TARGET, json!("cpu=70%"));
    world.tick(Some(7), 0);
    assert_eq!(world.bounds(), (Some(7), 10));
    world.annotate(SCALING, json!("recommend"));
    world.tick(Some(7), 15);
    assert_eq!(world.bounds(), (Some(2), 10));
    let lowered = world
        .told
        .iter()
        .find(|(reason, _)| reason == "FloorLowered");
    let (_, note) = lowered.unwrap();
    assert!(note.ends_with("the mode is recommend"), "{note}");
}

/// An option with a value that is no default.
const OPTIONS: [(&str, &str); 9] = [
    (SCALE_DOWN, "early"),
    (RISK, "0.5%"),
    (PREDICT_MEMORY, "true"),
    (TRAFFIC, "network"),
    (TARGET, "memory=1Gi"),
    (BEHAVIOR, RULES),
    (MIN_REPLICAS, "3"),
    (MAX_REPLICAS, "9"),
    (QUERY, "memory"),
];

/// Objects with some of [`OPTIONS`] set.
#[derive(Debug, Clone)]
struct Objects {
    predict: Option<&'static str>,
    mode: &'static str,
    has_autoscaler: bool,
    scales_by_memory: bool,
    on_workload: bool,
    set: Vec<bool>,
}

impl Objects {
    fn world(&self) -> World {
        let words = self.predict.map(|word| (PREDICT, word));
        let words = words.into_iter().chain([(SCALING, self.mode)]);
        let set = OPTIONS.iter().zip(&self.set).filter(|(_, set)| **set);
        let set = set.map(|(option, _)| *option);
        let amount = (QUERY_TARGET, "1Gi");
        let amount = set.clone().any(|(key, _)| key == QUERY).then_some(amount);
        let all: Vec<_> = words.chain(set).chain(amount).collect();
        if !self.has_autoscaler {
            return World::alone(&all);
        }
        let mut world = World::new();
        if self.scales_by_memory {
            world.hpa()["spec"]["metrics"] = json!([memory()]);
        }
        if self.on_workload {
            world.annotate(SCALING, json!(self.mode));
            on_workload(&mut world, &all);
        } else {
            for (key, value) in all {
                world.annotate(key, json!(value));
            }
        }
        world
    }

    /// All that decides, without words on what does not.
    fn resolved(&self) -> ResolvedTarget {
        let mut resolved = self.world().resolve(at(0));
        resolved
            .problems
            .retain(|problem| !matches!(problem, TargetProblem::OptionIgnored { .. }));
        resolved
    }
}

/// A load without a reaction and without a model decides nothing. Neither does a right or a risk of forecasts
/// by itself.
fn decides(mut resolved: ResolvedTarget) -> ResolvedTarget {
    if let Some(target) = &mut resolved.target {
        target.policy.scale_down = ScaleDown::Reactive;
        target.policy.risk = Risk::default();
        for signal in &mut target.signals {
            signal.is_forecast &= target.models.is_some();
        }
        let both = target.signals.drain(..).zip(target.questions.drain(..));
        let both: Vec<_> = both
            .filter(|(signal, _)| signal.is_forecast || !signal.only_here)
            .collect();
        (target.signals, target.questions) = both.into_iter().unzip();
    }
    resolved
}

fn objects() -> impl Strategy<Value = Objects> {
    let predict = [
        None,
        Some("off"),
        Some("ds-hpa"),
        Some("gbdt"),
        Some("traffic"),
    ];
    let predict = prop::sample::select(predict.to_vec());
    let mode = prop::sample::select(vec!["floor", "recommend", "direct"]);
    let set = prop::collection::vec(any::<bool>(), OPTIONS.len());
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let all = (predict, mode, flags, set);
    all.prop_map(|(predict, mode, flags, set)| {
        let (has_autoscaler, scales_by_memory, on_workload) = flags;
        Objects {
            predict,
            mode,
            has_autoscaler,
            scales_by_memory,
            on_workload,
            set,
        }
    })
}

proptest! {
    /// Taking away an option that is said to have no effect changes nothing; taking away another changes something.
    #[test]
    fn what_has_no_effect_can_be_taken_away(objects in objects()) {
        let named = objects.world().resolve(at(0));
        prop_assume!(named.target.is_some());
        let named = ignored(&named);
        for (place, (option, _)) in OPTIONS.iter().enumerate() {
            if !objects.set[place] {
                continue;
            }
            let mut without = objects.clone();
            without.set[place] = false;
            let (with, without) = (objects.resolved(), without.resolved());
            let is_same = decides(with.clone()) == decides(without.clone());
            if named.contains(option) {
                prop_assert!(is_same, "{option} acts: {with:?} {without:?}");
            } else {
                prop_assert!(with != without, "{option} is not named: {with:?}");
            }
        }
    }
}
