//! The scale of an HPA's target, of any kind that the cluster serves.

use evenkeel_hpa::ScaleError;
use evenkeel_hpa::autoscaler::{AutoscalerSpec, ScaleTarget};
use evenkeel_objects::group_version::GroupVersion;
use evenkeel_objects::kinds::Kind;
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client};

use super::read_error::{HpaReadError, required, right};
use crate::cluster::read_outcome::ReadOutcome;

pub(super) struct TargetLookup<'a> {
    pub(super) client: &'a Client,
    pub(super) namespace: &'a str,
}

/// The fields of a scale that the algorithm reads.
pub(super) struct ReadScale {
    pub(super) spec_replicas: i32,
    pub(super) status_replicas: i32,
    pub(super) selector: String,
}

impl TargetLookup<'_> {
    /// The scale, or why the HPA controller has none.
    ///
    /// # Errors
    /// A right is missing, or the API server fails.
    pub(super) async fn scale(
        &self,
        spec: &AutoscalerSpec,
    ) -> Result<Result<ReadScale, ScaleError>, HpaReadError> {
        let ScaleTarget { kind, name, .. } = &spec.scale_target_ref;
        let group = match spec.scale_target_group() {
            Ok(group) => group,
            Err(error) => return Ok(Err(error)),
        };
        let Some(resource) = self.resource(spec).await? else {
            return Ok(Err(ScaleError::NoMatch {
                group: group.to_owned(),
                kind: kind.clone(),
            }));
        };
        let qualified = if group.is_empty() {
            resource.plural.clone()
        } else {
            format!("{}.{group}", resource.plural)
        };
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), self.namespace, &resource);
        let read = ReadOutcome::of(api.get_scale(name).await, || {
            let resource = format!("{qualified} --subresource=scale");
            right("get", &resource, self.namespace)
        });
        let what = format!("the scale of {kind} {}/{name}", self.namespace);
        let absent = || ScaleError::Get(format!("{qualified} {name:?} not found"));
        Ok(required(read, &what)?
            .map(ReadScale::from)
            .ok_or_else(absent))
    }

    /// The resource of the target's kind; `None` if the cluster serves no such kind.
    async fn resource(&self, spec: &AutoscalerSpec) -> Result<Option<ApiResource>, HpaReadError> {
        let ScaleTarget {
            api_version, kind, ..
        } = &spec.scale_target_ref;
        if let Some(known) = Kind::of(api_version, kind) {
            return Ok(Some(known.api_resource()));
        }
        let Some(version) = GroupVersion::parse(api_version) else {
            return Ok(None);
        };
        let listed = if version.group().is_empty() {
            self.client.list_core_api_resources(version.version()).await
        } else {
            self.client.list_api_group_resources(api_version).await
        };
        let read = ReadOutcome::of(listed, || format!("get --raw {}", version.path()));
        let list: Option<APIResourceList> = required(read, &format!("the API {api_version}"))?;
        let mut resources = list.into_iter().flat_map(|list| list.resources);
        let found = resources.find(|one| one.kind == *kind && !one.name.contains('/'));
        Ok(found.map(|found| ApiResource {
            group: version.group().to_owned(),
            version: version.version().to_owned(),
            api_version: api_version.clone(),
            kind: kind.clone(),
            plural: found.name,
        }))
    }
}

impl From<Scale> for ReadScale {
    fn from(scale: Scale) -> Self {
        let spec = scale.spec.unwrap_or_default();
        let status = scale.status.unwrap_or_default();
        Self {
            spec_replicas: spec.replicas.unwrap_or_default(),
            status_replicas: status.replicas,
            selector: status.selector.unwrap_or_default(),
        }
    }
}
