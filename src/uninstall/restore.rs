//! Takes one mark away: decided on the object as it is, written only if it still is so, and begun
//! anew from a fresh read where somebody was faster.

use futures::{FutureExt as _, StreamExt as _, stream};
use jiff::Timestamp;
use kube::api::{DynamicObject, Patch};
use kube::{Api, Client};
use serde::Deserialize as _;
use serde_json::json;

use super::inventory::{Inventory, Mark, Outcome};
use super::resize::put_resources_back;
use crate::controller::tuning::lowers_memory_limits;
use crate::controller::writer::{by_us, is_lost_race};
use evenkeel_kubernetes::annotations::RESIZED;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::plan::online_condition;
use evenkeel_kubernetes::plan::resize::Rules;
use evenkeel_kubernetes::plan::uninstall::{Extent, patch};
use evenkeel_kubernetes::pod::Pod;

/// The number of attempts, each lost to somebody who was faster.
const TRIES: usize = 8;
/// The number of objects that are written at a time.
const AT_ONCE: usize = 8;

/// Takes all marks of an inventory away, each as [`restore`] does.
pub async fn restore_all(
    client: &Client,
    inventory: &mut Inventory,
    extent: Extent,
    now: Timestamp,
) {
    let marks = inventory.marks.iter();
    let outcomes: Vec<_> = marks
        .map(|mark| restore(client, mark, extent, now).boxed())
        .collect();
    let outcomes = stream::iter(outcomes).buffered(AT_ONCE);
    let outcomes: Vec<Outcome> = outcomes.collect().await;
    for (mark, outcome) in inventory.marks.iter_mut().zip(outcomes) {
        mark.outcome = Some(outcome);
    }
}

/// Puts bounds back and takes away what Evenkeel wrote on the mark's object, as far as it is still
/// to be. A Pod comes back into traffic though its resources are refused, and then keeps their record.
pub async fn restore(client: &Client, mark: &Mark, extent: Extent, now: Timestamp) -> Outcome {
    if mark.kind != Kind::Pod || !mark.annotations.contains(&RESIZED) {
        return take_away(client, mark, extent, now).await;
    }
    let resized = resources(client, mark).await;
    match (resized, take_away(client, mark, extent, now).await) {
        (Err(error), Outcome::Restored | Outcome::LeftAlone) => Outcome::Failed(error),
        // The record of a resize went with its resources.
        (Ok(()), Outcome::Gone) => Outcome::Restored,
        (_, outcome) => outcome,
    }
}

async fn take_away(client: &Client, mark: &Mark, extent: Extent, now: Timestamp) -> Outcome {
    let resource = mark.kind.api_resource();
    let api: Api<DynamicObject> = match &mark.object.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let mut last = None;
    for _ in 0..TRIES {
        match attempt(&api, mark, extent, now).await {
            Ok(outcome) => return outcome,
            Err(kube::Error::Api(status)) if is_lost_race(&status) => last = Some(status.message),
            Err(kube::Error::Api(status)) if status.code == 404 => return Outcome::Gone,
            Err(error) => return Outcome::Failed(error.to_string()),
        }
    }
    let last = last.unwrap_or_default();
    Outcome::Failed(format!("somebody else was faster {TRIES} times: {last}"))
}

/// Puts the resources of a Pod back, by what the API server of this version takes.
async fn resources(client: &Client, mark: &Mark) -> Result<(), String> {
    let lowers = lowers_memory_limits(client).await;
    let rules = Rules {
        may_restart: true,
        may_lower_memory_limits: lowers.map_err(|error| error.to_string())?,
    };
    let namespace = mark.object.namespace.as_deref().unwrap_or_default();
    put_resources_back(client, namespace, &mark.object.name, rules).await
}

async fn attempt(
    api: &Api<DynamicObject>,
    mark: &Mark,
    extent: Extent,
    now: Timestamp,
) -> kube::Result<Outcome> {
    let name = mark.object.name.as_str();
    let object = api.get(name).await?;
    let Ok(change) = patch(mark.kind, &json!(object), extent, now) else {
        return Ok(Outcome::LeftAlone);
    };
    let Some(change) = change else {
        return Ok(Outcome::Gone);
    };
    let mut after = object;
    if !change.is_empty() {
        let change = Patch::<()>::Json(change.to_patch());
        after = api.patch(name, &by_us(), &change).await?;
    }
    if mark.kind == Kind::Pod {
        open(api, &after, now).await?;
    }
    Ok(Outcome::Restored)
}

/// Opens the readiness gate of a Pod, whose condition nobody else is left to write.
async fn open(api: &Api<DynamicObject>, pod: &DynamicObject, now: Timestamp) -> kube::Result<()> {
    let read = Pod::deserialize(json!(pod)).map_err(kube::Error::SerdeError)?;
    if let Some(patch) = online_condition::patch(&read, now) {
        let opened = Patch::Strategic(patch.body);
        api.patch_status(read.name(), &by_us(), &opened).await?;
    }
    Ok(())
}
