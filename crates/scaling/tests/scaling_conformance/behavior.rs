//! Windows, policies, bounds, scale events and the defaults of `behavior`.

use evenkeel_hpa as hpa;
use evenkeel_hpa::{
    ConditionReason, FeatureGates, HpaSpec, LimitedReplicas, NormalizedReplicas, Normalizer,
    ScaleEvents, Settings, Zero, resource_quantity,
};
use evenkeel_metrics::signal::ObjectReference;
use serde::Deserialize;

use crate::cases::{Float, now};
use crate::rules::{
    Both, Event, Flags, Recommended, Remembered, Rules, events, recommended, scale_events, written,
};

/// A replica count.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Replicas {
    replicas: i32,
}

#[derive(Deserialize)]
pub(crate) struct LimitsIn {
    current_replicas: i32,
    scale_up_events: Vec<Event>,
    scale_down_events: Vec<Event>,
    rules: Rules,
}

pub(crate) fn scale_up_limit(given: &LimitsIn, _: &Replicas) -> Replicas {
    let events = scale_events(&given.scale_up_events, &given.scale_down_events);
    let rules = given.rules.up();
    let (replicas, _) = hpa::scale_up_limit(&rules, given.current_replicas, &events, now());
    Replicas { replicas }
}

pub(crate) fn scale_down_limit(given: &LimitsIn, _: &Replicas) -> Replicas {
    let events = scale_events(&given.scale_up_events, &given.scale_down_events);
    let rules = given.rules.down();
    let replicas = hpa::scale_down_limit(&rules, given.current_replicas, &events, now());
    Replicas { replicas }
}

#[derive(Deserialize)]
pub(crate) struct PeriodIn {
    period_s: i32,
    events: Vec<Event>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Change {
    change: i32,
}

pub(crate) fn change_per_period(given: &PeriodIn, _: &Change) -> Change {
    let events = events(&given.events);
    Change {
        change: ScaleEvents::change_within(&events, given.period_s, now()),
    }
}

#[derive(Deserialize)]
pub(crate) struct StoreIn {
    behavior: Option<Both>,
    prev_replicas: i32,
    new_replicas: i32,
    scale_up_events: Vec<Event>,
    scale_down_events: Vec<Event>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Stored {
    scale_up_events_after: Vec<Event>,
    scale_down_events_after: Vec<Event>,
}

pub(crate) fn store_scale_event(given: &StoreIn, _: &Stored) -> Stored {
    let mut events = scale_events(&given.scale_up_events, &given.scale_down_events);
    let behavior = given.behavior.as_ref().map(Both::behavior);
    events.record(
        behavior.as_ref(),
        given.prev_replicas,
        given.new_replicas,
        now(),
    );
    Stored {
        scale_up_events_after: written(&events.up),
        scale_down_events_after: written(&events.down),
    }
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct BehaviorInOut {
    behavior: Option<Both>,
}

pub(crate) fn default_behavior(given: &BehaviorInOut, _: &BehaviorInOut) -> BehaviorInOut {
    let behavior = given.behavior.as_ref().map(Both::behavior);
    BehaviorInOut {
        behavior: behavior.as_ref().map(Both::write),
    }
}

#[derive(Deserialize)]
pub(crate) struct TolerancesIn {
    controller_tolerance: Float,
    configurable_tolerance_gate: bool,
    behavior: Option<Both>,
}

#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct Tolerances {
    up: Float,
    down: Float,
}

pub(crate) fn tolerances(given: &TolerancesIn, _: &Tolerances) -> Tolerances {
    let settings = Settings {
        tolerance: given.controller_tolerance.0,
        ..Settings::default()
    };
    let gates = FeatureGates {
        hpa_configurable_tolerance: given.configurable_tolerance_gate,
        ..FeatureGates::default()
    };
    let spec = HpaSpec {
        scale_target: ObjectReference::default(),
        min_replicas: 1,
        max_replicas: 10,
        metrics: Vec::new(),
        behavior: given.behavior.as_ref().map(Both::behavior),
    };
    let found = spec.tolerances(&settings, gates);
    Tolerances {
        up: Float(found.up),
        down: Float(found.down),
    }
}

#[derive(Deserialize)]
pub(crate) struct ZeroIn {
    min_replicas: i32,
    scaled_to_zero_condition: bool,
    can_scale_from_zero: bool,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ZeroOut {
    needs_metric_computation: bool,
    should_disable: bool,
}

pub(crate) fn zero_replicas(given: &ZeroIn, _: &ZeroOut) -> ZeroOut {
    let zero = Zero {
        scaled_to_zero: given.scaled_to_zero_condition,
        can_scale_from_zero: given.can_scale_from_zero,
    };
    let found = hpa::zero_replicas(given.min_replicas, zero);
    ZeroOut {
        needs_metric_computation: found.needs_metric_computation,
        should_disable: found.should_disable,
    }
}

#[derive(Deserialize)]
pub(crate) struct QuantityIn {
    resource: String,
    raw_milli: i64,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct QuantityOut {
    quantity: String,
}

pub(crate) fn build_quantity(given: &QuantityIn, _: &QuantityOut) -> QuantityOut {
    let quantity = resource_quantity(&given.resource.as_str().into(), given.raw_milli);
    QuantityOut {
        quantity: quantity.to_string(),
    }
}

/// The input of the functions that normalise a count; each uses a part of it.
#[derive(Deserialize)]
pub(crate) struct NormalizeIn {
    #[serde(default)]
    current_replicas: i32,
    desired_replicas: i32,
    #[serde(default)]
    min_replicas: i32,
    #[serde(default)]
    max_replicas: i32,
    behavior: Option<Both>,
    scale_up_rules: Option<Rules>,
    scale_down_rules: Option<Rules>,
    scale_up_window_s: Option<i32>,
    scale_down_window_s: Option<i32>,
    #[serde(flatten)]
    flags: Flags,
    #[serde(flatten)]
    remembered: Remembered,
}

impl NormalizeIn {
    /// The rules of both directions, whichever way the case tells them.
    fn behavior(&self) -> Option<hpa::Behavior> {
        if let Some(behavior) = &self.behavior {
            return Some(behavior.behavior());
        }
        let mut behavior = hpa::BehaviorSpec::default().defaulted();
        if let Some((up, down)) = self.scale_up_window_s.zip(self.scale_down_window_s) {
            behavior.scale_up.stabilization_window_seconds = Some(up);
            behavior.scale_down.stabilization_window_seconds = Some(down);
            return Some(behavior);
        }
        behavior.scale_up = self.scale_up_rules.as_ref()?.up();
        behavior.scale_down = self.scale_down_rules.as_ref()?.down();
        Some(behavior)
    }

