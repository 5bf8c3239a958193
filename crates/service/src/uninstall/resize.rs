//! Restores a Pod's original resources, step by step: first the resize, then its record, each
//! decided on the present Pod.

use std::time::Duration;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::plan::Purpose;
use evenkeel_objects::pod::Pod;
use evenkeel_tuning::resizable_pod::ResizablePod;
use evenkeel_tuning::resize::{ResizeRules, put_back};
use kube::Client;
use serde::Deserialize as _;

use super::shallow_object::ShallowObject;
use super::single::{SingleObjects, is_about_the_object};
use crate::controller::writer::{is_lost_race, send};

/// The number of steps, including those lost to a faster writer.
const TRIES: usize = 8;
/// The pause before a Pod is read again.
const PAUSE: Duration = Duration::from_millis(200);

/// Why a Pod does not have its resources.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPutBack {
    /// The API server or a rule of the resize refuses it for this Pod.
    #[error("{0}")]
    Refused(String),
    /// The API server does not answer, or has a fault of its own.
    #[error("{0}")]
    Failed(String),
}

impl NotPutBack {
    fn of(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if is_about_the_object(&status) => {
                Self::Refused(status.message)
            }
            error => Self::Failed(error.to_string()),
        }
    }
}

/// The Pod as it is read; `None` for one that is gone.
async fn read(pods: &SingleObjects, name: &str) -> Result<Option<Pod>, NotPutBack> {
    match pods.get(name).await {
        Ok(ShallowObject(pod)) => {
            let pod = Pod::deserialize(&pod);
            pod.map(Some)
                .map_err(|error| NotPutBack::Refused(error.to_string()))
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(NotPutBack::of(error)),
    }
}

/// Puts the resources of a Pod back, as far as they still are to be.
///
/// # Errors
/// The cause of the failure.
pub async fn put_resources_back(
    client: &Client,
    namespace: &str,
    name: &str,
    rules: ResizeRules,
) -> Result<(), NotPutBack> {
    let pods = SingleObjects::new(client, Kind::Pod, Some(namespace));
    let (mut last, mut was_refused) = (String::new(), false);
    for _ in 0..TRIES {
        let pod = read(&pods, name).await?;
        let Some(pod) = pod.as_ref().and_then(ResizablePod::of) else {
            return Ok(());
        };
        let write = put_back(&pod, rules, Purpose::Restore);
        let Some(write) = write.map_err(|refusal| NotPutBack::Refused(refusal.to_string()))? else {
            return Ok(());
        };
        match send(client, &write.target, &write.operation).await {
            Ok(()) => was_refused = false,
            // Not found: the Pod is gone, or the API server resizes none; the next look tells
            // which.
            Err(kube::Error::Api(status)) if status.code == 404 && !was_refused => {
                (last, was_refused) = (status.message, true);
            }
            Err(kube::Error::Api(status)) if is_lost_race(&status) => {
                last = status.message;
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return Err(NotPutBack::of(error)),
        }
    }
    let why = format!("it was not written in {TRIES} tries: {last}");
    Err(NotPutBack::Refused(why))
}
