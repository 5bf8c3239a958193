//! The replicas that traffic needs, as floors and as counts: beside the loads, through outages, and without a
//! model.

use std::sync::Arc;

use evenkeel_forecast::{
    HeldOutDay, LinearFunction, LinearResidual, TrafficModel, TreeNode, Trees, tree_input,
};
use evenkeel_metrics::signal::{PromQl, PromQlMetric};

use super::*;
use crate::limits::LimitedBy;
use crate::recommend::traffic_fit::{AcceptedTraffic, TrafficFit, TrafficRefusal};
use crate::recommend::traffic_need::{TrafficLack, TrafficStanding};

fn requests() -> Signal {
    Signal::PromQl(PromQl {
        metric: PromQlMetric::Traffic(1),
        query: "sum(rate(http[1m]))".into(),
    })
}

/// 100 millicores of each Pod, and 5 for each request per second; with what `residual` adds, in 300.
fn accepted(residual: &[Vec<TreeNode>]) -> TrafficFit {
    let linear = LinearFunction {
        coefficients: vec![5.0],
        intercept: 100.0,
    };
    let residual = Trees::new(0.0, residual).unwrap();
    TrafficFit::Accepted(Arc::new(AcceptedTraffic {
        model: TrafficModel {
            components: vec!["promql/traffic-1".to_owned()],
            utilisation: "cpu".to_owned(),
            zone: "UTC".to_owned(),
            step: SignedDuration::from_mins(10),
            learnt: (time(0), time(0)),
            held_out: HeldOutDay {
                samples: 144,
                error: 10.0,
                linear_error: 20.0,
                explained: 0.9,
                explained_without: 0.1,
            },
            seen: vec![(0.0, 100.0)],
            function: LinearResidual::new(linear, 300.0, (0.0, 300.0), residual),
        },
        means: vec![300.0],
    }))
}

/// A target by cpu with traffic.
struct Served {
    tracker: LoadTracker,
    policy: TargetPolicy,
    models: Option<ModelSet>,
    fit: TrafficFit,
    current: i32,
    loads_are_forecast: bool,
    recorded: Option<Floor>,
    /// The millicores that Pods use for each request per second.
    each: f64,
}

impl Served {
    fn new(mode: ScalingMode, fit: TrafficFit) -> Self {
        Self {
            tracker: LoadTracker::default(),
            policy: TargetPolicy { mode, ..policy() },
            models: Some(ModelSet::Auto),
            fit,
            current: 5,
            loads_are_forecast: true,
            recorded: None,
            each: 5.0,
        }
    }

    /// A tick with so many requests per second, and the cpu that they and the Pods use.
    fn tick(&mut self, tick: i64, requests_now: Option<f64>) -> TickReport {
        let at = time(tick);
        let mut measure = |signal: &Signal, load| {
            let sample = LoadSample::of_moment(load, at);
            self.tracker.measure(signal, &sample, at).unwrap();
        };
        let pods = f64::from(self.current);
        measure(
            &Signal::CPU,
            100.0 * pods + self.each * requests_now.unwrap_or(1200.0),
        );
        if let Some(load) = requests_now {
            measure(&requests(), load);
        }
        let kinds = match &self.fit {
            TrafficFit::Accepted(accepted) => accepted.per_pod(400.0),
            TrafficFit::Awaited | TrafficFit::Refused(_) => None,
        };
        let kinds = kinds.into_iter().flatten().map(|each| ScaledSignal {
            signal: requests(),
            capacity: PodCapacity::new(each, Ratio::ONE).unwrap(),
            scope: ValueScope::Whole,
            is_forecast: true,
            only_here: true,
        });
        let kinds: Vec<_> = kinds.collect();
        let mut signals = signals();
        for signal in &mut signals {
            signal.is_forecast = self.loads_are_forecast;
        }
        let input = TickInput {
            traffic: Some(TrafficInput {
                kinds: &kinds,
                fit: &self.fit,
                of: &Signal::CPU,
                target: 400.0,
            }),
            now: at,
            current: self.current,
            ready: self.current,
            reaction: Reaction::Autoscaler(Some(3)),
            models: self.models,
            signals: &signals,
            recorded: self.recorded,
            portraits: None,
            shared: &ModelAssets::default(),
        };
        let report = self.tracker.tick(&self.policy, &input);
        self.current = report.decision.replicas.max(3);
        report
    }
}

