//! Mode direct: the workloads that may be its target, the refusals on both sides, and the writes.

use evenkeel_api::replica_profile::CheckedReplicaProfile;
use evenkeel_forecast::ModelAssets;
use evenkeel_hpa::MetricSpec;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::sample::{Measurement, PodSample, ValueSample};
use evenkeel_metrics::signal::{MetricIdentifier, MetricTarget as Value_};
use evenkeel_objects::annotations::SCALE_DOWN;
use evenkeel_objects::scaling_mode::ScaleDown;

use super::*;
use crate::bounds_record::contest_inquiry::ContestInquiry;
use crate::limits::LimitedBy;
use crate::load::observation::LoadSample;
use crate::targets::scalers::Scalers;
use crate::tracker::{LoadTracker, Reaction};

const MIN: &str = "evenkeel.dev/min-replicas";
const MAX: &str = "evenkeel.dev/max-replicas";

/// Web in mode direct, 2 to 10.
fn direct() -> World {
    World::alone(&[(SCALING, "direct"), (MIN, "2"), (MAX, "10")])
}

fn kinds(resolved: &ResolvedTarget) -> Vec<&'static str> {
    resolved.problems.iter().map(TargetProblem::kind).collect()
}

/// One replica of the service that looks at the world.
#[derive(Default)]
struct Replica {
    tracker: LoadTracker,
    memory: PlanMemory,
    count: Option<i32>,
}

impl Replica {
    /// Decides on what each of the four Pods uses, and gives the writes.
    fn tick(&mut self, world: &World, millicores: Option<i64>, second: i64) -> Vec<Write> {
        let now = at(second);
        let observed = world.observed();
        let resolved = world.resolve(now);
        let target = resolved.target.as_ref().unwrap();
        let is_new = self.count.replace(target.current) != Some(target.current);
        let known = if is_new {
            told(&observed)
        } else {
            LastStatus::default()
        };
        let readings = readings(&observed, millicores, now);
        let measured = HpaInput::new(&observed, readings, known);
        let shared = ModelAssets::default();
        let input = target.input(now, &shared, Some(&measured), &[]);
        let report = self.tracker.tick(&target.policy, &input);
        let context = context(now);
        plan(
            &observed,
            &resolved,
            Some(&report),
            &mut self.memory,
            &context,
        )
    }
}

fn replicas(world: &World) -> i64 {
    world.workload.as_ref().unwrap()["spec"]["replicas"]
        .as_i64()
        .unwrap()
}

fn purposes(writes: &[Write]) -> Vec<Purpose> {
    writes.iter().map(|write| write.purpose).collect()
}

#[test]
fn the_count_is_written_through_scale_and_told_and_nothing_is_written_twice() {
    let (mut world, mut replica) = (direct(), Replica::default());
    world.started();
    let writes = replica.tick(&world, Some(2100), 0);
    assert_eq!(
        purposes(&writes),
        [Purpose::ScalingReplicas, Purpose::ScalingStatus]
    );
    assert_eq!(
        writes[0].target.to_string(),
        "deployments.apps/scale shop/web"
    );
    assert_eq!(writes[0].gap, 3);
    world.apply(&writes);
    assert_eq!(replicas(&world), 7);
    let status = world.status().unwrap();
    assert_eq!((status.mode.as_str(), status.replicas), ("direct", Some(7)));
    for kind in ["AbleToScale", "ScalingActive"] {
        assert_eq!(world.holds(kind), Some(ConditionStatus::True), "{kind}");
    }
    assert_eq!(world.holds("ScalingLimited"), Some(ConditionStatus::False));

    let writes = replica.tick(&world, Some(1200), 15);
    world.apply(&writes);
    assert_eq!(world.reasons(), ["SuccessfulRescale"]);
    assert!(
        world.told[0]
            .1
            .starts_with("New size: 7; reason: replicas 4 -> 7: cpu resource")
    );
    for second in [30, 45, 60] {
        let writes = replica.tick(&world, Some(1200), second);
        assert_eq!(writes, [], "{second}: nothing changes");
    }
}

