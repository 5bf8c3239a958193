//! The controllers of a cluster that act at an object's end: dependents of gone objects go too,
//! namespaces are emptied, old Events are deleted.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::api_request::ApiRequest;
use crate::meta;
use crate::resources::definition;
use crate::state::Api;
use crate::store::{GarbageNotice, Location, ObjectKey, StoredObject};
use crate::verbs::delete;
use crate::verbs::update::{self, UpdateScope};
use crate::wire::query::{DeleteOptions, Propagation};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";
const EVENT_LIFE: SignedDuration = SignedDuration::from_hours(1);
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Runs until the server is gone.
pub(crate) async fn run(api: Arc<Api>, mut work: mpsc::UnboundedReceiver<GarbageNotice>) {
    let mut sweep = interval(SWEEP_INTERVAL);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            notice = work.recv() => match notice {
                Some(notice) => handle(&api, &notice).await,
                None => return,
            },
            _ = sweep.tick() => forget_events(&api),
        }
    }
}

async fn handle(api: &Arc<Api>, notice: &GarbageNotice) {
    let object = &notice.object;
    if notice.removed {
        for place in api.store.dependents(meta::uid(&object.value)) {
            release(api, &place).await;
        }
        for owner in owners(api, &object.value) {
            dependents_first(api, &owner).await;
        }
        if &*notice.collection == definition::COLLECTION {
            drop_instances(api, &object.value);
        }
        finish_namespace(api, meta::namespace(&object.value)).await;
    } else if !meta::is_deleting(&object.value) {
        release(api, &Location::new(&notice.collection, object.key())).await;
    } else if &*notice.collection == "namespaces" {
        let name = meta::name(&object.value);
        for place in api.store.in_namespace(name) {
            delete(api, &place, None).await;
        }
        finish_namespace(api, name).await;
    } else {
        dependents_first(api, &Location::new(&notice.collection, object.key())).await;
    }
}

fn call(api: &Arc<Api>, place: &Location) -> Option<ApiRequest> {
    let resource = api.registry.of_collection(&place.collection)?;
    Some(ApiRequest::new(Arc::clone(api), resource).about(&place.key))
}

fn current(api: &Api, place: &Location) -> Option<Arc<StoredObject>> {
    api.store.get(&place.collection, &place.key)
}

async fn delete(api: &Arc<Api>, place: &Location, propagation: Option<Propagation>) {
    let Some(call) = call(api, place) else { return };
    let options = DeleteOptions {
        propagation,
        ..DeleteOptions::default()
    };
    // Failure means that it is gone by now.
    if let Err(error) = delete::delete(&call, &options).await
        && error.status() != 404
    {
        tracing::warn!(%error, collection = %place.collection, name = %place.key.name, "dependent not deleted");
    }
}

async fn change(api: &Arc<Api>, place: &Location, edit: impl Fn(&mut Value) + Send + Sync) {
    let Some(call) = call(api, place) else { return };
    let edited = |object: &Value| {
        let mut object = object.clone();
        edit(&mut object);
        Ok(object)
    };
    if let Err(error) = update::update(&call, UpdateScope::Whole, &edited).await
        && error.status() != 404
    {
        tracing::warn!(%error, collection = %place.collection, name = %place.key.name, "object not released");
    }
}

fn owners(api: &Api, object: &Value) -> Vec<Location> {
    let references = meta::list(object, "/metadata/ownerReferences").iter();
    references
        .filter_map(|reference| owner(api, object, reference))
        .collect()
}

fn owner(api: &Api, object: &Value, reference: &Value) -> Option<Location> {
    let api_version = meta::text(reference, "/apiVersion");
    let resource = api
        .registry
        .of_kind(api_version, meta::text(reference, "/kind"))?;
    let namespace = if resource.namespaced {
        meta::namespace(object)
    } else {
        ""
    };
    let key = ObjectKey::new(namespace, meta::text(reference, "/name"));
    let place = Location::new(&resource.collection, key);
    let found = current(api, &place)?;
    (meta::uid(&found.value) == meta::text(reference, "/uid")).then_some(place)
}

