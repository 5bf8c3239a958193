//! The end of the installation. `kubectl delete -k deploy/` removes rights, Pods and the clean-up's
//! CronJob at once, and no process would be left to undo Evenkeel's writes on foreign objects. So a
//! finalizer holds the few rights for that. A replica that sees them waiting writes nothing new,
//! undoes everything, and releases them. The API server accepts the token of a deleted
//! ServiceAccount for a minute.

use std::time::Duration;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::scaled_kind::ScaledKind;
use kube::Client;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::components::Components;
use crate::cluster::ClusterState;
use crate::controller::WriteSwitch;
use crate::uninstall;
use crate::uninstall::{Inventory, ModifiedObject, OnPods, ReleaseError, UninstallOutcome};
use crate::uninstall_plan::Extent;

const LOOK: Duration = Duration::from_secs(3);
/// The longest that a look takes.
const LIMIT: Duration = Duration::from_secs(2);
/// The pause for the garbage collector to see what was written on the rights. Two are needed, and
/// the token lasts for one minute in all.
const PAUSE: Duration = Duration::from_secs(3);
/// The time for which the API server believes the token of a deleted ServiceAccount.
const TOKEN: Duration = Duration::from_mins(1);
/// The pause before the next attempt while the token is believed.
const AGAIN: Duration = Duration::from_secs(2);
/// The pause before the next attempt after that.
const LATER: Duration = Duration::from_secs(30);
/// The time after the first refusal for retries; the rest is for the release of the rights.
const PATIENCE: Duration = Duration::from_secs(15);
/// The most objects of one namespace that may be left if no change of their kind was accepted.
const FEW: usize = 3;
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
    reinstalled: CancellationToken,
}

impl Removal {
    pub(super) fn new(parts: &Components) -> Self {
        Self {
            client: parts.client.clone(),
            cluster: parts.cluster.clone(),
            namespace: parts.replica.namespace.clone(),
            kinds: parts.config.kinds.clone(),
            on_pods: OnPods::of(&parts.config),
            switch: parts.switch.clone(),
            reinstalled: CancellationToken::new(),
        }
    }

    /// Cancelled if the installation is no longer being deleted after this replica stopped writing.
    pub(super) fn reinstalled(&self) -> CancellationToken {
        self.reinstalled.clone()
    }

    /// Looks until `cancel`, and once more then: the Pod may end with the installation.
    pub(super) async fn run(self, cancel: CancellationToken) {
        let mut looks = tokio::time::interval(LOOK);
        loop {
            let is_last = cancel.run_until_cancelled(looks.tick()).await.is_none();
            if self.is_awaited().await == Some(true) {
                return self.take_back().await;
            }
            if is_last {
                return;
            }
        }
    }

    /// `None` if the API server does not answer.
    async fn is_awaited(&self) -> Option<bool> {
        let asked = uninstall::is_awaited(&self.client, &self.namespace);
        tokio::time::timeout(LIMIT, asked).await.ok()?.ok()
    }

    async fn take_back(&self) {
        tracing::warn!(
            "the installation is being deleted: Evenkeel's writes on other objects are undone"
        );
        let begun = evenkeel_clock::runtime();
        self.switch.retire();
        // After that the other replicas have seen it too, and write nothing any more.
        tokio::time::sleep(LOOK + LIMIT).await;
        let mut progress = UndoProgress::default();
        while let Err(left) = self.attempt(&mut progress).await {
            let is_kept = matches!(
                left,
                RemovalBlocker::Rights(ReleaseError::NotDeleted { .. })
            );
            if is_kept && self.is_awaited().await == Some(false) {
                return self.reinstalled.cancel();
            }
            tracing::error!(%left, "the deletion waits until this is undone");
            let is_believed = begun.elapsed() < TOKEN;
            tokio::time::sleep(if is_believed { AGAIN } else { LATER }).await;
        }
        tracing::info!("everything possible is undone, and the installation can be deleted");
    }

