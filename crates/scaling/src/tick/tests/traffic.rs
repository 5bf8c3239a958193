//! When a target's model of its traffic is asked for, and what becomes of what came of it.

use evenkeel_forecast::{HeldOutDay, LinearFunction, LinearResidual, TrafficModel, Trees};

use super::*;
use crate::recommend::traffic_fit::{AcceptedTraffic, TrafficRefusal};
use crate::tick::{FitLane, FitPast, FitTold, FitWork, TrafficFitted, TrafficTold, TrafficWork};

const HOUR: i64 = 3600;
const TRAFFIC: &str = "evenkeel.dev/traffic";

/// A target by 80 % of a core with a Deployment that names its traffic.
struct Named {
    targets: ScalingTargets,
    readings: SignalReadings,
    target: TargetObjects,
    queries: Queries,
}

impl Named {
    fn new(traffic: &str) -> Self {
        let mut named = Self {
            targets: ScalingTargets::default(),
            readings: SignalReadings::default(),
            target: observed("a", "recommend"),
            queries: Queries::Any,
        };
        named.name(traffic);
        named
    }

    fn name(&mut self, traffic: &str) {
        let annotations =
            json!({SCALING: "recommend", TRAFFIC: traffic, "evenkeel.dev/predict": "traffic"});
        let workload = Workload::deserialize(Kind::Deployment, json!({
            "metadata": {"name": "a", "namespace": "shop", "uid": "d", "annotations": annotations},
            "spec": {"replicas": 2},
        })).unwrap();
        self.target.workload = Some(Arc::new(workload));
    }

    fn answer(&mut self, query: &MetricQuery, asked: i64, value: i64) {
        let timestamp = second(asked);
        let value = value * 1000;
        let sample = MetricsApiReading::Series(vec![ValueSample { timestamp, value }]);
        let reading = CachedAnswer {
            answer: Some(CachedValue {
                value: Arc::new(sample),
                fetched_at: timestamp,
            }),
            failed: None,
            look_back: SignedDuration::ZERO,
        };
        self.readings = [(query.clone(), reading)].into_iter().collect();
    }

    fn tick(&mut self, at: i64) -> ScalingTickOutput {
        let around = Around::default();
        let tick = ScalingTickInput {
            settings: Settings {
                queries: self.queries,
                max_age: SignedDuration::from_secs(90),
                ..settings()
            },
            signals: &self.readings,
            has_past: true,
            serves: false,
            ..around.tick(second(at))
        };
        self.targets.tick(std::slice::from_ref(&self.target), &tick)
    }

    fn work(&mut self, at: i64) -> Option<TrafficWork> {
        self.work_in(FitLane::Queries, at)
    }

    fn work_in(&mut self, lane: FitLane, at: i64) -> Option<TrafficWork> {
        match self.targets.next_work(lane, second(at))? {
            FitWork::Traffic(work) => Some(*work),
            FitWork::Trees(batch) => panic!("{batch:?}"),
        }
    }

    fn take(&mut self, work: TrafficWork, told: TrafficTold, at: i64) {
        let fitted = Box::new(TrafficFitted { work, told });
        self.targets.take_told(FitTold::Traffic(fitted), second(at));
    }
}

/// 100 millicores of each Pod, and 5 for each request per second.
fn accepted() -> TrafficTold {
    let linear = LinearFunction {
        coefficients: vec![5.0],
        intercept: 100.0,
    };
    let residual = Trees::new(0.0, &[]).unwrap();
    TrafficTold::Accepted(Box::new(AcceptedTraffic {
        model: TrafficModel {
            components: vec!["promql/traffic-1".to_owned()],
            utilisation: "cpu".to_owned(),
            zone: "UTC".to_owned(),
            step: SignedDuration::from_mins(10),
            learnt: (second(-9 * HOUR), second(0)),
            held_out: HeldOutDay {
                samples: 144,
                error: 10.0,
                linear_error: 20.0,
                explained: 0.93,
                explained_without: 0.12,
            },
            seen: vec![(0.0, 100.0)],
            function: LinearResidual::new(linear, 500.0, (0.0, 0.0), residual),
        },
        means: vec![300.0],
    }))
}

fn refusal(reason: &'static str) -> TrafficRefusal {
    let why = "12 % of it".to_owned();
    TrafficRefusal { reason, why }
}

/// The condition of the model: its status, reason and message.
fn condition(ticked: &ScalingTickOutput) -> Option<(String, String, String)> {
    let mut conditions = ticked.shown[0].conditions.iter();
    let found = conditions.find(|one| one.kind == "TrafficModel")?;
    let status = found.status.as_str().to_owned();
    Some((status, found.reason.clone(), found.message.clone()))
}