#[test]
fn a_model_that_tells_of_more_than_pods_carry_raises_nothing_any_more() {
    let mut served = Served::new(ScalingMode::Floor, accepted(&[]));
    // Pods carry 0.2 of a core each, where the model tells of 0.4.
    served.each = 5.0 / 3.0;
    let reports: Vec<_> = (0..60)
        .map(|tick| served.tick(tick, Some(1200.0)))
        .collect();
    let lack = |report: &TickReport| match &report.traffic.as_ref().unwrap().standing {
        TrafficStanding::Without { lack, .. } => Some(*lack),
        TrafficStanding::Needs(_) | TrafficStanding::Unknown => None,
    };
    assert_eq!(lack(&reports[30]), None);
    assert_eq!(reports[30].decision.replicas, 20);
    let last = reports.last().unwrap();
    assert_eq!(lack(last), Some(TrafficLack::Contradicted));
    assert_ne!(last.decision.grounds, DecisionBasis::Traffic);
}

#[test]
fn a_floor_follows_the_traffic_and_stays_while_that_is_not_known() {
    let mut served = Served::new(ScalingMode::Floor, accepted(&[]));
    let first = served.tick(0, Some(1200.0));
    assert_eq!(first.decision.replicas, 10, "as fast as the HPA: {first:?}");
    assert_eq!(first.decision.limited_by, Some(LimitedBy::DefaultScaleUp));
    let second = served.tick(1, Some(1200.0));
    assert_eq!(second.decision.replicas, 20);
    assert_eq!(second.decision.grounds, DecisionBasis::Traffic);
    assert_eq!(second.contribution.unwrap().min(), Some(20));
    assert_eq!(
        second.decision.reason,
        "floor 10 -> 20: traffic 1200 now needs 20 replicas with 0.40 cores of cpu each"
    );
    assert_eq!(second.loads.len(), 2);
    // The answer is late, and then missing; the cpu alone would have it at two.
    for tick in 2..60 {
        let report = served.tick(tick, None);
        assert_eq!(report.decision.replicas, 20, "{tick}: {report:?}");
        let unknown = report.traffic.unwrap().standing == TrafficStanding::Unknown;
        assert_eq!(unknown, tick > 13, "{tick}");
        if unknown {
            assert_eq!(report.decision.limited_by, Some(LimitedBy::MissingData));
            let reason = report.decision.reason;
            assert!(
                reason.contains(": no fresh measurement of the traffic"),
                "{reason}"
            );
        }
    }
    let floors: Vec<i32> = (60..120)
        .map(|tick| served.tick(tick, Some(300.0)).decision.replicas)
        .collect();
    assert_eq!(floors[0], 20, "the HPA's window holds it");
    assert_eq!(floors.last(), Some(&5));
    assert!(floors.is_sorted_by(|a, b| a >= b), "{floors:?}");
}

/// The harm: a metric that was called otherwise from a release on held the highest floor for ever.
#[test]
fn traffic_that_is_not_known_for_hours_holds_nothing_any_more() {
    for mode in [ScalingMode::Floor, ScalingMode::Direct] {
        let mut served = Served::new(mode, accepted(&[]));
        served.loads_are_forecast = false;
        for tick in 0..3 {
            served.tick(tick, Some(1200.0));
        }
        served.each = 0.5;
        let standing: Vec<_> = (3..800)
            .map(|tick| {
                let report = served.tick(tick, None);
                (report.traffic.unwrap().standing, report.decision.replicas)
            })
            .collect();
        let hours = 3 * 240 - 1;
        let holds = |(_, replicas): &(TrafficStanding, i32)| *replicas == 20;
        assert!(standing[..hours].iter().all(holds), "{mode:?}");
        let (last, replicas) = standing.last().unwrap();
        let TrafficStanding::Without { lack, .. } = last else {
            panic!("{last:?}");
        };
        assert_eq!(*lack, TrafficLack::Unanswered);
        assert!(*replicas < 10, "{mode:?}: {replicas}");
        let back = served.tick(800, Some(1200.0));
        let standing = back.traffic.unwrap().standing;
        assert!(
            matches!(standing, TrafficStanding::Needs(_)),
            "{standing:?}"
        );
    }
}

