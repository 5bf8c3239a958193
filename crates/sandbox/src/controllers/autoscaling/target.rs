//! The targets of HPAs: only Deployments are scaled here.

use std::sync::Arc;

use evenkeel_hpa::ScaleError;
use evenkeel_hpa::autoscaler::AutoscalerSpec;
use evenkeel_label_selector::Selector;
use evenkeel_objects::kinds::Kind;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;

use crate::store::{StoredAutoscaler, Stores};

/// Kubernetes' text of an invalid selector.
const NO_SELECTOR: &str = "<error>";

/// A part that does not parse is empty; the API server has refused it before.
pub(super) fn spec(object: &StoredAutoscaler) -> AutoscalerSpec {
    serde_json::from_value(object.spec.clone()).unwrap_or_default()
}

/// In one namespace.
pub(super) struct HpaTargetLookup<'a> {
    stores: &'a Stores,
    namespace: &'a str,
}

pub(super) struct HpaTargetScale {
    pub(super) spec_replicas: i32,
    pub(super) status_replicas: i32,
    pub(super) selector: String,
    /// The selected Pods; an error for an invalid selector.
    pub(super) pods: Result<Vec<Arc<Pod>>, String>,
}

impl<'a> HpaTargetLookup<'a> {
    pub(super) const fn new(stores: &'a Stores, namespace: &'a str) -> Self {
        Self { stores, namespace }
    }

    /// # Errors
    /// The target has a kind that is not scaled here, or does not exist.
    pub(super) fn of(&self, autoscaler: &AutoscalerSpec) -> Result<HpaTargetScale, ScaleError> {
        let name = name_of_deployment(autoscaler)?;
        let found = self.stores.deployments.get(self.namespace, name);
        let deployment =
            found.ok_or_else(|| ScaleError::Get(format!("deployments.apps {name:?} not found")))?;
        let mut pods = self.stores.pods.list();
        pods.retain(|pod| pod.namespace().as_deref() == Some(self.namespace));
        Ok(target(&deployment, pods))
    }

    /// With targets that select any of these Pods, as `namespace/name`.
    pub(super) fn autoscalers(&self, pods: &[Arc<Pod>]) -> Vec<String> {
        let selects_any = |hpa: &StoredAutoscaler| {
            let target = spec(hpa).scale_target_ref;
            let kind = Kind::of(&target.api_version, &target.kind);
            kind.filter(|kind| *kind == Kind::Deployment)?;
            let deployment = self.stores.deployments.get(self.namespace, &target.name)?;
            let selector = selector(&deployment).ok()?;
            let mut pods = pods.iter();
            pods.any(|pod| selector.matches(pod.labels())).then_some(())
        };
        let all = self.stores.autoscalers.list();
        let ours = all
            .iter()
            .filter(|hpa| hpa.namespace().as_deref() == Some(self.namespace));
        let selecting = ours.filter(|hpa| selects_any(hpa).is_some());
        selecting
            .map(|hpa| format!("{}/{}", self.namespace, hpa.name_any()))
            .collect()
    }
}

/// The Deployment of an HPA.
///
/// # Errors
/// The HPA scales something else.
fn name_of_deployment(autoscaler: &AutoscalerSpec) -> Result<&str, ScaleError> {
    let group = autoscaler.scale_target_group()?;
    let target = &autoscaler.scale_target_ref;
    if Kind::of(&target.api_version, &target.kind) == Some(Kind::Deployment) {
        return Ok(&target.name);
    }
    Err(ScaleError::NoMatch {
        group: group.to_owned(),
        kind: target.kind.clone(),
    })
}

/// With the selected Pods among those of its namespace.
fn target(deployment: &Deployment, mut pods: Vec<Arc<Pod>>) -> HpaTargetScale {
    let spec = deployment.spec.as_ref();
    let status = deployment.status.as_ref();
    let selector = selector(deployment);
    HpaTargetScale {
        spec_replicas: spec.and_then(|spec| spec.replicas).unwrap_or(1),
        status_replicas: status.and_then(|status| status.replicas).unwrap_or(0),
        selector: selector
            .as_ref()
            .map_or_else(|_| NO_SELECTOR.to_owned(), Selector::to_string),
        pods: selector.map(|selector| {
            pods.retain(|pod| selector.matches(pod.labels()));
            pods
        }),
    }
}

fn selector(deployment: &Deployment) -> Result<Selector, String> {
    let spec = deployment.spec.as_ref();
    let object = spec.map(|spec| spec.selector.clone()).unwrap_or_default();
    Selector::try_from(object).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::typed;

    fn refused(api_version: &str, kind: &str) -> String {
        let target = json!({"apiVersion": api_version, "kind": kind, "name": "web"});
        let spec = json!({"maxReplicas": 3, "scaleTargetRef": target});
        let spec: AutoscalerSpec = serde_json::from_value(spec).unwrap();
        name_of_deployment(&spec).map_or_else(|error| error.to_string(), str::to_owned)
    }

    #[test]
    fn a_target_that_is_not_scaled_is_refused_as_kubernetes_does() {
        for (api_version, kind, told) in [
            ("apps/v1", "Deployment", "web"),
            (
                "apps/v1",
                "CronJob",
                "no matches for kind \"CronJob\" in group \"apps\"",
            ),
            (
                "v1",
                "Deployment",
                "no matches for kind \"Deployment\" in group \"\"",
            ),
            ("a/b/c", "Widget", "unexpected GroupVersion string: a/b/c"),
        ] {
            assert_eq!(refused(api_version, kind), told);
        }
    }

    fn web(selector: &Value) -> Deployment {
        let spec = json!({"replicas": 3, "selector": selector, "template": {}});
        typed(json!({"metadata": {"name": "web"}, "spec": spec}))
    }

    #[test]
    fn a_selector_that_is_none_is_no_missing_one() {
        let pods = ["web", "db"].map(|app| {
            let labels = json!({"app": app});
            Arc::new(typed(json!({"metadata": {"name": app, "labels": labels}})))
        });
        let good = target(&web(&json!({"matchLabels": {"app": "web"}})), pods.to_vec());
        assert_eq!(good.selector, "app=web");
        let names: Vec<_> = good
            .pods
            .unwrap()
            .iter()
            .map(|pod| pod.name_any())
            .collect();
        assert_eq!(names, ["web"]);

        let like = json!({"matchExpressions": [{"key": "app", "operator": "Like"}]});
        let like = target(&web(&like), pods.to_vec());
        assert!(!like.selector.is_empty(), "an empty one is missing");
        let error = like.pods.unwrap_err();
        assert!(error.contains("operator"), "{error}");
    }
}