#[test]
fn a_model_is_asked_for_once_a_day_and_each_hour_while_the_past_is_too_short() {
    let mut named = Named::new("sum(a)\nsum(b)");
    let first = named.tick(0);
    let asked: Vec<_> = first
        .asks
        .wanted
        .iter()
        .map(|one| one.question.api())
        .collect();
    assert_eq!(asked, [MetricsApi::Prometheus; 2]);
    let (status, reason, _) = condition(&first).unwrap();
    assert_eq!((&*status, &*reason), ("False", "Awaited"));
    let told = &first.shown[0].reason;
    assert!(told.contains("replicas stays 2"), "{told}");
    let work = named.work(0).unwrap();
    let past = |query: &str| FitPast::Query(query.into());
    let kinds: Vec<_> = work.kinds.iter().map(|(_, past)| past.clone()).collect();
    assert_eq!(kinds, [past("sum(a)"), past("sum(b)")]);
    assert_eq!(work.of, ("cpu".to_owned(), FitPast::Workloads(Signal::CPU)));
    assert!(named.work(60).is_none(), "it has been asked for");
    named.take(work, TrafficTold::TooShort(refusal("TooShort")), 60);
    let hours: Vec<bool> = (1..=4)
        .map(|hour| named.work(hour * HOUR).is_some())
        .collect();
    // The first end is the target's own hour of the day; all whole hours since then are later.
    assert_eq!(hours[1..], [true; 3]);
    let work = named.work(5 * HOUR).unwrap();
    named.take(work, TrafficTold::Refused(refusal("Unexplained")), 5 * HOUR);
    let again = (6 * 60..6 * 60 + 24 * 60).filter(|minute| named.work(minute * 60).is_some());
    assert_eq!(again.count(), 1, "at its own hour of the day");
    let (status, reason, message) = condition(&named.tick(30 * HOUR)).unwrap();
    assert_eq!(
        (&*status, &*reason, &*message),
        ("False", "Unexplained", "12 % of it")
    );
}

#[test]
fn an_accepted_model_makes_replicas_of_the_traffic_until_it_is_another_target() {
    let mut named = Named::new("sum(a)");
    let query = named.tick(0).asks.wanted.remove(0).question;
    let work = named.work(0).unwrap();
    named.take(work.clone(), accepted(), 0);
    let unknown = named.tick(15);
    let traffic = unknown.shown[0].traffic.clone().unwrap();
    assert_eq!((&*traffic.standing, traffic.need), ("unknown", None));
    // 700 millicores are left of the target of 800: 140 requests per second for each Pod.
    named.answer(&query, 30, 500);
    let known = &named.tick(30);
    let shown = &known.shown[0];
    assert_eq!((shown.decided, &*shown.grounds), (Some(4), "traffic"));
    let traffic = shown.traffic.clone().unwrap();
    let need = traffic.need.unwrap();
    assert_eq!((need.replicas, &*need.resource), (4, "cpu"));
    assert_eq!(
        (need.kinds[0].now, &*need.kinds[0].basis),
        (500.0, "measured")
    );
    let explained = traffic.model.unwrap().explained;
    assert!((explained - 0.93).abs() < 1e-9, "{explained}");
    assert!(
        shown.reason.contains(": traffic 500 now needs 4 replicas"),
        "{}",
        shown.reason
    );
    assert_eq!(shown.loads[1].resource, "promql/traffic-1");
    let (status, reason, message) = condition(known).unwrap();
    assert_eq!((&*status, &*reason), ("True", "Explained"));
    assert!(
        message.contains("93 %") && message.contains("12 %"),
        "{message}"
    );
    // A failed fit leaves it, and a result for other queries is dropped.
    named.take(work.clone(), TrafficTold::Failed(refusal("NoPast")), 30);
    assert_eq!(condition(&named.tick(45)).unwrap().0, "True");
    named.name("sum(c)");
    assert_eq!(condition(&named.tick(60)).unwrap().1, "Awaited");
    named.take(work, accepted(), 60);
    assert_eq!(condition(&named.tick(75)).unwrap().1, "Awaited");
}

#[test]
fn a_fit_that_failed_is_tried_again_on_the_same_past() {
    let mut named = Named::new("sum(a)");
    named.tick(0);
    let first = named.work(0).unwrap();
    let mut tried = Vec::new();
    named.take(first.clone(), TrafficTold::Failed(refusal("NoPast")), 0);
    assert_eq!(condition(&named.tick(15)).unwrap().1, "NoPast");
    for minute in 0..50 {
        if let Some(work) = named.work(minute * 60) {
            assert_eq!(work, first);
            tried.push(minute);
            named.take(work, TrafficTold::Failed(refusal("NoPast")), minute * 60);
        }
    }
    assert_eq!(tried, [15, 45]);
}

#[test]
fn queries_that_may_not_be_asked_are_told_and_nothing_is_fitted() {
    let mut named = Named::new("sum(a)");
    named.queries = Queries::Presets;
    let ticked = named.tick(0);
    assert!(ticked.asks.wanted.is_empty());
    assert_eq!(condition(&ticked), None);
    let conditions = &ticked.shown[0].conditions;
    let told = conditions
        .iter()
        .find(|one| one.kind == "SignalUnknown")
        .unwrap();
    assert!(
        told.message.contains("scaling.queries is not any"),
        "{}",
        told.message
    );
    assert!(named.work(0).is_none());
    // The preset is not a query of the target's own.
    named.name("network");
    named.tick(15);
    assert!(named.work(15).is_none());
    let work = named.work_in(FitLane::Workloads, 15).unwrap();
    let network = FitPast::Workloads(Resource::NetworkIo.into());
    assert_eq!(work.kinds, [("networkIo".to_owned(), network)]);
}
