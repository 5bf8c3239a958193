//! The book-keeping of the targets between two ticks.

mod checks;
mod fits;
mod traffic;

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_forecast::ModelAssets;
use evenkeel_metrics::api_reading::MetricsApiReading;
use evenkeel_metrics::metric_query::MetricQuery;
use evenkeel_metrics::metrics_api::MetricsApi;
use evenkeel_metrics::sample::ValueSample;
use evenkeel_metrics::signal::{Signal, ValueScope};
use evenkeel_metrics::usage::UsageSample;
use evenkeel_objects::annotations::SCALING;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::{Purpose, Write, WriteOperation, scale};
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_objects::scaled_kind::ScaledKind;
use evenkeel_objects::workload::Workload;
use evenkeel_units::{Amount, Ratio, Resource, Resources};
use jiff::SignedDuration;
use serde_json::json;

use super::panic_isolation::{TargetWorkStep, breaks};
use super::query_answers::{
    CachedAnswer, CachedValue, CheckAnswers, FailedQuery, SignalReadings, SignalRequest,
};
use super::*;
use crate::external_metrics;
use crate::external_metrics::EXPECTED_LOAD;
use crate::load::hpa_aware::PodCapacity;
use crate::load::observation::LoadSample;
use crate::specs::cron_hpa::CheckedCronHpa;
use crate::targets::observed_profiles::ObservedProfiles;
use crate::targets::reference::TargetRef;
use crate::targets::settings::{Queries, Settings};
use crate::targets::target_objects::TargetPodFacts;
use crate::tracker::ScaledSignal;

fn key(name: &str) -> TargetKey {
    TargetKey {
        namespace: "shop".into(),
        scaler: None,
        workload: TargetRef::new("apps/v1", "Deployment", "shop", name),
    }
}

#[test]
fn a_target_that_comes_while_its_namespace_is_filled_is_filled_after() {
    let running = |asked| {
        Box::new(TargetState {
            refill: Some(RefillState::Running),
            asked,
            ..TargetState::default()
        })
    };
    let mut targets = ScalingTargets {
        states: HashMap::from([(key("early"), running(3)), (key("late"), running(4))]),
        ..ScalingTargets::default()
    };
    targets.tick = 5;
    let state =
        |targets: &ScalingTargets| ["early", "late"].map(|name| targets.states[&key(name)].refill);
    targets.filled(&BackfillNamespaces::from([
        ("other".into(), 9),
        ("shop".into(), 3),
    ]));
    assert_eq!(
        state(&targets),
        [Some(RefillState::Done), Some(RefillState::Running)]
    );
    targets.filled(&BackfillNamespaces::from([("shop".into(), 4)]));
    assert_eq!(state(&targets), [Some(RefillState::Done); 2]);
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// A Deployment of one Pod with an HPA of this name, which recommends.
fn observed(name: &str, mode: &str) -> TargetObjects {
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    let metric = json!({"type": "Resource", "resource": {
        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}});
    let autoscaler = json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1",
                     "annotations": {SCALING: mode}},
        "spec": {"scaleTargetRef": reference, "minReplicas": 2, "maxReplicas": 10,
                 "metrics": [metric]},
        "status": {"currentReplicas": 2, "desiredReplicas": 2},
    });
    let workload = Workload::deserialize(
        Kind::Deployment,
        json!({
            "metadata": {"name": name, "namespace": "shop", "uid": "d", "resourceVersion": "1"},
            "spec": {"replicas": 2},
        }),
    )
    .unwrap();
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "one", "namespace": "shop"},
        "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }))
    .unwrap();
    let opted_in = [("evenkeel.dev/enabled".to_owned(), "true".to_owned())].into();
    TargetObjects {
        namespace: "shop".into(),
        namespace_policy: Arc::new(NamespacePolicy::parse(&opted_in).0),
        autoscaler: Some(Arc::new(serde_json::from_value(autoscaler).unwrap())),
        ihpa: None,
        portraits: Vec::new(),
        profiles: ObservedProfiles::default(),
        scaled_object: None,
        workload: Some(Arc::new(workload)),
        target: TargetRef::new("apps/v1", "Deployment", "shop", name),
        pods: TargetPodFacts {
            members: vec![Arc::new((&pod).into())],
            starts: Vec::new(),
        },
    }
}

