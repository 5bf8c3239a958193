//! A target with a count that is set here: the HPA to the letter without a forecast, and a forecast
//! on top of it.

use std::sync::Arc;

use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_hpa::{
    Action, Behavior, BehaviorSpec, ConditionType, Controller, EventType, FeatureGates,
    HorizontalPodAutoscaler, HpaMemory, HpaSpec, HpaStatus, MetricSpec, ObservedTarget, PolicyType,
    Readings, RulesSpec, ScalingPolicy, SelectPolicy, TargetScale, reconcile, reconciler,
};
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::pod::{ContainerFacts, PodFacts, PodPhase, PodSpecFacts, ReadyCondition};
use evenkeel_metrics::sample::{ContainerMetrics, PodMetrics, ValueSample};
use evenkeel_metrics::signal::{MetricIdentifier, MetricTarget, ObjectReference, ResourceName};
use evenkeel_objects::condition::ConditionStatus;
use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::*;
use crate::limits::LimitedBy;
use crate::recommend::decision::ScalingDecision;
use crate::recommend::merged_portraits::{PortraitInput, ProviderRef};
use crate::staged_change::StagedBehavior;

/// Usage of each Pod in millicores; `None` where it is not measured.
type Usages = Vec<Option<i64>>;

fn gates() -> Controller {
    Controller {
        feature_gates: FeatureGates {
            hpa_scale_to_zero: true,
            ..FeatureGates::default()
        },
        ..Controller::default()
    }
}

fn spec(min: i32, max: i32, metric: MetricSpec, behavior: Option<Behavior>) -> HpaSpec {
    HpaSpec {
        scale_target: ObjectReference {
            name: "web".to_owned(),
            ..ObjectReference::default()
        },
        min_replicas: min,
        max_replicas: max,
        metrics: vec![metric],
        behavior,
    }
}

fn cpu() -> MetricSpec {
    MetricSpec::new(Signal::CPU, MetricTarget::Utilization(80))
}

fn queue() -> MetricSpec {
    let queue = Signal::External(MetricIdentifier::named("queue"));
    MetricSpec::new(queue, MetricTarget::AverageValue(10_000))
}

/// Pods that request half a core each and have been ready for an hour.
fn pods(count: i32) -> Vec<PodFacts> {
    let pod = |index: i32| PodFacts {
        name: format!("web-{index:03}"),
        phase: PodPhase::Running,
        deleted: false,
        start_time: Some(time(-240)),
        ready: Some(ReadyCondition {
            status: ConditionStatus::True,
            last_transition_time: time(-240),
        }),
        spec: Arc::new(PodSpecFacts {
            containers: vec![ContainerFacts {
                name: "app".to_owned(),
                requests: [(ResourceName::Cpu, 500)].into_iter().collect(),
                is_sidecar: false,
            }],
            ..PodSpecFacts::default()
        }),
    };
    (0..count).map(pod).collect()
}

/// The readings of so many of the Pods as there are usages.
fn used(pods: &[PodFacts], usages: &Usages, tick: i64) -> Readings {
    let measured = pods.iter().zip(usages).filter_map(|(pod, usage)| {
        Some(PodMetrics {
            pod: pod.name.clone(),
            timestamp: time(tick),
            window: SignedDuration::from_secs(30),
            containers: vec![ContainerMetrics {
                name: "app".to_owned(),
                usage: [(ResourceName::Cpu, (*usage)?)].into_iter().collect(),
            }],
        })
    });
    Readings {
        resource: Ok(measured.collect()),
        ..Readings::default()
    }
}

/// The readings of a queue of this length; an error where it is not known.
fn queued(length: Option<i64>, tick: i64) -> Readings {
    let queue = Signal::External(MetricIdentifier::named("queue"));
    let sample = |value: i64| ValueSample {
        timestamp: time(tick),
        value: value * 1000,
    };
    let reading = length.map(|length| MetricsApiReading::Series(vec![sample(length)]));
    let reading = reading.ok_or_else(|| "no answer".to_owned());
    Readings {
        others: [(queue, reading)].into_iter().collect(),
        ..Readings::default()
    }
}

