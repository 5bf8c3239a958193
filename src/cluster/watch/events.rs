//! The events of one watch: a list, whose objects are read one by one while it arrives, and then what changes.
//!
//! kube's own watcher holds a page of the list twice, as text and as objects: 250 Jobs of a megabyte and a half were more
//! memory than a replica has. All else is as it is there, and so are the types.

use std::fmt::Debug;
use std::time::Duration;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::runtime::watcher::{Config, Error, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use crate::cluster::pages::Listing;
use evenkeel_kubernetes::guarded::Guarded;

/// The time after which a watch that says nothing is begun anew. Bookmarks come about once a minute, so a longer silence
/// is a connection that hangs.
const SILENCE: Duration = Duration::from_secs(90);
/// The code of an API server that does not know a version any more.
const GONE: u16 = 410;

/// What is listed and watched.
struct Source<K> {
    api: Api<Guarded<K>>,
    config: Config,
}

enum State<K> {
    Empty,
    Listing(Box<Listing<K>>),
    Listed(String),
    Watching(
        String,
        BoxStream<'static, kube::Result<WatchEvent<Guarded<K>>>>,
    ),
}

/// What a step leads to: an event, unless there is none yet.
type Step<K> = (Option<Result<Event<Guarded<K>>, Error>>, State<K>);

/// The events of the objects that `config` selects, without an end; the next one after an error is that of another attempt.
pub(super) fn events<K>(
    api: Api<Guarded<K>>,
    config: Config,
) -> impl Stream<Item = Result<Event<Guarded<K>>, Error>> + Send
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let begin = (Source { api, config }, State::Empty);
    stream::unfold(begin, |(source, mut state)| async move {
        loop {
            let (event, next) = source.step(state).await;
            state = next;
            if let Some(event) = event {
                return Some((event, (source, state)));
            }
        }
    })
}

impl<K> Source<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    async fn step(&self, state: State<K>) -> Step<K> {
        match state {
            State::Empty => (
                Some(Ok(Event::Init)),
                State::Listing(Box::new(Listing::of(&self.api, self.list_params()))),
            ),
            State::Listing(listing) => list(listing).await,
            State::Listed(version) => match self.api.watch(&self.watch_params(), &version).await {
                Ok(events) => (None, State::Watching(version, events.boxed())),
                Err(error) => {
                    let next = match &error {
                        kube::Error::Api(status) if status.code == GONE => State::Empty,
                        _ => State::Listed(version),
                    };
                    (Some(Err(Error::WatchStartFailed(error))), next)
                }
            },
            State::Watching(version, mut events) => {
                match tokio::time::timeout(SILENCE, events.next()).await {
                    Ok(Some(event)) => watched(event, version, events),
                    Ok(None) | Err(_) => (None, State::Listed(version)),
                }
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

async fn list<K: DeserializeOwned>(mut listing: Box<Listing<K>>) -> Step<K> {
    match listing.next().await {
        Ok(Some(object)) => (Some(Ok(Event::InitApply(object))), State::Listing(listing)),
        Ok(None) => match listing.into_version() {
            Some(version) => (Some(Ok(Event::InitDone)), State::Listed(version)),
            None => (Some(Err(Error::NoResourceVersion)), State::Empty),
        },
        Err(error) => (Some(Err(Error::InitialListFailed(error))), State::Empty),
    }
}

/// Makes an event of an object.
type Make<K> = fn(Guarded<K>) -> Event<Guarded<K>>;

fn watched<K: Resource>(
    event: kube::Result<WatchEvent<Guarded<K>>>,
    version: String,
    events: BoxStream<'static, kube::Result<WatchEvent<Guarded<K>>>>,
) -> Step<K> {
    let (object, event): (_, Make<K>) = match event {
        Ok(WatchEvent::Added(object) | WatchEvent::Modified(object)) => (object, Event::Apply),
        Ok(WatchEvent::Deleted(object)) => (object, Event::Delete),
        Ok(WatchEvent::Bookmark(bookmark)) => {
            let version = bookmark.metadata.resource_version;
            return (None, State::Watching(version, events));
        }
        Ok(WatchEvent::Error(status)) => {
            let next = if status.code == GONE {
                State::Empty
            } else {
                State::Watching(version, events)
            };
            return (Some(Err(Error::WatchError(status.boxed()))), next);
        }
        Err(error) => {
            let next = State::Watching(version, events);
            return (Some(Err(Error::WatchFailed(error))), next);
        }
    };
    match object.meta().resource_version.clone() {
        Some(version) if !version.is_empty() => {
            (Some(Ok(event(object))), State::Watching(version, events))
        }
        _ => (Some(Err(Error::NoResourceVersion)), State::Empty),
    }
}