/// The counts of the wave over an hour, with this word of `scale-down`.
fn counts(rule: &str) -> Vec<i64> {
    let (mut world, mut replica) = (direct(), Replica::default());
    world.started();
    world.workload.as_mut().unwrap()["metadata"]["annotations"]["evenkeel.dev/scale-down"] =
        json!(rule);
    let seconds = (0..3600).step_by(15);
    let counts = seconds.map(|second| {
        let (load, now) = (wave(second), at(second));
        let sample = LoadSample::of_moment(load, now);
        replica.tracker.measure(&Signal::CPU, &sample, now).unwrap();
        #[expect(clippy::cast_possible_truncation)] // a few thousand
        let each = (load / 4.0) as i64;
        let writes = replica.tick(&world, Some(each), second);
        world.apply(&writes);
        replicas(&world)
    });
    counts.collect()
}

#[test]
fn an_early_scale_in_sets_fewer_replicas_and_carries_the_load() {
    let (reactive, early) = (counts("reactive"), counts("early"));
    let sum = |counts: &[i64]| counts.iter().sum::<i64>();
    assert!(sum(&early) < sum(&reactive), "{early:?} {reactive:?}");
    for (count, tick) in early.iter().zip(0..) {
        // Within the tolerance of a tenth each Pod carries 1.2 cores.
        let carried = 1320.0 * f64::from(i32::try_from(*count).unwrap());
        let load = wave(15 * tick);
        assert!(carried >= load, "{tick}: {count} Pods for {load}");
    }
}

#[test]
fn what_is_not_measured_freezes_and_is_told() {
    let (mut world, mut replica) = (direct(), Replica::default());
    world.started();
    for second in (0..1200).step_by(15) {
        let writes = replica.tick(&world, None, second);
        world.apply(&writes);
        assert_eq!(replicas(&world), 4);
    }
    assert_eq!(world.holds("ScalingActive"), Some(ConditionStatus::False));
    let reasons = world.reasons().into_iter();
    let told = reasons
        .filter(|reason| *reason == "FailedGetResourceMetric")
        .count();
    assert_eq!(told, 4, "every five minutes");
}

#[test]
fn a_follower_takes_over_where_the_leader_was() {
    let (mut world, mut leader, mut follower) = (direct(), Replica::default(), Replica::default());
    world.started();
    for second in [0, 15, 30] {
        let writes = leader.tick(&world, Some(2100), second);
        let same = follower.tick(&world, Some(2000), second);
        assert!(second > 0 || !same.is_empty());
        world.apply(&writes);
    }
    assert_eq!(replicas(&world), 7);
    // The leader's write was no contest to the follower, and the follower has its own window.
    let writes = follower.tick(&world, Some(2100), 45);
    let wrote = purposes(&writes);
    assert!(!wrote.contains(&Purpose::ScalingReplicas), "{wrote:?}");
    world.apply(&writes);
    assert_eq!(world.holds("ReplicasContested"), None);
}

#[test]
fn the_word_may_come_from_namespace_or_configuration_for_what_has_bounds() {
    let mut world = World::alone(&[(MIN, "2"), (MAX, "10")]);
    assert_eq!(world.resolve(at(0)).mode, ScalingMode::Off, "nobody asks");
    world
        .namespace
        .insert(SCALING.to_owned(), "direct".to_owned());
    let resolved = world.resolve(at(0));
    assert_eq!(
        (resolved.mode, kinds(&resolved)),
        (ScalingMode::Direct, vec![])
    );
    let mut bare = World::alone(&[]);
    bare.namespace = world.namespace.clone();
    assert_eq!(
        bare.resolve(at(0)).mode,
        ScalingMode::Off,
        "it has no bounds"
    );

    let mut settings = settings();
    settings.mode = ScalingMode::Direct;
    world.namespace.remove(SCALING);
    let resolved = resolve(&world.observed(), false, &settings, None, at(0));
    assert_eq!(resolved.mode, ScalingMode::Direct);
}

