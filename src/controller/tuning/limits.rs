//! LimitRanges and ResourceQuotas of all namespaces, as they were last listed.

use std::collections::HashMap;

use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt as _};
use serde::de::DeserializeOwned;
use serde_json::json;

use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::namespace_limits::{LimitRange, NamespaceLimits, ResourceQuota};

/// The most objects in one answer.
const PAGE: u32 = 500;

/// What is left in each namespace.
#[derive(Debug, Default)]
pub(super) struct Limits {
    namespaces: HashMap<String, NamespaceLimits>,
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
    pub(super) async fn list(client: &Client) -> kube::Result<Self> {
        let mut ranges: HashMap<String, Vec<LimitRange>> = HashMap::new();
        all(client, Kind::LimitRange, &mut ranges).await?;
        let mut quotas: HashMap<String, Vec<ResourceQuota>> = HashMap::new();
        all(client, Kind::ResourceQuota, &mut quotas).await?;
        let names: std::collections::HashSet<String> =
            ranges.keys().chain(quotas.keys()).cloned().collect();
        let of = |name: String| {
            let ranges = ranges.remove(&name).unwrap_or_default();
            let quotas = quotas.remove(&name).unwrap_or_default();
            (name, NamespaceLimits::of(ranges, &quotas))
        };
        Ok(Self {
            namespaces: names.into_iter().map(of).collect(),
            are_unknown: false,
        })
    }

    /// What is left in a namespace.
    pub(super) fn of(&self, namespace: &str) -> NamespaceLimits {
        self.namespaces.get(namespace).cloned().unwrap_or_default()
    }
}

async fn all<T: DeserializeOwned>(
    client: &Client,
    kind: Kind,
    found: &mut HashMap<String, Vec<T>>,
) -> kube::Result<()> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.api_resource());
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = api.list(&params).await?;
        for object in page.items {
            let namespace = object.namespace().unwrap_or_default();
            let read = serde_json::from_value(json!(object)).map_err(kube::Error::SerdeError)?;
            found.entry(namespace).or_default().push(read);
        }
        match page.metadata.continue_.filter(|more| !more.is_empty()) {
            Some(more) => params = params.continue_token(&more),
            None => return Ok(()),
        }
    }
}
