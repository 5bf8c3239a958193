//! One watch: follows the events of a kind, applies each object, and leaves out unreadable ones. A
//! refused watch begins from a new list, because the stream does not show when it is allowed again.
//! So does a custom resource's watch after a failed list: users control its objects and its
//! conversion webhook, so a fault that delays all else must become visible. A watch also lists anew
//! when a namespace opts in, because objects of other namespaces are not kept.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::lenient_object::{LenientObject, UnreadableObject};
use evenkeel_objects::workload::Workload;
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::coordination::v1::Lease;
use kube::runtime::watcher::{Config, Error, Event};
use kube::{Api, Client, Resource};
use tracing::{error, info, warn};

use super::events::events;
use super::object::{WatchSink, WatchedObject};
use super::refusals::{OBJECT_WITHIN, Refusals, WatchFailure, is_refusal};
use crate::cluster::autoscaling;
use crate::cluster::autoscaling::ScalingObject;
use crate::cluster::metrics::{ClusterMetrics, WatchOutcome};
use crate::cluster::records::WAITED_FOR;
use crate::cluster::state::ClusterState;
use crate::telemetry::RateLimited;
use crate::watched_types::WatchedCustomObject;

/// Time without a refusal after a list until the watch counts as allowed: a caller may list and yet
/// not watch.
const SETTLES: Duration = Duration::from_secs(5);
/// Objects in a page of custom resources: a conversion webhook gets all objects of a page at once,
/// and has half a minute.
const CUSTOM_PAGE: u32 = 25;
/// The time for which a list that opting in asks for waits for more that do.
const BEFORE_LIST: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseName {
    pub namespace: String,
    pub name: String,
}

pub(super) struct WatchContext<P = ClusterState> {
    pub(super) kind: Kind,
    pub(super) state: P,
    pub(super) metrics: ClusterMetrics,
    pub(super) warned: RateLimited<&'static str>,
}

pub(super) async fn objects<K>(client: Client, watch: impl Borrow<WatchContext>)
where
    K: WatchedObject,
{
    let kind = watch.borrow().kind;
    let config = if WAITED_FOR.contains(&kind) || kind == Kind::ReplicaProfile {
        Config::default().page_size(CUSTOM_PAGE)
    } else {
        Config::default()
    };
    selected::<K, ClusterState>(client, config, watch).await;
}

/// Follows the objects that `config` selects, into any picture.
pub(super) async fn selected<K, P>(
    client: Client,
    config: Config,
    watch: impl Borrow<WatchContext<P>>,
) where
    P: WatchSink,
    K: WatchedObject<P>,
{
    let api: Api<LenientObject<K>> = Api::all(client);
    let events = || events(api.clone(), config.clone());
    let receiver = ObjectReceiver::<K>(PhantomData);
    watch.borrow().keep_following(events, &receiver).await;
}

/// Follows the objects of a custom resource, which is the kind of the watch.
pub(super) async fn custom_resources(client: Client, watch: &WatchContext) {
    let resource = watch.kind.api_resource();
    let api: Api<LenientObject<WatchedCustomObject>> = Api::all_with(client, &resource);
    let pages = Config::default().page_size(CUSTOM_PAGE);
    let events = || events(api.clone(), pages.clone());
    watch
        .keep_following(events, &CustomReceiver(watch.kind))
        .await;
}

/// Follows one Lease. Its right is limited to its name, so that the name has to be asked for.
pub(super) async fn lease(client: Client, watch: WatchContext, lease: LeaseName) {
    let LeaseName { namespace, name } = lease;
    let api: Api<LenientObject<Lease>> = Api::namespaced(client, &namespace);
    let only = Config::default().fields(&format!("metadata.name={name}"));
    let events = || events(api.clone(), only.clone());
    let receiver = ObjectReceiver::<Lease>(PhantomData);
    watch.keep_following(events, &receiver).await;
}

/// The receiver of the objects of one watch.
trait Receiver<T, P = ClusterState> {
    fn key(&self, object: &T) -> String;
    /// Takes the object as it now is.
    ///
    /// # Errors
    /// Its name and why it could not be read.
    fn apply<'a>(&self, state: &P, object: &'a T) -> Result<(), &'a UnreadableObject>;
    fn remove(&self, state: &P, key: &str);
    /// Forgets all but these.
    fn retain(&self, state: &P, keep: &HashSet<String>);
}

