//! How fast the HPA may scale out, against Kubernetes' own functions.

#[path = "support/vectors.rs"]
mod vectors;

use evenkeel_core::scaling::behavior::{
    Behavior, BehaviorSpec, PolicyType, RulesSpec, ScaleEvent, ScaleEvents, ScalingPolicy,
    ScalingRules, SelectPolicy, legacy_limit, rules_limit, scale_up_limit,
};
use evenkeel_core::units::Quantity;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(rename = "fn")]
    function: String,
    #[serde(rename = "in")]
    given: Value,
    out: Value,
}

/// The cases of one function, parsed, with their names.
fn cases<I: DeserializeOwned, O: DeserializeOwned>(function: &str) -> Vec<(String, I, O)> {
    let files = ["hpa/behavior_upstream", "hpa/behavior_random"];
    let all = files.into_iter().flat_map(vectors::cases::<Case>);
    let of_function = all.filter(|case| case.function == function);
    let parsed = of_function.map(|Case { id, given, out, .. }| {
        let given = serde_json::from_value(given).expect(&id);
        let out = serde_json::from_value(out).expect(&id);
        (id, given, out)
    });
    let parsed: Vec<_> = parsed.collect();
    assert!(!parsed.is_empty(), "no case of {function}");
    parsed
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

#[derive(Deserialize)]
struct Event {
    change: i32,
    at_s: i64,
    outdated: bool,
}

fn events(given: &[Event]) -> Vec<ScaleEvent> {
    let events = given.iter().map(|event| ScaleEvent {
        change: event.change,
        at: now() + SignedDuration::from_secs(event.at_s),
        outdated: event.outdated,
    });
    events.collect()
}

#[derive(Deserialize)]
struct Policy {
    #[serde(rename = "type")]
    kind: String,
    value: i32,
    period_s: i32,
}

#[derive(Deserialize)]
struct Rules {
    stabilization_window_s: Option<i32>,
    select_policy: Option<String>,
    policies: Option<Vec<Policy>>,
    tolerance: Option<String>,
}

#[derive(Deserialize)]
struct Both {
    scale_up: Option<Rules>,
    scale_down: Option<Rules>,
}

impl Rules {
    fn spec(&self) -> RulesSpec {
        let policies = self.policies.as_ref().map(|policies| {
            let all = policies.iter().map(|policy| ScalingPolicy {
                policy_type: match policy.kind.as_str() {
                    "Pods" => PolicyType::Pods,
                    "Percent" => PolicyType::Percent,
                    other => panic!("unknown policy {other}"),
                },
                value: policy.value,
                period_seconds: policy.period_s,
            });
            all.collect()
        });
        RulesSpec {
            stabilization_window_seconds: self.stabilization_window_s,
            select_policy: self.select_policy.as_deref().map(|select| match select {
                "Max" => SelectPolicy::Max,
                "Min" => SelectPolicy::Min,
                "Disabled" => SelectPolicy::Disabled,
                other => panic!("unknown selection {other}"),
            }),
            policies,
            tolerance: self
                .tolerance
                .as_ref()
                .map(|text| text.parse::<Quantity>().expect("a quantity")),
        }
    }

    fn complete(&self) -> ScalingRules {
        let up = BehaviorSpec {
            scale_up: Some(self.spec()),
            scale_down: None,
        };
        up.defaulted().scale_up
    }
}

impl Both {
    fn spec(&self) -> BehaviorSpec {
        BehaviorSpec {
            scale_up: self.scale_up.as_ref().map(Rules::spec),
            scale_down: self.scale_down.as_ref().map(Rules::spec),
        }
    }
}

#[derive(Deserialize)]
struct LimitIn {
    current_replicas: i32,
    scale_up_events: Vec<Event>,
    scale_down_events: Vec<Event>,
    rules: Rules,
}

#[derive(Deserialize)]
struct Replicas {
    replicas: i32,
}

#[test]
fn the_scale_up_limit_is_kubernetes() {
    let cases = cases::<LimitIn, Replicas>("calculate_scale_up_limit_with_scaling_rules");
    for (id, given, expected) in cases {
        let events = ScaleEvents {
            up: events(&given.scale_up_events),
            down: events(&given.scale_down_events),
        };
        let rules = given.rules.complete();
        let (limit, policy) = rules_limit(&rules, given.current_replicas, &events, now());
        assert_eq!(limit, expected.replicas, "{id}");
        let disabled = rules.select_policy == SelectPolicy::Disabled;
        assert_eq!(policy.is_none(), disabled, "{id}");
    }
}

#[derive(Deserialize)]
struct PeriodIn {
    period_s: i32,
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Change {
    change: i32,
}

#[test]
fn the_change_within_a_period_is_kubernetes() {
    for (id, given, expected) in cases::<PeriodIn, Change>("get_replicas_change_per_period") {
        let found = ScaleEvents::change_within(&events(&given.events), given.period_s, now());
        assert_eq!(found, expected.change, "{id}");
    }
}

#[derive(Deserialize)]
struct StoreIn {
    behavior: Option<Both>,
    prev_replicas: i32,
    new_replicas: i32,
    scale_up_events: Vec<Event>,
    scale_down_events: Vec<Event>,
}

#[derive(Deserialize)]
struct StoreOut {
    scale_up_events_after: Vec<Event>,
    scale_down_events_after: Vec<Event>,
}

#[test]
fn events_are_kept_as_kubernetes_keeps_them() {
    for (id, given, expected) in cases::<StoreIn, StoreOut>("store_scale_event") {
        let mut found = ScaleEvents {
            up: events(&given.scale_up_events),
            down: events(&given.scale_down_events),
        };
        let behavior = given.behavior.map(|behavior| behavior.spec().defaulted());
        found.record(
            behavior.as_ref(),
            given.prev_replicas,
            given.new_replicas,
            now(),
        );
        assert_eq!(found.up, events(&expected.scale_up_events_after), "{id}");
        assert_eq!(
            found.down,
            events(&expected.scale_down_events_after),
            "{id}"
        );
    }
}

#[derive(Deserialize)]
struct OneBehavior {
    behavior: Option<Both>,
}

#[test]
fn absent_rules_are_filled_in_as_kubernetes_does() {
    for (id, given, expected) in cases::<OneBehavior, OneBehavior>("default_behavior") {
        let found = given.behavior.map(|behavior| behavior.spec().defaulted());
        assert_eq!(found.is_some(), expected.behavior.is_some(), "{id}");
        let (Some(found), Some(expected)) = (found, expected.behavior) else {
            continue;
        };
        // What Kubernetes has completed, completing it again leaves alone.
        let Behavior {
            scale_up,
            scale_down,
        } = expected.spec().defaulted();
        assert_eq!(found.scale_up, scale_up, "{id}");
        assert_eq!(found.scale_down, scale_down, "{id}");
        for (rules, side) in [
            (&found.scale_up, &expected.scale_up),
            (&found.scale_down, &expected.scale_down),
        ] {
            let side = side.as_ref().expect(&id).spec();
            assert_eq!(
                rules.stabilization_window_seconds, side.stabilization_window_seconds,
                "{id}"
            );
            assert_eq!(Some(rules.select_policy), side.select_policy, "{id}");
            assert_eq!(Some(&rules.policies), side.policies.as_ref(), "{id}");
        }
    }
}

#[derive(Deserialize)]
struct RateIn {
    current_replicas: i32,
    desired_replicas: i32,
    max_replicas: i32,
    scale_up_rules: Rules,
    scale_up_events: Vec<Event>,
    scale_down_events: Vec<Event>,
}

#[test]
fn a_rise_is_cut_where_kubernetes_cuts_it() {
    let cases = cases::<RateIn, Replicas>("convert_desired_replicas_with_behavior_rate");
    let rising = cases
        .iter()
        .filter(|(_, given, _)| given.desired_replicas > given.current_replicas);
    for (id, given, expected) in rising {
        let mut behavior = BehaviorSpec::default().defaulted();
        behavior.scale_up = given.scale_up_rules.complete();
        let events = ScaleEvents {
            up: events(&given.scale_up_events),
            down: events(&given.scale_down_events),
        };
        let (limit, _) = scale_up_limit(Some(&behavior), given.current_replicas, &events, now());
        let found = given.desired_replicas.min(limit).min(given.max_replicas);
        assert_eq!(found, expected.replicas, "{id}");
    }
}

#[derive(Deserialize)]
struct LegacyIn {
    current_replicas: i32,
    desired_replicas: i32,
    min_replicas: i32,
    max_replicas: i32,
    scale_up_limit_factor: i32,
}

#[test]
fn without_behavior_a_rise_is_cut_where_kubernetes_cuts_it() {
    let cases = cases::<LegacyIn, Replicas>("convert_desired_replicas_with_rules");
    // Kubernetes' own table sets another factor than the controller has.
    let as_deployed = cases
        .iter()
        .filter(|(_, given, _)| given.scale_up_limit_factor == 2);
    for (id, given, expected) in as_deployed {
        let most = legacy_limit(given.current_replicas).min(given.max_replicas);
        let found = if given.desired_replicas < given.min_replicas {
            given.min_replicas
        } else {
            given.desired_replicas.min(most)
        };
        assert_eq!(found, expected.replicas, "{id}");
    }
}

#[derive(Deserialize)]
struct SequenceIn {
    initial_replicas: i32,
    max_replicas: i32,
    behavior: Option<Both>,
    steps: Vec<SequenceStep>,
}

#[derive(Deserialize)]
struct SequenceStep {
    dt_s: i64,
    metric_desired_replicas: i32,
}

#[derive(Deserialize)]
struct SequenceOut {
    steps: Vec<Replicas>,
}

/// The rises of whole runs. Falls, and rises behind a window, are taken as they were recorded; a
/// rise without one has to be exactly what the limit leaves of it.
#[test]
fn the_rises_of_a_run_are_those_of_kubernetes() {
    let mut exact = 0;
    for (id, given, expected) in cases::<SequenceIn, SequenceOut>("sequence") {
        let behavior = given.behavior.map(|behavior| behavior.spec().defaulted());
        let window = behavior
            .as_ref()
            .and_then(|b| b.scale_up.stabilization_window_seconds);
        let (mut events, mut current, mut time) =
            (ScaleEvents::default(), given.initial_replicas, now());
        for (
            step,
            SequenceStep {
                dt_s,
                metric_desired_replicas,
            },
        ) in expected.steps.iter().zip(given.steps)
        {
            time += SignedDuration::from_secs(dt_s);
            let (limit, _) = scale_up_limit(behavior.as_ref(), current, &events, time);
            let most = limit.min(given.max_replicas);
            if step.replicas > current {
                assert!(step.replicas <= most, "{id}: {} over {most}", step.replicas);
            }
            if metric_desired_replicas > current && window == Some(0) {
                assert_eq!(step.replicas, metric_desired_replicas.min(most), "{id}");
                exact += 1;
            }
            if step.replicas != current {
                events.record(behavior.as_ref(), current, step.replicas, time);
                current = step.replicas;
            }
        }
    }
    assert!(exact > 100, "{exact} rises were compared");
}