    /// Undoes what is there, and releases the rights once nothing is left, or only single objects
    /// that the API server refuses to change.
    async fn attempt(&self, progress: &mut UndoProgress) -> Result<(), RemovalBlocker> {
        let now = self.cluster.now();
        if !progress.has_listed {
            progress.found = uninstall::marks(&self.client, &self.kinds, self.on_pods, now).await;
        }
        uninstall::restore_all(&self.client, &mut progress.found, Extent::All, now).await;
        progress.settle()?;
        let released = uninstall::release_own_rights(&self.client, &self.namespace, PAUSE).await;
        released.map_err(RemovalBlocker::Rights)
    }
}

/// The objects left to take back after some attempts.
#[derive(Default)]
struct UndoProgress {
    /// True if every kind could be listed. From then on only the remaining objects are retried.
    has_listed: bool,
    found: Inventory,
    accepted: Vec<Kind>,
    refused: Option<Instant>,
}

impl UndoProgress {
    /// Notes the outcomes of an attempt, and names the objects that are left as they are.
    ///
    /// # Errors
    /// Another attempt may take more back.
    fn settle(&mut self) -> Result<(), RemovalBlocker> {
        let Self {
            has_listed,
            found,
            accepted,
            refused,
        } = self;
        let marks = found.marks.iter();
        let restored = marks.filter(|mark| mark.outcome == Some(UninstallOutcome::Restored));
        accepted.extend(restored.map(|mark| mark.kind));
        let marks = &mut found.marks;
        marks.retain(|mark| {
            !matches!(
                mark.outcome,
                Some(UninstallOutcome::Restored | UninstallOutcome::Gone)
            )
        });
        *has_listed = found.unseen.is_empty();
        let mut failures = found.marks.iter().filter_map(|mark| match &mark.outcome {
            Some(UninstallOutcome::Failed(error)) => Some(named(mark, error)),
            _ => None,
        });
        let unlisted = found.unseen.first();
        let unlisted = unlisted.map(|unlisted| format!("{}: {}", unlisted.what, unlisted.why));
        let failure = unlisted.or_else(|| failures.next());
        let marks = found.marks.iter();
        let refusals: Vec<_> = marks.filter(|mark| mark.is_refused()).collect();
        if let Some(first) = refusals.first() {
            let since = *refused.get_or_insert_with(evenkeel_clock::runtime);
            let is_over = since.elapsed() >= PATIENCE && may_be_left(&refusals, accepted);
            if failure.is_none() && !is_over {
                return Err(RemovalBlocker::Objects(named(first, first.why())));
            }
        }
        if let Some(failure) = failure {
            return Err(RemovalBlocker::Objects(failure));
        }
        let left = std::mem::take(&mut found.marks);
        let names: Vec<_> = left.iter().map(|mark| named(mark, mark.why())).collect();
        for some in names.chunks(NAMED) {
            let (count, objects) = (names.len(), some.join("; "));
            tracing::error!(count, objects, "objects are left as they are");
        }
        Ok(())
    }
}

/// True if the refusals are about single objects, which a tenant can cause. If no change of a kind
/// was accepted, a policy may deny them all for a while, and only a few objects of one namespace
/// may be left.
fn may_be_left(refusals: &[&ModifiedObject], accepted: &[Kind]) -> bool {
    let unproven = refusals.iter().map(|mark| (mark.kind, &mark.object));
    let unproven = unproven.filter(|(kind, _)| !accepted.contains(kind));
    let places: Vec<_> = unproven
        .map(|(_, object)| object.namespace.as_deref())
        .collect();
    let is_one = places
        .iter()
        .all(|place| place.is_some() && *place == places[0]);
    places.len() <= FEW && is_one
}

/// The reason why the installation stays.
#[derive(Debug, thiserror::Error)]
enum RemovalBlocker {
    /// Objects that are not taken back or not listed; this is the first.
    #[error("{0}")]
    Objects(String),
    /// The rights, which are still held.
    #[error(transparent)]
    Rights(ReleaseError),
}