/// The settings of a tick where a test names no others.
fn settings() -> Settings {
    Settings {
        queries: Queries::Any,
        ..Settings::default()
    }
}

/// The input of a tick beside its targets: nothing, and a leader that decides.
struct Around {
    shared: ModelAssets,
    plans: Plans,
    signals: SignalReadings,
    checks: CheckAnswers,
    scaled: HashMap<ObjectRef, i32>,
}

impl Default for Around {
    fn default() -> Self {
        Self {
            shared: ModelAssets::default(),
            plans: Plans::Decisions("pod-a".to_owned()),
            signals: SignalReadings::default(),
            checks: CheckAnswers::default(),
            scaled: HashMap::new(),
        }
    }
}

impl Around {
    fn tick(&self, now: Timestamp) -> ScalingTickInput<'_> {
        ScalingTickInput {
            now,
            settings: settings(),
            shared: &self.shared,
            sample: None,
            signals: &self.signals,
            checks: &self.checks,
            decides: true,
            plans: &self.plans,
            has_past: false,
            serves: true,
            balances_scale_in: false,
            scaled: &self.scaled,
            crons: &[],
        }
    }
}

/// Three targets, of which the one in the middle may break.
struct Three {
    targets: ScalingTargets,
    middle: TargetObjects,
}

impl Three {
    fn new() -> Self {
        Self {
            targets: ScalingTargets::default(),
            middle: observed("b", "recommend"),
        }
    }

    fn tick(&mut self, at: i64, breaks: &[TargetWorkStep]) -> ScalingTickOutput {
        let key = TargetKey::of(&self.middle);
        let breaks: Vec<_> = breaks.iter().map(|step| (key.clone(), *step)).collect();
        breaks::set(&breaks);
        let all = [
            observed("a", "recommend"),
            self.middle.clone(),
            observed("c", "recommend"),
        ];
        let around = Around::default();
        let tick = around.tick(second(at));
        self.targets.tick(&all, &tick)
    }
}

#[test]
fn the_past_of_a_load_that_is_forecast_from_now_on_is_asked_for() {
    let mut three = Three::new();
    three.tick(0, &[]);
    let state = three.targets.states.get_mut(&TargetKey::of(&three.middle));
    let state = state.unwrap();
    state.refill = Some(RefillState::Done);
    // It has been measured, and was not forecast.
    let load = LoadSample::of_moment(1000.0, second(0));
    let tracker = &mut state.tracker;
    tracker.measure(&Signal::CPU, &load, second(0)).unwrap();
    let reacted_to = ScaledSignal {
        signal: Signal::CPU,
        capacity: PodCapacity::new(500.0, Ratio::ONE).unwrap(),
        scope: ValueScope::Whole,
        is_forecast: false,
        only_here: false,
    };
    assert!(!tracker.keep_pasts(&[reacted_to]));
    three.tick(15, &[]);
    three.tick(30, &[]);
    let refill = |name: &str| {
        let key = TargetKey::of(&observed(name, "recommend"));
        three.targets.states[&key].refill
    };
    // There is no database here to ask, which it has found out anew.
    assert_eq!(refill("b"), Some(RefillState::NoPrometheus));
}

const WAITS: &str = "replicas stays 2: no fresh measurement of the load";

fn reasons(ticked: &ScalingTickOutput) -> Vec<&str> {
    let shown = ticked.shown.iter();
    shown.map(|status| status.reason.as_str()).collect()
}

/// The reasons of the Events that are to be told.
fn events(ticked: &ScalingTickOutput) -> Vec<String> {
    let reason = |write: &Write| match &write.operation {
        WriteOperation::Create(event) => event["reason"].as_str().map(str::to_owned),
        WriteOperation::Merge(_)
        | WriteOperation::Conditional(_)
        | WriteOperation::Delete { .. } => None,
    };
    ticked.writes.iter().filter_map(reason).collect()
}

