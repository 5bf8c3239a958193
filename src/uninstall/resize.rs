//! Gives a Pod back the resources that it was made with, step by step: the resize first, and its record once
//! that stands, each decided on the Pod as it then is.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod as ListedPod;
use kube::{Api, Client};
use serde_json::json;

use crate::controller::writer::{is_lost_race, send};
use evenkeel_kubernetes::plan::Purpose;
use evenkeel_kubernetes::plan::resize::{Rules, put_back};
use evenkeel_kubernetes::pod::Pod;
use evenkeel_kubernetes::resizable_pod::ResizablePod;

/// The steps that are made, those included that are lost to somebody who was faster.
const TRIES: usize = 8;
/// The pause before a Pod is read again.
const PAUSE: Duration = Duration::from_millis(200);

/// The resources of a Pod as it is read; `None` for one that has ended or goes.
fn read(pod: &ListedPod) -> serde_json::Result<Option<ResizablePod>> {
    let pod: Pod = serde_json::from_value(json!(pod))?;
    Ok(ResizablePod::of(&pod))
}

/// Puts the resources of a Pod back, as far as they still are to be.
///
/// # Errors
/// What it failed by, in words.
pub async fn put_resources_back(
    client: &Client,
    namespace: &str,
    name: &str,
    rules: Rules,
) -> Result<(), String> {
    let api: Api<ListedPod> = Api::namespaced(client.clone(), namespace);
    let (mut last, mut was_refused) = (String::new(), false);
    for _ in 0..TRIES {
        let now = api.get_opt(name).await;
        let now = now.map_err(|error| error.to_string())?;
        let pod = now.as_ref().map(read).transpose();
        let Some(pod) = pod.map_err(|error| error.to_string())?.flatten() else {
            return Ok(());
        };
        let write = put_back(&pod, rules, Purpose::Restore);
        let Some(write) = write.map_err(|refusal| refusal.to_string())? else {
            return Ok(());
        };
        match send(client, &write.target, &write.operation).await {
            Ok(()) => was_refused = false,
            // Not found is a Pod that is gone, or an API server that resizes none: the next look tells which.
            Err(kube::Error::Api(status)) if status.code == 404 && !was_refused => {
                (last, was_refused) = (status.message, true);
            }
            Err(kube::Error::Api(status)) if is_lost_race(&status) => {
                last = status.message;
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Err(format!("it was not written in {TRIES} tries: {last}"))
}
