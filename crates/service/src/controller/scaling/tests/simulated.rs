//! The floors of `evenkeel simulate` are the service's: what decides them in a replay is fed to the service's own state
//! of a target, which comes to the same floor at each tick.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use evenkeel_forecast::{Minutes, OwnPeaks, Quantiles, Resolution, TreeNode, Trees};
use evenkeel_metrics::signal::Signal;
use evenkeel_metrics::usage::{Span, UsageSample};
use evenkeel_objects::annotations::SCALING;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::plan::WriteOperation;
use evenkeel_objects::pod_name::PodName;
use evenkeel_sandbox::scenario::{ScaleBy, Scenario, ScenarioHpa, ScenarioWorkload};
use evenkeel_sandbox::simulation::replicas::observe_floors;
use evenkeel_sandbox::target_replay::{FitFunctions, ObservedTick, ReplayEvent};
use evenkeel_scaling::counterfactual::{Counterfactual, TrialPods};
use evenkeel_scaling::status::dashboard::ObjectName;
use evenkeel_scaling::targets::history_backfill::SignalBackfill;
use evenkeel_scaling::targets::observed_profiles::ObservedProfiles;
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_scaling::targets::settings::Settings;
use evenkeel_scaling::targets::target_objects::{TargetObjects, TargetPodFacts};
use evenkeel_scaling::tick::query_answers::SignalReadings;
use evenkeel_scaling::tick::{LoadFitResult, ScalingSample, TargetKey};
use evenkeel_scaling::tracker::FitEnd;
use evenkeel_scaling::tracker::{FitTask, LoadPastFit};
use evenkeel_units::{Amount, Resource, Resources};
use json_patch::PatchOperation;
use serde_json::{Value, json};

use super::*;
use crate::watched_types::WatchedDeployment;

/// A fit of the replay, which the service is to ask for at the same tick.
struct Taught {
    end: i64,
    window: usize,
    pods: TrialPods,
    learnt: LoadPastFit,
}

/// The service with one target, an HPA in mode floor.
struct Service {
    targets: ScalingTargets,
    sample: Option<ScalingSample>,
    hpa: Value,
    key: TargetKey,
    /// The time of the tick before.
    last: Option<Timestamp>,
    /// The last report on the target.
    told: String,
}

