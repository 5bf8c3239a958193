//! Events that tell a user of what has happened, or of a value that is not understood.
//!
//! The name of the latter is a digest of object and text, so that however often and by however many
//! replicas the same value is seen, it is told once.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{Operation, Purpose, Target, Write};
use crate::scaled_object;

/// The object that an Event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its kind in Kubernetes.
    pub kind: &'static str,
    /// Its namespace; `None` for cluster objects.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// How much an Event matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something happened as it should.
    Normal,
    /// Something did not.
    Warning,
}

/// What an Event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Why it is written.
    pub purpose: Purpose,
    /// How much it matters.
    pub severity: Severity,
    /// Why it happened, in one word of a closed set.
    pub reason: &'static str,
    /// What was done.
    pub action: &'static str,
    /// What happened, in words.
    pub note: &'a str,
}

/// A Warning Event with reason `InvalidAnnotation`, the same object whenever it is told.
///
/// `reporter` is the name of this replica.
#[must_use]
pub fn invalid_annotation(about: &About, note: &str, reporter: &str, now: Timestamp) -> Write {
    let event = Event {
        purpose: Purpose::Notice,
        severity: Severity::Warning,
        reason: "InvalidAnnotation",
        action: "Ignore",
        note,
    };
    let seed = format!("{} {} {note}", about.kind, about.uid);
    written(about, &event, &seed, (reporter, now))
}

/// An Event of something that happened at `now`, which is another object than the same at another
/// time.
///
/// `reporter` is the name of this replica.
#[must_use]
pub fn at(about: &About, event: &Event<'_>, reporter: &str, now: Timestamp) -> Write {
    let seed = format!("{} {} {} {now}", about.kind, about.uid, event.reason);
    written(about, event, &seed, (reporter, now))
}

fn written(
    about: &About,
    event: &Event<'_>,
    seed: &str,
    (reporter, now): (&str, Timestamp),
) -> Write {
    let name = name(about, seed);
    let namespace = about
        .namespace
        .clone()
        .unwrap_or_else(|| "default".to_owned());
    // Events of cluster objects stand in `default`, where `kubectl describe` looks for them.
    let body = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": namespace },
        "eventTime": format!("{now:.6}"),
        "type": format!("{:?}", event.severity),
        "reason": event.reason,
        "action": event.action,
        "note": cut(event.note),
        "reportingController": "evenkeel.dev/evenkeel",
        "reportingInstance": reporter,
        "regarding": {
            "apiVersion": api_version(about.kind),
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        },
    });
    Write {
        purpose: event.purpose,
        target: Target::Event { namespace, name },
        operation: Operation::Create(body),
    }
}

/// The object's name and a digest of what makes the Event the one that it is.
fn name(about: &About, seed: &str) -> String {
    let digest = Sha256::digest(seed);
    let mut suffix = String::with_capacity(16);
    for byte in digest.iter().take(8) {
        // Writing to a text cannot fail.
        let _ = write!(suffix, "{byte:02x}");
    }
    // Names end at 253 characters, and each part of one with a letter or a digit.
    let stem: String = about.name.chars().take(253 - 1 - suffix.len()).collect();
    let stem = stem.trim_end_matches(['.', '-']);
    format!("{stem}.{suffix}")
}

/// A note as the API server takes it: at most 1 KiB.
fn cut(note: &str) -> &str {
    const MOST: usize = 1024;
    let mut end = note.len().min(MOST);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    &note[..end]
}

/// The API version of the kinds whose annotations are read.
fn api_version(kind: &str) -> &'static str {
    match kind {
        "HorizontalPodAutoscaler" => "autoscaling/v2",
        "Deployment" | "StatefulSet" => "apps/v1",
        scaled_object::KIND => "keda.sh/v1alpha1",
        _ => "v1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(uid: &str) -> About {
        About {
            kind: "Namespace",
            namespace: None,
            name: "shop".to_owned(),
            uid: uid.to_owned(),
        }
    }

    #[test]
    fn the_same_notice_is_the_same_object_and_another_is_another() {
        let now = Timestamp::UNIX_EPOCH;
        let target = |uid: &str, note: &str, reporter: &str| {
            invalid_annotation(&about(uid), note, reporter, now).target
        };
        assert_eq!(target("1", "x", "pod-a"), target("1", "x", "pod-b"));
        assert_ne!(target("1", "x", "pod-a"), target("1", "y", "pod-a"));
        assert_ne!(target("1", "x", "pod-a"), target("2", "x", "pod-a"));
    }

    #[test]
    fn the_event_is_one_that_the_api_server_takes() {
        let write = invalid_annotation(&about("1"), "x", "pod-a", Timestamp::UNIX_EPOCH);
        let Operation::Create(body) = write.operation else {
            panic!("a new object")
        };
        let event: k8s_openapi::api::events::v1::Event = serde_json::from_value(body).unwrap();
        assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
        assert_eq!(event.event_time.unwrap().0, Timestamp::UNIX_EPOCH);
        let regarding = event.regarding.unwrap();
        assert_eq!(regarding.name.as_deref(), Some("shop"));
        assert_eq!(regarding.api_version.as_deref(), Some("v1"));
    }

    #[test]
    fn an_event_names_the_version_of_its_object() {
        for (kind, version) in [
            ("Pod", "v1"),
            ("HorizontalPodAutoscaler", "autoscaling/v2"),
            ("StatefulSet", "apps/v1"),
            ("ScaledObject", "keda.sh/v1alpha1"),
        ] {
            let about = About { kind, ..about("1") };
            let write = invalid_annotation(&about, "x", "pod-a", Timestamp::UNIX_EPOCH);
            let Operation::Create(body) = write.operation else {
                panic!("a new object")
            };
            assert_eq!(body["regarding"]["apiVersion"], version, "{kind}");
        }
    }

    #[test]
    fn what_happens_again_is_told_again_and_a_long_note_is_cut() {
        let about = About {
            kind: "HorizontalPodAutoscaler",
            namespace: Some("shop".to_owned()),
            ..about("1")
        };
        let told = |second| {
            let event = Event {
                purpose: Purpose::ScalingEvent,
                severity: Severity::Normal,
                reason: "FloorRaised",
                action: "Scale",
                note: &"\u{e9}".repeat(600),
            };
            at(
                &about,
                &event,
                "pod-a",
                Timestamp::from_second(second).unwrap(),
            )
        };
        assert_ne!(told(1).target, told(2).target);
        let Operation::Create(body) = told(1).operation else {
            panic!("a new object")
        };
        let event: k8s_openapi::api::events::v1::Event = serde_json::from_value(body).unwrap();
        assert_eq!(event.note.unwrap().len(), 1024);
        assert_eq!(event.type_.as_deref(), Some("Normal"));
    }
}
