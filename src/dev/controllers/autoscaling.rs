//! HorizontalPodAutoscalers, kept on the cpu that metrics.k8s.io tells.
//!
//! The decision is [`Autoscaler`]'s, in the scenario's time; here it is fed from the API and its
//! outcome is written through `scale` and into the status.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use hyper::http::Request;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde::Deserialize;
use serde_json::json;
use tracing::debug;

use super::replica_set::is_ready;
use crate::clock;
use crate::dev::objects::stamp;
use crate::dev::store::Stores;
use crate::dev::{Event, Events, Pace};
use crate::kubernetes;
use crate::kubernetes::requests;
use crate::simulate::autoscaler::{self, Autoscaler, PodReading, Recommendation};
use crate::simulate::scenario::Scale;
use crate::units::{Amount, Quantity, Ratio};

/// However fast the scenario runs, the API is asked no more often than this.
const LEAST: Duration = Duration::from_millis(200);

/// How far apart an HPA's looks are, in the scenario.
#[must_use]
pub fn sync(pace: &Pace) -> SignedDuration {
    pace.span(pace.real(autoscaler::SYNC, LEAST))
}

/// What is kept of each HPA, with the spec and request that it was made for.
struct Kept {
    scale: Scale,
    request: Amount,
    autoscaler: Autoscaler,
}

/// The controller.
pub struct Autoscaling {
    client: Client,
    stores: Stores,
    pace: Pace,
    events: Events,
    kept: HashMap<String, Kept>,
}

#[derive(Deserialize)]
struct PodMetricsList {
    items: Vec<PodMetrics>,
}

#[derive(Deserialize)]
struct PodMetrics {
    metadata: Name,
    containers: Vec<ContainerMetrics>,
}

#[derive(Deserialize)]
struct Name {
    name: String,
    namespace: String,
}

#[derive(Deserialize)]
struct ContainerMetrics {
    usage: Usage,
}

#[derive(Deserialize)]
struct Usage {
    cpu: String,
}

/// Cpu in millicores by namespace and name.
type Measured = BTreeMap<(String, String), f64>;

impl Autoscaling {
    pub(super) fn new(client: Client, stores: Stores, pace: Pace, events: Events) -> Self {
        Self {
            client,
            stores,
            pace,
            events,
            kept: HashMap::new(),
        }
    }