#[test]
fn a_target_whose_work_panics_rests_and_the_others_go_on() {
    for step in [TargetWorkStep::Begin, TargetWorkStep::Tell] {
        let mut three = Three::new();
        assert_eq!(reasons(&three.tick(0, &[])), [WAITS; 3]);
        let broken = three.tick(15, &[step]);
        let [a, b, c] = reasons(&broken)[..] else {
            panic!("{:?}", reasons(&broken));
        };
        assert_eq!([a, c], [WAITS; 2], "{step:?}");
        let why = format!(
            "a defect of Evenkeel: the work on this target panicked: {step:?} is to break; it is \
             paused until 2027-01-15T08:05:15Z, or until its objects change"
        );
        assert_eq!(b, why);
        assert_eq!(events(&broken), ["Quarantined"]);
        assert_eq!(broken.quarantined, 1);
        let panics = broken
            .panics
            .iter()
            .map(|panic| (panic.work, &*panic.object));
        let panics: Vec<_> = panics.collect();
        assert_eq!(panics, [(PanickedWork::Target, "Deployment b")]);
        let rests = three.tick(30, &[]);
        assert_eq!(reasons(&rests), [WAITS, &why, WAITS], "{step:?}");
        assert_eq!(rests.quarantined, 1);
        let later = three.tick(315, &[]);
        assert_eq!(reasons(&later), [WAITS; 3], "{step:?}: its time is over");
        assert_eq!(later.quarantined, 0);
    }
}

/// The harm: where telling of a target broke off after its CronHPAs had contributed, telling of it once
/// more found none, and took what they ask for out of its bounds.
#[test]
fn crons_contribute_again_where_telling_of_their_target_broke_off() {
    let object = json!({
        "metadata": {"name": "day", "namespace": "shop", "uid": "c", "generation": 1,
            "creationTimestamp": "2027-01-14T00:00:00Z"},
        "spec": {"scaleTargetRef": {"kind": "HorizontalPodAutoscaler", "name": "a"},
            "crons": [{"schedule": "0 8 * * *", "target": 6}]}});
    let object = Arc::new(serde_json::from_value(object).unwrap());
    let crons = [Arc::new(CheckedCronHpa::new(object, None))];
    let targets = [observed("a", "recommend")];
    let around = Around::default();
    let tick = ScalingTickInput {
        crons: &crons,
        ..around.tick(second(0))
    };
    breaks::set(&[(TargetKey::of(&targets[0]), TargetWorkStep::Tell)]);
    let ticked = ScalingTargets::default().tick(&targets, &tick);
    assert_eq!(ticked.quarantined, 1, "it was told of once more");
    let of_hpa = |write: &&Write| write.target.is(Kind::HorizontalPodAutoscaler);
    let write = ticked.writes.iter().find(of_hpa).unwrap();
    let WriteOperation::Conditional(patch) = &write.operation else {
        panic!("{write:?}");
    };
    let patch = serde_json::to_string(&patch.to_patch()).unwrap();
    let raised = r#""path":"/spec/minReplicas","value":6"#;
    assert!(patch.contains(raised), "{patch}");
}

#[test]
fn a_target_in_quarantine_is_tried_again_once_its_objects_change() {
    let mut three = Three::new();
    three.tick(0, &[TargetWorkStep::Begin]);
    assert_eq!(three.tick(15, &[]).quarantined, 1);
    three.middle = observed("b", "floor");
    let changed = three.tick(30, &[]);
    assert_eq!(changed.quarantined, 0);
    assert!(
        reasons(&changed)[1].contains("no fresh measurement"),
        "{changed:?}"
    );
    let again = three.tick(45, &[TargetWorkStep::Begin]);
    assert!(
        reasons(&again)[1].contains("paused until 2027-01-15T08:10:45Z"),
        "twice as long"
    );
}

/// One target with Pods that use 500 millicores each, as the answers of a source report.
struct Measured {
    targets: ScalingTargets,
    sample: Option<ScalingSample>,
    pods: Vec<&'static str>,
    traced: Traced,
}