/// A target that is set directly; each decision is in force at the next tick.
struct Directly {
    run: Run,
    spec: HpaSpec,
    told: Option<i32>,
    generation: Option<i64>,
    status: HpaStatus,
    /// Where the reaction is the only provider of a target by portraits.
    reactive: Option<ProviderRef>,
}

impl Directly {
    fn new(current: i32, spec: HpaSpec, models: Option<ModelSet>) -> Self {
        let mut run = Run::new(models);
        run.current = current;
        run.policy = TargetPolicy {
            mode: ScalingMode::Direct,
            bounds: ReplicaBounds::new(spec.min_replicas, spec.max_replicas).unwrap(),
            behavior: spec.behavior.clone(),
            ..policy()
        };
        Self {
            run,
            spec,
            told: None,
            generation: None,
            status: HpaStatus::default(),
            reactive: None,
        }
    }

    fn by_portrait(mut self) -> Self {
        self.reactive = Some(ProviderRef {
            by: "reactive".into(),
            priority: 1,
        });
        self
    }

    fn decide(&mut self, pods: &[PodFacts], readings: &Readings, tick: i64) -> TickReport {
        let controller = gates();
        let scale = TargetScale {
            spec_replicas: self.run.current,
            status_replicas: self.run.current,
            selector: "app=web",
            pods: Ok(pods),
            autoscalers: &[],
        };
        let input = reconciler::Input {
            controller: &controller,
            namespace: "shop",
            spec: &self.spec,
            observed: ObservedTarget {
                scale: Ok(scale),
                readings,
            },
            told: &self.status,
        };
        let told = self.told;
        let scaled = signals();
        let behavior = StagedBehavior::default();
        let portraits = PortraitInput {
            given: &[],
            reactive: self.reactive.as_ref(),
            predictive: None,
            behavior: &behavior,
            counts: ReplicaCounts::all_online(self.run.current),
            reached: None,
            change: None,
            checks: &[],
            holds: &[],
            resume: None,
            told,
            generation: self.generation,
            rests_at_zero: false,
        };
        let input = TickInput {
            traffic: None,
            now: time(tick),
            current: self.run.current,
            ready: self.run.current,
            reaction: Reaction::Reconciled(ReconciledTarget {
                input,
                told,
                generation: self.generation,
            }),
            models: self.run.models,
            signals: if self.run.models.is_some() {
                &scaled
            } else {
                &[]
            },
            recorded: None,
            portraits: self.reactive.is_some().then_some(portraits),
            shared: &ModelAssets::default(),
        };
        self.run.tracker.tick(&self.run.policy, &input)
    }

    /// One tick with the same usage of each Pod; its decision is in force from then on.
    fn tick(&mut self, each: i64, tick: i64) -> TickReport {
        let pods = pods(self.run.current);
        let usages = vec![Some(each); pods.len()];
        let report = self.decide(&pods, &used(&pods, &usages, tick), tick);
        self.run.current = report.decision.replicas;
        report
    }
}

fn condition(report: &TickReport, kind: &ConditionType) -> Option<(bool, String)> {
    let hpa = report.hpa.as_ref()?;
    let mut conditions = hpa.conditions.iter();
    let found = conditions.find(|one| one.condition_type == *kind)?;
    Some((
        found.status == ConditionStatus::True,
        found.reason.clone().into_owned(),
    ))
}

fn events(report: &TickReport) -> Vec<(EventType, &'static str, String)> {
    let events = report.hpa.iter().flat_map(|hpa| &hpa.events);
    events
        .map(|event| (event.event_type, event.reason, event.message.clone()))
        .collect()
}