#[test]
fn bounds_are_needed_and_zero_needs_what_wakes() {
    let problems = |annotations: &[(&str, &str)]| {
        let world = World::alone(annotations);
        let resolved = world.resolve(at(0));
        assert!(resolved.target.is_none(), "{annotations:?}");
        kinds(&resolved)
    };
    let asks = (SCALING, "direct");
    assert_eq!(problems(&[asks]), ["BoundsMissing"]);
    assert_eq!(problems(&[asks, (MAX, "5")]), ["BoundsMissing"]);
    assert_eq!(
        problems(&[asks, (MIN, "0"), (MAX, "5")]),
        ["NoWakingSignal"]
    );
    let mut world = World::alone(&[asks, (MIN, "0"), (MAX, "5")]);
    assert_eq!(world.plan(None, at(0)).len(), 2, "status and Event");
    let writes = world.plan(None, at(300));
    world.apply(&writes);
    assert_eq!(world.holds("NoWakingSignal"), Some(ConditionStatus::True));
}

#[test]
fn the_rules_of_its_hpa_are_those_of_the_annotations() {
    let behavior =
        r#"{"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}}"#;
    let world = World::alone(&[
        (SCALING, "direct"),
        (MIN, "2"),
        (MAX, "10"),
        ("evenkeel.dev/target", "cpu=600m,container/app/memory=70%"),
        ("evenkeel.dev/behavior", behavior),
    ]);
    let target = world.resolve(at(0)).target.unwrap();
    let TargetReaction::Reconciled(spec) = &target.reaction else {
        panic!("{:?}", target.reaction);
    };
    assert_eq!((spec.min_replicas, spec.max_replicas), (2, 10));
    assert_eq!(spec.scale_target.api_version, "apps/v1");
    let container = Signal::ContainerResource {
        resource: ResourceName::Memory,
        container: "app".to_owned(),
    };
    assert_eq!(
        spec.metrics,
        [
            MetricSpec::new(Signal::CPU, Value_::AverageValue(600)),
            MetricSpec::new(container, Value_::Utilization(70)),
        ]
    );
    assert_eq!(spec.behavior, target.policy.behavior);
    assert_eq!(spec.behavior.as_ref().unwrap().scale_up.policies.len(), 1);
}

#[test]
fn two_owners_of_one_workload_are_refused_on_both_sides() {
    let with_hpa = || {
        let mut world = direct();
        world.autoscaler = World::new().autoscaler;
        world
    };
    let with_keda = || {
        let mut world = World::with_keda();
        world.workload = direct().workload;
        world
    };
    for (mut world, other) in [
        (with_hpa(), "HorizontalPodAutoscaler web"),
        (with_keda(), "ScaledObject web"),
    ] {
        let resolved = world.resolve(at(0));
        assert_eq!(kinds(&resolved), ["DirectConflict"], "{other}");
        assert!(resolved.target.is_none());
        let writes = world.plan(None, at(0));
        world.apply(&writes);
        for object in [world.owner().clone(), world.workload.clone().unwrap()] {
            let text = &object["metadata"]["annotations"][SCALING_STATUS];
            let text = text.as_str().unwrap_or_default();
            assert!(
                text.contains("DirectConflict") && text.contains(other),
                "{text}"
            );
        }
        assert_eq!(world.reasons(), ["DirectConflict"; 2], "one on each");
        assert_eq!(world.plan(None, at(0)), [], "once");
        assert_eq!(world.plan(None, at(600)), []);

        // The user takes the word back.
        world.workload.as_mut().unwrap()["metadata"]["annotations"][SCALING] = json!(null);
        let report = report(Some(6), 615);
        let writes = world.plan(Some(&report), at(615));
        world.apply(&writes);
        assert_eq!(world.bounds().0, Some(6), "{other}: the floor rises again");
        let workload = world.workload.unwrap();
        let left = &workload["metadata"]["annotations"][SCALING_STATUS];
        assert_eq!(left, &json!(null));
    }
}