impl Measured {
    fn new() -> Self {
        Self {
            targets: ScalingTargets::default(),
            sample: None,
            pods: vec!["one", "two"],
            traced: Traced::default(),
        }
    }

    /// The round of `at` has the answer on `pods` that was asked for at `asked`.
    fn answer(&mut self, at: i64, asked: i64, pods: &[&str]) {
        let mut usage = UsageSample::default();
        for pod in pods {
            let mut used = Resources::default();
            used[Resource::Cpu] = Some(Amount::new(500));
            usage.insert_pod(&PodName::new("shop", pod), &used);
        }
        let mut pods_as_of = Resources::default();
        pods_as_of[Resource::Cpu] = Some(second(asked));
        self.sample = Some(ScalingSample::new(Arc::new(usage), pods_as_of, second(at)));
    }

    fn tick(&mut self, at: i64) {
        let mut target = observed("a", "recommend");
        let one = target.pods.members.remove(0);
        let named = |name: &&str| {
            let mut pod = one.as_ref().clone();
            (*name).clone_into(&mut pod.name);
            Arc::new(pod)
        };
        target.pods.members = self.pods.iter().map(named).collect();
        let mut workload = target.workload.as_deref().unwrap().clone();
        workload.replicas = i32::try_from(self.pods.len()).unwrap();
        target.workload = Some(Arc::new(workload));
        let around = Around::default();
        let tick = ScalingTickInput {
            settings: Settings {
                max_age: SignedDuration::from_secs(90),
                ..settings()
            },
            sample: self.sample.as_ref(),
            plans: &Plans::Nothing,
            ..around.tick(second(at))
        };
        let ticked = self.targets.tick(&[target], &tick);
        self.traced.take(at, &ticked);
    }

    /// The loads that were taken, by the second of their step.
    fn loads(&self) -> Vec<(i64, f64)> {
        let loads = self.traced.loads.iter();
        loads.map(|(at, load)| (*at, *load)).collect()
    }
}

/// The loads of one target by the second of their step; they begin anew where the clock is set back.
#[derive(Default)]
struct Traced {
    loads: BTreeMap<i64, f64>,
    last: i64,
}

impl Traced {
    fn take(&mut self, at: i64, ticked: &ScalingTickOutput) {
        if at < self.last {
            self.loads.clear();
        }
        self.last = at;
        for load in ticked.shown.iter().flat_map(|status| &status.loads) {
            let known = load.at.zip(load.now).map(|(of, load)| {
                let of = of.duration_since(second(0)).as_secs();
                (of.div_euclid(15) * 15, load)
            });
            self.loads.extend(known);
        }
    }
}

/// The harm of a slow query: each round that waited for it took the answer before once more, as
/// measured just then.
#[test]
fn an_answer_that_is_kept_for_several_rounds_is_one_measurement_of_its_own_time() {
    let both = ["one", "two"];
    let mut measured = Measured::new();
    measured.answer(0, 0, &both);
    measured.tick(7);
    for at in [15, 30, 45] {
        measured.answer(at, 0, &both);
        measured.tick(at + 7);
    }
    assert_eq!(measured.loads(), [(0, 1000.0)]);
    // One that is newer counts for when it was asked for.
    for at in [60, 75, 90] {
        measured.answer(at, 30, &both);
        measured.tick(at + 7);
    }
    // Nothing new comes of a round that fails.
    measured.tick(112);
    assert_eq!(measured.loads(), [(0, 1000.0), (30, 1000.0)]);
    measured.answer(120, 120, &both);
    measured.tick(127);
    assert_eq!(measured.loads(), [(0, 1000.0), (30, 1000.0), (120, 1000.0)]);
}