#[test]
fn a_count_never_shrinks_for_want_of_the_traffic() {
    for mode in [ScalingMode::Recommend, ScalingMode::Direct] {
        let mut served = Served::new(mode, accepted(&[]));
        for tick in 0..3 {
            served.tick(tick, Some(1200.0));
        }
        assert_eq!(served.current, 20, "{mode:?}");
        for tick in 3..60 {
            let report = served.tick(tick, None);
            assert_eq!(report.decision.replicas, 20, "{mode:?} {tick}: {report:?}");
        }
        assert_eq!(
            served.tick(60, Some(300.0)).decision.replicas,
            5,
            "{mode:?}"
        );
    }
}

/// The harm: the traffic is known at once, and after a restart let go of what a forecast of the load had raised.
#[test]
fn a_floor_that_was_taken_over_waits_for_the_loads_that_are_forecast() {
    for (loads_are_forecast, expected) in [(true, 9), (false, 5)] {
        let mut served = Served {
            loads_are_forecast,
            recorded: Some(Floor {
                replicas: 9,
                until: time(200),
            }),
            ..Served::new(ScalingMode::Floor, accepted(&[]))
        };
        let floors = (0..60).map(|tick| served.tick(tick, Some(300.0)).decision.replicas);
        assert_eq!(floors.last(), Some(expected), "{loads_are_forecast}");
    }
}

#[test]
fn without_a_model_or_where_nothing_is_predicted_traffic_asks_for_nothing() {
    let refused = TrafficFit::Refused(TrafficRefusal {
        reason: "Unexplained",
        why: "traffic does not explain the utilisation: 12 %".to_owned(),
    });
    for (fit, why) in [(TrafficFit::Awaited, "not been read"), (refused, "12 %")] {
        let mut served = Served::new(ScalingMode::Floor, fit);
        let report = served.tick(0, Some(1200.0));
        assert_eq!(report.decision.replicas, 2, "{report:?}");
        let Some(TrafficStanding::Without { why: told, .. }) =
            report.traffic.map(|traffic| traffic.standing)
        else {
            panic!("there is none");
        };
        assert!(told.contains(why), "{told}");
        assert_eq!(report.loads.len(), 1);
    }
    let mut off = Served::new(ScalingMode::Floor, accepted(&[]));
    off.models = None;
    let report = off.tick(0, Some(1200.0));
    assert_eq!((report.decision.replicas, report.traffic), (2, None));
}

/// The replicas for the load that the hours add are there before they begin, at the end of the horizon.
#[test]
fn what_the_time_of_day_adds_is_ready_when_it_begins() {
    let begin = time(40);
    let seconds = f64::from(i32::try_from(begin.as_second().rem_euclid(86_400)).unwrap());
    let job = vec![
        TreeNode::Split {
            feature: 1,
            threshold: f32::from(tree_input(8.0 * seconds / 86_400.0)),
            missing_left: true,
            left: 1,
            right: 2,
        },
        TreeNode::Leaf(0.0),
        TreeNode::Leaf(0.5),
    ];
    let mut served = Served::new(ScalingMode::Floor, accepted(&[job]));
    // 300 requests need 5 Pods, and 10 during the job, which leaves them half of what they have.
    let mut before = None;
    for tick in 0..40 {
        let report = served.tick(tick, Some(300.0));
        if report.decision.replicas == 10 && before.is_none() {
            before = Some(begin.duration_since(time(tick)));
        }
        assert!([5, 10].contains(&report.decision.replicas), "{report:?}");
    }
    let (before, ahead) = (before.unwrap(), crate::load::horizon::LEAST);
    assert!(
        before >= SignedDuration::from_secs(30) && before <= ahead * 2,
        "{before:?}"
    );
}

#[test]
fn swish_net_forecasts_the_traffic_too_and_other_models_leave_it_to_auto() {
    for (named, of_traffic) in [
        (ModelSet::SwishNet, ModelSet::SwishNet),
        (ModelSet::Gbdt, ModelSet::Auto),
    ] {
        let mut served = Served::new(ScalingMode::Floor, accepted(&[]));
        served.models = Some(named);
        for tick in 0..100 {
            served.tick(tick, Some(1200.0));
        }
        let known = served.tracker.known_loads(time(100));
        let models: Vec<_> = known
            .into_iter()
            .map(|known| (known.signal, known.model))
            .collect();
        assert_eq!(models, [(Signal::CPU, named), (requests(), of_traffic)]);
    }
}
