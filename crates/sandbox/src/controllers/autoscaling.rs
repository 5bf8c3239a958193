//! HorizontalPodAutoscalers, as kube-controller-manager keeps them: its rules are those of
//! [`hpa`](crate::simulate::hpa), in the scenario's time; here they are fed from the API, and what
//! they come to is written through `scale`, into the status and as Events.

mod metric;
mod readings;
mod report;
mod spec;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use kube::core::{Selector, SelectorExt as _};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tracing::debug;

use self::metric::{Asked, Sight, Wish};
use self::readings::PodMetrics;
use self::report::Report;
use crate::objects::stamp;
use crate::recorder::{Recorder, reference};
use crate::simulate::autoscaler;
use crate::simulate::hpa::{History, Limits};
use crate::store::Stores;
use crate::{Event, Events, Timeline};
use evenkeel_clock::Clock;

/// How far apart an HPA's looks are, by the cluster's clock.
#[must_use]
pub fn sync(clock: Clock) -> SignedDuration {
    clock.elapsed(clock.period(autoscaler::SYNC))
}

/// The controller.
pub(super) struct Autoscaling {
    pub(super) client: Client,
    pub(super) stores: Stores,
    pub(super) timeline: Timeline,
    pub(super) events: Events,
    pub(super) recorder: Recorder,
}

/// Why there is another count from now on.
#[derive(Debug, Default)]
struct Why {
    /// In the controller's words.
    reason: String,
    /// In a few words.
    stands: String,
}

impl Why {
    fn bound(reason: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            stands: reason.to_owned(),
        }
    }
}

impl Autoscaling {
    /// Runs for ever.
    pub(super) async fn run(self) {
        let mut ticks = tokio::time::interval(self.timeline.clock().period(autoscaler::SYNC));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // What is remembered of each HPA, by its UID.
        let mut kept: HashMap<String, History> = HashMap::new();
        loop {
            ticks.tick().await;
            let now = self.timeline.now();
            let autoscalers = self.stores.autoscalers.list();
            let uids: Vec<_> = autoscalers.iter().filter_map(|hpa| hpa.uid()).collect();
            kept.retain(|uid, _| uids.contains(uid));
            if autoscalers.is_empty() {
                continue;
            }
            let usage = readings::fetch(&self.client).await;
            let usage = usage.map_err(|error| error.to_string());
            let usage = usage.as_deref().map_err(String::as_str);
            for hpa in autoscalers {
                let history = kept.entry(hpa.uid().unwrap_or_default()).or_default();
                if let Err(error) = self.reconcile(&hpa, usage, history, now).await {
                    debug!(%error, hpa = hpa.name_any(), "an HPA's decision could not be written");
                }
            }
        }
    }

