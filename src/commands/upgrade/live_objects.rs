//! The objects of an installation as they are in a cluster.

use std::collections::{BTreeMap, BTreeSet};

use evenkeel_objects::kinds::Kind;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;

use evenkeel_service::cluster::paged_list::list;
use evenkeel_service::uninstall::{InventoryObjectRef, ListFailure};
use evenkeel_service::uninstall_plan::installation::{InstallationScope, KINDS, label_selector};

/// Kinds of which processes of Evenkeel make objects that no manifest has.
const MADE_BY_PROCESSES: [Kind; 3] = [Kind::Secret, Kind::Lease, Kind::ApiService];

#[derive(Debug, Default)]
pub(super) struct LiveObjects {
    pub(super) objects: BTreeMap<InventoryObjectRef, Value>,
    pub(super) unseen: Vec<ListFailure>,
    pub(super) unseen_kinds: BTreeSet<String>,
}

impl LiveObjects {
    /// Reads them; `shipped` are the objects of the manifests.
    pub(super) async fn read(client: &Client, namespace: &str, shipped: &[Value]) -> Self {
        let mut live = Self::default();
        for (place, kind) in KINDS {
            if !MADE_BY_PROCESSES.contains(&kind) {
                live.list(client, place, kind, namespace).await;
            }
        }
        for object in shipped {
            let object_names = names(object);
            let is_read = live.objects.contains_key(&object_names)
                || live.unseen_kinds.contains(&object_names.kind);
            if !is_read && let Some(kind) = kind_of(object) {
                live.get(client, kind, object_names).await;
            }
        }
        live
    }

    async fn list(&mut self, client: &Client, place: InstallationScope, kind: Kind, own: &str) {
        let namespace = place.namespace(own);
        let params = ListParams {
            label_selector: label_selector(kind).map(str::to_owned),
            ..ListParams::default()
        };
        match list(&api(client, kind, namespace), params).await {
            Ok((objects, unreadable)) => {
                for object in &objects {
                    self.take(kind, object);
                }
                if unreadable.count > 0 {
                    self.miss(kind, namespace, unreadable.to_string());
                }
            }
            Err(error) => self.fail(kind, namespace, &error),
        }
    }

    /// Reads one that carries no label of Evenkeel's.
    async fn get(&mut self, client: &Client, kind: Kind, object: InventoryObjectRef) {
        let api = api(client, kind, object.namespace.as_deref());
        match api.get_opt(&object.name).await {
            Ok(Some(found)) => self.take(kind, &found),
            Ok(None) => {}
            Err(error) => self.fail(kind, object.namespace.as_deref(), &error),
        }
    }

    fn take(&mut self, kind: Kind, object: &DynamicObject) {
        let names = InventoryObjectRef {
            kind: kind.as_str().to_owned(),
            namespace: object.namespace(),
            name: object.name_any(),
        };
        let value = serde_json::to_value(object).unwrap_or_default();
        self.objects.insert(names, value);
    }

    /// A kind that the API server does not serve has no objects.
    fn fail(&mut self, kind: Kind, namespace: Option<&str>, error: &kube::Error) {
        if matches!(error, kube::Error::Api(status) if status.code == 404) {
            return;
        }
        self.miss(kind, namespace, error.to_string());
    }

    fn miss(&mut self, kind: Kind, namespace: Option<&str>, why: String) {
        let place = namespace.map_or(String::new(), |name| format!(" -n {name}"));
        self.unseen_kinds.insert(kind.as_str().to_owned());
        self.unseen.push(ListFailure {
            what: format!("{}{place}", kind.plural()),
            why,
        });
    }
}

fn api(client: &Client, kind: Kind, namespace: Option<&str>) -> Api<DynamicObject> {
    let resource = kind.api_resource();
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

fn kind_of(object: &Value) -> Option<Kind> {
    Kind::of(object["apiVersion"].as_str()?, object["kind"].as_str()?)
}

pub(super) fn names(object: &Value) -> InventoryObjectRef {
    let text = |field: &Value| field.as_str().map(str::to_owned);
    InventoryObjectRef {
        kind: text(&object["kind"]).unwrap_or_default(),
        namespace: text(&object["metadata"]["namespace"]),
        name: text(&object["metadata"]["name"]).unwrap_or_default(),
    }
}