/// The harm of a slow query across a change of the Pods: what is left of the answer's Pods counted
/// as the whole load, and Pods that it does not know as further load.
#[test]
fn a_late_answer_from_before_a_scale_in_or_out_is_no_measurement() {
    let both = ["one", "two"];
    for (pods, taken) in [
        (vec!["one", "two"], true),
        (vec!["one"], false),
        (vec!["one", "three"], false),
        (vec!["one", "two", "three"], false),
    ] {
        let mut measured = Measured::new();
        measured.answer(0, 0, &both);
        measured.tick(7);
        measured.tick(22);
        measured.pods = pods.clone();
        measured.answer(45, 15, &both);
        measured.tick(52);
        let before = vec![(0, 1000.0)];
        let late = taken.then_some((15, 1000.0));
        let expected: Vec<_> = before.into_iter().chain(late).collect();
        assert_eq!(measured.loads(), expected, "{pods:?}");
        // One that was asked for since speaks of the Pods of now.
        measured.answer(75, 60, &pods);
        measured.tick(82);
        let (at, _) = *measured.loads().last().unwrap();
        assert_eq!(at, 60, "{pods:?}");
    }
}

#[test]
fn after_the_clock_was_set_back_answers_are_measurements_again() {
    let both = ["one", "two"];
    let mut measured = Measured::new();
    for at in [7200, 0, 15] {
        measured.answer(at, at, &both);
        measured.tick(at + 7);
    }
    assert_eq!(measured.loads(), [(0, 1000.0), (15, 1000.0)]);
}

/// One target with an HPA by the length of a queue, and the answers to its question.
struct Queue {
    targets: ScalingTargets,
    readings: SignalReadings,
    target: TargetObjects,
    traced: Traced,
}

impl Queue {
    fn new() -> Self {
        let mut target = observed("a", "recommend");
        let metric = json!({"type": "External", "external": {"metric": {"name": "queue"},
            "target": {"type": "AverageValue", "averageValue": "10"}}});
        let hpa = json!({
            "metadata": {"name": "a", "namespace": "shop", "uid": "a",
                "annotations": {SCALING: "recommend"}},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
                "minReplicas": 2, "maxReplicas": 10, "metrics": [metric]},
            "status": {"currentReplicas": 4, "desiredReplicas": 4},
        });
        target.autoscaler = Some(Arc::new(serde_json::from_value(hpa).unwrap()));
        Self {
            targets: ScalingTargets::default(),
            readings: SignalReadings::default(),
            target,
            traced: Traced::default(),
        }
    }

    /// The answer of the time `asked`, or what went wrong since.
    fn answer(&mut self, query: &MetricQuery, asked: i64, outcome: Result<i64, &'static str>) {
        let mut reading = self.readings.get(query).cloned().unwrap_or_default();
        match outcome {
            Ok(value) => {
                let timestamp = second(asked);
                let value = value * 1000;
                let sample = MetricsApiReading::Series(vec![ValueSample { timestamp, value }]);
                let value = Arc::new(sample);
                let fetched_at = second(asked);
                reading.answer = Some(CachedValue { value, fetched_at });
                reading.failed = None;
            }
            Err(error) => {
                reading.failed = Some(FailedQuery {
                    attempted_at: second(asked),
                    error: Arc::new(error),
                    is_empty: false,
                });
            }
        }
        self.readings = [(query.clone(), reading)].into_iter().collect();
    }

    fn tick(&mut self, at: i64) -> ScalingTickOutput {
        let around = Around::default();
        let tick = ScalingTickInput {
            settings: Settings {
                queries: Queries::Presets,
                max_age: SignedDuration::from_secs(90),
                ..settings()
            },
            signals: &self.readings,
            ..around.tick(second(at))
        };
        let ticked = self.targets.tick(std::slice::from_ref(&self.target), &tick);
        self.traced.take(at, &ticked);
        ticked
    }

    fn loads(&self) -> Vec<f64> {
        self.traced.loads.values().copied().collect()
    }
}

