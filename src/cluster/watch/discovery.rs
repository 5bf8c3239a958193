//! The watch of KEDA's ScaledObjects, which runs only while the cluster serves them.
//!
//! A cluster without KEDA answers their path with 404, and a watch of it would fail for ever. So it
//! is asked first, and again now and then: KEDA may come and go.

use std::time::Duration;

use kube::Client;
use tracing::{info, warn};

use super::{Watch, follow};
use crate::cluster::metrics::WatchOutcome;
use evenkeel_clock as clock;
use evenkeel_kubernetes::scaled_object::{GROUP, PLURAL, VERSION};
use evenkeel_kubernetes::watched::WatchedScaledObject;

/// How soon it is asked again when there was no answer.
const RETRY: Duration = Duration::from_secs(5);

/// Follows ScaledObjects while they are served, asking every `interval` whether they are.
pub(super) async fn scaled_objects(client: Client, watch: Watch, interval: Duration) {
    let kind = watch.kind.as_str();
    loop {
        watch.until(&client, interval, true).await;
        info!(kind, "the cluster serves this kind, and it is watched");
        watch.state.serve_scaled_objects(true);
        tokio::select! {
            () = follow::<WatchedScaledObject>(client.clone(), &watch) => {}
            () = watch.until(&client, interval, false) => {
                info!(kind, "the cluster serves this kind no more");
            }
        }
    }
}

impl Watch {
    /// Waits until ScaledObjects are served, or no more; while they are not, there are none.
    async fn until(&self, client: &Client, interval: Duration, wanted: bool) {
        loop {
            let wait = match is_served(client).await {
                Ok(served) => {
                    if !served {
                        self.state.serve_scaled_objects(false);
                    }
                    if served == wanted {
                        return;
                    }
                    interval
                }
                Err(error) => {
                    self.undiscovered(&error);
                    RETRY.min(interval)
                }
            };
            tokio::time::sleep(wait).await;
        }
    }

    fn undiscovered(&self, error: &kube::Error) {
        self.metrics.count(self.kind, WatchOutcome::Error);
        if let Some(suppressed) = self.warned.permit("undiscovered", clock::instant()) {
            let kind = self.kind.as_str();
            warn!(kind, %error, suppressed, "whether the cluster serves this kind is not known");
        }
    }
}

/// Whether the API server serves ScaledObjects, or KEDA's group at all.
async fn is_served(client: &Client) -> Result<bool, kube::Error> {
    let version = format!("{GROUP}/{VERSION}");
    match client.list_api_group_resources(&version).await {
        Ok(list) => Ok(list
            .resources
            .iter()
            .any(|resource| resource.name == PLURAL)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}
