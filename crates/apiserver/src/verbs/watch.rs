//! Watches: the existing objects, then the changes, one JSON object a line. A watch holds a
//! version, reads later changes from the store's shared log and waits to be woken. A watch that is
//! too slow gets 410, like any with a version that is too old.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::api_request::ApiRequest;
use crate::clock;
use crate::error::ApiError;
use crate::selector::ListSelector;
use crate::store::{ChangeKind, CollectionChange, StoredObject};
use crate::verbs::{get_and_list, render};
use crate::wire::reply::Reply;
use crate::wire::response_form::ResponseForm;

/// If the client names none.
const DEFAULT_LIFE: Duration = Duration::from_mins(30);

struct WatchStream {
    call: Arc<ApiRequest>,
    selection: ListSelector,
    version: u64,
    changed: watch::Receiver<u64>,
    first: Option<Bytes>,
    bookmarks: bool,
    next_bookmark: Instant,
    end: Instant,
    columns_sent: bool,
    over: bool,
}

/// A stream of changes, after the present objects if requested.
pub(crate) fn watch(call: Arc<ApiRequest>) -> Result<Reply, ApiError> {
    let selection = get_and_list::selection(&call)?;
    let life = call.query.timeout()?.unwrap_or(DEFAULT_LIFE);
    let asked = call.query.version()?;
    let initial = call.query.flag("sendInitialEvents");
    let bookmarks = call.query.flag("allowWatchBookmarks");
    check_initial(&call, bookmarks)?;
    let changed = call.api.store.subscribe(&call.resource.collection);
    let now = Instant::from_std(clock::instant());
    let mut watch = WatchStream {
        selection,
        version: 0,
        changed,
        first: None,
        bookmarks,
        next_bookmark: now + call.api.bookmark_interval,
        end: now + life,
        columns_sent: false,
        over: false,
        call,
    };
    match asked {
        Some(version) if !initial => {
            let store = &watch.call.api.store;
            let collection = &watch.call.resource.collection;
            get_and_list::not_ahead(&watch.call, version)?;
            store
                .changes(collection, version)
                .map_err(|old| get_and_list::expired(version, old))?;
            watch.version = version;
        }
        asked => {
            get_and_list::not_ahead(&watch.call, asked.unwrap_or_default())?;
            watch.begin(initial);
        }
    }
    let lines = stream::unfold(watch, |mut state| async {
        let lines = state.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(lines)), state))
    });
    Ok(Reply {
        body: StreamBody::new(lines).boxed_unsync(),
        ..Reply::json(Bytes::new())
    })
}

fn check_initial(call: &ApiRequest, bookmarks: bool) -> Result<(), ApiError> {
    let how = call.query.text("resourceVersionMatch");
    if call.query.flag("sendInitialEvents") && (how != "NotOlderThan" || !bookmarks) {
        return Err(ApiError::bad_request(
            "sendInitialEvents: Forbidden: needs resourceVersionMatch=NotOlderThan and allowWatchBookmarks=true",
        ));
    }
    Ok(())
}

impl WatchStream {
    /// Sends the present objects first, and their end for clients that asked for it.
    fn begin(&mut self, marked: bool) {
        let call = Arc::clone(&self.call);
        let store = &call.api.store;
        let (objects, version) = store.list(&call.resource.collection, call.namespace.as_deref());
        self.version = version;
        let mut lines = BytesMut::new();
        for stored in &objects {
            if !self.selection.matches(&stored.value) {
                continue;
            }
            let object = self.rendered(stored);
            put_line(&mut lines, "ADDED", &object);
        }
        if marked {
            let end = json!({"k8s.io/initial-events-end": "true"});
            let bookmark = self.bookmark(Some(end));
            put_line(&mut lines, "BOOKMARK", &bookmark);
        }
        self.first = Some(lines.freeze());
    }

