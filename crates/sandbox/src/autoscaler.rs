//! The HPA of one workload in virtual time: Kubernetes' algorithm, with kube-controller-manager's
//! default settings. Times count from the begin of the run. Every write of the replica count
//! succeeds.

use std::sync::Arc;

use evenkeel_hpa as hpa;
use evenkeel_hpa::{
    Action, Behavior, ConditionType, Controller, HorizontalPodAutoscaler, HpaMemory, HpaOutcome,
    HpaSpec, HpaStatus, MetricSpec, ObservedTarget, Readings, Settings, TargetScale,
};
use evenkeel_metrics::pod::{
    ContainerFacts, PodFacts, PodPhase, PodSpecFacts, ReadyCondition, ResourceRequests,
};
use evenkeel_metrics::sample::{ContainerMetrics, Measurement, PodMetrics};
use evenkeel_metrics::signal::{ObjectReference, ResourceName};
use evenkeel_objects::condition::ConditionStatus;
use jiff::{SignedDuration, Timestamp};

/// Interval of reconciliations.
pub const SYNC: SignedDuration = Settings::DEFAULT.sync_period;

const CONTAINER: &str = "app";
/// Nothing reads it, but an HPA needs one.
const SELECTOR: &str = "app=workload";

#[derive(Debug, Clone)]
pub struct Autoscaler {
    controller: Controller,
    hpa: HorizontalPodAutoscaler,
    memory: HpaMemory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoscalerDecision {
    pub replicas: i32,
    /// False while the metric cannot be computed (the condition `ScalingActive`).
    pub is_active: bool,
}

impl Autoscaler {
    pub fn new(min: i32, max: i32, metrics: Vec<MetricSpec>) -> Self {
        let spec = HpaSpec {
            scale_target: ObjectReference::default(),
            min_replicas: min,
            max_replicas: max,
            metrics,
            behavior: None,
        };
        Self {
            controller: Controller::default(),
            hpa: HorizontalPodAutoscaler {
                namespace: String::new(),
                name: String::new(),
                generation: None,
                spec,
                status: HpaStatus::default(),
            },
            memory: HpaMemory::default(),
        }
    }

    /// With its own scaling rules.
    pub fn with_behavior(mut self, behavior: Option<Behavior>) -> Self {
        self.hpa.spec.behavior = behavior;
        self
    }

    /// Another metric beside those that it has.
    pub fn add_metric(&mut self, metric: MetricSpec) {
        self.hpa.spec.metrics.push(metric);
    }

    /// The memory stays.
    pub const fn set_min_replicas(&mut self, min: i32) {
        self.hpa.spec.min_replicas = min;
    }

    pub fn reconcile(
        &mut self,
        at: SignedDuration,
        current: i32,
        pods: &[PodFacts],
        readings: &Readings,
    ) -> AutoscalerDecision {
        let observed = observed(current, pods, readings);
        let (controller, memory) = (&self.controller, &mut self.memory);
        let step = hpa::reconcile(controller, &self.hpa, &observed, memory, date(at));
        let HpaOutcome { status, action, .. } = step.written(memory);
        let active = status.condition(&ConditionType::ScalingActive);
        let recommendation = AutoscalerDecision {
            replicas: match action {
                Action::None => current,
                Action::ScaleUp | Action::ScaleDown => status.desired_replicas,
            },
            is_active: active.is_none_or(|active| active.status == ConditionStatus::True),
        };
        self.hpa.status = status;
        recommendation
    }
}

/// A workload as an HPA sees it.
pub fn observed<'a>(
    current: i32,
    pods: &'a [PodFacts],
    readings: &'a Readings,
) -> ObservedTarget<'a> {
    // As in the status of a Deployment.
    let staying = pods.iter().filter(|pod| !pod.deleted);
    ObservedTarget {
        scale: Ok(TargetScale {
            spec_replicas: current,
            status_replicas: i32::try_from(staying.count()).unwrap_or(i32::MAX),
            selector: SELECTOR,
            pods: Ok(pods),
            autoscalers: &[],
        }),
        readings,
    }
}

/// The date of a time of the run.
pub fn date(at: SignedDuration) -> Timestamp {
    let date = Timestamp::UNIX_EPOCH.checked_add(at);
    date.unwrap_or(Timestamp::MAX)
}

/// Life of a Pod on its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// The kubelet took it.
    pub started: SignedDuration,
    /// Its containers run from then.
    pub running: SignedDuration,
    /// Not ready from then until `ready`.
    pub unready: SignedDuration,
    pub ready: SignedDuration,
}

/// The spec of Pods with one container.
pub fn pod_spec(requests: ResourceRequests) -> Arc<PodSpecFacts> {
    Arc::new(PodSpecFacts {
        containers: vec![ContainerFacts {
            name: CONTAINER.to_owned(),
            requests,
            is_sidecar: false,
        }],
        ..PodSpecFacts::default()
    })
}