impl Service {
    fn new(workload: &ScenarioWorkload) -> Self {
        let ScenarioHpa { min, max, by } = workload.scale.unwrap();
        let ScaleBy::Cpu(share) = by else {
            panic!("{by:?}");
        };
        let (namespace, name) = (&*workload.namespace, &*workload.name);
        let percent: i32 = format!("{:.0}", share.get() * 100.0).parse().unwrap();
        let metric = json!({"type": "Resource", "resource": {
            "name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}});
        let record = json!({"f:metadata": {"f:annotations": {"f:evenkeel.dev/bounds": {}}}});
        let manager = json!({"manager": "evenkeel", "operation": "Update", "fieldsV1": record});
        let hpa = json!({
            "metadata": {"name": name, "namespace": namespace, "uid": "h", "resourceVersion": "1",
                "annotations": {SCALING: "floor"}, "managedFields": [manager]},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "minReplicas": min, "maxReplicas": max, "metrics": [metric]},
        });
        let key = TargetKey {
            namespace: namespace.into(),
            scaler: Some(ObjectName {
                kind: "HorizontalPodAutoscaler".into(),
                name: name.into(),
            }),
            workload: TargetRef::new("apps/v1", "Deployment", namespace, name),
        };
        Self {
            targets: ScalingTargets::default(),
            sample: None,
            hpa,
            key,
            last: None,
            told: String::new(),
        }
    }

    fn fill(&mut self, resolution: Resolution, points: &[(Timestamp, f64)], now: Timestamp) {
        if self.last.is_none() {
            // The service asks for the past of a target that it knows.
            let observed = self.observed(0, None, TargetPodFacts::default());
            self.work(&observed, false, now);
        }
        let sums = HashMap::from([(self.key.workload_name(), points.to_vec())]);
        let signal = Signal::CPU;
        let filled = SignalBackfill {
            signal,
            resolution,
            sums,
        };
        assert!(self.targets.fill(&filled, now).is_empty());
    }

    /// Takes what was learnt between the last tick and this one.
    fn fit(&mut self, taught: Vec<Taught>) {
        let mut taught = taught.into_iter();
        let Some(now) = self.last else {
            return;
        };
        while let Some(work) = self.targets.next_work(FitLane::Workloads, now) {
            let FitWork::Trees(batch) = work else {
                panic!("{work:?}");
            };
            for load in batch.loads {
                let one = taught.next().expect("the replay makes this fit");
                assert_eq!(batch.end.as_second(), one.end);
                assert_eq!(load.window, one.window);
                assert_eq!(load.lesson, FitTask::Trees(one.pods));
                let end = FitEnd::Learnt(Box::new(one.learnt));
                let fitted = Box::new(LoadFitResult { load, end });
                self.targets.take_told(FitTold::Trees(fitted), now);
            }
        }
        let left = taught.next();
        assert!(
            left.is_none(),
            "{now}: the service makes this fit: {}",
            self.told
        );
    }

    fn floor(&self) -> i64 {
        self.hpa["spec"]["minReplicas"].as_i64().unwrap()
    }

    fn tick(&mut self, seen: &ObservedTick<'_>) {
        assert_eq!(self.floor(), i64::from(seen.floor), "{}", seen.now);
        self.measure(seen);
        let pods = TargetPodFacts {
            members: seen.pods.to_vec(),
            starts: seen.starts.to_vec(),
        };
        let observed = self.observed(seen.replicas, seen.reactive, pods);
        let ticked = self.work(&observed, true, seen.now);
        self.last = Some(seen.now);
        for write in ticked.writes {
            if let WriteOperation::Conditional(patch) = &write.operation {
                let changes = patch.to_patch().0.into_iter();
                let changes = changes.filter(|one| !matches!(one, PatchOperation::Test(_)));
                json_patch::patch(&mut self.hpa, &changes.collect::<Vec<_>>()).unwrap();
            }
        }
        let shown = ticked.shown.iter();
        self.told = format!("{:?}", shown.collect::<Vec<_>>());
        let (now, told) = (seen.now, &self.told);
        assert_eq!(self.floor(), i64::from(seen.decided), "{now}: {told}");
    }

    fn work(
        &mut self,
        observed: &TargetObjects,
        decides: bool,
        now: Timestamp,
    ) -> ScalingTickOutput {
        let tick = ScalingTickInput {
            now,
            settings: Settings::default(),
            shared: &ModelAssets::default(),
            sample: self.sample.as_ref(),
            signals: &SignalReadings::default(),
            checks: &CheckAnswers::default(),
            decides,
            plans: &Plans::Decisions("pod-a".to_owned()),
            has_past: true,
            serves: false,
            balances_scale_in: false,
            scaled: &HashMap::new(),
            crons: &[],
        };
        self.targets.tick(std::slice::from_ref(observed), &tick)
    }

    fn measure(&mut self, seen: &ObservedTick<'_>) {
        let mut usage = UsageSample::default();
        for (pod, measured) in seen.pods.iter().zip(seen.measured) {
            let Some(measured) = measured else {
                continue;
            };
            let name = PodName::new(&self.key.namespace, &pod.name);
            let mut used = Resources::default();
            used[Resource::Cpu] = Some(Amount::new(u64::try_from(measured.value).unwrap()));
            usage.insert_pod(&name, &used);
            usage.insert_pod_span(&name, Span::new(measured.timestamp, measured.window));
        }
        let mut pods_as_of = Resources::default();
        pods_as_of[Resource::Cpu] = Some(seen.now);
        self.sample = Some(ScalingSample::new(Arc::new(usage), pods_as_of, seen.now));
    }

    fn observed(
        &self,
        replicas: i32,
        reactive: Option<i32>,
        pods: TargetPodFacts,
    ) -> TargetObjects {
        let name = self.key.workload.name();
        let mut hpa = self.hpa.clone();
        let is_active = if reactive.is_some() { "True" } else { "False" };
        hpa["status"] = json!({"currentReplicas": replicas,
            "desiredReplicas": reactive.unwrap_or(replicas),
            "conditions": [{"type": "ScalingActive", "status": is_active}]});
        let workload: WatchedDeployment = serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": &*self.key.namespace, "uid": "d",
                "resourceVersion": "1"},
            "spec": {"replicas": replicas},
        }))
        .unwrap();
        let opted_in = [("evenkeel.dev/enabled".to_owned(), "true".to_owned())].into();
        TargetObjects {
            namespace: Arc::clone(&self.key.namespace),
            namespace_policy: Arc::new(NamespacePolicy::parse(&opted_in).0),
            autoscaler: Some(Arc::new(serde_json::from_value(hpa).unwrap())),
            ihpa: None,
            portraits: Vec::new(),
            profiles: ObservedProfiles::default(),
            scaled_object: None,
            workload: Some(Arc::new(workload.workload)),
            target: self.key.workload.clone(),
            pods,
        }
    }
}

