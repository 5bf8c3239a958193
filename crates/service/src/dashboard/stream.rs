//! `GET /api/v1/stream`: server-sent events, at most one a second, each with what has changed for
//! its reader. An event is made when the reader has taken the one before, so a slow reader gets
//! fewer and larger events, and delays neither the loops nor other readers.

mod changes;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::changes::StreamReader;
use super::calendar::CalendarSource;
use super::scaling::DashboardScalingState;
use crate::api;
use crate::api::stream::ClusterChange;
use crate::server::handlers::Handlers;
use crate::server::{ApiError, LastingAnswer};

/// Streams that are open at a time; each keeps the rows that its reader knows, up to 10 MB at 5,000
/// nodes and 10,000 targets.
const MOST_STREAMS: usize = 4;

/// The least time between two events of a stream.
const PACE: Duration = Duration::from_secs(1);

/// An event is sent at least this often, so that a reader notices a lost connection.
const QUIET_TICKS: u32 = 5;

/// The states that streams are made of; clones share the bound of open streams.
#[derive(Debug, Clone)]
pub(super) struct StreamSource {
    handlers: Handlers,
    scaling: DashboardScalingState,
    calendar: CalendarSource,
    slots: Arc<Semaphore>,
}

impl StreamSource {
    pub(super) fn new(
        handlers: Handlers,
        scaling: DashboardScalingState,
        calendar: CalendarSource,
    ) -> Self {
        Self {
            handlers,
            scaling,
            calendar,
            slots: Arc::new(Semaphore::new(MOST_STREAMS)),
        }
    }

    pub(super) fn routes(&self) -> Router {
        Router::new().route(api::STREAM, get(stream).with_state(self.clone()))
    }
}

/// One open stream; the slot is free again when it is dropped.
struct OpenStream {
    source: StreamSource,
    reader: StreamReader,
    quiet: u32,
    _slot: OwnedSemaphorePermit,
}

async fn stream(State(source): State<StreamSource>) -> Result<Response, ApiError> {
    let slot = Arc::clone(&source.slots).try_acquire_owned().map_err(|_| {
        let message = format!("{MOST_STREAMS} streams are open, which is the most; close a page");
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "TooManyStreams", message)
    })?;
    let open = OpenStream {
        source,
        reader: StreamReader::default(),
        quiet: QUIET_TICKS,
        _slot: slot,
    };
    let events = futures::stream::unfold(open, |open| async move { open.next().await });
    let mut response = Sse::new(events).into_response();
    response.extensions_mut().insert(LastingAnswer);
    let no_store = HeaderValue::from_static("no-store");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, no_store);
    Ok(response)
}

impl OpenStream {
    /// The next event; `None` if one cannot be made. When the service is over, its connections are
    /// dropped, and their streams with them.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        loop {
            if self.reader.has_begun() {
                tokio::time::sleep(PACE).await;
            }
            let (change, open) = self.look().await?;
            self = open;
            if let Some(text) = change {
                return Some((Ok(Event::default().data(text)), self));
            }
        }
    }

    /// Looks for changes on the blocking pool; `None` if that panicked.
    async fn look(mut self) -> Option<(Option<String>, Self)> {
        let looked = tokio::task::spawn_blocking(move || {
            let StreamSource {
                handlers,
                scaling,
                calendar,
                ..
            } = &self.source;
            let change = self.reader.next(handlers, scaling, &calendar.newest());
            self.quiet += 1;
            let is_due = self.quiet >= QUIET_TICKS || !is_quiet(&change);
            let text = is_due
                .then(|| serde_json::to_string(&change).ok())
                .flatten();
            if text.is_some() {
                self.quiet = 0;
            }
            (text, self)
        });
        looked.await.ok()
    }
}

fn is_quiet(change: &ClusterChange) -> bool {
    let lists = change.nodes.is_empty()
        && change.gone_nodes.is_empty()
        && change.placements.is_empty()
        && change.targets.is_empty()
        && change.gone_targets.is_empty();
    lists && change.calendar.is_none() && change.replay.is_none() && !change.full
}