#[test]
fn where_the_word_of_the_namespace_is_direct_an_hpa_gets_recommendations() {
    let mut world = World::new();
    world.annotate(SCALING, json!(null));
    world
        .namespace
        .insert(SCALING.to_owned(), "direct".to_owned());
    let resolved = world.resolve(at(0));
    assert_eq!(
        (resolved.mode, kinds(&resolved)),
        (ScalingMode::Recommend, vec![])
    );
    world.annotate(SCALING, json!("direct"));
    assert_eq!(kinds(&world.resolve(at(0))), ["DirectConflict"]);
    world.annotate(SCALING, json!("floor"));
    assert_eq!(
        world.resolve(at(0)).mode,
        ScalingMode::Floor,
        "it says so itself"
    );
}

#[test]
fn a_query_stands_alone_and_one_that_is_refused_is_not_asked_for() {
    let spec = |annotations: &[(&str, &str)], queries: Queries| {
        let bounds = [
            (SCALING, "direct"),
            (MIN, "0"),
            (MAX, "5"),
            (QUERY_TARGET, "10"),
        ];
        let world = World::alone(&[&bounds, annotations].concat());
        let settings = Settings {
            queries,
            ..settings()
        };
        let resolved = resolve(&world.observed(), false, &settings, None, at(0));
        let spec = resolved
            .target
            .as_ref()
            .map(|target| match &target.reaction {
                TargetReaction::Reconciled(spec) => {
                    let signals = spec.metrics.iter().map(|one| match one {
                        MetricSpec::Known(signal, _) => signal.clone(),
                        MetricSpec::Unknown(name) => panic!("{name}"),
                    });
                    signals.collect::<Vec<_>>()
                }
                TargetReaction::Autoscaler(_) | TargetReaction::Nobody => {
                    panic!("nothing else scales it")
                }
            });
        (spec, kinds(&resolved))
    };
    let own = (QUERY, "sum(queue)");
    let queue = || Signal::PromQl(PromQl::own("sum(queue)"));
    assert_eq!(spec(&[own], Queries::Any), (Some(vec![queue()]), vec![]));
    let both = [own, (TARGET, "cpu=80%")];
    let signals = Some(vec![Signal::CPU, queue()]);
    assert_eq!(spec(&both, Queries::Any), (signals, vec![]));
    // A query that is not asked gets no answer, and would stop all scaling in.
    assert_eq!(
        spec(&[own], Queries::Presets),
        (None, vec!["SignalUnknown"])
    );
    assert_eq!(
        spec(&both, Queries::Presets),
        (None, vec!["NoWakingSignal"]),
        "a query that is not asked wakes nothing"
    );
}

#[test]
fn no_scale_in_is_early_where_the_query_of_the_count_is_refused() {
    let annotations = [
        (SCALING, "direct"),
        (MIN, "1"),
        (MAX, "5"),
        (TARGET, "cpu=80%"),
        (QUERY, "sum(queue)"),
        (QUERY_TARGET, "10"),
        (SCALE_DOWN, "early"),
    ];
    let world = World::alone(&annotations);
    for (queries, expected) in [
        (Queries::Any, ScaleDown::Early),
        (Queries::Presets, ScaleDown::Reactive),
    ] {
        let settings = Settings {
            queries,
            ..settings()
        };
        let resolved = resolve(&world.observed(), false, &settings, None, at(0));
        assert_eq!(resolved.target.unwrap().policy.scale_down, expected);
    }
}

#[test]
fn pods_that_go_are_no_replicas_of_the_status() {
    let mut world = direct();
    world.started();
    let observed = world.observed();
    let members = &observed.pods.members;
    let count = i32::try_from(members.len()).unwrap();
    let mut going = observed.clone();
    let mut last = PodFacts::clone(&members[0]);
    last.deleted = true;
    going.pods.members[0] = last.into();
    let resolved = world.resolve(at(0));
    let TargetReaction::Reconciled(spec) = &resolved.target.unwrap().reaction else {
        panic!("nothing else scales it");
    };
    for (observed, replicas) in [(observed, count), (going, count - 1)] {
        let measured = HpaInput::new(&observed, Readings::default(), LastStatus::default());
        let Reaction::Reconciled(reconciled) = measured.reaction("shop", spec, count) else {
            panic!("nothing else scales it");
        };
        let scale = reconciled.input.observed.scale.unwrap();
        assert_eq!(scale.status_replicas, replicas);
    }
}

