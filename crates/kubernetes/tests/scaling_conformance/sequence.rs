//! Runs of reconciliations, each with what the one before it left behind.

use evenkeel_core::scaling::hpa::{Memory, Normalizer};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::cases::now;
use crate::rules::{Both, Flags, Recommended, recommendations};

#[derive(Deserialize)]
pub(crate) struct SequenceIn {
    initial_replicas: i32,
    min_replicas: i32,
    max_replicas: i32,
    behavior: Option<Both>,
    steps: Vec<Step>,
    #[serde(default)]
    initial_recommendations: Vec<Recommended>,
    #[serde(flatten)]
    flags: Flags,
}

#[derive(Deserialize)]
struct Step {
    dt_s: i64,
    metric_desired_replicas: i32,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct StepOut {
    replicas: i32,
    able_to_scale_reason: String,
    scaling_limited_status: String,
    scaling_limited_reason: String,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct SequenceOut {
    steps: Vec<StepOut>,
}

pub(crate) fn check(given: &SequenceIn, _: &SequenceOut) -> SequenceOut {
    let behavior = given.behavior.as_ref().map(Both::behavior);
    let settings = given.flags.settings();
    let mut memory = Memory::default();
    if !given.initial_recommendations.is_empty() {
        memory.recommendations = Some(recommendations(&given.initial_recommendations));
    }
    let (mut current, mut time) = (given.initial_replicas, now());
    let mut step = |step: &Step| {
        time = after(time, step.dt_s);
        let rules = Normalizer {
            min: given.min_replicas,
            max: given.max_replicas,
            behavior: behavior.as_ref(),
            settings: &settings,
            now: time,
        };
        memory.begin(current, time);
        let found = rules.normalize(current, step.metric_desired_replicas, &mut memory);
        if found.replicas != current {
            memory
                .scale_events
                .record(behavior.as_ref(), current, found.replicas, time);
            current = found.replicas;
        }
        StepOut {
            replicas: found.replicas,
            able_to_scale_reason: found.able_to_scale.reason.to_owned(),
            scaling_limited_status: if found.is_limited { "True" } else { "False" }.to_owned(),
            scaling_limited_reason: found.scaling_limited.reason.to_owned(),
        }
    };
    SequenceOut {
        steps: given.steps.iter().map(&mut step).collect(),
    }
}

fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time + SignedDuration::from_secs(seconds)
}