/// The scenario of a file, under noise that a seed decides.
fn scenario(file: &str, length: SignedDuration) -> Scenario {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios/simulate");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let traces = |named: &Path| {
        std::fs::read_to_string(folder.join(named)).map_err(|error| error.to_string())
    };
    let mut scenario = Scenario::read(&text, &traces).unwrap();
    scenario.simulation.duration = length;
    for workload in &mut scenario.workloads {
        workload.traffic.as_mut().unwrap().noise = 0.03;
    }
    scenario
}

/// The fit that an exact forecast of the next minutes would give, with trees that see a rise ahead.
fn learnt(past: &Minutes, window: usize, pods: &TrialPods) -> LoadPastFit {
    let trees = || Trees::new(0.0, &[vec![TreeNode::Leaf(0.3)]]).unwrap();
    LoadPastFit {
        own: Some(Arc::new(OwnPeaks::new(window, [trees(), trees(), trees()]))),
        trial: Counterfactual::over(past, 0, pods, |index| {
            let next = past.values().get(index + 1..=index + window)?;
            let largest = next.iter().copied().fold(0.0, f32::max);
            Some(Quantiles::new([f64::from(largest); 4]))
        }),
        ..LoadPastFit::default()
    }
}

/// The floors of each tick, which are those of the service, and what that told last.
fn floors(scenario: &Scenario, seed: u64) -> (Vec<i32>, String) {
    let workload = &scenario.workloads[0];
    let mut service = Service::new(workload);
    let taught = Mutex::new(Vec::new());
    let teach = |past: &Minutes, window: usize, pods: &TrialPods| {
        let learnt = learnt(past, window, pods);
        let minutes = i64::try_from(past.values().len()).unwrap();
        let mut taught = taught.lock().unwrap_or_else(PoisonError::into_inner);
        taught.push(Taught {
            end: past.start() + 60 * minutes,
            window,
            pods: pods.clone(),
            learnt: learnt.clone(),
        });
        Some(learnt)
    };
    let fits = FitFunctions {
        trees: &teach,
        ..FitFunctions::NONE
    };
    let mut floors = Vec::new();
    let observed = observe_floors((scenario, workload), seed, fits, &mut |event| match event {
        ReplayEvent::Past {
            resolution,
            points,
            now,
        } => service.fill(resolution, points, now),
        ReplayEvent::Tick(tick) => {
            let taught = std::mem::take(&mut *taught.lock().unwrap());
            service.fit(taught);
            service.tick(&tick);
            floors.push(tick.decided);
        }
    });
    assert!(observed);
    (floors, service.told)
}

#[test]
fn a_simulated_target_has_the_floors_of_the_service_tick_by_tick() {
    for (file, hours) in [("thesis-5-3.yaml", 4), ("ds-hpa-day.yaml", 9)] {
        let scenario = scenario(file, SignedDuration::from_hours(hours));
        let [one, other] = [1, 2].map(|seed| floors(&scenario, seed));
        let least = i32::try_from(scenario.workloads[0].scale.unwrap().min).unwrap();
        for (floors, told) in [&one, &other] {
            let highest = floors.iter().max();
            assert!(highest > Some(&least), "{file}: {told}");
        }
        assert_ne!(one.0, other.0, "{file}: a seed makes its own load");
    }
}