/// The harm: where a selector selects more than the Pods of the workload, the use of others counted.
#[test]
fn values_of_the_pods_of_others_count_for_nobody() {
    let mut world = direct();
    world.started();
    let observed = world.observed();
    let metric = MetricIdentifier {
        name: "requests".to_owned(),
        selector: None,
    };
    let sample = |pod: &str| PodSample {
        pod: pod.to_owned(),
        measurement: Measurement {
            timestamp: at(0),
            window: SignedDuration::from_secs(30),
            value: 1000,
        },
    };
    let reading = MetricsApiReading::Pods(["web-0", "other-0", "web-3"].map(sample).to_vec());
    let others = [
        (Signal::Pods(metric), Ok(reading)),
        (Signal::CPU, Err("no answer".to_owned())),
    ];
    let readings = Readings {
        others: others.into_iter().collect(),
        ..Readings::default()
    };
    let resolved = world.resolve(at(0));
    let TargetReaction::Reconciled(spec) = &resolved.target.unwrap().reaction else {
        panic!("nothing else scales it");
    };
    let measured = HpaInput::new(&observed, readings, LastStatus::default());
    let Reaction::Reconciled(reconciled) = measured.reaction("shop", spec, 4) else {
        panic!("nothing else scales it");
    };
    let kept: Vec<_> = reconciled.input.observed.readings.others.values().collect();
    let expected = MetricsApiReading::Pods(["web-0", "web-3"].map(sample).to_vec());
    assert!(kept.contains(&&Ok(expected)), "{kept:?}");
    assert!(kept.contains(&&Err("no answer".to_owned())), "{kept:?}");
}

/// The harm: what Pods use that wait out of traffic was in the mean of those that take it, which hid their overload.
#[test]
fn what_pods_use_that_wait_out_of_traffic_is_in_no_mean() {
    let mut world = direct();
    world.started();
    let mut observed = world.observed();
    let parked = ["web-2", "web-3"];
    observed.profiles.parked = Arc::new(parked.map(str::to_owned).into());
    let used = |pod: &str| if parked.contains(&pod) { 0 } else { 200 };
    let mut readings = readings(&observed, Some(0), at(0));
    for pod in readings.resource.iter_mut().flatten() {
        let millicores = used(&pod.pod);
        pod.containers[0].usage = [(ResourceName::Cpu, millicores)].into_iter().collect();
    }
    let requests = Signal::Pods(MetricIdentifier::named("requests"));
    let samples = observed.pods.members.iter().map(|pod| PodSample {
        pod: pod.name.clone(),
        measurement: Measurement {
            timestamp: at(0),
            window: SignedDuration::from_secs(30),
            value: used(&pod.name),
        },
    });
    let reading = MetricsApiReading::Pods(samples.collect());
    readings.others.insert(requests.clone(), Ok(reading));
    let measured = HpaInput::new(&observed, readings, LastStatus::default());
    for signal in [Signal::CPU, requests] {
        let metric = MetricSpec::new(signal, Value_::AverageValue(100));
        let mean = measured.value(&observed.target, &metric, 2, at(0));
        let found = mean.map(|mean| (mean.milli, mean.since, mean.until));
        assert_eq!(found, Some((200, at(-30), at(0))), "{metric:?}");
    }
}

/// The harm: what was rolled back to 0 was never measured again, and stayed there.
#[test]
fn a_value_for_the_whole_is_known_without_a_pod_and_one_for_each_is_not() {
    let mut world = direct();
    world.started();
    let mut observed = world.observed();
    observed.pods.members.clear();
    let signal = Signal::PromQl(PromQl::own("sum(errors)"));
    let sample = ValueSample {
        timestamp: at(-5),
        value: 2500,
    };
    let reading = MetricsApiReading::Series(vec![sample]);
    let readings = Readings {
        others: [(signal.clone(), Ok(reading))].into_iter().collect(),
        ..Readings::default()
    };
    let measured = HpaInput::new(&observed, readings, LastStatus::default());
    let value = |target| {
        let metric = MetricSpec::new(signal.clone(), target);
        let value = measured.value(&observed.target, &metric, 0, at(0))?;
        Some((value.milli, value.since))
    };
    assert_eq!(value(Value_::Value(1000)), Some((2500, at(-5))));
    assert_eq!(value(Value_::AverageValue(1000)), None);
}