/// Deletes an object if all its owners are gone; else drops the gone owners from its list.
async fn release(api: &Arc<Api>, place: &Location) {
    let Some(stored) = current(api, place) else {
        return;
    };
    let references = meta::list(&stored.value, "/metadata/ownerReferences");
    let kept: Vec<Value> = references
        .iter()
        .filter(|reference| owner(api, &stored.value, reference).is_some())
        .cloned()
        .collect();
    if kept.is_empty() && !references.is_empty() {
        delete(api, place, Some(Propagation::Background)).await;
    } else if kept.len() < references.len() {
        change(api, place, |object| {
            object["metadata"]["ownerReferences"] = Value::Array(kept.clone());
        })
        .await;
    }
}

/// Handles the dependents of an owner that waits for them.
async fn dependents_first(api: &Arc<Api>, place: &Location) {
    let Some(owner) = current(api, place) else {
        return;
    };
    if !meta::is_deleting(&owner.value) {
        return;
    }
    let finalizers = meta::list(&owner.value, "/metadata/finalizers");
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    let uid = meta::uid(&owner.value).to_owned();
    if has(ORPHAN) {
        for dependent in api.store.dependents(&uid) {
            change(api, &dependent, |object| without_owner(object, &uid)).await;
        }
        change(api, place, |object| without_finalizer(object, ORPHAN)).await;
    } else if has(FOREGROUND) {
        let mut blocked = false;
        for dependent in api.store.dependents(&uid) {
            let Some(stored) = current(api, &dependent) else {
                continue;
            };
            blocked |= blocks(&stored.value, &uid);
            if !meta::is_deleting(&stored.value) {
                delete(api, &dependent, Some(Propagation::Foreground)).await;
            }
        }
        if !blocked {
            change(api, place, |object| without_finalizer(object, FOREGROUND)).await;
        }
    }
}

fn blocks(dependent: &Value, owner: &str) -> bool {
    let references = meta::list(dependent, "/metadata/ownerReferences").iter();
    references
        .filter(|reference| reference["uid"] == owner)
        .any(|reference| reference["blockOwnerDeletion"] == true)
}

fn without_owner(object: &mut Value, uid: &str) {
    if let Some(owners) = object["metadata"]["ownerReferences"].as_array_mut() {
        owners.retain(|reference| reference["uid"] != uid);
    }
}

fn without_finalizer(object: &mut Value, name: &str) {
    if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|finalizer| finalizer != name);
    }
}

fn drop_instances(api: &Api, definition: &Value) {
    let collection: Arc<str> = meta::name(definition).into();
    for stored in api.store.list(&collection, None).0 {
        // A write in between went to a resource that is no longer served.
        let _ = api.store.remove(&collection, &stored.key(), stored.version);
    }
}

/// Removes a namespace that is being deleted and is empty.
async fn finish_namespace(api: &Arc<Api>, name: &str) {
    let place = Location::new(&Arc::from("namespaces"), ObjectKey::new("", name));
    let Some(namespace) = current(api, &place) else {
        return;
    };
    if !meta::is_deleting(&namespace.value) || !api.store.in_namespace(name).is_empty() {
        return;
    }
    change(api, &place, |object| {
        object["spec"]["finalizers"] = Value::Array(Vec::new());
    })
    .await;
}

fn forget_events(api: &Api) {
    let collection: Arc<str> = Arc::from("events");
    for stored in api.store.list(&collection, None).0 {
        let created: Result<Timestamp, _> =
            meta::text(&stored.value, "/metadata/creationTimestamp").parse();
        let is_old = created.is_ok_and(|created| api.now().duration_since(created) > EVENT_LIFE);
        if is_old {
            // A write in between keeps the Event until the next sweep.
            let _ = api.store.remove(&collection, &stored.key(), stored.version);
        }
    }
}