/// A Pod as its HPA sees it; without a life it waits for a node.
pub fn pod(
    name: String,
    life: Option<Life>,
    spec: &Arc<PodSpecFacts>,
    at: SignedDuration,
) -> PodFacts {
    let ready = life.map(|life| {
        let is_ready = life.ready <= at;
        let since = if is_ready { life.ready } else { life.unready };
        ReadyCondition {
            status: is_ready.into(),
            last_transition_time: date(since),
        }
    });
    let is_running = life.is_some_and(|life| life.running <= at);
    PodFacts {
        name,
        phase: if is_running {
            PodPhase::Running
        } else {
            PodPhase::Pending
        },
        deleted: false,
        start_time: life.map(|life| date(life.started)),
        ready,
        spec: Arc::clone(spec),
    }
}

/// Usage in one resource, as in a metrics API.
pub fn metrics(pod: String, resource: ResourceName, measured: Measurement) -> PodMetrics {
    PodMetrics {
        pod,
        timestamp: measured.timestamp,
        window: measured.window,
        containers: vec![ContainerMetrics {
            name: CONTAINER.to_owned(),
            usage: [(resource, measured.value)].into_iter().collect(),
        }],
    }
}

/// From the resource metrics API; the other metrics APIs have none.
pub fn resource(metrics: Vec<PodMetrics>) -> Readings {
    Readings {
        resource: Ok(metrics),
        ..Readings::default()
    }
}

/// `value` is in thousandths, the mean of the `window` up to `at`.
pub fn measurement(at: SignedDuration, window: SignedDuration, value: i64) -> Measurement {
    Measurement {
        timestamp: date(at),
        window,
        value,
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::signal::{MetricTarget, Signal};

    use super::*;

    const SECOND: fn(i64) -> SignedDuration = SignedDuration::from_secs;

    fn autoscaler() -> Autoscaler {
        let metric = MetricSpec::new(Signal::CPU, MetricTarget::Utilization(50));
        Autoscaler::new(2, 20, vec![metric])
    }

    /// Pods have been ready for an hour and request 1000m each.
    fn reconcile(
        autoscaler: &mut Autoscaler,
        at: i64,
        usages: &[Option<i64>],
    ) -> AutoscalerDecision {
        let at = SECOND(3_600 + at);
        let life = Life {
            started: SignedDuration::ZERO,
            running: SignedDuration::ZERO,
            unready: SignedDuration::ZERO,
            ready: SignedDuration::ZERO,
        };
        let spec = pod_spec([(ResourceName::Cpu, 1000)].into_iter().collect());
        let (mut pods, mut measured) = (Vec::new(), Vec::new());
        for (index, usage) in usages.iter().enumerate() {
            let name = format!("web-{index}");
            let usage = usage.map(|milli| measurement(at, SECOND(60), milli));
            measured.extend(usage.map(|usage| metrics(name.clone(), ResourceName::Cpu, usage)));
            pods.push(pod(name, Some(life), &spec, at));
        }
        let current = i32::try_from(usages.len()).unwrap();
        autoscaler.reconcile(at, current, &pods, &resource(measured))
    }

    #[test]
    fn the_first_recommendation_is_that_of_the_formula() {
        let some = |usage, count| vec![Some(usage); count];
        for (usages, expected) in [
            (some(500, 4), 4),
            (some(550, 4), 4),
            (some(560, 4), 5),
            (some(1000, 4), 8),
            // One step up at most doubles.
            (some(5000, 4), 8),
            // A missing measurement is 0 on the way up, and the whole request on the way down.
            ([some(800, 3), vec![None]].concat(), 5),
            ([some(300, 3), vec![None]].concat(), 4),
            (vec![None; 4], 4),
        ] {
            let got = reconcile(&mut autoscaler(), 0, &usages);
            assert_eq!(got.replicas, expected, "{usages:?}");
            assert_eq!(got.is_active, usages[0].is_some(), "{usages:?}");
        }
    }

    #[test]
    fn scaling_down_waits_five_minutes_for_the_highest_recommendation() {
        let mut autoscaler = autoscaler();
        for tick in 0..=20 {
            let held = reconcile(&mut autoscaler, 15 * tick, &[Some(100); 8]);
            assert_eq!(held.replicas, 8, "{tick}");
        }
        assert_eq!(reconcile(&mut autoscaler, 315, &[Some(100); 8]).replicas, 2);
    }

    #[test]
    fn a_raised_minimum_is_reached_at_once() {
        let mut autoscaler = autoscaler();
        autoscaler.set_min_replicas(15);
        assert_eq!(reconcile(&mut autoscaler, 0, &[Some(500); 4]).replicas, 15);
    }

    #[test]
    fn a_pod_is_pending_until_it_runs_and_counts_once_a_window_after_it_was_ready_is_measured() {
        let spec = pod_spec([(ResourceName::Cpu, 1000)].into_iter().collect());
        let life = Life {
            started: SECOND(10),
            running: SECOND(20),
            unready: SECOND(10),
            ready: SECOND(30),
        };
        let at = |second| pod("web".to_owned(), Some(life), &spec, SECOND(second));
        assert_eq!(
            (at(19).phase, at(20).phase),
            (PodPhase::Pending, PodPhase::Running)
        );
        assert!(!at(29).is_ready() && at(30).is_ready());
        assert_eq!(pod("web".to_owned(), None, &spec, SECOND(9)).ready, None);
    }
}
