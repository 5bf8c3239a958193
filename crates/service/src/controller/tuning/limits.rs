//! All namespaces' LimitRanges, ResourceQuotas and VerticalPodAutoscalers, as last listed.

use std::collections::{BTreeMap, HashMap, HashSet};

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::lenient_object::UnreadableObject;
use evenkeel_objects::meta::Meta;
use evenkeel_tuning::namespace_limits::{LimitRange, NamespaceLimits, ResourceQuota};
use evenkeel_tuning::vertical_pod_autoscaler::VerticalPodAutoscaler;
use kube::api::DynamicObject;
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use super::request_deadline::{TimedRequestError, for_each_in_time};
use super::workloads::WorkloadId;

#[derive(Debug, Default)]
pub(super) struct ResizeLimits {
    namespaces: HashMap<String, NamespaceLimits>,
    /// The VerticalPodAutoscalers that change Pods, by namespace, kind and name of the workload.
    vertical: HashMap<(String, String, String), String>,
    /// Why nothing is resized, where the kinds cannot be listed.
    unlisted: Option<String>,
    /// By namespace, one of the objects that cannot be read, with the reason.
    unreadable: BTreeMap<String, String>,
}

impl ResizeLimits {
    /// The limits of a cluster with an API server that does not list them.
    pub(super) fn unlisted(error: &TimedRequestError) -> Self {
        Self {
            unlisted: Some(format!(
                "LimitRanges, ResourceQuotas or VerticalPodAutoscalers cannot be listed: {error}"
            )),
            ..Self::default()
        }
    }

    /// Lists those of the cluster. An object that cannot be read counts for its own namespace.
    pub(super) async fn list(client: &Client) -> Result<Self, TimedRequestError> {
        let mut limits = Self::default();
        let mut ranges: HashMap<String, Vec<LimitRange>> = HashMap::new();
        let of_range = |range: LimitRange| {
            let namespace = namespace_of(&range.metadata);
            ranges.entry(namespace).or_default().push(range);
        };
        limits.read(client, Kind::LimitRange, of_range).await?;
        let mut quotas: HashMap<String, Vec<ResourceQuota>> = HashMap::new();
        let of_quota = |quota: ResourceQuota| {
            let namespace = namespace_of(&quota.metadata);
            quotas.entry(namespace).or_default().push(quota);
        };
        limits.read(client, Kind::ResourceQuota, of_quota).await?;
        let names: HashSet<String> = ranges.keys().chain(quotas.keys()).cloned().collect();
        for name in names {
            let ranges = ranges.remove(&name).unwrap_or_default();
            let quotas = quotas.remove(&name).unwrap_or_default();
            let left = NamespaceLimits::of(ranges, &quotas);
            limits.namespaces.insert(name, left);
        }
        let mut vertical = HashMap::new();
        let of_vertical = |object: VerticalPodAutoscaler| vertical.extend(changed(&object));
        let kind = Kind::VerticalPodAutoscaler;
        match limits.read(client, kind, of_vertical).await {
            // A cluster that does not know the kind has none.
            Err(TimedRequestError::Failed(kube::Error::Api(status))) if status.code == 404 => {}
            answer => answer?,
        }
        limits.vertical = vertical;
        Ok(limits)
    }

    async fn read<T: DeserializeOwned>(
        &mut self,
        client: &Client,
        kind: Kind,
        mut take: impl FnMut(T),
    ) -> Result<(), TimedRequestError> {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.api_resource());
        for_each_in_time(&api, |object| match object.0 {
            Ok(object) => take(object),
            Err(UnreadableObject { metadata, error }) => {
                let name = metadata.name.unwrap_or_default();
                let why = format!("the {} {name} cannot be read: {error}", kind.as_str());
                let namespace = metadata.namespace.unwrap_or_default();
                self.unreadable.entry(namespace).or_insert(why);
            }
        })
        .await
    }

    /// Why nothing is resized in a namespace: an unreadable limit is not a missing one.
    pub(super) fn unknown(&self, namespace: &str) -> Option<&str> {
        let unreadable = [namespace, ""].map(|name| self.unreadable.get(name));
        let mut all = [self.unlisted.as_ref()].into_iter().chain(unreadable);
        all.find_map(|why| why.map(String::as_str))
    }

    /// The namespaces of objects that cannot be read, each with one of them.
    pub(super) const fn unreadable(&self) -> &BTreeMap<String, String> {
        &self.unreadable
    }

    pub(super) fn vertical(&self, (namespace, kind, name): &WorkloadId) -> Option<&str> {
        let of = (namespace.to_string(), (*kind).to_owned(), name.clone());
        self.vertical.get(&of).map(String::as_str)
    }

    #[cfg(test)]
    pub(super) fn with_vertical(object: &VerticalPodAutoscaler) -> Self {
        Self {
            vertical: changed(object).into_iter().collect(),
            ..Self::default()
        }
    }

    pub(super) fn of(&self, namespace: &str) -> NamespaceLimits {
        self.namespaces.get(namespace).cloned().unwrap_or_default()
    }
}

