//! The targets of HPAs: Deployments, which are all that is scaled here.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::core::{Selector, SelectorExt as _};

use crate::store::Stores;
use evenkeel_core::scaling::hpa::ScaleError;
use evenkeel_core::scaling::signal::ObjectReference;

const KIND: &str = "Deployment";

/// The targets of the HPAs of one namespace.
pub(super) struct Targets<'a> {
    stores: &'a Stores,
    namespace: &'a str,
}

/// A target with its Pods.
pub(super) struct Target {
    pub(super) spec_replicas: i32,
    pub(super) status_replicas: i32,
    pub(super) selector: String,
    pub(super) pods: Vec<Arc<Pod>>,
}

impl<'a> Targets<'a> {
    pub(super) const fn new(stores: &'a Stores, namespace: &'a str) -> Self {
        Self { stores, namespace }
    }

    /// The target that an HPA refers to.
    ///
    /// # Errors
    /// The target is of a kind that is not scaled here, or there is none.
    pub(super) fn of(&self, target: &ObjectReference) -> Result<Target, ScaleError> {
        if target.kind != KIND {
            let group = target
                .api_version
                .split_once('/')
                .map_or("", |(group, _)| group);
            return Err(ScaleError::NoMatch {
                group: group.to_owned(),
                kind: target.kind.clone(),
            });
        }
        let name = &target.name;
        let found = self.stores.deployments.get(self.namespace, name);
        let deployment =
            found.ok_or_else(|| ScaleError::Get(format!("deployments.apps {name:?} not found")))?;
        Ok(self.target(&deployment))
    }

    fn target(&self, deployment: &Deployment) -> Target {
        let spec = deployment.spec.as_ref();
        let status = deployment.status.as_ref();
        let selector = selector(deployment);
        let mut pods = self.stores.pods.list();
        pods.retain(|pod| {
            let is_ours = pod.namespace().as_deref() == Some(self.namespace);
            is_ours && selector.as_ref().is_some_and(|by| by.matches(pod.labels()))
        });
        Target {
            spec_replicas: spec.and_then(|spec| spec.replicas).unwrap_or(1),
            status_replicas: status.and_then(|status| status.replicas).unwrap_or(0),
            selector: selector.map_or(String::new(), |selector| selector.to_string()),
            pods,
        }
    }

    /// The HPAs whose targets select any of these Pods, as `namespace/name`.
    pub(super) fn autoscalers(&self, pods: &[Arc<Pod>]) -> Vec<String> {
        let selects_any = |hpa: &HorizontalPodAutoscaler| {
            let target = hpa.spec.as_ref().map(|spec| &spec.scale_target_ref);
            let target = target.filter(|target| target.kind == KIND)?;
            let deployment = self.stores.deployments.get(self.namespace, &target.name)?;
            let selector = selector(&deployment)?;
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

fn selector(deployment: &Deployment) -> Option<Selector> {
    let spec = deployment.spec.as_ref()?;
    Selector::try_from(spec.selector.clone()).ok()
}
