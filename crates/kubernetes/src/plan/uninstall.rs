//! The traces that Evenkeel leaves on objects that are not its own, and the patch that takes them
//! away.
//!
//! Bounds are put back to the user's values, edits since the last write included. A record that does
//! not parse, makes no sense or was written by somebody else says nothing of what the user had:
//! nothing is written on its object. The user's own annotations are not ours to remove.

pub mod installation;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::annotations::{BOUNDS, ENABLED, HEADROOM_RETURNED, PREFIX, SCALING_STATUS};
use crate::autoscaler::Metrics;
use crate::bounds_annotation::{BoundsAnnotation, BoundsAnnotationError};
use crate::kinds::{BoundsFields, Kind};
use crate::managed_fields::hold_record;
use evenkeel_core::scaling::ObjectBounds;

/// The kinds of object that Evenkeel writes on.
pub const WRITTEN: [Kind; 8] = [
    Kind::HorizontalPodAutoscaler,
    Kind::ScaledObject,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::ReplicaSet,
    Kind::DaemonSet,
    Kind::Namespace,
    Kind::Node,
];

/// The kinds of object whose bounds Evenkeel changes.
pub const BOUNDED: [Kind; 2] = [Kind::HorizontalPodAutoscaler, Kind::ScaledObject];

/// The time after the end of the last contribution to bounds until they are put back by whoever
/// comes by: a leader that lives does so within a minute.
const LAPSED: SignedDuration = SignedDuration::from_hours(1);

/// The part of the traces that is to be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything that Evenkeel wrote.
    All,
    /// The traces on objects whose bounds nobody holds any more ([`Traces::have_lapsed`]).
    Lapsed,
}

/// The traces on one object.
#[derive(Debug, Default)]
pub struct Traces {
    /// The record of its bounds, where it carries one.
    pub bounds: Option<Result<RecordedBounds, BoundsAnnotationError>>,
    /// Annotations beside the record that Evenkeel wrote.
    pub annotations: Vec<&'static str>,
    /// True where a namespace carries the label that mirrors its annotation.
    pub label: bool,
    /// Annotations of Evenkeel that the user wrote.
    pub own: Vec<String>,
}

/// Bounds of an object that carries a record of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedBounds {
    /// The user's bounds, later edits included.
    pub user: ObjectBounds,
    /// The bounds as the object has them.
    pub now: ObjectBounds,
    /// When the last contribution ends, where all of them have an end that can be read.
    pub held_until: Option<Timestamp>,
}

impl Traces {
    /// True for bounds that nobody has held for so long that whoever should have put them back is
    /// gone.
    #[must_use]
    pub fn have_lapsed(&self, now: Timestamp) -> bool {
        let bounds = self.bounds.as_ref().and_then(|bounds| bounds.as_ref().ok());
        let held_until = bounds.and_then(|bounds| bounds.held_until);
        held_until.is_some_and(|until| now.duration_since(until) >= LAPSED)
    }

    /// True where nothing is left.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.bounds.is_none() && self.annotations.is_empty() && !self.label
    }
}

/// The traces on an object of this kind with this metadata and spec.
#[must_use]
pub fn traces(kind: Kind, metadata: &ObjectMeta, spec: &Value, now: Timestamp) -> Traces {
    let annotations = metadata.annotations.as_ref();
    let record = annotations.and_then(|all| all.get(BOUNDS));
    let keys = || annotations.into_iter().flat_map(|all| all.keys());
    let written = [SCALING_STATUS, HEADROOM_RETURNED];
    let left = written
        .into_iter()
        .filter(|written| keys().any(|key| key == written));
    let own = keys().filter(|key| {
        let ours = written.contains(&key.as_str()) || *key == BOUNDS;
        key.starts_with(PREFIX) && !ours
    });
    let labels = metadata.labels.as_ref();
    let mirrored = labels.is_some_and(|all| all.contains_key(ENABLED));
    Traces {
        bounds: record.map(|record| recorded(kind, metadata, record, spec, now)),
        annotations: left.collect(),
        label: kind == Kind::Namespace && mirrored,
        own: own.cloned().collect(),
    }
}

/// The bounds of an object, by its record and as they are.
fn recorded(
    kind: Kind,
    metadata: &ObjectMeta,
    record: &str,
    spec: &Value,
    now: Timestamp,
) -> Result<RecordedBounds, BoundsAnnotationError> {
    if !hold_record(metadata.managed_fields.as_deref().unwrap_or_default()) {
        return Err(BoundsAnnotationError::Foreign);
    }
    let annotation = BoundsAnnotation::parse(record)?.with_least(least_replicas(kind, spec));
    let held_until = annotation.held_until();
    let mut record = annotation.record;
    let field = |name: &str| {
        spec.get(name)?
            .as_i64()
            .and_then(|count| i32::try_from(count).ok())
    };
    let fields = kind.bounds_fields();
    let found = ObjectBounds {
        min: fields.and_then(|fields| field(fields.min)),
        max: fields
            .and_then(|fields| field(fields.max).or(fields.default_max))
            .unwrap_or(i32::MAX),
    };
    // What was edited since the last write is the user's.
    record.observe(found, now);
    Ok(RecordedBounds {
        user: record.restore(),
        now: found,
        held_until,
    })
}

