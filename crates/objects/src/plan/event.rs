//! Events: their names, words and addresses, as the API server accepts them. The name is a digest
//! of the object and a seed: the same seed gives the same Event, from every replica.

use std::borrow::Cow;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::write::{Purpose, Write, WriteOperation};
use crate::kinds::Kind;
use crate::meta::Meta;
use crate::object_ref::ObjectRef;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RegardingObject {
    pub kind: Kind,
    pub namespace: Option<String>,
    pub name: String,
    pub uid: String,
}

impl RegardingObject {
    pub fn of(kind: Kind, metadata: &Meta) -> Self {
        Self {
            kind,
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
            uid: metadata.uid.clone().unwrap_or_default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventSeverity {
    Normal,
    Warning,
}

/// The content of an Event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventContent<'a> {
    /// The reason for which it is written, as metrics and logs name it.
    pub purpose: Purpose,
    pub severity: EventSeverity,
    /// The cause in one word of a closed set, such as `FloorRaised`.
    pub reason: &'static str,
    pub action: &'static str,
    /// The occurrence in words; cut at 1 KiB.
    pub note: Cow<'a, str>,
}

impl EventContent<'static> {
    /// An Event on what scales a workload.
    pub fn of_scaling(severity: EventSeverity, reason: &'static str, note: String) -> Self {
        Self {
            purpose: Purpose::ScalingEvent,
            severity,
            reason,
            action: "Scale",
            note: note.into(),
        }
    }
}

impl EventContent<'_> {
    /// The write of an Event that `reporter`, this replica, writes once for each `seed`.
    pub fn once(
        &self,
        regarding: &RegardingObject,
        seed: &str,
        reporter: &str,
        now: Timestamp,
    ) -> Write {
        let name = name(regarding, seed);
        // Events of cluster objects stand in `default`, where `kubectl describe` looks for them.
        let namespace = regarding.namespace.as_deref().unwrap_or("default");
        let body = json!({
            "apiVersion": Kind::Event.api_version(),
            "kind": Kind::Event.as_str(),
            "metadata": { "name": name, "namespace": namespace },
            "eventTime": format!("{now:.6}"),
            "type": format!("{:?}", self.severity),
            "reason": self.reason,
            "action": self.action,
            "note": cut(&self.note),
            "reportingController": "evenkeel.dev/evenkeel",
            "reportingInstance": reporter,
            "regarding": {
                "apiVersion": regarding.kind.api_version(),
                "kind": regarding.kind.as_str(),
                "namespace": regarding.namespace,
                "name": regarding.name,
                "uid": regarding.uid,
            },
        });
        let target = ObjectRef::in_namespace(Kind::Event, namespace, name);
        Write::new(self.purpose, target, WriteOperation::Create(body))
    }

    /// The write of an Event that happened at `now`: at another time it is another object.
    pub fn at(&self, regarding: &RegardingObject, reporter: &str, now: Timestamp) -> Write {
        let RegardingObject { kind, uid, .. } = regarding;
        let seed = format!("{} {uid} {} {now}", kind.as_str(), self.reason);
        self.once(regarding, &seed, reporter, now)
    }
}

fn name(regarding: &RegardingObject, seed: &str) -> String {
    let digest = Sha256::digest(seed);
    let mut suffix = String::with_capacity(16);
    for byte in digest.iter().take(8) {
        let _ = write!(suffix, "{byte:02x}");
    }
    // Names end at 253 characters, and each part of one with a letter or a digit.
    let stem: String = regarding
        .name
        .chars()
        .take(253 - 1 - suffix.len())
        .collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn regarding(kind: Kind) -> RegardingObject {
        RegardingObject {
            kind,
            namespace: (kind != Kind::Namespace).then(|| "shop".to_owned()),
            name: "web".to_owned(),
            uid: "1".to_owned(),
        }
    }

    fn event(note: &str) -> EventContent<'_> {
        EventContent {
            purpose: Purpose::ScalingEvent,
            severity: EventSeverity::Normal,
            reason: "FloorRaised",
            action: "Scale",
            note: note.into(),
        }
    }

    fn body(write: Write) -> k8s_openapi::api::events::v1::Event {
        let WriteOperation::Create(body) = write.operation else {
            panic!("a new object")
        };
        serde_json::from_value(body).unwrap()
    }

    #[test]
    fn an_event_names_its_object_and_stands_beside_it() {
        for (kind, version, namespace) in [
            (Kind::Namespace, "v1", "default"),
            (Kind::HorizontalPodAutoscaler, "autoscaling/v2", "shop"),
            (Kind::StatefulSet, "apps/v1", "shop"),
            (Kind::ScaledObject, "keda.sh/v1alpha1", "shop"),
        ] {
            let write = event("x").at(&regarding(kind), "pod-a", Timestamp::UNIX_EPOCH);
            let event = body(write);
            assert_eq!(event.metadata.namespace.as_deref(), Some(namespace));
            assert_eq!(event.event_time.unwrap().0, Timestamp::UNIX_EPOCH);
            let regarding = event.regarding.unwrap();
            assert_eq!(regarding.name.as_deref(), Some("web"));
            assert_eq!(regarding.kind.as_deref(), Some(kind.as_str()));
            assert_eq!(regarding.api_version.as_deref(), Some(version));
        }
    }

    #[test]
    fn what_happens_again_is_told_again_and_a_long_note_is_cut() {
        let long = "\u{e9}".repeat(600);
        let told = |second| {
            let now = Timestamp::from_second(second).unwrap();
            event(&long).at(&regarding(Kind::HorizontalPodAutoscaler), "pod-a", now)
        };
        assert_ne!(told(1).target, told(2).target);
        let event = body(told(1));
        assert_eq!(event.note.unwrap().len(), 1024);
        assert_eq!(event.type_.as_deref(), Some("Normal"));
    }
}
