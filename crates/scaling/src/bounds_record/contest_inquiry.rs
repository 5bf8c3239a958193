//! The other writer of contested bounds: its field manager, from `metadata.managedFields`.
//!
//! Watches keep one bit of these fields, since they are large and matter once in a lifetime. So the
//! object is read once when a contest begins, and its plan waits for that: Event and condition are to name
//! the other writer.

use evenkeel_objects::kinds::Kind;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::Value;

/// The search for the other writer of a target's bounds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum ContestInquiry {
    /// No writer contests the bounds.
    #[default]
    None,
    /// The API server is being asked.
    Asked,
    /// The API server was asked, and may have named the writer.
    Answered(Option<String>),
}

impl ContestInquiry {
    /// The state at the next tick. The first tick of a contest asks, where there is an object to ask
    /// about.
    pub(crate) fn next(self, contested: bool, has_object: bool) -> Self {
        match (contested, self) {
            (false, _) => Self::None,
            (true, Self::None) if has_object => Self::Asked,
            (true, Self::None) => Self::Answered(None),
            (true, asked) => asked,
        }
    }

    /// The other writer, if it is known.
    pub(crate) fn writer(&self) -> Option<&str> {
        match self {
            Self::None | Self::Asked => None,
            Self::Answered(writer) => writer.as_deref(),
        }
    }
}

/// The field manager that last wrote the least replicas of an object, or the replicas of a workload,
/// other than `own`.
pub fn last_writer(entries: &[ManagedFieldsEntry], own: &str) -> Option<String> {
    let others = entries.iter().filter(|entry| {
        let manager = entry.manager.as_deref();
        manager.is_some_and(|manager| manager != own) && writes_count(entry)
    });
    others
        .max_by_key(|entry| entry.time.as_ref().map(|time| time.0))
        .and_then(|entry| entry.manager.clone())
}

/// True for a writer of the least replicas or of the replicas, as managed fields name the field of any
/// kind. An autoscaler has no replicas of its own.
fn writes_count(entry: &ManagedFieldsEntry) -> bool {
    let fields = entry.fields_v1.as_ref().map(|fields| &fields.0);
    let spec = fields.and_then(|fields| fields.get("f:spec"));
    let bounds = Kind::ALL.iter().filter_map(|kind| kind.bounds_fields());
    let mut counts = bounds.map(|fields| fields.min);
    spec.and_then(Value::as_object)
        .is_some_and(|spec| counts.any(|field| spec.contains_key(&format!("f:{field}"))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entries(list: Value) -> Vec<ManagedFieldsEntry> {
        serde_json::from_value(list).unwrap()
    }

    fn entry(manager: &str, time: &str, field: &str) -> Value {
        json!({"manager": manager, "operation": "Update", "apiVersion": "autoscaling/v2",
            "time": time, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {field: {}}}})
    }

    #[test]
    fn the_newest_other_writer_of_the_least_is_named() {
        let all = entries(json!([
            entry("kubectl", "2026-01-01T00:00:00Z", "f:minReplicas"),
            entry("evenkeel", "2026-01-03T00:00:00Z", "f:minReplicas"),
            entry("argocd-controller", "2026-01-02T00:00:00Z", "f:minReplicas"),
            entry(
                "kube-controller-manager",
                "2026-01-04T00:00:00Z",
                "f:paused"
            ),
        ]));
        let writer = last_writer(&all, "evenkeel");
        assert_eq!(writer.as_deref(), Some("argocd-controller"));
        let keda = entries(json!([entry(
            "flux",
            "2026-01-01T00:00:00Z",
            "f:minReplicaCount"
        )]));
        assert_eq!(last_writer(&keda, "evenkeel").as_deref(), Some("flux"));
        let direct = entries(json!([
            entry("evenkeel", "2026-01-03T00:00:00Z", "f:replicas"),
            entry("helm", "2026-01-02T00:00:00Z", "f:replicas"),
        ]));
        assert_eq!(last_writer(&direct, "evenkeel").as_deref(), Some("helm"));
        let ours = entries(json!([
            entry("evenkeel", "2026-01-03T00:00:00Z", "f:minReplicas"),
            {"manager": "bare"},
        ]));
        assert_eq!(last_writer(&ours, "evenkeel"), None);
    }

    #[test]
    fn a_contest_is_asked_about_once_and_forgotten_with_its_end() {
        use ContestInquiry::{Answered, Asked, None};
        let flux = || Answered(Some("flux".to_owned()));
        assert_eq!(flux().writer(), Some("flux"));
        for (before, contested, has_object, after) in [
            (None, false, true, None),
            (None, true, true, Asked),
            (None, true, false, Answered(Option::None)),
            (Asked, true, true, Asked),
            (flux(), true, true, flux()),
            (flux(), false, true, None),
            (Asked, false, true, None),
        ] {
            let told = format!("{before:?} {contested} {has_object}");
            assert_eq!(before.next(contested, has_object), after, "{told}");
        }
    }
}