    /// `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Some(first);
        }
        loop {
            if self.over {
                return None;
            }
            self.changed.borrow_and_update();
            if let Some(lines) = self.pending() {
                return Some(lines);
            }
            let until = self.end.min(self.next_bookmark);
            let woken = timeout_at(until, self.changed.changed()).await;
            match woken {
                Ok(Ok(())) => {}
                // The store outlives its watches; without it the watch has no more changes.
                Ok(Err(_)) => sleep_until(self.end).await,
                Err(_) if until == self.end => self.over = true,
                Err(_) => {
                    self.next_bookmark += self.call.api.bookmark_interval;
                    if self.bookmarks {
                        self.version = self.version.max(self.quiet_version());
                        return Some(line("BOOKMARK", &self.bookmark(None)));
                    }
                }
            }
        }
    }

    /// The store's version if nothing happened here since the watch's.
    fn quiet_version(&self) -> u64 {
        let store = &self.call.api.store;
        match store.changes(&self.call.resource.collection, self.version) {
            Ok((changes, version)) if changes.is_empty() => version,
            _ => self.version,
        }
    }

    /// Changes since the last call.
    fn pending(&mut self) -> Option<Bytes> {
        let store = &self.call.api.store;
        let (changes, version) = match store.changes(&self.call.resource.collection, self.version) {
            Ok(found) => found,
            Err(old) => {
                self.over = true;
                let error = get_and_list::expired(self.version, old);
                return Some(line("ERROR", &error.body().to_string().into()));
            }
        };
        self.version = version;
        let mut lines = BytesMut::new();
        for change in &changes {
            self.put_change(&mut lines, change);
        }
        (!lines.is_empty()).then(|| lines.freeze())
    }

    fn put_change(&mut self, lines: &mut BytesMut, change: &CollectionChange) {
        let call = Arc::clone(&self.call);
        if let Some(namespace) = &call.namespace
            && change.object.key().namespace != *namespace
        {
            return;
        }
        let selection = &self.selection;
        let Some(kind) =
            change.seen_by(|stored| selection.is_everything() || selection.matches(&stored.value))
        else {
            return;
        };
        let word = match kind {
            ChangeKind::Added => "ADDED",
            ChangeKind::Modified => "MODIFIED",
            ChangeKind::Deleted => "DELETED",
        };
        let object = match (&change.previous, change.kind) {
            // It ceased to match: the last matching state, with the version of the change.
            (Some(previous), ChangeKind::Modified) if kind == ChangeKind::Deleted => {
                let mut last = previous.value.clone();
                last["metadata"]["resourceVersion"] = change.version().to_string().into();
                render::value(&self.call, &last, !self.columns_sent)
            }
            _ => self.rendered(&change.object),
        };
        self.columns_sent = true;
        put_line(lines, word, &object);
    }

    fn rendered(&mut self, stored: &Arc<StoredObject>) -> Bytes {
        let with_columns = !std::mem::replace(&mut self.columns_sent, true);
        match self.call.form {
            ResponseForm::Object => render::object(&self.call, stored),
            _ => render::value(&self.call, &stored.value, with_columns),
        }
    }

    fn bookmark(&self, annotations: Option<serde_json::Value>) -> Bytes {
        let resource = &self.call.resource;
        let mut object = json!({
            "kind": resource.kind, "apiVersion": resource.api_version(),
            "metadata": {"resourceVersion": self.version.to_string(), "creationTimestamp": null},
        });
        if let Some(annotations) = annotations {
            object["metadata"]["annotations"] = annotations;
        }
        match self.call.form {
            ResponseForm::Object => object.to_string().into(),
            _ => render::value(&self.call, &object, false),
        }
    }
}

fn line(kind: &str, object: &Bytes) -> Bytes {
    let mut lines = BytesMut::new();
    put_line(&mut lines, kind, object);
    lines.freeze()
}

fn put_line(lines: &mut BytesMut, kind: &str, object: &Bytes) {
    lines.put_slice(br#"{"type":""#);
    lines.put_slice(kind.as_bytes());
    lines.put_slice(br#"","object":"#);
    lines.put_slice(object);
    lines.put_slice(b"}\n");
}