/// The smallest least that the object with this spec takes.
fn least_replicas(kind: Kind, spec: &Value) -> i32 {
    if kind != Kind::HorizontalPodAutoscaler {
        return 0;
    }
    let metrics = spec.get("metrics").cloned().unwrap_or_default();
    Metrics::deserialize(metrics).map_or(1, |metrics| metrics.least_replicas())
}

/// The merge patch that takes away what is left; `None` where nothing is.
///
/// # Errors
/// A record that is taken for none; then nothing may be written.
pub fn patch(
    kind: Kind,
    metadata: &ObjectMeta,
    spec: &Value,
    extent: Extent,
    now: Timestamp,
) -> Result<Option<Value>, BoundsAnnotationError> {
    let traces = traces(kind, metadata, spec, now);
    if traces.is_clean() || extent == Extent::Lapsed && !traces.have_lapsed(now) {
        return Ok(None);
    }
    let mut gone: Map<String, Value> = traces
        .annotations
        .iter()
        .map(|key| ((*key).to_owned(), Value::Null))
        .collect();
    let mut patch = json!({"metadata": {"resourceVersion": metadata.resource_version}});
    if let Some(kept) = traces.bounds {
        let RecordedBounds {
            user,
            now,
            held_until: _,
        } = kept?;
        gone.insert(BOUNDS.to_owned(), Value::Null);
        if let Some(fields) = kind.bounds_fields().filter(|_| user != now) {
            patch["spec"] = spec_patch(fields, user, now);
        }
    }
    if !gone.is_empty() {
        patch["metadata"]["annotations"] = Value::Object(gone);
    }
    if traces.label {
        patch["metadata"]["labels"] = json!({ENABLED: null});
    }
    Ok(Some(patch))
}