    async fn reconcile(
        &self,
        hpa: &HorizontalPodAutoscaler,
        usage: Result<&[PodMetrics], &str>,
        history: &mut History,
        now: Timestamp,
    ) -> kube::Result<()> {
        let namespace = hpa.namespace().unwrap_or_default();
        let spec = hpa.spec.clone().unwrap_or_default();
        let target = &spec.scale_target_ref;
        let found = (target.kind == "Deployment")
            .then(|| self.stores.deployments.get(&namespace, &target.name))
            .flatten();
        let mut report = Report::default();
        let Some(deployment) = found else {
            let name = format!("{}/{namespace}/{}", target.kind, target.name);
            self.no_scale(hpa, &name, &mut report);
            return self.write_status(hpa, &report, now).await;
        };
        let got = "the HPA controller was able to get the target's current scale";
        report.set("AbleToScale", true, ("SucceededGetScale", got.to_owned()));
        let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas);
        let current = replicas.unwrap_or(1);
        if history.recommendations.is_empty() {
            history.recommendations.push((now, current));
        }
        let limits = spec::limits(&spec);
        report.current = current;
        let why = if current == 0 {
            let message = "scaling is disabled since the replica count of the target is zero";
            report.set(
                "ScalingActive",
                false,
                ("ScalingDisabled", message.to_owned()),
            );
            report.desired = 0;
            Why::default()
        } else if current > limits.max {
            report.desired = limits.max;
            Why::bound("Current number of replicas above Spec.MaxReplicas")
        } else if current < limits.min {
            report.desired = limits.min;
            Why::bound("Current number of replicas below Spec.MinReplicas")
        } else {
            let pods = self.pods_of(&deployment);
            let sight = Sight {
                namespace: &namespace,
                current,
                tolerance: spec::tolerance(&limits),
                pods: &pods,
                usage,
                now,
            };
            let asked = metric::ask(spec.metrics.as_deref().unwrap_or_default(), &sight);
            self.weigh(hpa, asked, (&limits, history, now), &mut report)
        };
        if report.desired != current {
            self.scale(hpa, &spec, &mut report, &why).await?;
            let behavior = limits.behavior.as_ref();
            history
                .events
                .record(behavior, current, report.desired, now);
        }
        self.write_status(hpa, &report, now).await
    }

    /// From what the metrics ask for to what is to be, with the conditions that say why.
    fn weigh(
        &self,
        hpa: &HorizontalPodAutoscaler,
        asked: Asked,
        (limits, history, at): (&Limits, &mut History, Timestamp),
        report: &mut Report,
    ) -> Why {
        for invalid in &asked.failed {
            let error = invalid.error.clone();
            self.recorder.warning(reference(hpa), invalid.reason, error);
        }
        report.metrics = asked.statuses;
        report.desired = report.current;
        let Wish {
            replicas: desired,
            metric,
            stands,
        } = match asked.wish {
            Ok(wish) => wish,
            Err(invalid) => {
                let error = invalid.error;
                let message = format!("the HPA was unable to compute the replica count: {error}");
                report.set("ScalingActive", false, (invalid.reason, message));
                let why = format!("invalid metrics, first error is: {error}");
                let about = reference(hpa);
                self.recorder
                    .warning(about, "FailedComputeMetricsReplicas", why);
                return Why::default();
            }
        };
        let message =
            format!("the HPA was able to successfully calculate a replica count from {metric}");
        report.set("ScalingActive", true, ("ValidMetricFound", message));
        let normalized = limits.normalize(report.current, desired, history, at);
        let (reason, message) = normalized.able;
        report.set("AbleToScale", true, (reason, message.to_owned()));
        let (limited, (reason, message)) = normalized.limited;
        report.set("ScalingLimited", limited, (reason, message.to_owned()));
        report.desired = normalized.replicas;
        let reason = if desired > report.current {
            format!("{metric} above target")
        } else {
            "All metrics below target".to_owned()
        };
        Why { reason, stands }
    }

    fn no_scale(&self, hpa: &HorizontalPodAutoscaler, name: &str, report: &mut Report) {
        let status = hpa.status.clone().unwrap_or_default();
        report.current = status.current_replicas.unwrap_or(0);
        report.desired = status.desired_replicas;
        let error = format!("{name} not found: only Deployments are scaled here");
        let message =
            format!("the HPA controller was unable to get the target's current scale: {error}");
        report.set("AbleToScale", false, ("FailedGetScale", message));
        self.recorder
            .warning(reference(hpa), "FailedGetScale", error);
    }

    async fn scale(
        &self,
        hpa: &HorizontalPodAutoscaler,
        spec: &HorizontalPodAutoscalerSpec,
        report: &mut Report,
        why: &Why,
    ) -> kube::Result<()> {
        let Why { reason, stands } = why;
        let namespace = hpa.namespace().unwrap_or_default();
        let target = &spec.scale_target_ref.name;
        let api: Api<Deployment> = Api::namespaced(self.client.clone(), &namespace);
        let (current, desired) = (report.current, report.desired);
        let patch = Patch::Merge(json!({"spec": {"replicas": desired}}));
        let patched = api
            .patch_scale(target, &PatchParams::default(), &patch)
            .await;
        if let Err(error) = patched {
            let message = format!("New size: {desired}; reason: {reason}; error: {error}");
            self.recorder
                .warning(reference(hpa), "FailedRescale", message);
            return Err(error);
        }
        let message =
            format!("the HPA controller was able to update the target scale to {desired}");
        report.set("AbleToScale", true, ("SucceededRescale", message));
        let message = format!("New size: {desired}; reason: {reason}");
        self.recorder
            .normal(reference(hpa), "SuccessfulRescale", message);
        let count = |replicas: i32| u32::try_from(replicas).unwrap_or(0);
        let event = Event::Scaled {
            namespace,
            workload: target.clone(),
            from: count(current),
            to: count(desired),
            why: stands.clone(),
        };
        self.events.tell(self.timeline.elapsed(), event);
        Ok(())
    }

    async fn write_status(
        &self,
        hpa: &HorizontalPodAutoscaler,
        report: &Report,
        now: Timestamp,
    ) -> kube::Result<()> {
        let status = report.status(hpa, &stamp(now));
        let is = json!(hpa.status);
        let same = |(field, value): (&String, &serde_json::Value)| {
            let nothing = value.as_array().is_some_and(Vec::is_empty);
            is[field] == *value || (is[field].is_null() && nothing)
        };
        if status.as_object().into_iter().flatten().all(same) {
            return Ok(());
        }
        let namespace = hpa.namespace().unwrap_or_default();
        let api: Api<HorizontalPodAutoscaler> = Api::namespaced(self.client.clone(), &namespace);
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&hpa.name_any(), &PatchParams::default(), &patch)
            .await
            .map(drop)
    }

    fn pods_of(&self, deployment: &Deployment) -> Vec<Arc<Pod>> {
        let namespace = deployment.namespace();
        let selector = deployment.spec.as_ref().map(|spec| spec.selector.clone());
        let selector = selector.and_then(|selector| Selector::try_from(selector).ok());
        let mut pods = self.stores.pods.list();
        pods.retain(|pod| {
            let ours = selector
                .as_ref()
                .is_some_and(|selector| selector.matches(pod.labels()));
            ours && pod.namespace() == namespace
        });
        pods
    }
}