fn rules() -> impl Strategy<Value = Option<RulesSpec>> {
    let policy =
        (any::<bool>(), 1..60_i32, 15..90_i32).prop_map(|(pods, value, period_seconds)| {
            ScalingPolicy {
                policy_type: if pods {
                    PolicyType::Pods
                } else {
                    PolicyType::Percent
                },
                value,
                period_seconds,
            }
        });
    let select = prop_oneof![
        Just(None),
        Just(Some(SelectPolicy::Max)),
        Just(Some(SelectPolicy::Min)),
        Just(Some(SelectPolicy::Disabled)),
    ];
    let policies = prop::option::of(prop::collection::vec(policy, 1..3));
    let tolerance = prop_oneof![Just(None), Just(Some("0.05")), Just(Some("300m"))];
    let rules = (prop::option::of(0..300_i32), select, policies, tolerance);
    let rules = rules.prop_map(|(window, select_policy, policies, tolerance)| RulesSpec {
        stabilization_window_seconds: window,
        select_policy,
        policies,
        tolerance: tolerance.map(|text| text.parse().unwrap()),
    });
    prop::option::of(rules)
}

fn behaviors() -> impl Strategy<Value = Option<Behavior>> {
    let both = (rules(), rules()).prop_map(|(scale_up, scale_down)| {
        let spec = BehaviorSpec {
            scale_up,
            scale_down,
        };
        spec.defaulted()
    });
    prop::option::of(both)
}

/// The usage of each Pod at each tick, and the share of Pods that are measured.
fn usage() -> impl Strategy<Value = Vec<(i64, u8)>> {
    let measured = prop_oneof![4 => Just(100_u8), 1 => Just(50_u8), 1 => Just(0_u8)];
    prop::collection::vec((0..1500_i64, measured), 1..60)
}

proptest! {
    #[test]
    fn without_a_forecast_it_is_the_hpa(
        behavior in behaviors(), usage in usage(), current in 1..30_i32, min in 1..5_i32,
        by_portrait in any::<bool>()
    ) {
        let spec = spec(min, 25, cpu(), behavior);
        let mut direct = Directly::new(current, spec.clone(), None);
        if by_portrait {
            direct = direct.by_portrait();
        }
        let (controller, mut memory) = (gates(), HpaMemory::default());
        let mut hpa = HorizontalPodAutoscaler {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            generation: None,
            spec,
            status: HpaStatus::default(),
        };
        let mut expected = current;
        for (tick, (each, share)) in (0_i64..).zip(usage) {
            let pods = pods(expected);
            let measured = pods.len() * usize::from(share) / 100;
            let usages: Usages = (0..pods.len())
                .map(|index| (index < measured).then_some(each))
                .collect();
            let readings = used(&pods, &usages, tick);
            let report = direct.decide(&pods, &readings, tick);
            let observed = ObservedTarget {
                scale: Ok(TargetScale {
                    spec_replicas: expected,
                    status_replicas: expected,
                    selector: "app=web",
                    pods: Ok(&pods),
                    autoscalers: &[],
                }),
                readings: &readings,
            };
            let step = reconcile(&controller, &hpa, &observed, &mut memory, time(tick));
            let outcome = step.written(&mut memory);
            if outcome.action != Action::None {
                expected = outcome.status.desired_replicas;
            }
            for kind in [ConditionType::ScalingActive, ConditionType::ScalingLimited] {
                let theirs = outcome.status.condition(&kind);
                let theirs = theirs.map(|one| (
                    one.status == ConditionStatus::True, one.reason.clone().into_owned()
                ));
                prop_assert_eq!(condition(&report, &kind), theirs, "{}", tick);
            }
            hpa.status = outcome.status;
            prop_assert_eq!(report.decision.replicas, expected, "{}: {:?}", tick, report.decision);
            direct.run.current = expected;
        }
    }
}

