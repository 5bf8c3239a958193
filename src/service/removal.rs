//! The end of the installation: `kubectl delete -k deploy/` takes rights, Pods and the clean-up's CronJob away in one
//! go, and nobody would be left to put back what Evenkeel has written on the objects of others.
//!
//! A finalizer holds the few rights that it takes; a replica that sees them waiting writes nothing new, takes
//! everything back, and lets them go. The API server believes the token of a deleted ServiceAccount for a minute.

use std::time::Duration;

use kube::Client;
use tokio_util::sync::CancellationToken;

use super::parts::Parts;
use crate::cluster::ClusterState;
use crate::controller::WriteSwitch;
use crate::uninstall::{self, Extent, OnPods, Outcome};
use evenkeel_kubernetes::scaled_kind::ScaledKind;

/// The pause between two looks.
const LOOK: Duration = Duration::from_secs(3);
/// The longest that a look takes.
const LIMIT: Duration = Duration::from_secs(2);
/// The pause in which the garbage collector has seen what was written on the rights. Two are needed, and the token is
/// believed for one minute in all.
const PAUSE: Duration = Duration::from_secs(3);
/// The pause before what could not be taken back is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// Takes everything back where the installation is being deleted.
pub(super) struct Removal {
    client: Client,
    cluster: ClusterState,
    namespace: String,
    kinds: Vec<ScaledKind>,
    on_pods: OnPods,
    switch: WriteSwitch,
}

impl Removal {
    pub(super) fn new(parts: &Parts) -> Self {
        Self {
            client: parts.client.clone(),
            cluster: parts.cluster.clone(),
            namespace: parts.replica.namespace.clone(),
            kinds: parts.config.kinds.clone(),
            on_pods: OnPods::of(&parts.config),
            switch: parts.switch.clone(),
        }
    }

    /// Looks until `cancel`, and a last time then: a Pod that is told to end may end with the installation.
    pub(super) async fn run(self, cancel: CancellationToken) {
        let mut looks = tokio::time::interval(LOOK);
        loop {
            let is_last = cancel.run_until_cancelled(looks.tick()).await.is_none();
            if self.is_awaited().await {
                return self.take_back().await;
            }
            if is_last {
                return;
            }
        }
    }

    /// False, too, where nobody tells.
    async fn is_awaited(&self) -> bool {
        let asked = uninstall::is_awaited(&self.client);
        matches!(tokio::time::timeout(LIMIT, asked).await, Ok(Ok(true)))
    }

    async fn take_back(&self) {
        tracing::warn!(
            "the installation is being deleted: what was written on objects of others is taken back"
        );
        self.switch.retire();
        // After that the other replicas have seen it too, and write nothing any more.
        tokio::time::sleep(LOOK + LIMIT).await;
        while let Err(left) = self.attempt().await {
            tracing::error!(left, "the installation is deleted once this is taken back");
            tokio::time::sleep(AGAIN).await;
        }
        tracing::info!("all is taken back, and the installation may go");
    }

    /// Takes back what is there, and lets the rights go once nothing is left.
    async fn attempt(&self) -> Result<(), String> {
        let now = self.cluster.now();
        let mut found = uninstall::marks(&self.client, &self.kinds, self.on_pods, now).await;
        uninstall::restore_all(&self.client, &mut found, Extent::All, now).await;
        if let Some(unlisted) = found.unseen.first() {
            return Err(format!("{}: {}", unlisted.what, unlisted.why));
        }
        for mark in &found.marks {
            if let Some(Outcome::Failed(error)) = &mark.outcome {
                let place = mark.object.namespace.as_deref().unwrap_or_default();
                let name = &mark.object.name;
                return Err(format!("{} {place}/{name}: {error}", mark.object.kind));
            }
        }
        let released = uninstall::release_own_rights(&self.client, &self.namespace, PAUSE).await;
        released.map_err(|error| error.to_string())
    }
}
