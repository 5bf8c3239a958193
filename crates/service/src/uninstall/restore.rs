//! Removes one mark: decided on the present object, and written only if it is unchanged. If another
//! writer was faster, it begins anew from a fresh read.

use evenkeel_objects::annotations::RESIZED;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod::Pod;
use evenkeel_replica_profile::online_condition;
use evenkeel_tuning::resize::ResizeRules;
use futures::{FutureExt as _, StreamExt as _, stream};
use jiff::Timestamp;
use kube::Client;
use kube::api::Patch;
use serde::Deserialize as _;

use super::inventory::{Inventory, ModifiedObject, UninstallOutcome};
use super::resize::{NotPutBack, put_resources_back};
use super::shallow_object::ShallowObject;
use super::single::{SingleObjects, is_about_the_object};
use crate::controller::tuning::lowers_memory_limits;
use crate::controller::writer::is_lost_race;
use crate::uninstall_plan::{Extent, patch};

/// The number of attempts, each lost to a faster writer.
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
    let outcomes: Vec<UninstallOutcome> = outcomes.collect().await;
    for (mark, outcome) in inventory.marks.iter_mut().zip(outcomes) {
        mark.outcome = Some(outcome);
    }
}

/// Restores bounds and removes Evenkeel's traces on the mark's object. A Pod returns to traffic
/// even if its resources are refused, and then keeps their record.
pub async fn restore(
    client: &Client,
    mark: &ModifiedObject,
    extent: Extent,
    now: Timestamp,
) -> UninstallOutcome {
    if mark.kind != Kind::Pod || !mark.annotations.contains(&RESIZED) {
        return take_away(client, mark, extent, now).await;
    }
    let resized = resources(client, mark).await;
    match (resized, take_away(client, mark, extent, now).await) {
        (Err(error), UninstallOutcome::Restored | UninstallOutcome::LeftAlone) => match error {
            NotPutBack::Refused(why) => UninstallOutcome::Refused(why),
            NotPutBack::Failed(why) => UninstallOutcome::Failed(why),
        },
        // The record of a resize went with its resources.
        (Ok(()), UninstallOutcome::Gone) => UninstallOutcome::Restored,
        (_, outcome) => outcome,
    }
}

async fn take_away(
    client: &Client,
    mark: &ModifiedObject,
    extent: Extent,
    now: Timestamp,
) -> UninstallOutcome {
    let objects = SingleObjects::new(client, mark.kind, mark.object.namespace.as_deref());
    let mut last = None;
    for _ in 0..TRIES {
        match attempt(&objects, mark, extent, now).await {
            Ok(outcome) => return outcome,
            Err(kube::Error::Api(status)) if is_lost_race(&status) => last = Some(status.message),
            Err(kube::Error::Api(status)) if status.code == 404 => return UninstallOutcome::Gone,
            Err(kube::Error::Api(status)) if is_about_the_object(&status) => {
                return UninstallOutcome::Refused(status.message);
            }
            // An answer about one object that cannot be read.
            Err(error @ kube::Error::SerdeError(_)) => {
                return UninstallOutcome::Refused(error.to_string());
            }
            Err(error) => return UninstallOutcome::Failed(error.to_string()),
        }
    }
    let last = last.unwrap_or_default();
    UninstallOutcome::Refused(format!("another writer was faster {TRIES} times: {last}"))
}

/// Puts the resources of a Pod back, by what the API server of this version takes.
async fn resources(client: &Client, mark: &ModifiedObject) -> Result<(), NotPutBack> {
    let lowers = lowers_memory_limits(client).await;
    let rules = ResizeRules {
        may_restart: true,
        may_lower_memory_limits: lowers.map_err(|error| NotPutBack::Failed(error.to_string()))?,
    };
    let namespace = mark.object.namespace.as_deref().unwrap_or_default();
    put_resources_back(client, namespace, &mark.object.name, rules).await
}

async fn attempt(
    objects: &SingleObjects,
    mark: &ModifiedObject,
    extent: Extent,
    now: Timestamp,
) -> kube::Result<UninstallOutcome> {
    let name = mark.object.name.as_str();
    let object = objects.get(name).await?;
    let Ok(change) = patch(mark.kind, &object.0, extent, now) else {
        return Ok(UninstallOutcome::LeftAlone);
    };
    let Some(change) = change else {
        return Ok(UninstallOutcome::Gone);
    };
    let mut after = object;
    if !change.is_empty() {
        let change = Patch::<()>::Json(change.to_patch());
        after = objects.patch(name, &change).await?;
    }
    if mark.kind == Kind::Pod {
        open(objects, &after, now).await?;
    }
    Ok(UninstallOutcome::Restored)
}

/// Opens the readiness gate of a Pod, because no other process is left to write the condition.
async fn open(pods: &SingleObjects, pod: &ShallowObject, now: Timestamp) -> kube::Result<()> {
    let read = Pod::deserialize(&pod.0).map_err(kube::Error::SerdeError)?;
    if let Some(patch) = online_condition::patch(&read, now) {
        let opened = Patch::Strategic(patch.body);
        pods.patch_status(read.name(), &opened).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::body::Body;
    use axum::http::{Method, Request, Response};
    use evenkeel_objects::annotations::SCALING_STATUS;
    use serde_json::json;

    use super::*;

    /// A Deployment with a status, which managed fields make nest deeper than JSON is read.
    fn deep() -> String {
        let deep = format!("{}1{}", r#"{"f:a":"#.repeat(500), "}".repeat(500));
        format!(
            r#"{{"metadata": {{"name": "web", "namespace": "shop", "resourceVersion": "7",
                "managedFields": [{{"fieldsV1": {deep}}}], "annotations": {{"{SCALING_STATUS}": "{{}}"}}}}, "spec": {{}}}}"#
        )
    }

    /// The outcome where the API server answers each patch like this.
    async fn outcome(status: u16) -> UninstallOutcome {
        let service = tower::service_fn(move |request: Request<kube::client::Body>| async move {
            let refusal = json!({"kind": "Status", "status": "Failure", "code": status, "message": "no",
                "details": {"causes": [{"reason": "FieldValueInvalid", "message": "no"}]}});
            let (status, text) = match *request.method() {
                Method::PATCH if status != 200 => (status, refusal.to_string()),
                _ => (200, deep()),
            };
            let answer = Response::builder().status(status).body(Body::from(text));
            Ok::<_, Infallible>(answer.unwrap())
        });
        let mut mark = ModifiedObject::of(Kind::Deployment, Some("shop"), "web");
        mark.annotations = vec![SCALING_STATUS];
        let client = Client::new(service, "default");
        restore(&client, &mark, Extent::All, Timestamp::UNIX_EPOCH).await
    }

    /// The harm: a tenant's content in an object kept Evenkeel from restoring it, and so the
    /// uninstall from its end.
    #[tokio::test]
    async fn an_object_that_nests_deep_is_put_back() {
        assert_eq!(outcome(200).await, UninstallOutcome::Restored);
    }

    #[tokio::test]
    async fn what_the_api_server_refuses_for_one_object_is_told_from_its_own_faults() {
        for status in [400, 403, 409, 413, 422] {
            let outcome = outcome(status).await;
            assert!(
                matches!(outcome, UninstallOutcome::Refused(_)),
                "{status} {outcome:?}"
            );
        }
        for status in [401, 408, 429, 500, 503] {
            let outcome = outcome(status).await;
            assert!(
                matches!(outcome, UninstallOutcome::Failed(_)),
                "{status} {outcome:?}"
            );
        }
        assert_eq!(outcome(404).await, UninstallOutcome::Gone);
    }
}
