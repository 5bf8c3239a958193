//! Takes one mark away: decided on the object as it is, written only if it still is so, and begun
//! anew from a fresh read where somebody was faster.

use jiff::Timestamp;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};

use super::inventory::{Mark, Outcome};
use evenkeel_kubernetes::plan::uninstall::patch;

/// The number of attempts, each lost to somebody who was faster.
const TRIES: usize = 8;
/// The name under which the API server keeps the fields that are written.
const MANAGER: &str = "evenkeel";

/// Puts bounds back and takes away what Evenkeel wrote on the mark's object.
pub async fn restore(client: &Client, mark: &Mark, now: Timestamp) -> Outcome {
    let resource = mark.kind.api_resource();
    let api: Api<DynamicObject> = match &mark.object.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let mut last = None;
    for _ in 0..TRIES {
        match attempt(&api, mark, now).await {
            Ok(outcome) => return outcome,
            Err(kube::Error::Api(status)) if status.code == 409 => last = Some(status.message),
            Err(kube::Error::Api(status)) if status.code == 404 => return Outcome::Gone,
            Err(error) => return Outcome::Failed(error.to_string()),
        }
    }
    let last = last.unwrap_or_default();
    Outcome::Failed(format!("somebody else was faster {TRIES} times: {last}"))
}

async fn attempt(api: &Api<DynamicObject>, mark: &Mark, now: Timestamp) -> kube::Result<Outcome> {
    let object = api.get(&mark.object.name).await?;
    let Ok(change) = patch(mark.kind, &object.metadata, &object.data["spec"], now) else {
        return Ok(Outcome::LeftAlone);
    };
    let Some(change) = change else {
        return Ok(Outcome::Gone);
    };
    let params = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    api.patch(&mark.object.name, &params, &Patch::Merge(change))
        .await?;
    Ok(Outcome::Restored)
}
