//! Reads of the API server, with failures as data.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

use axum::http::Request;
use evenkeel_objects::annotated_object::AnnotatedObject;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::lenient_object::UnreadableItems;
use evenkeel_service::cluster::paged_list::{for_each_readable, list};
use evenkeel_service::cluster::read_outcome::ReadOutcome;
use evenkeel_service::watched_types::ListedObject;
use k8s_openapi::NamespaceResourceScope;
use kube::api::ListParams;
use kube::core::Resource;
use kube::{Api, Client};
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Clone, Copy)]
pub(super) struct ClusterReader<'a> {
    pub client: &'a Client,
    pub namespace: &'a str,
    pub left_out: &'a LeftOut,
}

impl<'a> ClusterReader<'a> {
    pub(super) const fn new(client: &'a Client, namespace: &'a str, left_out: &'a LeftOut) -> Self {
        Self {
            client,
            namespace,
            left_out,
        }
    }
}

/// The objects that cannot be read, and are left out of their lists, a text for each list.
#[derive(Default)]
pub(super) struct LeftOut(Mutex<BTreeSet<String>>);

impl LeftOut {
    pub(super) fn into_texts(self) -> Vec<String> {
        let texts = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        texts.into_iter().collect()
    }

    pub(super) fn note(&self, kind: &str, unreadable: UnreadableItems) {
        if let Some(unreadable) = unreadable.any() {
            let mut texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            texts.insert(format!("{kind}: {unreadable}"));
        }
    }
}

/// The API server's version: the first call, so that one which cannot be reached is told as such.
pub(super) async fn version(client: &Client) -> kube::Result<ReadOutcome<String>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        git_version: String,
    }
    let request = Request::get("/version")
        .body(Vec::new())
        .expect("the path is valid");
    match client.request::<Version>(request).await {
        Ok(version) => Ok(ReadOutcome::There(version.git_version)),
        Err(error @ (kube::Error::Api(_) | kube::Error::SerdeError(_))) => {
            Ok(ReadOutcome::of(Err(error), || {
                "get --raw /version".to_owned()
            }))
        }
        Err(error) => Err(error),
    }
}

/// The names of the API groups that are served.
pub(super) async fn api_groups(client: &Client) -> ReadOutcome<Vec<String>> {
    let groups = client.list_api_groups().await;
    let names = groups.map(|list| list.groups.into_iter().map(|group| group.name).collect());
    ReadOutcome::of(names, || "get --raw /apis".to_owned())
}

impl ClusterReader<'_> {
    pub(super) async fn own<K>(&self, name: &str) -> ReadOutcome<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), self.namespace);
        ReadOutcome::of(api.get(name).await, || {
            format!("get {}/{name} -n {}", kind::<K>(), self.namespace)
        })
    }

    /// The annotations of an object of the namespace, without the rest of it.
    pub(super) async fn annotations<K>(
        &self,
        name: &str,
    ) -> ReadOutcome<Option<BTreeMap<String, String>>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), self.namespace);
        let read = api.get_metadata(name).await;
        ReadOutcome::of(read, || {
            format!("get {}/{name} -n {}", kind::<K>(), self.namespace)
        })
        .map(|object| object.metadata.annotations)
    }

    pub(super) async fn named<K>(&self, name: &str) -> ReadOutcome<K>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        ReadOutcome::of(api.get(name).await, || {
            format!("get {}/{name}", kind::<K>())
        })
    }

    /// The objects of the namespace with `labels`.
    pub(super) async fn all_own<K>(&self, labels: &str) -> ReadOutcome<Vec<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), self.namespace);
        let params = ListParams::default().labels(labels);
        ReadOutcome::of(self.readable(&api, params).await, || {
            format!("list {} -n {}", kind::<K>(), self.namespace)
        })
    }

    /// The objects of the cluster with `labels`.
    pub(super) async fn all<K>(&self, labels: &str) -> ReadOutcome<Vec<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        self.list(ListParams::default().labels(labels)).await
    }

    /// The Pods of the cluster that are bound to no node.
    pub(super) async fn unbound<K>(&self) -> ReadOutcome<Vec<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        self.list(ListParams::default().fields("spec.nodeName="))
            .await
    }

    /// The objects of a kind in the whole cluster, those that `is_kept` tells.
    pub(super) async fn objects(
        &self,
        kind: Kind,
        is_kept: impl Fn(&AnnotatedObject) -> bool,
    ) -> ReadOutcome<Vec<AnnotatedObject>> {
        let api: Api<ListedObject> = Api::all_with(self.client.clone(), &kind.api_resource());
        let mut kept = Vec::new();
        let keep = |listed: ListedObject| {
            if is_kept(&listed.object) {
                kept.push(listed.object);
            }
        };
        let read = for_each_readable(&api, ListParams::default(), keep).await;
        ReadOutcome::of(read, || {
            format!("list {} --all-namespaces", kind.qualified())
        })
        .map(|unreadable| {
            self.left_out.note(&kind.qualified(), unreadable);
            kept
        })
    }

    async fn list<K>(&self, params: ListParams) -> ReadOutcome<Vec<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        ReadOutcome::of(self.readable(&api, params).await, || {
            format!("list {} --all-namespaces", kind::<K>())
        })
    }

    async fn readable<K>(&self, api: &Api<K>, params: ListParams) -> kube::Result<Vec<K>>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned,
    {
        let (objects, unreadable) = list(api, params).await?;
        self.left_out.note(&kind::<K>(), unreadable);
        Ok(objects)
    }
}

/// The resource as `kubectl` takes it.
fn kind<K: Resource<DynamicType = ()>>() -> String {
    let (plural, group) = (K::plural(&()), K::group(&()));
    if group.is_empty() {
        plural.into_owned()
    } else {
        format!("{plural}.{group}")
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_service::cluster::read_outcome::ReadFailure;
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::Pod;
    use kube::core::Status;

    use super::*;

    #[test]
    fn failures_are_told_apart() {
        let answered = |code| {
            let status = Status::failure("the message", "Reason").with_code(code);
            let error: kube::Result<()> = Err(kube::Error::Api(status.boxed()));
            ReadOutcome::of(error, || "get pods".to_owned())
        };
        let needs = ReadOutcome::Unseen(ReadFailure::Needs("get pods".to_owned()));
        assert_eq!(answered(404), ReadOutcome::Absent);
        assert_eq!(answered(403), needs);
        assert_eq!(answered(401), needs);
        let failed = ReadFailure::Failed("the message".to_owned());
        assert_eq!(answered(503), ReadOutcome::Unseen(failed));
    }

    #[test]
    fn kinds_are_those_of_kubectl() {
        assert_eq!(kind::<Pod>(), "pods");
        assert_eq!(kind::<Deployment>(), "deployments.apps");
    }
}