fn namespace_of(metadata: &Meta) -> String {
    metadata.namespace.clone().unwrap_or_default()
}

/// The workload with the Pods that an object changes, and the object's name.
fn changed(object: &VerticalPodAutoscaler) -> Option<((String, String, String), String)> {
    let (kind, name) = object.changes()?;
    let namespace = namespace_of(&object.metadata);
    let workload = (namespace, kind.to_owned(), name.to_owned());
    Some((workload, object.metadata.name.clone().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::http::{Request, Response};

    use super::*;

    fn list(items: &str) -> String {
        format!(
            r#"{{"kind": "List", "apiVersion": "v1", "metadata": {{"resourceVersion": "7"}}, "items": [{items}]}}"#
        )
    }

    /// The limits of a cluster with these objects; `None` means without VerticalPodAutoscalers.
    async fn limits(ranges: &str, quotas: &str, vertical: Option<&str>) -> ResizeLimits {
        let (ranges, quotas, vertical) = (list(ranges), list(quotas), vertical.map(list));
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let path = request.uri().path();
            let text = match path.rsplit('/').next() {
                Some("limitranges") => Some(&ranges),
                Some("resourcequotas") => Some(&quotas),
                _ => vertical.as_ref(),
            };
            let status = if text.is_some() { 200 } else { 404 };
            let body = Body::from(text.cloned().unwrap_or_default());
            let answer = Response::builder().status(status).body(body);
            async move { Ok::<_, Infallible>(answer.unwrap()) }
        });
        let client = Client::new(service, "default");
        ResizeLimits::list(&client).await.unwrap()
    }

    fn object(namespace: &str, name: &str, fields: &str) -> String {
        format!(r#"{{"metadata": {{"namespace": "{namespace}", "name": "{name}"}}, {fields}}}"#)
    }

    /// The harm: one object of one tenant stopped tuning in all namespaces.
    #[tokio::test]
    async fn an_object_that_cannot_be_read_counts_for_its_own_namespace() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(500), "}".repeat(500));
        let unread = format!(r#""status": {deep}, "spec": {{"other": {deep}, "limits": []}}"#);
        let ranges = [
            object("shop", "plain", r#""spec": {"limits": []}"#),
            object("shop", "deep", &unread),
            object("odd", "caps", r#""spec": {"limits": 5}"#),
            object(
                "deep",
                "caps",
                &format!(r#""spec": {{"limits": [{{"min": {{"cpu": {deep}}}}}]}}"#),
            ),
        ];
        let quotas = object("full", "pods", r#""status": {"hard": ["cpu"]}"#);
        let vertical = [
            object(
                "shop",
                "web",
                r#""spec": {"targetRef": {"kind": "Deployment", "name": "web"}}"#,
            ),
            object("tall", "web", r#""spec": "all""#),
        ];
        let limits = limits(&ranges.join(","), &quotas, Some(&vertical.join(","))).await;
        for (namespace, object) in [
            ("shop", None),
            ("other", None),
            ("odd", Some("the LimitRange caps cannot be read: ")),
            ("deep", Some("the LimitRange caps cannot be read: ")),
            ("full", Some("the ResourceQuota pods cannot be read: ")),
            (
                "tall",
                Some("the VerticalPodAutoscaler web cannot be read: "),
            ),
        ] {
            let why = limits.unknown(namespace);
            let begins = why.zip(object).map(|(why, object)| why.starts_with(object));
            assert_eq!(begins, object.map(|_| true), "{namespace}: {why:?}");
            assert_eq!(why.is_some(), object.is_some(), "{namespace}: {why:?}");
        }
        let web = ("shop".into(), "Deployment", "web".to_owned());
        assert_eq!(limits.vertical(&web), Some("web"));
        assert_eq!(limits.unreadable().len(), 4);
    }

    #[tokio::test]
    async fn a_cluster_without_the_kind_has_no_vertical_pod_autoscalers() {
        let limits = limits("", "", None).await;
        assert_eq!(limits.unknown("shop"), None);
        assert!(limits.vertical.is_empty());
    }
}
