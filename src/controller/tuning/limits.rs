//! LimitRanges, ResourceQuotas and VerticalPodAutoscalers of all namespaces, as they were last listed.

use std::collections::HashMap;

use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;

use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::namespace_limits::{LimitRange, NamespaceLimits, ResourceQuota};
use evenkeel_kubernetes::vertical_pod_autoscaler::VerticalPodAutoscaler;

use super::in_time::{Unanswered, for_each_in_time};
use super::workloads::WorkloadId;

/// What is left in each namespace.
#[derive(Debug, Default)]
pub(super) struct Limits {
    namespaces: HashMap<String, NamespaceLimits>,
    /// The names of the VerticalPodAutoscalers that change Pods, by namespace, kind and name of the workload.
    vertical: HashMap<(String, String, String), String>,
    /// True where they cannot be listed: then nothing is resized.
    pub(super) are_unknown: bool,
}

impl Limits {
    pub(super) fn unknown() -> Self {
        Self {
            are_unknown: true,
            ..Self::default()
        }
    }

    /// Lists those of the cluster.
    pub(super) async fn list(client: &Client) -> Result<Self, Unanswered> {
        let mut ranges: HashMap<String, Vec<LimitRange>> = HashMap::new();
        all(client, &Kind::LimitRange.api_resource(), &mut ranges).await?;
        let mut quotas: HashMap<String, Vec<ResourceQuota>> = HashMap::new();
        all(client, &Kind::ResourceQuota.api_resource(), &mut quotas).await?;
        let names: std::collections::HashSet<String> =
            ranges.keys().chain(quotas.keys()).cloned().collect();
        let of = |name: String| {
            let ranges = ranges.remove(&name).unwrap_or_default();
            let quotas = quotas.remove(&name).unwrap_or_default();
            (name, NamespaceLimits::of(ranges, &quotas))
        };
        Ok(Self {
            namespaces: names.into_iter().map(of).collect(),
            vertical: vertical(client).await?,
            are_unknown: false,
        })
    }

    /// The VerticalPodAutoscaler that changes the Pods of a workload.
    pub(super) fn vertical(&self, (namespace, kind, name): &WorkloadId) -> Option<&str> {
        let of = (namespace.to_string(), (*kind).to_owned(), name.clone());
        self.vertical.get(&of).map(String::as_str)
    }

    #[cfg(test)]
    pub(super) fn with_vertical(namespace: &str, object: &VerticalPodAutoscaler) -> Self {
        Self {
            vertical: changed(namespace, object).into_iter().collect(),
            ..Self::default()
        }
    }

    /// What is left in a namespace.
    pub(super) fn of(&self, namespace: &str) -> NamespaceLimits {
        self.namespaces.get(namespace).cloned().unwrap_or_default()
    }
}

/// Those that change Pods; none in a cluster that does not know the kind.
async fn vertical(
    client: &Client,
) -> Result<HashMap<(String, String, String), String>, Unanswered> {
    let resource = Kind::VerticalPodAutoscaler.api_resource();
    let mut found: HashMap<String, Vec<VerticalPodAutoscaler>> = HashMap::new();
    match all(client, &resource, &mut found).await {
        Err(Unanswered::Failed(kube::Error::Api(status))) if status.code == 404 => {}
        answer => answer?,
    }
    let found = found.iter();
    let found = found.flat_map(|(namespace, all)| all.iter().map(move |one| (namespace, one)));
    Ok(found
        .filter_map(|(namespace, one)| changed(namespace, one))
        .collect())
}

/// The workload whose Pods an object changes, with the object's name.
fn changed(
    namespace: &str,
    object: &VerticalPodAutoscaler,
) -> Option<((String, String, String), String)> {
    let (kind, name) = object.changes()?;
    let workload = (namespace.to_owned(), kind.to_owned(), name.to_owned());
    Some((workload, object.metadata.name.clone().unwrap_or_default()))
}

async fn all<T: DeserializeOwned>(
    client: &Client,
    resource: &ApiResource,
    found: &mut HashMap<String, Vec<T>>,
) -> Result<(), Unanswered> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    let mut unreadable = None;
    let take = |object: DynamicObject| {
        let namespace = object.namespace().unwrap_or_default();
        match serde_json::from_value(json!(object)) {
            Ok(read) => found.entry(namespace).or_default().push(read),
            Err(error) => unreadable = Some(error),
        }
    };
    for_each_in_time(&api, take).await?;
    // A limit that is not understood is not one that is not there.
    match unreadable {
        Some(error) => Err(kube::Error::SerdeError(error).into()),
        None => Ok(()),
    }
}
