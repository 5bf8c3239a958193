//! Events of the cluster's own parts, for `kubectl describe`. As in client-go, a repeated Event
//! only raises a count, and many Events that differ only in text become one. Events beyond an
//! object's budget are dropped. No part of the cluster waits for an Event: one that cannot be
//! written in time is lost.

mod correlator;
mod event_note;

pub use self::event_note::NoteSeverity;

use k8s_openapi::api::core::v1::{Event, ObjectReference};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tracing::debug;

use self::correlator::{CorrelatedEvent, Correlator};
use self::event_note::Note;
use super::objects::{stamp, typed};
use evenkeel_clock::Clock;

/// Most waiting Events; further ones are lost.
const WAITING: usize = 1_024;

/// For one part of the cluster; clones are of the same part.
#[derive(Debug, Clone)]
pub struct Recorder {
    notes: mpsc::Sender<Note>,
    clock: Clock,
}

impl Recorder {
    /// Events are from `component`, dated by `clock` and written by a task of `tasks`.
    pub fn start(
        client: Client,
        component: &'static str,
        clock: Clock,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let (notes, waiting) = mpsc::channel(WAITING);
        tasks.spawn(write(client, component, waiting));
        Self { notes, clock }
    }

    /// An Event without a problem.
    pub fn normal(&self, about: ObjectReference, reason: &'static str, message: String) {
        self.tell(self.note(about, NoteSeverity::Normal, reason, message));
    }

    /// An Event about a problem.
    pub fn warning(&self, about: ObjectReference, reason: &'static str, message: String) {
        self.tell(self.note(about, NoteSeverity::Warning, reason, message));
    }

    fn note(
        &self,
        about: ObjectReference,
        severity: NoteSeverity,
        reason: &'static str,
        message: String,
    ) -> Note {
        Note {
            about,
            severity,
            reason,
            message,
            at: self.clock.now(),
        }
    }

    fn tell(&self, note: Note) {
        // A full queue loses the Event, so that the caller does not wait.
        let _ = self.notes.try_send(note);
    }
}

/// For an Event. Nodes have their name in place of a UID.
pub fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectReference {
    let mut about = object.object_ref(&());
    if K::kind(&()) == "Node" {
        about.uid = Some(object.name_any());
    }
    about
}

async fn write(client: Client, component: &'static str, mut notes: mpsc::Receiver<Note>) {
    let mut correlator = Correlator::default();
    while let Some(note) = notes.recv().await {
        let Some(outcome) = correlator.correlate(&note) else {
            continue;
        };
        if let Err(error) = send(&client, component, &note, &outcome).await {
            debug!(%error, reason = note.reason, "an Event could not be written");
        }
    }
}

async fn send(
    client: &Client,
    component: &str,
    note: &Note,
    outcome: &CorrelatedEvent,
) -> kube::Result<()> {
    let namespace = note.about.namespace.as_deref().unwrap_or("default");
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    if outcome.count > 1 {
        let patch = Patch::Merge(json!({
            "count": outcome.count, "message": outcome.message, "lastTimestamp": stamp(note.at),
        }));
        let patched = api
            .patch(&outcome.name, &PatchParams::default(), &patch)
            .await;
        match patched {
            // It was deleted meanwhile, so it is created anew.
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            patched => return patched.map(drop),
        }
    }
    let event = event(component, note, outcome, namespace);
    api.create(&PostParams::default(), &event).await.map(drop)
}

fn event(component: &str, note: &Note, outcome: &CorrelatedEvent, namespace: &str) -> Event {
    let at = stamp(note.at);
    typed(json!({
        "metadata": {"name": outcome.name, "namespace": namespace},
        "involvedObject": note.about,
        "type": note.severity.as_str(),
        "reason": note.reason,
        "message": outcome.message,
        "count": outcome.count,
        "firstTimestamp": at,
        "lastTimestamp": at,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
    }))
}
