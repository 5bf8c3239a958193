//! HorizontalPodAutoscalers as in kube-controller-manager: the algorithm is
//! [`evenkeel_hpa`], fed from the API; its outcome is written through `scale`, into
//! the status and as Events.

mod observation;
mod pod_facts;
mod signals;
mod target;
mod write;

use std::collections::HashMap;

use evenkeel_clock::Clock;
use evenkeel_hpa as hpa;
use evenkeel_hpa::{
    AfterWrite, Controller, EventType, HpaMemory, HpaOutcome, ObservedTarget, ReconcileStep,
    Rescale, Settings,
};
use evenkeel_http_client::Request;
use evenkeel_metrics::pod_metrics::PodMetricsList;
use jiff::{SignedDuration, Timestamp};
use kube::{Client, ResourceExt as _};
use tracing::debug;

use self::target::HpaTargetLookup;
use crate::recorder::{Recorder, reference};
use crate::store::{StoredAutoscaler, Stores};
use crate::{SandboxEventSink, Timeline};

/// Interval of reconciliations, by the cluster's clock.
pub fn sync(clock: Clock) -> SignedDuration {
    clock.elapsed(clock.period(Settings::DEFAULT.sync_period))
}

pub(super) struct AutoscalingController {
    pub(super) client: Client,
    pub(super) stores: Stores,
    pub(super) timeline: Timeline,
    pub(super) events: SandboxEventSink,
    pub(super) recorder: Recorder,
}

/// The input that all HPAs share in one turn.
struct HpaSyncInput {
    controller: Controller,
    /// Usage of all Pods; the error says why it could not be read.
    usage: Result<PodMetricsList, String>,
    now: Timestamp,
}

impl AutoscalingController {
    pub(super) async fn run(self) {
        let period = Settings::DEFAULT.sync_period;
        let mut ticks = self.timeline.clock().ticks(period);
        let mut memories: HashMap<String, HpaMemory> = HashMap::new();
        loop {
            ticks.tick().await;
            let now = self.timeline.now();
            let autoscalers = self.stores.autoscalers.list();
            let uids: Vec<_> = autoscalers.iter().filter_map(|hpa| hpa.uid()).collect();
            memories.retain(|uid, _| uids.contains(uid));
            if autoscalers.is_empty() {
                continue;
            }
            let usage = fetch(&self.client).await;
            let turn = HpaSyncInput {
                controller: Controller::default(),
                usage: usage.map_err(|error| error.to_string()),
                now,
            };
            for hpa in autoscalers {
                let memory = memories.entry(hpa.uid().unwrap_or_default()).or_default();
                let outcome = self.reconcile(&turn, &hpa, memory).await;
                self.tell(&hpa, outcome);
            }
        }
    }

    async fn reconcile(
        &self,
        turn: &HpaSyncInput,
        object: &StoredAutoscaler,
        memory: &mut HpaMemory,
    ) -> HpaOutcome {
        let HpaSyncInput {
            controller,
            usage,
            now,
        } = turn;
        let spec = target::spec(object);
        let hpa = observation::autoscaler(object, &spec);
        let targets = HpaTargetLookup::new(&self.stores, &hpa.namespace);
        let found = targets.of(&spec);
        let selector = found.as_ref().map_or("", |target| &*target.selector);
        let (client, metrics) = (&self.client, &hpa.spec.metrics);
        let others = signals::read(client, &hpa.namespace, metrics, selector, *now).await;
        let mut observation =
            observation::HpaObservation::new(&hpa, found.as_ref(), &targets, usage);
        observation.readings.others = others;
        let observed = ObservedTarget {
            scale: found.as_ref().map(|target| observation.scale(target)),
            readings: &observation.readings,
        };
        let outcome = match hpa::reconcile(controller, &hpa, &observed, memory, *now) {
            ReconcileStep::Done(outcome) => outcome,
            ReconcileStep::Rescale(rescale) => {
                let (from, to) = (rescale.from(), rescale.to());
                let outcome = self.rescale(rescale, &hpa, memory).await;
                self.tell_scaled(&hpa, from, to, &outcome);
                outcome
            }
        };
        match write::status(&self.client, &hpa, &outcome).await {
            Ok(()) => outcome,
            Err(error) => outcome.after_failed_status_write(&hpa.name, &error.to_string()),
        }
    }

    /// Writes the scale, again after conflicts.
    async fn rescale(
        &self,
        mut rescale: Rescale<'_>,
        hpa: &hpa::HorizontalPodAutoscaler,
        memory: &mut HpaMemory,
    ) -> HpaOutcome {
        loop {
            let written = write::scale(&self.client, hpa, rescale.to()).await;
            match rescale.after_write(written, memory) {
                AfterWrite::Done(outcome) => return outcome,
                AfterWrite::Retry(again) => rescale = again,
            }
        }
    }

    /// Writes the outcome's Events.
    fn tell(&self, object: &StoredAutoscaler, outcome: HpaOutcome) {
        if let Some(error) = &outcome.error {
            debug!(%error, hpa = object.name_any(), "an HPA could not be reconciled");
        }
        for event in outcome.events {
            let about = reference(object);
            match event.event_type {
                EventType::Normal => self.recorder.normal(about, event.reason, event.message),
                EventType::Warning => self.recorder.warning(about, event.reason, event.message),
            }
        }
    }

    /// A new count of replicas.
    fn tell_scaled(
        &self,
        hpa: &hpa::HorizontalPodAutoscaler,
        from: i32,
        to: i32,
        outcome: &HpaOutcome,
    ) {
        if outcome.action == hpa::Action::None {
            return;
        }
        let count = |replicas: i32| u32::try_from(replicas).unwrap_or(0);
        let event = crate::SandboxEvent::Scaled {
            namespace: hpa.namespace.clone(),
            workload: hpa.spec.scale_target.name.clone(),
            from: count(from),
            to: count(to),
            why: write::why(outcome),
        };
        self.events.tell(self.timeline.elapsed(), event);
    }
}

async fn fetch(client: &Client) -> kube::Result<PodMetricsList> {
    let request = Request::get("/apis/metrics.k8s.io/v1beta1/pods")
        .body(Vec::new())
        .expect("the path is valid");
    client.request(request).await
}
