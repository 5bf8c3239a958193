//! The events of one watch: a list with objects that are read one by one as it arrives, and then
//! the changes. kube's own watcher holds a page twice, as text and as objects: 250 Jobs of 1.5 MB
//! each exceeded a replica's memory. After an interruption and a pause, a watch continues from the
//! newest version that it has seen whole. If an event may have been lost, it lists anew.

use std::fmt::Debug;
use std::io;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_objects::lenient_object::LenientObject;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _, stream};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{Config, DefaultBackoff, Error, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::cluster::paged_list::Listing;

/// A silent watch is begun anew after this time. Bookmarks come about once a minute, so a longer
/// silence is a server or proxy that hangs; a lost connection is noticed before
/// (`service/client.rs`). A separately queried version is no sign of silence: it grows with the
/// writes to all kinds.
const SILENCE: Duration = Duration::from_secs(90);
/// A shorter watch is no success: an API server, or a proxy before it, may end each at once.
const BRIEF: Duration = Duration::from_secs(1);

/// An attempt that has lasted for this long was a success, and the pauses begin anew after it.
const STEADY: Duration = Duration::from_secs(30);

/// The pauses after errors in a row, from one second to about a minute.
#[derive(Default)]
struct Pauses {
    pauses: DefaultBackoff,
    /// The begin of the attempt, once one has failed.
    attempt: Option<Instant>,
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now = clock::runtime();
        if self
            .attempt
            .is_some_and(|begun| now.saturating_duration_since(begun) >= STEADY)
        {
            self.pauses.reset();
        }
        let pause = self.pauses.next()?;
        self.attempt = Some(now + pause);
        Some(pause)
    }
}

impl Backoff for Pauses {
    /// Called after each event. The events of a list are no success: a watch that fails after each
    /// list would list every second.
    fn reset(&mut self) {}
}

struct WatchSource<K> {
    api: Api<LenientObject<K>>,
    config: Config,
}

enum WatchState<K> {
    Empty,
    Listing(Box<Listing<K>>),
    Listed(String),
    Watching(OpenWatch<K>),
}

struct OpenWatch<K> {
    version: String,
    events: BoxStream<'static, kube::Result<WatchEvent<LenientObject<K>>>>,
    begun: Instant,
}

type WatchStep<K> = (
    Option<Result<Event<LenientObject<K>>, Error>>,
    WatchState<K>,
);

/// The endless events of the objects that `config` selects; after an error, of another attempt.
pub(super) fn events<K>(
    api: Api<LenientObject<K>>,
    config: Config,
) -> impl Stream<Item = Result<Event<LenientObject<K>>, Error>> + Send
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let begin = (WatchSource { api, config }, WatchState::Empty);
    let events = stream::unfold(begin, |(source, mut state)| async move {
        loop {
            let (event, next) = source.step(state).await;
            state = next;
            if let Some(event) = event {
                return Some((event, (source, state)));
            }
        }
    });
    events.backoff(Pauses::default())
}

