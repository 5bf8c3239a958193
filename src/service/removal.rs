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
use crate::uninstall::{self, Extent, Mark, Object, OnPods, Outcome};
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
/// The attempts after which the objects are left as they are that the API server refuses to change, where all others are
/// taken back: whoever may write one of them could keep the installation for ever.
const ATTEMPTS: u32 = 5;
/// The most objects that one message names.
const NAMED: usize = 20;

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
            "the installation is being deleted: Evenkeel's writes on other objects are undone"
        );
        self.switch.retire();
        // After that the other replicas have seen it too, and write nothing any more.
        tokio::time::sleep(LOOK + LIMIT).await;
        let mut refusals = 0;
        while let Err(left) = self.attempt(refusals + 1 >= ATTEMPTS).await {
            refusals = match left {
                Left::Refused(_) => refusals + 1,
                Left::Failed(_) => 0,
            };
            tracing::error!(%left, "the deletion waits until this is undone");
            tokio::time::sleep(AGAIN).await;
        }
        tracing::info!("everything possible is undone, and the installation can be deleted");
    }

    /// Takes back what is there, and lets the rights go once nothing is left. The last attempt leaves what is refused.
    async fn attempt(&self, is_last: bool) -> Result<(), Left> {
        let now = self.cluster.now();
        let mut found = uninstall::marks(&self.client, &self.kinds, self.on_pods, now).await;
        uninstall::restore_all(&self.client, &mut found, Extent::All, now).await;
        if let Some(unlisted) = found.unseen.first() {
            let why = format!("{}: {}", unlisted.what, unlisted.why);
            return Err(Left::Failed(why));
        }
        let (mut refused, mut as_they_are) = (None, Vec::new());
        for mark in &found.marks {
            let why = match &mark.outcome {
                Some(Outcome::Failed(error)) => return Err(Left::Failed(named(mark, error))),
                Some(Outcome::Refused(error)) => {
                    refused.get_or_insert_with(|| named(mark, error));
                    error
                }
                Some(Outcome::LeftAlone) => mark.damaged.as_deref().unwrap_or("it has changed"),
                _ => continue,
            };
            as_they_are.push(named(mark, why));
        }
        if let Some(first) = refused.filter(|_| !is_last) {
            return Err(Left::Refused(first));
        }
        if !as_they_are.is_empty() {
            let count = as_they_are.len();
            as_they_are.truncate(NAMED);
            let objects = as_they_are.join("; ");
            tracing::error!(count, objects, "objects are left as they are");
        }
        let released = uninstall::release_own_rights(&self.client, &self.namespace, PAUSE).await;
        released.map_err(|error| Left::Failed(error.to_string()))
    }
}

/// What keeps the installation.
#[derive(Debug, thiserror::Error)]
enum Left {
    /// Only objects that the API server refuses to change; this is the first.
    #[error("{0}")]
    Refused(String),
    /// More, which another attempt may take back.
    #[error("{0}")]
    Failed(String),
}

fn named(mark: &Mark, why: &str) -> String {
    let Object {
        kind,
        namespace,
        name,
    } = &mark.object;
    let place = namespace.as_deref().unwrap_or_default();
    format!("{kind} {place}/{name}: {why}")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

    use axum::body::Body;
    use axum::http::{Method, Request, Response};
    use evenkeel_core::placement::node_table;
    use evenkeel_kubernetes::capacities::Capacities;
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::Settings;
    use crate::controller::Writes;

    /// An API server with one Deployment that carries a status, whose patches it answers like this.
    #[derive(Clone, Default)]
    struct Server {
        status: Arc<AtomicU16>,
        patches: Arc<AtomicU32>,
    }

    impl Server {
        fn answer(&self, method: &Method, path: &str) -> (u16, Value) {
            let status = self.status.load(Ordering::Relaxed);
            let web = json!({"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7",
                "annotations": {"evenkeel.dev/scaling-status": "{}"}}, "spec": {}});
            let failure = |code: u16| {
                json!({"kind": "Status", "status": "Failure", "code": code, "message": "no", "reason": "NotFound",
                    "details": {"causes": [{"reason": "FieldValueInvalid", "message": "no"}]}})
            };
            if *method == Method::PATCH {
                self.patches.fetch_add(1, Ordering::Relaxed);
                let answer = if status == 200 { web } else { failure(status) };
                return (status, answer);
            }
            let list =
                |items: &[Value]| json!({"metadata": {"resourceVersion": "7"}, "items": items});
            match path.rsplit('/').next() {
                Some("web") => (200, web),
                Some("deployments") => (200, list(&[web])),
                // The rights are gone.
                Some("evenkeel-clean-up" | "evenkeel") => (404, failure(404)),
                _ => (200, list(&[])),
            }
        }

        fn removal(&self) -> Removal {
            let server = self.clone();
            let service = tower::service_fn(move |request: Request<kube::client::Body>| {
                let (status, answer) = server.answer(request.method(), request.uri().path());
                async move {
                    let answer = Body::from(answer.to_string());
                    Ok::<_, Infallible>(Response::builder().status(status).body(answer).unwrap())
                }
            });
            Removal {
                client: Client::new(service, "default"),
                cluster: ClusterState::new(Settings {
                    table: node_table::Settings::default(),
                    capacities: Capacities::default(),
                    caps_as_demand: false,
                    expects_metrics: true,
                    balances_scale_in: false,
                }),
                namespace: "evenkeel-system".to_owned(),
                kinds: Vec::new(),
                on_pods: OnPods::ALL,
                switch: WriteSwitch::new(Writes::Enabled),
            }
        }
    }

    /// The harm: whoever may write one object of a namespace kept `kubectl delete -k` waiting for ever.
    #[tokio::test(start_paused = true)]
    async fn one_object_that_may_not_be_changed_keeps_no_installation() {
        let server = Server::default();
        server.status.store(422, Ordering::Relaxed);
        server.removal().take_back().await;
        assert_eq!(server.patches.load(Ordering::Relaxed), ATTEMPTS);
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_with_a_fault_is_waited_for() {
        let server = Server::default();
        server.status.store(500, Ordering::Relaxed);
        let removal = server.removal();
        let mut removed = std::pin::pin!(removal.take_back());
        let hour = Duration::from_hours(1);
        let ended = tokio::time::timeout(hour, removed.as_mut()).await;
        assert!(ended.is_err(), "it waits");
        server.status.store(200, Ordering::Relaxed);
        removed.await;
    }
}