    fn with<O>(&self, compute: impl FnOnce(&Normalizer<'_>, &mut hpa::HpaMemory) -> O) -> O {
        let behavior = self.behavior();
        let settings = self.flags.settings();
        let rules = Normalizer {
            min: self.min_replicas,
            max: self.max_replicas,
            behavior: behavior.as_ref(),
            settings: &settings,
            now: now(),
        };
        compute(&rules, &mut self.remembered.memory())
    }
}

/// A count with its reason.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct LimitedOut {
    replicas: i32,
    reason: String,
    message: String,
}

fn limited(found: LimitedReplicas) -> LimitedOut {
    LimitedOut {
        replicas: found.replicas,
        reason: found.reason.reason.to_owned(),
        message: found.reason.message.to_owned(),
    }
}

pub(crate) fn limit(given: &NormalizeIn, _: &LimitedOut) -> LimitedOut {
    given.with(|rules, memory| {
        let behavior = rules.behavior.expect("rules");
        let (current, desired) = (given.current_replicas, given.desired_replicas);
        limited(rules.limit(behavior, current, desired, &memory.scale_events))
    })
}

pub(crate) fn limit_without_behavior(given: &NormalizeIn, _: &LimitedOut) -> LimitedOut {
    given.with(|rules, _| {
        limited(rules.limit_without_behavior(given.current_replicas, given.desired_replicas))
    })
}

/// A stabilised count, with its reason where there is `behavior`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct StabilizedOut {
    replicas: i32,
    reason: Option<String>,
    message: Option<String>,
    recommendations_after: Vec<Recommended>,
}

pub(crate) fn stabilize(given: &NormalizeIn, _: &StabilizedOut) -> StabilizedOut {
    given.with(|rules, memory| {
        let behavior = rules.behavior.expect("windows");
        let kept = memory.recommendations.get_or_insert_default();
        let (current, desired) = (given.current_replicas, given.desired_replicas);
        let found = limited(rules.stabilize(behavior, current, desired, kept));
        StabilizedOut {
            replicas: found.replicas,
            reason: Some(found.reason),
            message: Some(found.message),
            recommendations_after: recommended(kept),
        }
    })
}

pub(crate) fn stabilize_without_behavior(given: &NormalizeIn, _: &StabilizedOut) -> StabilizedOut {
    given.with(|rules, memory| {
        let kept = memory.recommendations.get_or_insert_default();
        StabilizedOut {
            replicas: rules.stabilize_without_behavior(given.desired_replicas, kept),
            reason: None,
            message: None,
            recommendations_after: recommended(kept),
        }
    })
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct ConditionOut {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct NormalizedOut {
    replicas: i32,
    conditions: Vec<ConditionOut>,
    recommendations_after: Vec<Recommended>,
}

fn conditions(found: &NormalizedReplicas) -> Vec<ConditionOut> {
    let condition = |kind: &str, holds: bool, because: ConditionReason| ConditionOut {
        kind: kind.to_owned(),
        status: if holds { "True" } else { "False" }.to_owned(),
        reason: because.reason.to_owned(),
        message: because.message.to_owned(),
    };
    vec![
        condition("AbleToScale", true, found.able_to_scale),
        condition("ScalingLimited", found.is_limited, found.scaling_limited),
    ]
}

pub(crate) fn normalize(given: &NormalizeIn, _: &NormalizedOut) -> NormalizedOut {
    given.with(|rules, memory| {
        let found = rules.normalize(given.current_replicas, given.desired_replicas, memory);
        let kept = memory.recommendations.clone().unwrap_or_default();
        NormalizedOut {
            replicas: found.replicas,
            conditions: conditions(&found),
            recommendations_after: recommended(&kept),
        }
    })
}