#[test]
fn a_signal_of_its_own_is_asked_at_each_tick_and_taken_once_for_the_time_it_was_asked() {
    let mut queue = Queue::new();
    let first = queue.tick(7);
    let [
        SignalRequest {
            question: query, ..
        },
    ] = &first.asks.wanted[..]
    else {
        panic!("{:?}", first.asks.wanted);
    };
    assert_eq!(query.api(), MetricsApi::External);
    queue.answer(query, 8, Ok(40));
    for (at, load) in [(22, 40.0), (37, 40.0)] {
        let ticked = queue.tick(at);
        let wanted: Vec<_> = ticked.asks.wanted.iter().map(|one| &one.question).collect();
        assert_eq!(wanted, [query], "it is wanted anew");
        let shown = &ticked.shown[0].loads[0];
        assert_eq!(
            (&*shown.resource, shown.now),
            ("external/queue", Some(load))
        );
    }
    assert_eq!(queue.loads(), [40.0], "it is one measurement");
    queue.answer(query, 38, Ok(-5));
    queue.tick(52);
    assert_eq!(
        queue.loads(),
        [40.0, 0.0],
        "a negative external metric is 0"
    );
}

#[test]
fn an_outage_of_a_signal_takes_no_replicas_away_and_is_told() {
    let mut queue = Queue::new();
    let query = queue.tick(7).asks.wanted.remove(0).question;
    queue.answer(&query, 8, Ok(40));
    queue.tick(22);
    let mut told = Vec::new();
    for at in (37..600).step_by(15) {
        queue.answer(&query, at, Err("HTTP 503: down"));
        let ticked = queue.tick(at);
        let shown = &ticked.shown[0];
        assert_eq!(shown.decided, Some(4), "as many as there are, at {at}");
        told.extend(events(&ticked));
    }
    assert_eq!(queue.loads(), [40.0], "an error is no zero");
    assert_eq!(told, ["SignalUnknown", "MetricsUnavailable"]);
}

#[test]
fn a_load_that_is_expected_is_served_until_it_is_too_old_and_then_unknown() {
    let mut queue = Queue::new();
    let query = queue.tick(7).asks.wanted.remove(0).question;
    let served = |ticked: &ScalingTickOutput, at: i64| {
        let loads: Vec<_> = ticked.served.iter().map(|(_, load)| load.clone()).collect();
        let now = (second(at), SignedDuration::from_secs(90));
        external_metrics::list(EXPECTED_LOAD, "signal=external.queue", &loads, now)
    };
    let unknown = queue.tick(22);
    assert_eq!(unknown.served.len(), 1);
    assert_eq!(served(&unknown, 22).unwrap_err().code(), 503);
    queue.answer(&query, 30, Ok(40));
    let known = queue.tick(37);
    assert_eq!(&*known.served[0].0, "shop");
    let list = served(&known, 37).unwrap();
    let item = &list["items"][0];
    assert_eq!(item["value"], "40");
    let labels = json!({"kind": "Deployment", "name": "a", "signal": "external.queue",
        "basis": "measured"});
    assert_eq!(item["metricLabels"], labels);
    assert!(
        served(&queue.tick(112), 112).is_ok(),
        "the last one is not too old"
    );
    assert_eq!(served(&queue.tick(127), 127).unwrap_err().code(), 503);
}

#[test]
fn a_signal_that_comes_to_mean_another_load_begins_anew() {
    let mut queue = Queue::new();
    let query = queue.tick(7).asks.wanted.remove(0).question;
    queue.answer(&query, 8, Ok(40));
    queue.tick(22);
    let state = |queue: &Queue| {
        let states = queue.targets.states.values();
        states.map(|state| state.tracker.bytes()).sum::<usize>()
    };
    let remembered = state(&queue);
    let target = json!({"type": "Value", "value": "10"});
    let mut hpa = queue.target.autoscaler.as_deref().unwrap().clone();
    let metric = json!([{"type": "External", "external": {"metric": {"name": "queue"},
        "target": target}}]);
    hpa.spec.metrics = serde_json::from_value(metric).unwrap();
    queue.target.autoscaler = Some(Arc::new(hpa));
    queue.tick(37);
    assert!(
        state(&queue) < remembered,
        "the past of the other figure is gone"
    );
    queue.answer(&query, 38, Ok(12));
    let shown = queue.tick(52);
    let load = shown.shown[0].loads[0].now;
    assert_eq!(load, Some(12.0), "12 for each ready Pod, and one is ready");
}

