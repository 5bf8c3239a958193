//! Runs of reconciliations, each with what the one before it left behind.

use std::sync::LazyLock;

use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_forecast::ModelAssets;
use evenkeel_hpa::{
    Controller, HpaMemory, HpaSpec, HpaStatus, MetricSpec, Normalizer, ObservedTarget, Readings,
    Settings, TargetScale, Tolerances, reconciler,
};
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::sample::ValueSample;
use evenkeel_metrics::signal::{MetricIdentifier, MetricTarget, ObjectReference, Signal};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::{ScaleDown, ScalingMode};
use evenkeel_scaling::load::horizon::Lead;
use evenkeel_scaling::recommend::merged_portraits::{PortraitInput, ProviderRef};
use evenkeel_scaling::recommend::policy::TargetPolicy;
use evenkeel_scaling::staged_change::{ScaleDownWay, ScaleUpBehavior, StagedBehavior};
use evenkeel_scaling::tracker::{LoadTracker, Reaction, ReconciledTarget, TickInput};
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
    let mut memory = HpaMemory::default();
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
    let found = SequenceOut {
        steps: given.steps.iter().map(&mut step).collect(),
    };
    by_portrait(given, &found);
    found
}

/// The same run through a target with one portrait, the reaction to its load: it must give the same counts. The load
/// is a queue that asks for as many replicas as the metrics of the case did.
#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
fn by_portrait(given: &SequenceIn, expected: &SequenceOut) {
    let bounds = ReplicaBounds::new(given.min_replicas, given.max_replicas);
    let within = given.min_replicas..=given.max_replicas;
    let begins_within = within.contains(&given.initial_replicas) && given.min_replicas > 0;
    let (Ok(bounds), true) = (
        bounds,
        begins_within && given.initial_recommendations.is_empty(),
    ) else {
        return;
    };
    let queue = Signal::External(MetricIdentifier::named("queue"));
    let mut behavior = given.behavior.as_ref().map(Both::behavior);
    if let Some(rules) = &mut behavior {
        // The metrics of the case have been judged.
        rules.scale_up.tolerance = None;
        rules.scale_down.tolerance = None;
    }
    let controller = Controller {
        settings: Settings {
            tolerance: 0.0,
            ..given.flags.settings()
        },
        ..Controller::default()
    };
    let spec = HpaSpec {
        scale_target: ObjectReference::default(),
        min_replicas: given.min_replicas,
        max_replicas: given.max_replicas,
        metrics: vec![MetricSpec::new(
            queue.clone(),
            MetricTarget::AverageValue(1000),
        )],
        behavior: behavior.clone(),
    };
    let policy = TargetPolicy {
        mode: ScalingMode::Direct,
        bounds,
        behavior,
        tolerances: Tolerances::default(),
        scale_down: ScaleDown::Reactive,
        lead: Lead::default(),
        max_age: SignedDuration::from_mins(3),
        risk: Risk::default(),
    };
    let speaker = ProviderRef {
        by: "reactive".into(),
        priority: 1,
    };
    let (mut tracker, shared) = (LoadTracker::default(), ModelAssets::default());
    let (mut current, mut time) = (given.initial_replicas, now());
    for (place, step) in given.steps.iter().enumerate() {
        time = after(time, step.dt_s);
        let sample = ValueSample {
            timestamp: time,
            value: i64::from(step.metric_desired_replicas) * 1000,
        };
        let readings = Readings {
            others: [(queue.clone(), Ok(MetricsApiReading::Series(vec![sample])))]
                .into_iter()
                .collect(),
            ..Readings::default()
        };
        let target = Reacting {
            controller: &controller,
            spec: &spec,
            readings: &readings,
            speaker: &speaker,
            shared: &shared,
        };
        let report = tracker.tick(&policy, &target.input(current, time));
        current = report.decision.replicas;
        let wanted = expected.steps[place].replicas;
        assert_eq!(current, wanted, "by a portrait, step {place}: {report:?}");
    }
}

/// A target with one portrait, the reaction to its load.
struct Reacting<'a> {
    controller: &'a Controller,
    spec: &'a HpaSpec,
    readings: &'a Readings,
    speaker: &'a ProviderRef,
    shared: &'a ModelAssets,
}

const AT_ONCE: StagedBehavior = StagedBehavior {
    up: ScaleUpBehavior {
        disabled: false,
        stages: None,
    },
    down: ScaleDownWay {
        disabled: false,
        stages: None,
    },
};

static NOTHING_TOLD: LazyLock<HpaStatus> = LazyLock::new(HpaStatus::default);

impl<'a> Reacting<'a> {
    fn input(&self, current: i32, now: Timestamp) -> TickInput<'a> {
        let scale = TargetScale {
            spec_replicas: current,
            status_replicas: current,
            selector: "app=web",
            pods: Ok(&[]),
            autoscalers: &[],
        };
        TickInput {
            now,
            current,
            ready: current,
            reaction: Reaction::Reconciled(ReconciledTarget {
                input: reconciler::Input {
                    controller: self.controller,
                    namespace: "shop",
                    spec: self.spec,
                    observed: ObservedTarget {
                        scale: Ok(scale),
                        readings: self.readings,
                    },
                    told: &NOTHING_TOLD,
                },
                told: None,
                generation: None,
            }),
            models: None,
            signals: &[],
            traffic: None,
            recorded: None,
            portraits: Some(PortraitInput {
                given: &[],
                reactive: Some(self.speaker),
                predictive: None,
                behavior: &AT_ONCE,
                counts: ReplicaCounts::all_online(current),
                reached: None,
                change: None,
                checks: &[],
                holds: &[],
                resume: None,
                told: None,
                generation: None,
                rests_at_zero: false,
            }),
            shared: self.shared,
        }
    }
}

fn after(time: Timestamp, seconds: i64) -> Timestamp {
    time + SignedDuration::from_secs(seconds)
}
