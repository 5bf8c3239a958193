//! The watches of custom resources, which run only while the cluster serves their kind. Without
//! KEDA the path of ScaledObjects answers 404, and a watch would fail for ever. So discovery asks
//! first, and again at intervals: KEDA may come and go, and an operator may remove the definition
//! of CronHPAs.

use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_objects::kinds::Kind;
use kube::Client;
use tracing::{info, warn};

use super::object::WatchedObject;
use super::watch_loop::{WatchContext, objects};
use crate::cluster::metrics::WatchOutcome;

/// The time after which it is asked again when there was no answer.
const RETRY: Duration = Duration::from_secs(5);

/// Follows the objects of a kind while they are served, asking every `interval` whether they are.
pub(super) async fn while_served<K>(client: Client, watch: WatchContext, interval: Duration)
where
    K: WatchedObject,
{
    let kind = watch.kind.singular();
    loop {
        watch.until(&client, interval, true).await;
        info!(kind, "the cluster serves this kind, and it is watched");
        watch.state.serve(watch.kind, true);
        tokio::select! {
            // It has no end, as no watch has; where it comes to one, so does this.
            () = objects::<K>(client.clone(), &watch) => return,
            () = watch.until(&client, interval, false) => {
                info!(kind, "the cluster no longer serves this kind");
            }
        }
        watch.metrics.unwatched(watch.kind);
    }
}

impl WatchContext {
    /// Waits until the kind is served, or no more; while it is not, there are no objects of it.
    async fn until(&self, client: &Client, interval: Duration, wanted: bool) {
        loop {
            let wait = match is_served(client, self.kind).await {
                Ok(served) => {
                    if !served {
                        self.state.serve(self.kind, false);
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
            let kind = self.kind.singular();
            warn!(kind, %error, suppressed, "whether the cluster serves this kind is not known");
        }
    }
}

/// True where the API server serves the kind; for a group that it does not know it answers 404.
pub(crate) async fn is_served(client: &Client, kind: Kind) -> Result<bool, kube::Error> {
    match client.list_api_group_resources(&kind.api_version()).await {
        Ok(list) => Ok(list
            .resources
            .iter()
            .any(|resource| resource.name == kind.plural())),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}