/// The harm: halved requests of Pods on standby made all of them look smaller, so that more were asked for, which took them
/// off standby again.
#[test]
fn what_pods_on_standby_ask_for_is_in_no_mean() {
    let mut world = direct();
    world.started();
    let mut observed = world.observed();
    let request = |observed: &TargetObjects| {
        let resolved = resolve(observed, false, &settings(), None, at(0));
        resolved.target.unwrap().signals[0].capacity.request()
    };
    let whole = request(&observed);
    for member in observed.pods.members.iter_mut().skip(2) {
        let mut pod = PodFacts::clone(member);
        for container in &mut Arc::make_mut(&mut pod.spec).containers {
            container.requests = [(ResourceName::Cpu, 1)].into_iter().collect();
        }
        *member = Arc::new(pod);
    }
    assert!(request(&observed) < whole);
    let parked = ["web-2", "web-3"].map(str::to_owned);
    observed.profiles.parked = Arc::new(parked.into());
    assert!((request(&observed) - whole).abs() < 1e-9);
}

#[test]
fn a_contest_is_told_with_its_end() {
    let mut world = direct();
    let mut report = report(None, 0);
    let until = at(600);
    report.decision.replicas = 4;
    report.decision.limited_by = Some(LimitedBy::Contested { until });
    world.memory.contest = ContestInquiry::Answered(Some("argocd-controller".to_owned()));
    let writes = world.plan(Some(&report), at(0));
    world.apply(&writes);
    let status = world.status().unwrap();
    let contested = status.condition("ReplicasContested").unwrap();
    assert!(
        contested
            .message
            .starts_with("argocd-controller repeatedly sets other replicas"),
        "{}",
        contested.message
    );
    assert_eq!(world.reasons(), ["ReplicasContested"]);
}

#[test]
fn restoring_leaves_the_count_and_takes_the_status_away() {
    let (mut world, mut replica) = (direct(), Replica::default());
    world.started();
    let writes = replica.tick(&world, Some(2100), 0);
    world.apply(&writes);
    let resolved = world.resolve(at(15));
    let writes = restore(&world.observed(), &resolved);
    assert_eq!(purposes(&writes), [Purpose::Restore]);
    world.apply(&writes);
    assert_eq!(replicas(&world), 7, "nobody knows another one");
    assert!(world.status().is_none());
}

/// A workload from which mode direct has removed the last replica.
fn asleep() -> World {
    let annotations = [
        (SCALING, "direct"),
        (MIN, "0"),
        (MAX, "5"),
        (QUERY, "gpu"),
        (QUERY_TARGET, "1"),
    ];
    let mut world = World::alone(&annotations);
    let workload = world.workload.as_mut().unwrap();
    workload["spec"]["replicas"] = json!(0);
    let told = json!({"mode": "direct", "replicas": 0, "conditions": [{
        "type": "ScaledToZero", "status": "True", "reason": "ScaledToZero", "message": "",
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    }]});
    workload["metadata"]["annotations"][SCALING_STATUS] = json!(told.to_string());
    world
}