fn named(mark: &ModifiedObject, why: &str) -> String {
    format!("{}: {why}", mark.object)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

    use axum::body::Body;
    use axum::http::{Method, Request, Response};
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::Settings;
    use crate::controller::Writes;

    /// An API server with one Deployment with a status; `status` is the code for its patches.
    #[derive(Clone, Default)]
    struct Server {
        status: Arc<AtomicU16>,
        patches: Arc<AtomicU32>,
        /// Of Deployments.
        lists: Arc<AtomicU32>,
        more: usize,
    }

    impl Server {
        fn with_objects(count: usize) -> Self {
            Self {
                more: count - 1,
                ..Self::default()
            }
        }

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
                Some("deployments") => {
                    self.lists.fetch_add(1, Ordering::Relaxed);
                    (200, list(&vec![web; self.more + 1]))
                }
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
                    expects_metrics: true,
                    ..Settings::default()
                }),
                namespace: "evenkeel-system".to_owned(),
                kinds: Vec::new(),
                on_pods: OnPods::ALL,
                switch: WriteSwitch::new(Writes::Enabled),
                reinstalled: CancellationToken::new(),
            }
        }
    }

    /// The harm: a tenant with write access to one object kept `kubectl delete -k` waiting for
    /// ever. Later, repeated lists of the cluster outlasted the token.
    #[tokio::test(start_paused = true)]
    async fn one_object_that_may_not_be_changed_keeps_no_installation() {
        let server = Server::default();
        server.status.store(422, Ordering::Relaxed);
        let begun = evenkeel_clock::runtime();
        server.removal().take_back().await;
        assert!(begun.elapsed() < TOKEN, "{:?}", begun.elapsed());
        assert!(server.patches.load(Ordering::Relaxed) > 1);
        assert_eq!(server.lists.load(Ordering::Relaxed), 1);
    }

    /// The removal waits while patches are answered with this status, and ends afterwards.
    async fn outlasts(server: Server, status: u16) {
        server.status.store(status, Ordering::Relaxed);
        let removal = server.removal();
        let mut removed = std::pin::pin!(removal.take_back());
        let hour = Duration::from_hours(1);
        let ended = tokio::time::timeout(hour, removed.as_mut()).await;
        assert!(ended.is_err(), "it waits");
        server.status.store(200, Ordering::Relaxed);
        removed.await;
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_with_a_fault_is_waited_for() {
        outlasts(Server::default(), 500).await;
    }

    /// The harm: after seconds of a change freeze the rights were given up, and all floors stayed.
    #[tokio::test(start_paused = true)]
    async fn a_policy_that_denies_all_changes_is_waited_for() {
        outlasts(Server::with_objects(30), 403).await;
    }

    #[test]
    fn objects_are_left_if_others_of_their_kind_were_changed_or_they_are_few_in_one_namespace() {
        let mark = |kind: Kind, namespace: &str| ModifiedObject::of(kind, Some(namespace), "web");
        let (hpa, web) = (Kind::HorizontalPodAutoscaler, Kind::Deployment);
        for (refused, accepted, is_left) in [
            (vec![(hpa, "a"); 30], vec![hpa], true),
            (vec![(hpa, "a"); 30], vec![web], false),
            (vec![(hpa, "a"), (web, "a")], vec![], true),
            (vec![(hpa, "a"), (web, "b")], vec![], false),
            (vec![(hpa, "a"), (web, "b")], vec![web], true),
        ] {
            let marks: Vec<_> = refused
                .iter()
                .map(|&(kind, place)| mark(kind, place))
                .collect();
            let marks: Vec<_> = marks.iter().collect();
            assert_eq!(
                may_be_left(&marks, &accepted),
                is_left,
                "{refused:?} {accepted:?}"
            );
        }
        let node = ModifiedObject::of(Kind::Node, None, "a");
        assert!(!may_be_left(&[&node], &[]), "it is no tenant's");
    }
}
