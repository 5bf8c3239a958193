//! The traces that Evenkeel leaves on objects that are not its own, and the patch that takes them
//! away.
//!
//! Bounds are put back to the user's values, edits since the last write included. A record that does
//! not parse says nothing of what the user had: nothing is written on its object. The user's own
//! annotations are not ours to remove.

pub mod installation;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use crate::annotations::{BOUNDS, ENABLED, HEADROOM_RETURNED, PREFIX, SCALING_STATUS};
use crate::bounds_annotation::{BoundsAnnotation, BoundsAnnotationError};
use crate::kinds::{BoundsFields, Kind};
use evenkeel_core::scaling::ObjectBounds;

/// The kinds of object that Evenkeel writes on.
pub const WRITTEN: [Kind; 6] = [
    Kind::HorizontalPodAutoscaler,
    Kind::ScaledObject,
    Kind::Deployment,
    Kind::StatefulSet,
    Kind::Namespace,
    Kind::Node,
];

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
}

impl Traces {
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
        bounds: record.map(|record| recorded(kind, record, spec, now)),
        annotations: left.collect(),
        label: kind == Kind::Namespace && mirrored,
        own: own.cloned().collect(),
    }
}

/// The bounds of an object, by its record and as they are.
fn recorded(
    kind: Kind,
    record: &str,
    spec: &Value,
    now: Timestamp,
) -> Result<RecordedBounds, BoundsAnnotationError> {
    let mut record = BoundsAnnotation::parse(record)?.record;
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
    })
}

/// The merge patch that takes away what is left; `None` where nothing is.
///
/// # Errors
/// A record that does not parse; then nothing may be written.
pub fn patch(
    kind: Kind,
    metadata: &ObjectMeta,
    spec: &Value,
    now: Timestamp,
) -> Result<Option<Value>, BoundsAnnotationError> {
    let traces = traces(kind, metadata, spec, now);
    if traces.is_clean() {
        return Ok(None);
    }
    let mut gone: Map<String, Value> = traces
        .annotations
        .iter()
        .map(|key| ((*key).to_owned(), Value::Null))
        .collect();
    let mut patch = json!({"metadata": {"resourceVersion": metadata.resource_version}});
    if let Some(kept) = traces.bounds {
        let RecordedBounds { user, now } = kept?;
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
    use super::*;
    use crate::annotations::SCALING;
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
            ..ObjectMeta::default()
        }
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
            let patch = patch(kind, &metadata, &spec, Timestamp::UNIX_EPOCH)
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
            let patch = patch(kind, &metadata, &Value::Null, Timestamp::UNIX_EPOCH)
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
        let nothing = patch(HPA, &own, &Value::Null, Timestamp::UNIX_EPOCH);
        assert_eq!(nothing.unwrap(), None);
    }

    #[test]
    fn on_a_damaged_record_nothing_is_written() {
        let metadata = metadata(&[(BOUNDS, "{"), (SCALING_STATUS, "{}")], &[]);
        let error = patch(HPA, &metadata, &json!({}), Timestamp::UNIX_EPOCH).unwrap_err();
        assert_eq!(error.reason(), "OwnershipRecord");
    }
}
