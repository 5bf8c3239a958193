//! The Events about resizes: one on the Pod for each thing that happens to it.

use std::fmt::Write as _;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::plan::event::{EventContent, EventSeverity, RegardingObject};
use evenkeel_objects::plan::write::{Purpose, Write};
use jiff::SignedDuration;

use super::context::TuningContext;
use super::status::PendingResize;
use crate::resizable_pod::{ResizablePod, ResizePhase};
use crate::resize::ResizeRefusal;
use crate::resize_record::{FIELDS, ResizeRecord, differences};

#[derive(Debug, Clone, PartialEq)]
pub enum PodResizeEvent {
    /// It was asked for.
    Resized(ResizeRecord),
    /// Kubelet has not done it.
    UnderWay(PendingResize),
    Withdrawn(ResizePhase, SignedDuration),
    /// The rules or the API server refuse it, or it was not seen to be taken in time.
    Refused(Option<ResizeRefusal>),
    /// Another writer has changed the Pod.
    LeftAlone(ResizeRefusal),
    /// The resources that it was made with are asked for again.
    PutBack,
    /// The memory that it was made with is asked for again, since a container lacked it.
    MemoryPutBack,
    /// The resources that it was made with, or a part of them, cannot be asked for.
    NotPutBack(ResizeRefusal),
}

impl PodResizeEvent {
    /// The cause in one word, as Events and metrics have it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Resized(_) => "Resized",
            Self::UnderWay(pending) => match &*pending.phase {
                "Infeasible" => "ResizeInfeasible",
                "Error" => "ResizeFailed",
                _ => "ResizeDeferred",
            },
            Self::Withdrawn(..) => "ResizeWithdrawn",
            Self::Refused(_) => "ResizeRefused",
            Self::LeftAlone(_) => "ResizedByOthers",
            Self::PutBack => "ResourcesPutBack",
            Self::MemoryPutBack => "MemoryPutBack",
            Self::NotPutBack(_) => "ResourcesNotPutBack",
        }
    }

    const fn severity(&self) -> EventSeverity {
        match self {
            Self::Resized(_) | Self::PutBack => EventSeverity::Normal,
            _ => EventSeverity::Warning,
        }
    }

    /// The news in words.
    pub fn note(&self) -> String {
        match self {
            Self::Resized(record) => format!("resized to fit its use:{}", changes(record)),
            Self::UnderWay(PendingResize {
                phase,
                since,
                message,
                ..
            }) => format!("its resize is {phase} since {since}: {message}"),
            Self::Withdrawn(phase, after) => format!(
                "its resize is withdrawn, because it has been {} for {after:#}",
                phase.as_str()
            ),
            Self::Refused(Some(refusal)) => format!("its resize is given up: {refusal}"),
            Self::Refused(None) => {
                "its resize is given up: it did not take effect in time, or there is nothing left \
                 to change"
                    .to_owned()
            }
            Self::LeftAlone(refusal) => format!("it is left alone: {refusal}"),
            Self::PutBack => "it gets its original resources back".to_owned(),
            Self::MemoryPutBack => {
                "a container was OOM-killed, or ends after each start: it gets its original memory \
                 back and keeps it"
                    .to_owned()
            }
            Self::NotPutBack(refusal) => {
                format!("its original resources cannot be put back: {refusal}")
            }
        }
    }

    /// The Event; the same one for as long as it tells the same.
    pub(super) fn event(&self, pod: &ResizablePod, context: &TuningContext<'_>) -> Write {
        let regarding = RegardingObject {
            kind: Kind::Pod,
            namespace: Some(pod.namespace.to_string()),
            name: pod.name.to_string(),
            uid: pod.uid.to_string(),
        };
        let note = self.note();
        let event = EventContent {
            purpose: Purpose::ResizeEvent,
            severity: self.severity(),
            reason: self.reason(),
            action: "Resizing",
            note: note.into(),
        };
        // The time of the decision tells one resize from the next.
        let record = pod.record.as_ref().and_then(|record| record.as_ref().ok());
        let at = record.map(|record| record.at);
        let seed = format!("{} {} {at:?}", pod.uid, self.reason());
        event.once(&regarding, &seed, context.reporter, context.now)
    }
}

fn changes(record: &ResizeRecord) -> String {
    let mut text = String::new();
    for (name, after) in &record.to {
        let before = record.from.get(name).copied().unwrap_or_default();
        for (field, resource, amount) in differences(&before, after) {
            let had = FIELDS.iter().find(|(list, _)| *list == field);
            let had = had.and_then(|(_, of)| of(&before[resource]));
            let words = |amount: Option<evenkeel_units::Amount>| {
                amount.map_or("none".to_owned(), |amount| {
                    resource.quantity(amount).to_string()
                })
            };
            // Writing to a text cannot fail.
            let _ = write!(
                text,
                " {name} {field}.{resource} {} to {};",
                words(had),
                words(amount)
            );
        }
    }
    text.trim_end_matches(';').to_owned()
}