/// Why a stream of events is followed no more.
enum StreamEnd {
    /// It has no more events, which should not be.
    Ended,
    Failed(WatchFailure),
    /// Objects are wanted that were not kept.
    Unlisted,
}

impl<P: WatchSink> WatchContext<P> {
    /// Follows one stream of events after the other, until one ends.
    async fn keep_following<T, S>(&self, events: impl Fn() -> S, receiver: &impl Receiver<T, P>)
    where
        S: Stream<Item = Result<Event<T>, Error>>,
    {
        let mut refusals = Refusals::default();
        self.metrics.refused(self.kind, false);
        self.metrics.synced(self.kind, false);
        loop {
            let pause = match self.follow(events(), receiver, &mut refusals).await {
                StreamEnd::Ended => return,
                StreamEnd::Failed(failure) => self.failed(&failure, &mut refusals),
                StreamEnd::Unlisted => BEFORE_LIST,
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn follow<T>(
        &self,
        events: impl Stream<Item = Result<Event<T>, Error>>,
        receiver: &impl Receiver<T, P>,
        refusals: &mut Refusals,
    ) -> StreamEnd {
        let mut events = std::pin::pin!(events);
        let mut listed = HashSet::new();
        let mut is_listed = false;
        loop {
            let event = if is_listed && refusals.last() {
                let next = tokio::time::timeout(SETTLES, events.next());
                let next = next.await.ok();
                self.allowed(refusals, next.as_ref().and_then(Option::as_ref));
                let Some(event) = next else { continue };
                event
            } else if self.is_custom() && !is_listed {
                match tokio::time::timeout(OBJECT_WITHIN, events.next()).await {
                    Ok(event) => event,
                    Err(_) => return StreamEnd::Failed(WatchFailure::unanswered()),
                }
            } else if is_listed {
                tokio::select! {
                    event = events.next() => event,
                    () = self.state.unlisted(self.kind) => return StreamEnd::Unlisted,
                }
            } else {
                events.next().await
            };
            match event {
                None => return StreamEnd::Ended,
                Some(Ok(Event::Init)) => listed.clear(),
                Some(Ok(Event::InitApply(object))) => {
                    listed.insert(receiver.key(&object));
                    self.apply(receiver, &object);
                }
                Some(Ok(Event::InitDone)) => {
                    receiver.retain(&self.state, &std::mem::take(&mut listed));
                    is_listed = true;
                    if !refusals.last() {
                        self.synced();
                    }
                }
                Some(Ok(Event::Apply(object))) => self.apply(receiver, &object),
                Some(Ok(Event::Delete(object))) => {
                    self.metrics.count(self.kind, WatchOutcome::Event);
                    receiver.remove(&self.state, &receiver.key(&object));
                }
                Some(Err(error)) if self.begins_anew(&error) => {
                    return StreamEnd::Failed(WatchFailure::of(&error));
                }
                // The stream goes on by itself, from a new list where it must.
                Some(Err(error)) => self.interrupted(&error),
            }
        }
    }

    fn synced(&self) {
        self.state.set_synced(self.kind);
        self.metrics.synced(self.kind, true);
    }

    /// After a list that followed a refusal: an event, or none for a while, shows that the watch is
    /// allowed.
    fn allowed<T>(&self, refusals: &mut Refusals, next: Option<&Result<T, Error>>) {
        if let Some(Err(_)) = next {
            return;
        }
        refusals.lifted();
        self.metrics.refused(self.kind, false);
        self.synced();
        let kind = self.kind.singular();
        info!(kind, "a refused or failed watch works again");
    }

    fn is_custom(&self) -> bool {
        matches!(self.kind, Kind::Custom(_))
    }

    /// True for a refusal, a failed list of custom resources, and an unreadable list of Evenkeel's
    /// own kinds or KEDA's. If the latter get no answer, the API server as a whole is gone.
    fn begins_anew(&self, error: &Error) -> bool {
        let (fails, is_unreadable) = match error {
            Error::InitialListFailed(kube::Error::SerdeError(_)) => (true, true),
            Error::InitialListFailed(_) | Error::NoResourceVersion => (true, false),
            _ => (false, false),
        };
        is_refusal(error)
            || (fails && self.is_custom())
            || (is_unreadable && WAITED_FOR.contains(&self.kind))
    }

    /// Tells of a refusal or of a list that failed, and gives the pause until the next try.
    fn failed(&self, failure: &WatchFailure, refusals: &mut Refusals) -> Duration {
        let WatchFailure {
            why,
            is_refusal,
            waited,
        } = failure;
        let pause = refusals.refused(*waited);
        self.metrics.count(self.kind, WatchOutcome::Error);
        self.metrics.refused(self.kind, *is_refusal);
        if refusals.outlast_the_picture() {
            if *is_refusal {
                self.state.set_unsynced(self.kind);
            } else {
                self.state.abandon(self.kind);
            }
            self.metrics.synced(self.kind, false);
        }
        let (key, what) = if *is_refusal {
            ("refused", "the API server refuses a watch")
        } else {
            ("unlisted", "custom resources cannot be listed")
        };
        if let Some(suppressed) = self.warned.permit(key, clock::instant()) {
            let kind = self.kind.singular();
            error!(kind, error = why, ?pause, suppressed, "{what}");
        }
        pause
    }

    fn interrupted(&self, error: &Error) {
        self.metrics.count(self.kind, WatchOutcome::Error);
        if let Some(suppressed) = self.warned.permit("interrupted", clock::instant()) {
            let kind = self.kind.singular();
            warn!(kind, %error, suppressed, "a watch was interrupted");
        }
    }

    fn apply<T>(&self, receiver: &impl Receiver<T, P>, object: &T) {
        let Err(UnreadableObject { metadata, error }) = receiver.apply(&self.state, object) else {
            return self.metrics.count(self.kind, WatchOutcome::Event);
        };
        let (namespace, name) = (&metadata.namespace, &metadata.name);
        self.metrics.count(self.kind, WatchOutcome::Unreadable);
        if let Some(suppressed) = self.warned.permit("unreadable", clock::instant()) {
            let kind = self.kind.singular();
            warn!(
                kind,
                namespace, name, error, suppressed, "an object could not be read and is left out"
            );
        }
    }
}

/// Receives objects that are taken whole, as far as rules read them.
struct ObjectReceiver<K>(PhantomData<fn() -> K>);

impl<K, P> Receiver<LenientObject<K>, P> for ObjectReceiver<K>
where
    K: WatchedObject<P>,
{
    fn key(&self, guarded: &LenientObject<K>) -> String {
        K::key(guarded.meta())
    }

    fn apply<'a>(
        &self,
        state: &P,
        guarded: &'a LenientObject<K>,
    ) -> Result<(), &'a UnreadableObject> {
        guarded.0.as_ref()?.apply(state);
        Ok(())
    }

    fn remove(&self, state: &P, key: &str) {
        K::remove(state, key);
    }

    fn retain(&self, state: &P, keep: &HashSet<String>) {
        K::retain(state, keep);
    }
}

struct CustomReceiver(Kind);

impl Receiver<LenientObject<WatchedCustomObject>> for CustomReceiver {
    fn key(&self, guarded: &LenientObject<WatchedCustomObject>) -> String {
        let metadata = guarded.meta();
        autoscaling::key(metadata.namespace.as_deref(), metadata.name.as_deref())
    }

    fn apply<'a>(
        &self,
        state: &ClusterState,
        guarded: &'a LenientObject<WatchedCustomObject>,
    ) -> Result<(), &'a UnreadableObject> {
        let watched = guarded.0.as_ref()?;
        if let Kind::Custom(kind) = self.0 {
            let workload = Workload::of_custom(kind, watched.object.clone());
            state.apply_scaling_object(ScalingObject::Workload(Arc::new(workload)));
        }
        Ok(())
    }

    fn remove(&self, state: &ClusterState, key: &str) {
        state.scaling().remove(self.0, key);
    }

    fn retain(&self, state: &ClusterState, keep: &HashSet<String>) {
        state.scaling().retain(self.0, |key| keep.contains(key));
    }
}