#[test]
fn what_was_put_to_sleep_is_woken_where_nobody_will_wake_it_any_more() {
    let no_longer: [fn(&mut World); 5] = [
        |world| {
            world
                .namespace
                .insert(ENABLED.to_owned(), "false".to_owned());
        },
        |world| world.workload.as_mut().unwrap()["metadata"]["annotations"][SCALING] = json!("off"),
        |world| {
            world.workload.as_mut().unwrap()["metadata"]["annotations"][SCALING] =
                json!("recommend");
        },
        // It says direct on, and is refused: an HPA does nothing for what has no replicas either.
        |world| world.autoscaler = World::new().autoscaler,
        |world| world.workload.as_mut().unwrap()["metadata"]["annotations"][MAX] = json!(null),
    ];
    for (case, change) in no_longer.into_iter().enumerate() {
        let mut world = asleep();
        change(&mut world);
        let writes = world.plan(None, at(0));
        assert_eq!(purposes(&writes), [Purpose::ScalingReplicas], "{case}");
        world.apply(&writes);
        assert_eq!(replicas(&world), 1, "{case}");
        let writes = world.plan(None, at(15));
        assert!(!purposes(&writes).contains(&Purpose::ScalingReplicas));
    }

    let mut world = asleep();
    let writes = restore(&world.observed(), &world.resolve(at(0)));
    assert_eq!(purposes(&writes), [Purpose::Restore]);
    world.apply(&writes);
    assert_eq!(replicas(&world), 1);
    world.apply(&restore(&world.observed(), &world.resolve(at(0))));
    assert_eq!(world.status(), None, "then the trace of it goes");
}

#[test]
fn a_count_of_zero_of_the_users_stays() {
    let mut world = asleep();
    let annotations = &mut world.workload.as_mut().unwrap()["metadata"]["annotations"];
    annotations[SCALING] = json!("off");
    let told = annotations[SCALING_STATUS].as_str().unwrap();
    annotations[SCALING_STATUS] = json!(told.replace("True", "False"));
    let writes = world.plan(None, at(0));
    assert_eq!(purposes(&writes), [Purpose::ScalingStatus]);
    world.apply(&writes);
    assert_eq!(replicas(&world), 0);
}

#[test]
fn what_has_no_scale_is_refused() {
    let mut observed = direct().observed();
    let workload = Arc::make_mut(observed.workload.as_mut().unwrap());
    workload.kind = Kind::DaemonSet;
    observed.target = TargetRef::of_kind(Kind::DaemonSet, "shop", "web");
    let resolved = resolve(&observed, false, &settings(), None, at(0));
    assert_eq!(kinds(&resolved), ["NoScale"]);
    assert_eq!(
        resolved.problems[0].to_string(),
        "DaemonSet web has no subresource scale, so its replicas cannot be set"
    );
    let writes = plan(
        &observed,
        &resolved,
        None,
        &mut PlanMemory::default(),
        &context(at(0)),
    );
    assert_eq!(
        writes[0].target.to_string(),
        "daemonsets.apps shop/web",
        "the condition stands where it was asked for"
    );
}

#[test]
fn a_replica_profile_and_mode_direct_see_each_other() {
    let settings = Settings {
        follows_profiles: true,
        ..settings()
    };
    let bounds = [(MIN, "2"), (MAX, "10")];
    let mut by_namespace = World::alone(&bounds);
    by_namespace
        .namespace
        .insert(SCALING.to_owned(), "direct".to_owned());
    let mut recommended = World::alone(&bounds);
    recommended
        .namespace
        .insert(SCALING.to_owned(), "recommend".to_owned());
    for (world, is_direct) in [(direct(), true), (by_namespace, true), (recommended, false)] {
        let mut observed = world.observed();
        let profile =
            serde_json::from_value(json!({"metadata": {"name": "sale", "namespace": "shop"},
            "spec": {"onlineReplicas": 3, "scaleTargetRef":
                {"kind": observed.target.kind(), "name": observed.target.name()}}}));
        let profile = CheckedReplicaProfile::new(profile.unwrap());
        observed.profiles.all = vec![Arc::clone(&profile)];
        let resolved = resolve(&observed, false, &settings, None, at(0));
        let kinds = kinds(&resolved);
        assert_eq!(kinds.contains(&"ProfileConflict"), is_direct, "{kinds:?}");
        let scalers = Scalers {
            targets: vec![observed],
            ..Scalers::default()
        };
        let beside = scalers.beside(&profile.object, &settings);
        assert_eq!(beside.is_some(), is_direct, "{beside:?}");
    }
}