/// A Rollout of ten replicas in mode direct that scales in at once; `known` of its Pods are known.
fn rollout(known: usize, generation: i64) -> TargetObjects {
    let scaled = ScaledKind::new("argoproj.io/v1alpha1", "Rollout").unwrap();
    let paths =
        json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    let definition = json!({"spec": {"versions": [
        {"name": "v1alpha1", "subresources": {"scale": paths}}]}});
    let definition = serde_json::from_value(definition).unwrap();
    let found = scaled.found("rollouts", Some(definition)).unwrap();
    let kind = found.into_kind();
    let rules = json!({"scaleDown": {"stabilizationWindowSeconds": 0}}).to_string();
    let object = serde_json::from_value(json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "r", "resourceVersion": "1",
            "generation": generation,
            "annotations": {SCALING: "direct", "evenkeel.dev/min-replicas": "1",
                "evenkeel.dev/max-replicas": "20", "evenkeel.dev/target": "cpu=80%",
                "evenkeel.dev/behavior": rules}},
        "spec": {"replicas": 10}, "status": {"replicas": 10}}))
    .unwrap();
    let pod = |number: usize| {
        let ready = json!({"type": "Ready", "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:10Z"});
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": format!("web-{number}"), "namespace": "shop"},
            "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}]},
            "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "conditions": [ready]},
        }))
        .unwrap();
        Arc::new((&pod).into())
    };
    TargetObjects {
        autoscaler: None,
        workload: Some(Arc::new(Workload::of_custom(kind, object))),
        target: TargetRef::of_kind(Kind::Custom(kind), "shop", "web"),
        pods: TargetPodFacts {
            members: (0..known).map(pod).collect(),
            starts: Vec::new(),
        },
        ..observed("web", "direct")
    }
}

/// The harm: with one of ten Pods known, the workload was scaled to what that one needs.
#[test]
fn a_count_is_written_only_where_its_pods_are_known() {
    let names: Vec<String> = (0..10).map(|number| format!("web-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut measured = Measured::new();
    let mut tick = |at: i64, known: usize| {
        measured.answer(at, at, &names);
        let around = Around::default();
        let tick = ScalingTickInput {
            settings: Settings {
                max_age: SignedDuration::from_secs(90),
                ..settings()
            },
            sample: measured.sample.as_ref(),
            ..around.tick(second(at))
        };
        let ticked = measured.targets.tick(&[rollout(known, 1)], &tick);
        let scales = ticked
            .writes
            .iter()
            .any(|write| write.purpose == Purpose::ScalingReplicas);
        (scales, events(&ticked))
    };
    for at in [0, 15, 30, 45, 60] {
        let (scales, told) = tick(at, 1);
        assert!(
            !scales && !told.contains(&"PodsUnknown".to_owned()),
            "{told:?}"
        );
    }
    let (scales, told) = tick(75, 1);
    assert!(
        !scales && told.contains(&"PodsUnknown".to_owned()),
        "{told:?}"
    );
    let (scales, told) = tick(90, 10);
    assert!(scales, "{told:?}");
}

/// The harm: each count that was written to an object counted as the newest decision's, so that a user's two edits
/// were taken for reverts.
#[test]
fn a_count_that_was_written_is_that_of_the_decision_by_object_and_by_number() {
    let names: Vec<String> = (0..10).map(|number| format!("web-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let is_left = |older: i32| {
        let (mut measured, mut around) = (Measured::new(), Around::default());
        for (at, generation) in [(0, 1), (15, 3), (30, 5)] {
            measured.answer(at, at, &names);
            let tick = ScalingTickInput {
                sample: measured.sample.as_ref(),
                ..around.tick(second(at))
            };
            let ticked = measured.targets.tick(&[rollout(10, generation)], &tick);
            let counts = ticked.writes.iter().filter_map(|write| {
                let count = scale::replicas_written(write)?;
                Some((write.target.clone(), count + older))
            });
            around.scaled = counts.collect();
        }
        around.scaled.is_empty()
    };
    assert!(is_left(0), "both counts were replaced, which is a contest");
    assert!(!is_left(1), "no count of these decisions was written");
}