#[test]
fn a_count_that_is_set_is_told_once_it_is_seen_with_its_reason() {
    let mut direct = Directly::new(4, spec(2, 20, cpu(), None), None);
    let report = direct.tick(600, 0);
    assert_eq!(
        report.decision.reason,
        "replicas 4 -> 6: cpu resource utilization (percentage of request) above target"
    );
    assert_eq!(events(&report), [], "nobody has seen it yet");
    let report = direct.tick(400, 1);
    let message = "New size: 6; reason: replicas 4 -> 6: cpu resource utilization (percentage of request) \
                   above target";
    let told = (EventType::Normal, "SuccessfulRescale", message.to_owned());
    assert_eq!(events(&report), [told]);
    assert_eq!(report.decision.replicas, 6);
    let able = condition(&report, &ConditionType::AbleToScale);
    assert_eq!(able, Some((true, "ReadyForNewScale".to_owned())));
    assert_eq!(events(&direct.tick(400, 2)), []);
}

#[test]
fn an_outage_freezes_the_count_and_a_restart_takes_nothing_away() {
    let mut direct = Directly::new(8, spec(2, 20, cpu(), None), None);
    direct.tick(400, 0);
    let outage = Readings {
        resource: Err("no answer".to_owned()),
        ..Readings::default()
    };
    for tick in 1..60 {
        let report = direct.decide(&pods(8), &outage, tick);
        assert_eq!(report.decision.replicas, 8, "{tick}");
        let active = condition(&report, &ConditionType::ScalingActive);
        assert_eq!(active, Some((false, "FailedGetResourceMetric".to_owned())));
    }
    // A decider that is new remembers nothing, and waits for the window.
    let mut fresh = Directly::new(8, spec(2, 20, cpu(), None), None);
    for tick in 60..=80 {
        assert_eq!(fresh.tick(50, tick).decision.replicas, 8, "{tick}");
    }
    assert_eq!(fresh.tick(50, 81).decision.replicas, 2);
}

/// A ramp with ripples for half an hour, and then a low load.
fn ramp(tick: i64) -> f64 {
    let tick = f64::from(i32::try_from(tick).unwrap());
    let ripple = 20.0 * (tick * 0.7).sin();
    if tick < 120.0 {
        2000.0 + 60.0 * tick + ripple
    } else {
        2000.0
    }
}

#[test]
fn a_forecast_adds_and_its_way_down_is_that_of_the_hpa() {
    let run = |models| {
        let mut direct = Directly::new(5, spec(2, 60, cpu(), None), models);
        let mut decisions = Vec::new();
        for tick in 0..150 {
            let (load, at) = (ramp(tick), time(tick));
            direct
                .run
                .tracker
                .measure(&Signal::CPU, &LoadSample::of_moment(load, at), at)
                .unwrap();
            #[allow(clippy::cast_possible_truncation)] // some hundreds
            let each = (load / f64::from(direct.run.current)).round() as i64;
            decisions.push(direct.tick(each, tick).decision);
        }
        decisions
    };
    let (plain, ahead) = (run(None), run(Some(ModelSet::SHpa)));
    let forecast = |decision: &&ScalingDecision| decision.grounds == DecisionBasis::Forecast;
    assert!(ahead.iter().filter(forecast).count() > 20, "{ahead:?}");
    let sum =
        |decisions: &[ScalingDecision]| -> i32 { decisions.iter().map(|one| one.replicas).sum() };
    assert!(
        sum(&ahead[..120]) > sum(&plain[..120]) + 60,
        "{} and {}",
        sum(&ahead[..120]),
        sum(&plain[..120])
    );
    let most = ahead[119].replicas;
    for (tick, decision) in ahead.iter().enumerate().skip(120).take(15) {
        assert_eq!(
            decision.replicas, most,
            "{tick}: the window holds what was added"
        );
    }
    assert_eq!(ahead[149].replicas, 5, "2 cores need 5 Pods of 0.4");
}

