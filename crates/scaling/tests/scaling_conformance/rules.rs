//! Rules, recommendations, scale events and settings in the JSON of the cases.

use evenkeel_hpa::{
    Behavior, BehaviorSpec, HpaMemory, PolicyType, RulesSpec, ScaleEvent, ScaleEvents,
    ScalingPolicy, ScalingRules, SelectPolicy, Settings, TimedRecommendation,
};
use evenkeel_quantity::Quantity;
use jiff::SignedDuration;
use serde::Deserialize;

use crate::cases::{at, relative};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Policy {
    #[serde(rename = "type")]
    kind: String,
    value: i32,
    period_s: i32,
}

/// The rules of one direction. Tolerances are compared by value.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Rules {
    stabilization_window_s: Option<i32>,
    select_policy: Option<String>,
    policies: Option<Vec<Policy>>,
    #[serde(deserialize_with = "quantity")]
    tolerance: Option<Quantity>,
}

fn quantity<'de, D: serde::Deserializer<'de>>(given: D) -> Result<Option<Quantity>, D::Error> {
    let text = Option::<String>::deserialize(given)?;
    Ok(text.map(|text| text.parse().expect("a quantity")))
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Both {
    scale_up: Option<Rules>,
    scale_down: Option<Rules>,
}

impl Policy {
    fn read(&self) -> ScalingPolicy {
        ScalingPolicy {
            policy_type: match self.kind.as_str() {
                "Pods" => PolicyType::Pods,
                "Percent" => PolicyType::Percent,
                other => panic!("unknown policy {other}"),
            },
            value: self.value,
            period_seconds: self.period_s,
        }
    }

    fn write(policy: &ScalingPolicy) -> Self {
        Self {
            kind: format!("{:?}", policy.policy_type),
            value: policy.value,
            period_s: policy.period_seconds,
        }
    }
}

impl Rules {
    fn spec(&self) -> RulesSpec {
        let select = |word: &String| match word.as_str() {
            "Max" => SelectPolicy::Max,
            "Min" => SelectPolicy::Min,
            "Disabled" => SelectPolicy::Disabled,
            other => panic!("unknown selection {other}"),
        };
        let policies = self.policies.as_ref();
        RulesSpec {
            stabilization_window_seconds: self.stabilization_window_s,
            select_policy: self.select_policy.as_ref().map(select),
            policies: policies.map(|all| all.iter().map(Policy::read).collect()),
            tolerance: self.tolerance,
        }
    }

    fn write(rules: &ScalingRules) -> Self {
        Self {
            stabilization_window_s: rules.stabilization_window_seconds,
            select_policy: Some(format!("{:?}", rules.select_policy)),
            policies: Some(rules.policies.iter().map(Policy::write).collect()),
            tolerance: rules.tolerance,
        }
    }

    /// As scaleUp rules, which these are complete for.
    pub(crate) fn up(&self) -> ScalingRules {
        let rules = Some(self.spec());
        let spec = BehaviorSpec {
            scale_up: rules,
            scale_down: None,
        };
        spec.defaulted().scale_up
    }

    /// As scaleDown rules, which these are complete for.
    pub(crate) fn down(&self) -> ScalingRules {
        let rules = Some(self.spec());
        let spec = BehaviorSpec {
            scale_up: None,
            scale_down: rules,
        };
        spec.defaulted().scale_down
    }
}

impl Both {
    pub(crate) fn behavior(&self) -> Behavior {
        let spec = BehaviorSpec {
            scale_up: self.scale_up.as_ref().map(Rules::spec),
            scale_down: self.scale_down.as_ref().map(Rules::spec),
        };
        spec.defaulted()
    }

    pub(crate) fn write(behavior: &Behavior) -> Self {
        Self {
            scale_up: Some(Rules::write(&behavior.scale_up)),
            scale_down: Some(Rules::write(&behavior.scale_down)),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Recommended {
    replicas: i32,
    at_s: i64,
}

pub(crate) fn recommendations(given: &[Recommended]) -> Vec<TimedRecommendation> {
    let read = |one: &Recommended| TimedRecommendation {
        replicas: one.replicas,
        at: at(one.at_s),
    };
    given.iter().map(read).collect()
}

pub(crate) fn recommended(found: &[TimedRecommendation]) -> Vec<Recommended> {
    let write = |one: &TimedRecommendation| Recommended {
        replicas: one.replicas,
        at_s: relative(one.at),
    };
    found.iter().map(write).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Event {
    change: i32,
    at_s: i64,
    outdated: bool,
}

pub(crate) fn events(given: &[Event]) -> Vec<ScaleEvent> {
    let read = |event: &Event| ScaleEvent {
        change: event.change,
        at: at(event.at_s),
        outdated: event.outdated,
    };
    given.iter().map(read).collect()
}

pub(crate) fn written(found: &[ScaleEvent]) -> Vec<Event> {
    let write = |event: &ScaleEvent| Event {
        change: event.change,
        at_s: relative(event.at),
        outdated: event.outdated,
    };
    found.iter().map(write).collect()
}

pub(crate) fn scale_events(up: &[Event], down: &[Event]) -> ScaleEvents {
    ScaleEvents {
        up: events(up),
        down: events(down),
    }
}

/// The memory that a controller has of an HPA.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Remembered {
    #[serde(default)]
    recommendations: Option<Vec<Recommended>>,
    #[serde(default)]
    scale_up_events: Vec<Event>,
    #[serde(default)]
    scale_down_events: Vec<Event>,
}

impl Remembered {
    pub(crate) fn memory(&self) -> HpaMemory {
        HpaMemory {
            recommendations: self.recommendations.as_deref().map(recommendations),
            scale_events: scale_events(&self.scale_up_events, &self.scale_down_events),
        }
    }
}

/// The settings of a controller; what a case does not name is as usual.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Flags {
    tolerance: Option<f64>,
    cpu_initialization_period_s: Option<i64>,
    initial_readiness_delay_s: Option<i64>,
    downscale_stabilization_window_s: Option<i64>,
    scale_up_limit_factor: Option<f64>,
    scale_up_limit_minimum: Option<f64>,
}

impl Flags {
    pub(crate) fn settings(&self) -> Settings {
        let usual = Settings::default();
        let span = |given: Option<i64>, usual| given.map_or(usual, SignedDuration::from_secs);
        Settings {
            sync_period: usual.sync_period,
            tolerance: self.tolerance.unwrap_or(usual.tolerance),
            cpu_initialization_period: span(
                self.cpu_initialization_period_s,
                usual.cpu_initialization_period,
            ),
            initial_readiness_delay: span(
                self.initial_readiness_delay_s,
                usual.initial_readiness_delay,
            ),
            downscale_stabilization: span(
                self.downscale_stabilization_window_s,
                usual.downscale_stabilization,
            ),
            scale_up_limit_factor: self
                .scale_up_limit_factor
                .unwrap_or(usual.scale_up_limit_factor),
            scale_up_limit_minimum: self
                .scale_up_limit_minimum
                .unwrap_or(usual.scale_up_limit_minimum),
        }
    }
}