    /// Runs for ever.
    pub async fn run(mut self) {
        let mut ticks = tokio::time::interval(self.pace.real(autoscaler::SYNC, LEAST));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let now = clock::now();
            let autoscalers = self.stores.autoscalers.list();
            let uids: Vec<_> = autoscalers.iter().filter_map(|hpa| hpa.uid()).collect();
            self.kept.retain(|uid, _| uids.contains(uid));
            if autoscalers.is_empty() {
                continue;
            }
            // Without measurements nothing is scaled, as everywhere in Kubernetes.
            let measured = self.measured().await;
            for hpa in autoscalers {
                self.reconcile(&hpa, measured.as_ref(), now).await;
            }
        }
    }

    async fn measured(&self) -> Option<Measured> {
        let request = Request::get("/apis/metrics.k8s.io/v1beta1/pods")
            .body(Vec::new())
            .ok()?;
        let list: kube::Result<PodMetricsList> = self.client.request(request).await;
        let list = list
            .inspect_err(|error| debug!(%error, "metrics.k8s.io does not answer"))
            .ok()?;
        let cpu = |container: &ContainerMetrics| {
            let quantity: Option<Quantity> = container.usage.cpu.parse().ok();
            quantity.map_or(0.0, |quantity| {
                Amount::from(quantity.to_milli_cpu()).as_f64()
            })
        };
        let of = |pod: PodMetrics| {
            let sum = pod.containers.iter().map(cpu).sum();
            ((pod.metadata.namespace, pod.metadata.name), sum)
        };
        Some(list.items.into_iter().map(of).collect())
    }

    async fn reconcile(
        &mut self,
        hpa: &HorizontalPodAutoscaler,
        measured: Option<&Measured>,
        now: Timestamp,
    ) {
        let namespace = hpa.namespace().unwrap_or_default();
        let spec = hpa.spec.clone().unwrap_or_default();
        let target = self
            .stores
            .deployments
            .get(&namespace, &spec.scale_target_ref.name);
        let (Some(deployment), Some(scale), Some(measured)) = (target, scale(hpa), measured) else {
            return;
        };
        let replicas = deployment
            .spec
            .as_ref()
            .and_then(|spec| spec.replicas)
            .unwrap_or(1);
        let current = u32::try_from(replicas).unwrap_or(0);
        let pods = self.pods_of(&deployment);
        let readings: Vec<PodReading> = pods
            .iter()
            .map(|pod| PodReading {
                ready: is_ready(pod),
                cpu: measured.get(&(namespace.clone(), pod.name_any())).copied(),
            })
            .collect();
        let at = self.pace.scenario(now);
        let kept = self.kept_for(hpa, scale, cpu_request(&deployment));
        let recommendation = kept.autoscaler.recommend(at, current, &readings);
        let written = self.write(hpa, current, &recommendation, now).await;
        if let Err(error) = written {
            debug!(%error, hpa = hpa.name_any(), "an HPA's decision could not be written");
        }
    }

    fn pods_of(&self, deployment: &Deployment) -> Vec<std::sync::Arc<Pod>> {
        let namespace = deployment.namespace();
        let spec = deployment.spec.as_ref();
        let selected = spec.and_then(|spec| spec.selector.match_labels.as_ref());
        let mut pods = self.stores.pods.list();
        pods.retain(|pod| {
            let of = |(key, value): (&String, &String)| pod.labels().get(key) == Some(value);
            let alive = pod.metadata.deletion_timestamp.is_none();
            let ours = selected.is_some_and(|labels| labels.iter().all(of));
            alive && pod.namespace() == namespace && ours
        });
        pods
    }

    /// The memory of an HPA, anew when what it keeps to has changed.
    fn kept_for(
        &mut self,
        hpa: &HorizontalPodAutoscaler,
        scale: Scale,
        request: Amount,
    ) -> &mut Kept {
        let new = || Kept {
            scale,
            request,
            autoscaler: Autoscaler::new(scale, request),
        };
        let kept = self
            .kept
            .entry(hpa.uid().unwrap_or_default())
            .or_insert_with(new);
        if kept.request != request {
            *kept = new();
        } else if kept.scale != scale {
            kept.scale = scale;
            kept.autoscaler.set_scale(scale);
        }
        kept
    }

    async fn write(
        &self,
        hpa: &HorizontalPodAutoscaler,
        current: u32,
        recommendation: &Recommendation,
        now: Timestamp,
    ) -> kube::Result<()> {
        let namespace = hpa.namespace().unwrap_or_default();
        let spec = hpa.spec.clone().unwrap_or_default();
        let target = spec.scale_target_ref.name;
        let wanted = recommendation.replicas;
        let parameters = PatchParams::default();
        if wanted != current {
            let api: Api<Deployment> = Api::namespaced(self.client.clone(), &namespace);
            let patch = Patch::Merge(json!({"spec": {"replicas": wanted}}));
            api.patch_scale(&target, &parameters, &patch).await?;
            let used = recommendation.utilisation.unwrap_or(0.0) * 100.0;
            let event = Event::Scaled {
                namespace: namespace.clone(),
                workload: target,
                from: current,
                to: wanted,
                why: format!("cpu at {used:.0} % of requests"),
            };
            self.events.tell(self.pace.scenario(now), event);
        }
        let status = status(hpa, current, recommendation, wanted != current, now);
        if json!(hpa.status) != status {
            let api: Api<HorizontalPodAutoscaler> =
                Api::namespaced(self.client.clone(), &namespace);
            let patch = Patch::Merge(json!({"status": status}));
            api.patch_status(&hpa.name_any(), &parameters, &patch)
                .await?;
        }
        Ok(())
    }
}

/// Bounds and target, of HPAs on mean cpu.
fn scale(hpa: &HorizontalPodAutoscaler) -> Option<Scale> {
    let spec = hpa.spec.as_ref()?;
    let cpu = spec.metrics.iter().flatten().find_map(|metric| {
        let resource = metric
            .resource
            .as_ref()
            .filter(|resource| resource.name == "cpu")?;
        resource.target.average_utilization
    })?;
    let bound = |replicas: i32| {
        u32::try_from(replicas)
            .ok()
            .filter(|replicas| *replicas > 0)
    };
    let min = bound(spec.min_replicas.unwrap_or(1))?;
    Some(Scale {
        min,
        max: bound(spec.max_replicas)?.max(min),
        cpu: Ratio::new(f64::from(cpu) / 100.0)
            .ok()
            .filter(|ratio| ratio.get() > 0.0)?,
    })
}