#[test]
fn it_sleeps_without_a_queue_and_wakes_by_it_and_by_nothing_else() {
    let mut direct = Directly::new(3, spec(0, 20, queue(), None), None);
    let decide = |direct: &mut Directly, length, tick| {
        let report = direct.decide(&pods(direct.run.current), &queued(length, tick), tick);
        direct.run.current = report.decision.replicas;
        report
    };
    let mut tick = 0;
    while direct.run.current > 0 {
        decide(&mut direct, Some(0), tick);
        tick += 1;
        assert!(tick < 30, "it does not fall asleep");
    }
    assert!(tick > 20, "the window of five minutes is waited for");
    let report = decide(&mut direct, None, tick);
    assert_eq!(report.decision.replicas, 0, "an outage wakes nobody");
    let zero = condition(&report, &ConditionType::ScaledToZero);
    assert_eq!(zero, Some((true, "ScaledToZero".to_owned())));
    assert_eq!(decide(&mut direct, Some(0), tick + 1).decision.replicas, 0);
    assert_eq!(decide(&mut direct, Some(25), tick + 2).decision.replicas, 3);

    // A new leader knows it from the reported status.
    let status = |told| HpaStatus {
        conditions: report.hpa.as_ref().unwrap().conditions.clone(),
        desired_replicas: told,
        ..HpaStatus::default()
    };
    let mut other = Directly::new(0, spec(0, 20, queue(), None), None);
    other.status = status(0);
    assert_eq!(decide(&mut other, Some(25), 100).decision.replicas, 3);
    let mut user = Directly::new(0, spec(0, 20, queue(), None), None);
    assert_eq!(
        decide(&mut user, Some(25), 100).decision.replicas,
        0,
        "the user switched it off"
    );
}

#[test]
fn one_change_by_hand_is_gone_on_from_and_a_contest_is_left_until_it_ends() {
    let mut direct = Directly::new(4, spec(2, 20, cpu(), None), None);
    direct.generation = Some(1);
    let settle = |direct: &mut Directly, tick| direct.tick(600, tick).decision;
    assert_eq!(settle(&mut direct, 0).replicas, 6);
    // It was set to 6, and to 3, between two ticks.
    direct.run.tracker.decision.written(6);
    (direct.run.current, direct.generation) = (3, Some(3));
    let decision = settle(&mut direct, 1);
    assert_eq!((decision.replicas, decision.limited_by), (6, None));
    // It was set to 6, and to 3 again, between two ticks.
    direct.run.tracker.decision.written(6);
    (direct.run.current, direct.generation) = (3, Some(5));
    let decision = settle(&mut direct, 2);
    let until = time(2) + SignedDuration::from_mins(10);
    assert_eq!(
        (decision.replicas, decision.limited_by),
        (3, Some(LimitedBy::Contested { until }))
    );
    for tick in 3..42 {
        assert_eq!(settle(&mut direct, tick).replicas, 3, "{tick}");
    }
    assert_eq!(settle(&mut direct, 42).replicas, 5, "it ends by itself");
}

/// The harm: a write of an older decision counted as the newest one's, so two changes by a user
/// were taken for a contest.
#[test]
fn a_count_of_an_older_decision_does_not_count_as_the_one_that_is_asked_for_now() {
    let mut direct = Directly::new(4, spec(2, 20, cpu(), None), None);
    direct.generation = Some(1);
    for (tick, generation) in [(0, 3), (1, 5), (2, 7)] {
        let decision = direct.tick(600, tick).decision;
        assert_eq!(
            (decision.replicas, decision.limited_by),
            (6, None),
            "{tick}"
        );
        direct.run.tracker.decision.written(5);
        (direct.run.current, direct.generation) = (3, Some(generation));
    }
}

/// The harm: `kubectl scale --replicas=0` and later `--replicas=1`, the documented way to switch scaling off and
/// on, was taken for a contest.
#[test]
fn scaling_that_was_switched_off_and_on_again_goes_on_at_once() {
    let mut direct = Directly::new(4, spec(1, 20, cpu(), None), None);
    for tick in 0..3 {
        assert_eq!(direct.tick(600, tick).decision.limited_by, None);
    }
    let mut tick = 3;
    for _ in 0..4 {
        for _ in 0..2 {
            direct.run.current = 0;
            let report = direct.tick(0, tick);
            assert_eq!(report.decision.replicas, 0, "{tick}");
            let active = condition(&report, &ConditionType::ScalingActive);
            assert_eq!(active, Some((false, "ScalingDisabled".to_owned())));
            tick += 1;
        }
        // A metric of a Pod that has just come, over its target.
        direct.run.current = 1;
        let report = direct.tick(1500, tick);
        assert!(
            report.decision.replicas > 1,
            "{tick}: {:?}",
            report.decision
        );
        let active = condition(&report, &ConditionType::ScalingActive);
        assert_eq!(active, Some((true, "ValidMetricFound".to_owned())));
        direct.tick(400, tick + 1);
        tick += 2;
    }
}

