//! Events that tell a user of a value that is not understood.
//!
//! The Event's name is a digest of object and text, so that however often and by however many
//! replicas the same value is seen, it is told once.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::{Operation, Purpose, Target, Write};
use crate::kubernetes::scaled_object;

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

/// A Warning Event with reason `InvalidAnnotation`.
///
/// `reporter` is the name of this replica.
#[must_use]
pub fn invalid_annotation(about: &About, note: &str, reporter: &str, now: Timestamp) -> Write {
    let digest = Sha256::digest(format!("{} {} {note}", about.kind, about.uid));
    let mut suffix = String::with_capacity(16);
    for byte in digest.iter().take(8) {
        // Writing to a text cannot fail.
        let _ = write!(suffix, "{byte:02x}");
    }
    // Names end at 253 characters, and each part of one with a letter or a digit.
    let stem: String = about.name.chars().take(253 - 1 - suffix.len()).collect();
    let stem = stem.trim_end_matches(['.', '-']);
    let name = format!("{stem}.{suffix}");
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
        "type": "Warning",
        "reason": "InvalidAnnotation",
        "action": "Ignore",
        "note": note,
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
        purpose: Purpose::Notice,
        target: Target::Event { namespace, name },
        operation: Operation::Create(body),
    }
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
}