impl<K> WatchSource<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    async fn step(&self, state: WatchState<K>) -> WatchStep<K> {
        match state {
            WatchState::Empty => (
                Some(Ok(Event::Init)),
                WatchState::Listing(Box::new(Listing::of(&self.api, self.list_params()))),
            ),
            WatchState::Listing(listing) => list(listing).await,
            WatchState::Listed(version) => self.begin(version).await,
            WatchState::Watching(mut watch) => {
                match tokio::time::timeout(SILENCE, watch.events.next()).await {
                    Ok(Some(event)) => watch.take(event),
                    Ok(None) | Err(_) => watch.end(),
                }
            }
        }
    }

    async fn begin(&self, version: String) -> WatchStep<K> {
        let params = self.watch_params();
        let answer = tokio::time::timeout(SILENCE, self.api.watch(&params, &version)).await;
        match answer.unwrap_or_else(|_| Err(broken(io::ErrorKind::TimedOut, "no answer"))) {
            Ok(events) => {
                let watch = OpenWatch {
                    version,
                    events: events.boxed(),
                    begun: clock::runtime(),
                };
                (None, WatchState::Watching(watch))
            }
            Err(error) => {
                let next = if is_refused(&error) {
                    WatchState::Empty
                } else {
                    WatchState::Listed(version)
                };
                (Some(Err(Error::WatchStartFailed(error))), next)
            }
        }
    }

    fn list_params(&self) -> ListParams {
        ListParams {
            label_selector: self.config.label_selector.clone(),
            field_selector: self.config.field_selector.clone(),
            limit: self.config.page_size,
            ..ListParams::default()
        }
    }

    fn watch_params(&self) -> WatchParams {
        WatchParams {
            label_selector: self.config.label_selector.clone(),
            field_selector: self.config.field_selector.clone(),
            ..WatchParams::default()
        }
    }
}

async fn list<K: DeserializeOwned>(mut listing: Box<Listing<K>>) -> WatchStep<K> {
    match listing.next().await {
        Ok(Some(object)) => (
            Some(Ok(Event::InitApply(object))),
            WatchState::Listing(listing),
        ),
        Ok(None) => match listing.into_version() {
            Some(version) => (Some(Ok(Event::InitDone)), WatchState::Listed(version)),
            None => (Some(Err(Error::NoResourceVersion)), WatchState::Empty),
        },
        Err(error) => (
            Some(Err(Error::InitialListFailed(error))),
            WatchState::Empty,
        ),
    }
}

type EventConstructor<K> = fn(LenientObject<K>) -> Event<LenientObject<K>>;

impl<K: Resource> OpenWatch<K> {
    fn take(mut self, event: kube::Result<WatchEvent<LenientObject<K>>>) -> WatchStep<K> {
        let (object, event): (_, EventConstructor<K>) = match event {
            Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => (object, Event::Apply),
            Ok(WatchEvent::Deleted(object)) => (object, Event::Delete),
            Ok(WatchEvent::Bookmark(bookmark)) => {
                let version = bookmark.metadata.resource_version;
                if !version.is_empty() {
                    self.version = version;
                }
                return (None, WatchState::Watching(self));
            }
            Ok(WatchEvent::Error(status)) => {
                return (
                    Some(Err(Error::WatchError(status.boxed()))),
                    WatchState::Empty,
                );
            }
            Err(error) => {
                let next = if is_lost(&error) {
                    WatchState::Empty
                } else {
                    WatchState::Listed(self.version)
                };
                return (Some(Err(Error::WatchFailed(error))), next);
            }
        };
        match object.meta().resource_version.clone() {
            Some(version) if !version.is_empty() => {
                self.version = version;
                (Some(Ok(event(object))), WatchState::Watching(self))
            }
            _ => (Some(Err(Error::NoResourceVersion)), WatchState::Empty),
        }
    }

    /// The end of the answer, no fault after a while: API servers end watches after some minutes.
    fn end(self) -> WatchStep<K> {
        let is_brief = self.begun.elapsed() < BRIEF;
        let error = is_brief.then(|| broken(io::ErrorKind::UnexpectedEof, "it ended at once"));
        let error = error.map(|error| Err(Error::WatchFailed(error)));
        (error, WatchState::Listed(self.version))
    }
}

fn broken(kind: io::ErrorKind, what: &'static str) -> kube::Error {
    kube::Error::ReadEvents(io::Error::new(kind, what))
}

/// True if the API server refuses the version, which is too old or another server's.
const fn is_refused(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 400..=407 | 409..=428 | 430..=499))
}

/// True where an event has come that is not known, or a failure in the place of one.
const fn is_lost(error: &kube::Error) -> bool {
    matches!(error, kube::Error::SerdeError(_) | kube::Error::Api(_))
}

#[cfg(test)]
mod tests;