/// What one Pod of a Deployment requests of cpu.
fn cpu_request(deployment: &Deployment) -> Amount {
    let template = deployment.spec.as_ref().map(|spec| &spec.template);
    let pod: kubernetes::pod::Pod = serde_json::from_value(json!(template)).unwrap_or_default();
    requests::effective(&pod.spec)
        .cpu()
        .map(Amount::from)
        .unwrap_or_default()
}

/// The status; conditions keep the time of their last change.
fn status(
    hpa: &HorizontalPodAutoscaler,
    current: u32,
    recommendation: &Recommendation,
    scaled: bool,
    now: Timestamp,
) -> serde_json::Value {
    let before = hpa.status.as_ref();
    let since = |kind: &str, holds: &str| {
        let conditions = before.and_then(|status| status.conditions.as_ref());
        let same = conditions
            .into_iter()
            .flatten()
            .find(|condition| condition.type_ == kind && condition.status == holds);
        let time = same.and_then(|condition| condition.last_transition_time.as_ref());
        time.map_or_else(|| json!(stamp(now)), |time| json!(time))
    };
    let condition = |kind: &str, holds: bool, reason: &str, message: &str| {
        let holds = if holds { "True" } else { "False" };
        json!({
            "type": kind, "status": holds, "reason": reason, "message": message,
            "lastTransitionTime": since(kind, holds),
        })
    };
    let limited = recommendation
        .limited_by
        .filter(|reason| *reason != "ScaleDownStabilized");
    let active = recommendation.utilisation.is_some();
    let mut status = json!({
        "currentReplicas": current,
        "desiredReplicas": recommendation.replicas,
        "conditions": [
            if recommendation.limited_by == Some("ScaleDownStabilized") {
                condition("AbleToScale", true, "ScaleDownStabilized", "recent recommendations were higher than current one, applying the highest recent recommendation")
            } else {
                condition("AbleToScale", true, "ReadyForNewScale", "recommended size matches current size")
            },
            if active {
                condition("ScalingActive", true, "ValidMetricFound", "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)")
            } else {
                condition("ScalingActive", false, "FailedGetResourceMetric", "no metrics of the target's Pods")
            },
            condition("ScalingLimited", limited.is_some(), limited.unwrap_or("DesiredWithinRange"), "bounds and scaling policies of this HPA"),
        ],
    });
    if let Some(utilisation) = recommendation.utilisation {
        let percent = Amount::from_f64(utilisation * 100.0).get();
        status["currentMetrics"] = json!([{"type": "Resource", "resource": {
            "name": "cpu", "current": {"averageUtilization": percent},
        }}]);
    }
    let last = before.and_then(|status| status.last_scale_time.as_ref());
    if scaled {
        status["lastScaleTime"] = stamp(now).into();
    } else if let Some(last) = last {
        status["lastScaleTime"] = json!(last);
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dev::objects;
    use crate::simulate::Scenario;

    #[test]
    fn the_objects_of_the_scenario_are_read_back() {
        let scenario = Scenario::mixed();
        let web = scenario
            .workloads
            .iter()
            .find(|web| web.scale.is_some())
            .unwrap();
        let expected = web.scale.unwrap();
        assert_eq!(scale(&objects::autoscaler(web, &expected)), Some(expected));
        let request = cpu_request(&objects::deployment(web));
        assert_eq!(request, web.demand[crate::units::Resource::Cpu]);
    }

    #[test]
    fn conditions_keep_the_time_of_their_last_change() {
        let scenario = Scenario::mixed();
        let web = scenario
            .workloads
            .iter()
            .find(|web| web.scale.is_some())
            .unwrap();
        let mut hpa = objects::autoscaler(web, &web.scale.unwrap());
        let at = |second| Timestamp::from_second(second).unwrap();
        let holding = Recommendation {
            replicas: 2,
            limited_by: None,
            utilisation: Some(0.5),
        };
        let first = status(&hpa, 2, &holding, false, at(10));
        hpa.status = serde_json::from_value(first.clone()).unwrap();
        assert_eq!(status(&hpa, 2, &holding, false, at(20)), first);
        let limited = Recommendation {
            limited_by: Some("TooManyReplicas"),
            ..holding
        };
        let third = status(&hpa, 2, &limited, true, at(30));
        assert_eq!(third["conditions"][0], first["conditions"][0]);
        assert_eq!(third["conditions"][2]["lastTransitionTime"], stamp(at(30)));
    }
}