/// The harm: where the write of a count failed, two changes by others were taken for that write and its revert.
#[test]
fn changes_by_others_revert_nothing_that_was_not_written() {
    let mut direct = Directly::new(4, spec(2, 20, cpu(), None), None);
    for tick in 0..4 {
        (direct.run.current, direct.generation) = (4, Some(1 + 2 * tick));
        let decision = direct.tick(600, tick).decision;
        assert_eq!(
            (decision.replicas, decision.limited_by),
            (6, None),
            "{tick}"
        );
    }
}

/// The harm: where a target may have no replicas, reverts to 0 were never a contest.
#[test]
fn reverts_to_zero_are_a_contest_where_zero_is_one_of_the_counts() {
    for (min, contested) in [(0, true), (1, false)] {
        let mut direct = Directly::new(1, spec(min, 20, queue(), None), None);
        let mut decide = |current: i32, tick: i64| {
            direct.run.current = current;
            let pods = pods(current);
            direct.decide(&pods, &queued(Some(25), tick), tick);
            direct
                .run
                .tracker
                .decision
                .contest
                .until(time(tick))
                .is_some()
        };
        // 3 are asked for and written, and another writer sets 0 and then 1.
        let all = [1, 3, 0, 1, 3, 0].into_iter().zip(0..);
        let found: Vec<bool> = all.map(|(current, tick)| decide(current, tick)).collect();
        assert_eq!(found[5], contested, "{min}: {found:?}");
        assert!(!found[4], "{min}: one is none");
    }
}

/// Users may change a count that was not written here as often as they like; other changes of the object are none.
#[test]
fn a_count_that_was_not_written_here_is_not_contested() {
    for (counts, each) in [(vec![4, 6, 5, 7, 4], 400), (vec![4, 4, 4, 4, 4], 400)] {
        let mut direct = Directly::new(4, spec(2, 20, cpu(), None), None);
        for (tick, count) in (0_i64..).zip(counts) {
            direct.run.current = count;
            direct.generation = Some(10 + 3 * tick);
            let decision = direct.tick(each, tick).decision;
            assert_eq!(decision.limited_by, None, "{tick}");
        }
    }
}

#[test]
fn what_another_replica_has_told_of_is_no_contest() {
    let mut follower = Directly::new(4, spec(2, 20, cpu(), None), None);
    for tick in 0..8 {
        follower.tick(400, tick);
        let count = if follower.run.current == 4 { 7 } else { 4 };
        (follower.run.current, follower.told) = (count, Some(count));
        assert_eq!(
            follower.tick(400, tick).decision.limited_by,
            None,
            "{tick}: the leader set it"
        );
    }
}

#[test]
fn a_count_that_nobody_writes_is_told_after_a_minute() {
    let mut direct = Directly::new(4, spec(2, 20, cpu(), None), None);
    let mut found = Vec::new();
    for tick in 0..6 {
        let report = direct.tick(600, tick);
        direct.run.current = 4;
        let able = condition(&report, &ConditionType::AbleToScale);
        let reasons = events(&report).into_iter().map(|(_, reason, _)| reason);
        found.push((able.unwrap().1, reasons.collect::<Vec<_>>()));
    }
    let failed = ("FailedUpdateScale".to_owned(), vec!["FailedRescale"]);
    assert_eq!(found[3].1, [""; 0]);
    assert_eq!(found[4], failed);
}