fn spec_patch(fields: BoundsFields, user: ObjectBounds, now: ObjectBounds) -> Value {
    let mut spec = Map::new();
    if user.min != now.min {
        spec.insert(
            fields.min.to_owned(),
            user.min.map_or(Value::Null, Value::from),
        );
    }
    if user.max != now.max {
        spec.insert(fields.max.to_owned(), user.max.into());
    }
    Value::Object(spec)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};

    use super::*;
    use crate::annotations::SCALING;
    use crate::managed_fields::MANAGER;
    use evenkeel_core::scaling::contribution::Contribution;

    const HPA: Kind = Kind::HorizontalPodAutoscaler;

    /// The record of a floor of 6 above a least of the user's.
    fn record(min: Option<i32>) -> String {
        let mut annotation = BoundsAnnotation::of_user(ObjectBounds { min, max: 10 });
        let until = Timestamp::from_second(600).unwrap();
        let floor = Contribution::of_prediction(6, until);
        annotation.record.contribute(floor, Timestamp::UNIX_EPOCH);
        annotation.settle(Timestamp::UNIX_EPOCH);
        annotation.to_text().unwrap().unwrap()
    }

    fn metadata(annotations: &[(&str, &str)], labels: &[&str]) -> ObjectMeta {
        let text = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let label = |key: &&str| ((*key).to_owned(), "true".to_owned());
        ObjectMeta {
            resource_version: Some("7".to_owned()),
            annotations: Some(annotations.iter().map(text).collect()),
            labels: Some(labels.iter().map(label).collect()),
            managed_fields: Some(managed_by(MANAGER)),
            ..ObjectMeta::default()
        }
    }

    fn managed_by(manager: &str) -> Vec<ManagedFieldsEntry> {
        let fields = json!({"f:metadata": {"f:annotations": {"f:evenkeel.dev/bounds": {}}}});
        vec![ManagedFieldsEntry {
            manager: Some(manager.to_owned()),
            fields_v1: Some(FieldsV1(fields)),
            ..ManagedFieldsEntry::default()
        }]
    }

    #[test]
    fn only_what_nobody_has_held_for_an_hour_has_lapsed() {
        let spec = json!({"minReplicas": 6, "maxReplicas": 10});
        let later = r#""plan/x":{"how":1},"prediction""#;
        let unreadable = record(Some(2)).replace(r#""prediction""#, later);
        for (record, second, lapsed) in [
            (record(Some(2)), 600, false),
            (record(Some(2)), 600 + 3599, false),
            (record(Some(2)), 600 + 3600, true),
            // Nobody knows its end.
            (unreadable, 600 + 36_000, false),
            // Nobody holds it, for whatever time.
            (
                r#"{"user":{"min":2,"max":10},"written":{"min":6,"max":10}}"#.to_owned(),
                36_000,
                false,
            ),
        ] {
            let metadata = metadata(&[(BOUNDS, &record), (SCALING_STATUS, "{}")], &[]);
            let now = Timestamp::from_second(second).unwrap();
            let patched = patch(HPA, &metadata, &spec, Extent::Lapsed, now).unwrap();
            assert_eq!(patched.is_some(), lapsed, "{record} {second}");
            let all = patch(HPA, &metadata, &spec, Extent::All, now)
                .unwrap()
                .unwrap();
            assert!(!lapsed || patched == Some(all), "all goes at once");
        }
    }

    #[test]
    fn a_record_of_somebody_else_or_without_sense_is_no_word_of_the_users() {
        let spec = json!({"minReplicas": 6, "maxReplicas": 10});
        let refused = |metadata: &ObjectMeta, kind| {
            let patched = patch(kind, metadata, &spec, Extent::All, Timestamp::UNIX_EPOCH);
            patched.err().map(|error| error.reason())
        };
        let senseless = record(Some(2)).replace(r#""min":2"#, r#""min":-1"#);
        let mut found = metadata(&[(BOUNDS, &senseless)], &[]);
        assert_eq!(refused(&found, HPA), Some("SenselessRecord"));
        found = metadata(&[(BOUNDS, &record(Some(0)))], &[]);
        assert_eq!(refused(&found, Kind::ScaledObject), None);
        found.managed_fields = Some(managed_by("kubectl"));
        assert_eq!(refused(&found, Kind::ScaledObject), Some("ForeignRecord"));
    }

    #[test]
    fn bounds_go_back_to_what_the_user_has() {
        let gone = json!({"resourceVersion": "7", "annotations": {BOUNDS: null}});
        for (kind, user, spec, back) in [
            (
                HPA,
                Some(2),
                json!({"minReplicas": 6, "maxReplicas": 10}),
                json!({"minReplicas": 2}),
            ),
            (
                HPA,
                None,
                json!({"minReplicas": 6, "maxReplicas": 10}),
                json!({"minReplicas": null}),
            ),
            // Edited since: the least is the user's, and stays.
            (
                HPA,
                Some(2),
                json!({"minReplicas": 4, "maxReplicas": 10}),
                Value::Null,
            ),
            (
                HPA,
                Some(2),
                json!({"minReplicas": 6, "maxReplicas": 12}),
                json!({"minReplicas": 2}),
            ),
            (
                Kind::ScaledObject,
                Some(2),
                json!({"minReplicaCount": 6, "maxReplicaCount": 10}),
                json!({"minReplicaCount": 2}),
            ),
        ] {
            let metadata = metadata(&[(BOUNDS, &record(user))], &[]);
            let patch = patch(kind, &metadata, &spec, Extent::All, Timestamp::UNIX_EPOCH)
                .unwrap()
                .unwrap();
            assert_eq!(patch["metadata"], gone, "{spec}");
            assert_eq!(patch.get("spec").unwrap_or(&Value::Null), &back, "{spec}");
        }
    }

    #[test]
    fn what_was_written_goes_and_what_the_user_wrote_stays() {
        let annotations = [
            (SCALING_STATUS, "{}"),
            (HEADROOM_RETURNED, "x"),
            (SCALING, "floor"),
            ("a/b", "c"),
        ];
        for (kind, label) in [(Kind::Namespace, true), (Kind::Node, false)] {
            let metadata = metadata(&annotations, &[ENABLED, "team"]);
            let found = traces(kind, &metadata, &Value::Null, Timestamp::UNIX_EPOCH);
            assert_eq!((found.label, found.own), (label, vec![SCALING.to_owned()]));
            let patch = patch(
                kind,
                &metadata,
                &Value::Null,
                Extent::All,
                Timestamp::UNIX_EPOCH,
            )
            .unwrap()
            .unwrap();
            let mut expected = json!({"metadata": {"resourceVersion": "7",
                "annotations": {SCALING_STATUS: null, HEADROOM_RETURNED: null}}});
            if label {
                expected["metadata"]["labels"] = json!({ENABLED: null});
            }
            assert_eq!(patch, expected);
        }
        let own = metadata(&[(SCALING, "floor"), (ENABLED, "true")], &[]);
        let nothing = patch(HPA, &own, &Value::Null, Extent::All, Timestamp::UNIX_EPOCH);
        assert_eq!(nothing.unwrap(), None);
    }

    #[test]
    fn on_a_damaged_record_nothing_is_written() {
        let metadata = metadata(&[(BOUNDS, "{"), (SCALING_STATUS, "{}")], &[]);
        let error = patch(
            HPA,
            &metadata,
            &json!({}),
            Extent::All,
            Timestamp::UNIX_EPOCH,
        )
        .unwrap_err();
        assert_eq!(error.reason(), "OwnershipRecord");
    }
}
