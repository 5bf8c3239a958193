//! The JSON patch that annotates a Pod. Only operations that cannot fail are used: `add`, after
//! missing parents are created. The patch is still tried before it is sent, on the part of the
//! object that it touches: to build the whole object takes longer than the review.

use std::collections::BTreeMap;

use evenkeel_objects::annotations::ONLINE;
use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::score_labels::ScoreTerm;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodMutation {
    pub annotations: BTreeMap<&'static str, String>,
    /// The value of `spec.schedulerName`; `None` leaves it.
    pub scheduler_name: Option<String>,
    /// True to add the readiness gate by which Evenkeel takes the Pod out of traffic.
    pub online_gate: bool,
    /// Added to the preferred node terms that the Pod has.
    pub score_terms: Vec<ScoreTerm>,
}

/// The path of the preferred node terms.
const PREFERRED: [&str; 4] = [
    "spec",
    "affinity",
    "nodeAffinity",
    "preferredDuringSchedulingIgnoredDuringExecution",
];

/// The members of an object that lie on the paths of a patch.
#[derive(Deserialize, Serialize)]
struct PatchTargetObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<PatchTargetSpec>,
}

#[derive(Deserialize, Serialize)]
struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Value>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct PatchTargetSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduler_name: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    readiness_gates: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    affinity: Option<Value>,
}

/// The part of the object in `text` that a patch touches. What is `null` there is left out: an
/// `add` treats both alike.
///
/// # Errors
/// A text that is not an object with objects for its metadata and spec.
pub fn touched(text: &str) -> serde_json::Result<Value> {
    serde_json::to_value(serde_json::from_str::<PatchTargetObject>(text)?)
}

pub fn operations(object: &Value, wanted: &PodMutation) -> Patch {
    let mut operations = Vec::new();
    let present = object
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    if present.is_none() && !wanted.annotations.is_empty() {
        operations.push(add(
            ["metadata", "annotations"],
            Value::Object(serde_json::Map::new()),
        ));
    }
    for (key, value) in &wanted.annotations {
        let known = present.and_then(|annotations| annotations.get(*key));
        if known.and_then(Value::as_str) != Some(value.as_str()) {
            operations.push(add(
                ["metadata", "annotations", key],
                Value::from(value.as_str()),
            ));
        }
    }
    let scheduler = object
        .pointer("/spec/schedulerName")
        .and_then(Value::as_str);
    if let Some(name) = &wanted.scheduler_name
        && scheduler != Some(name)
    {
        operations.push(add(["spec", "schedulerName"], Value::from(name.as_str())));
    }
    if wanted.online_gate {
        operations.extend(online_gate(object));
    }
    operations.extend(preferences(object, &wanted.score_terms));
    Patch(operations)
}

/// The operation that adds the gate, if it is missing. The API server refuses a malformed list.
fn online_gate(object: &Value) -> Option<PatchOperation> {
    let gate = json!({"conditionType": ONLINE});
    match object.pointer("/spec/readinessGates") {
        None | Some(Value::Null) => Some(add(["spec", "readinessGates"], json!([gate]))),
        Some(Value::Array(gates)) => {
            let is_there = gates.iter().any(|one| one["conditionType"] == ONLINE);
            (!is_there).then(|| add(["spec", "readinessGates", "-"], gate))
        }
        Some(_) => None,
    }
}

/// The operations that add preferred node terms, with the parents that are missing.
fn preferences(object: &Value, terms: &[ScoreTerm]) -> Vec<PatchOperation> {
    if terms.is_empty() {
        return Vec::new();
    }
    let terms = || terms.iter().map(ScoreTerm::to_value);
    let mut parent = object.get("spec");
    for (at, key) in PREFERRED.iter().enumerate().skip(1) {
        parent = parent.and_then(|parent| parent.get(*key));
        if parent.is_none_or(Value::is_null) {
            let (above, below) = PREFERRED.split_at(at + 1);
            let value = below.iter().rev().fold(
                terms().collect::<Value>(),
                |value, key| json!({*key: value}),
            );
            return vec![add(above.iter().copied(), value)];
        }
    }
    let last = PREFERRED.into_iter().chain(["-"]);
    terms().map(|term| add(last.clone(), term)).collect()
}

fn add<'a>(path: impl IntoIterator<Item = &'a str>, value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation {
        path: PointerBuf::from_tokens(path),
        value,
    })
}

/// Applies a patch to an object, as the API server will.
///
/// # Errors
/// The operation that does not apply. The object is then not to be used.
pub fn apply(object: &mut Value, patch: &Patch) -> Result<(), json_patch::PatchError> {
    json_patch::patch(object, patch)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::score_labels::{Shape, score_terms};

    fn wanted() -> PodMutation {
        PodMutation {
            annotations: BTreeMap::from([
                ("evenkeel.dev/profile", "compute".to_owned()),
                ("evenkeel.dev/profile-source", "requests".to_owned()),
            ]),
            scheduler_name: Some("evenkeel-scheduler".to_owned()),
            online_gate: true,
            score_terms: terms(),
        }
    }

    fn terms() -> Vec<ScoreTerm> {
        score_terms(&Shape::named("normal-c1").unwrap(), &[])
    }

    #[test]
    fn missing_parents_are_created_and_others_keep_their_members() {
        for object in [
            json!({"metadata": {}, "spec": {}}),
            json!({"metadata": {"annotations": null}, "spec": {"schedulerName": "default-scheduler"}}),
            json!({"metadata": {"annotations": {"a/b~c": "kept", "evenkeel.dev/profile": "io"}}, "spec": {}}),
        ] {
            let mut patched = object.clone();
            apply(&mut patched, &operations(&object, &wanted())).unwrap();
            assert_eq!(
                patched["metadata"]["annotations"]["evenkeel.dev/profile"],
                "compute"
            );
            assert_eq!(patched["spec"]["schedulerName"], "evenkeel-scheduler");
            assert_eq!(
                patched["metadata"]["annotations"].get("a/b~c"),
                object["metadata"]["annotations"].get("a/b~c"),
            );
        }
    }

    #[test]
    fn what_is_there_is_not_written_again() {
        let object = json!({"metadata": {"annotations": {"evenkeel.dev/profile": "compute"}},
                            "spec": {"schedulerName": "default-scheduler"}});
        let patch = operations(
            &object,
            &PodMutation {
                annotations: BTreeMap::from([("evenkeel.dev/profile", "compute".to_owned())]),
                scheduler_name: Some("default-scheduler".to_owned()),
                ..PodMutation::default()
            },
        );
        assert!(patch.0.is_empty());
        assert!(operations(&object, &PodMutation::default()).0.is_empty());
    }

    #[test]
    fn a_patch_does_to_the_touched_part_what_it_does_to_the_object() {
        for object in [
            json!({"metadata": {"name": "a"}, "spec": {"containers": [1]}, "status": {}}),
            json!({"metadata": {"annotations": {"a": "b", "evenkeel.dev/profile": 5}}, "spec": {}}),
            json!({"metadata": {"annotations": null}, "spec": {"schedulerName": "x"}}),
            json!({"metadata": {"annotations": {}}}),
            json!({"spec": {}}),
            json!({"metadata": null, "spec": {}}),
            json!({"metadata": {}, "spec": {"readinessGates": [{"conditionType": "a"}]}}),
            json!({"metadata": {}, "spec": {"readinessGates": null}}),
            json!({"metadata": {}, "spec": {"readinessGates": "none"}}),
            json!({"metadata": {}, "spec": {"affinity": {"podAffinity": {}}}}),
            json!({"metadata": {}, "spec": {"affinity": "none"}}),
        ] {
            let mut part = touched(&object.to_string()).unwrap();
            let mut whole = object.clone();
            let patch = operations(&object, &wanted());
            assert_eq!(operations(&part, &wanted()), patch, "{object}");
            let (of_part, of_whole) = (apply(&mut part, &patch), apply(&mut whole, &patch));
            assert_eq!(of_part.is_ok(), of_whole.is_ok(), "{object}");
            if of_whole.is_ok() {
                let same = |path| part.pointer(path) == whole.pointer(path);
                assert!(
                    same("/metadata/annotations")
                        && same("/spec/schedulerName")
                        && same("/spec/readinessGates")
                        && same("/spec/affinity"),
                    "{object}"
                );
            }
        }
        for text in [
            "5",
            "null",
            r#"{"metadata": "a"}"#,
            r#"{"metadata": {}, "spec": []"#,
        ] {
            assert!(touched(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_gate_is_added_once_and_beside_others() {
        let wanted = PodMutation {
            online_gate: true,
            ..PodMutation::default()
        };
        let (own, other) = (
            json!({"conditionType": ONLINE}),
            json!({"conditionType": "a"}),
        );
        for (before, after) in [
            (json!(null), json!([own])),
            (json!([]), json!([own])),
            (json!([other]), json!([other, own])),
            (json!([own, other]), json!([own, other])),
            (json!(7), json!(7)),
        ] {
            let mut object = json!({"metadata": {}, "spec": {"readinessGates": before}});
            let patch = operations(&object, &wanted);
            apply(&mut object, &patch).unwrap();
            assert_eq!(object["spec"]["readinessGates"], after, "{before}");
            assert!(operations(&object, &wanted).0.is_empty(), "{before}");
        }
    }

    #[test]
    fn terms_are_added_behind_those_of_the_pod() {
        let wanted = PodMutation {
            score_terms: terms(),
            ..PodMutation::default()
        };
        let ours: Vec<Value> = terms().iter().map(ScoreTerm::to_value).collect();
        let own = json!({"weight": 1, "preference": {}});
        let list =
            |terms: &[Value]| json!({"preferredDuringSchedulingIgnoredDuringExecution": terms});
        let both = [std::slice::from_ref(&own), &ours].concat();
        for (before, after) in [
            (json!(null), json!({"nodeAffinity": list(&ours)})),
            (json!({}), json!({"nodeAffinity": list(&ours)})),
            (
                json!({"podAffinity": {}, "nodeAffinity": null}),
                json!({"podAffinity": {}, "nodeAffinity": list(&ours)}),
            ),
            (
                json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": null}}),
                json!({"nodeAffinity": list(&ours)}),
            ),
            (
                json!({"nodeAffinity": list(&[])}),
                json!({"nodeAffinity": list(&ours)}),
            ),
            (
                json!({"nodeAffinity": list(&[own])}),
                json!({"nodeAffinity": list(&both)}),
            ),
        ] {
            let mut object = json!({"metadata": {}, "spec": {"affinity": before}});
            let patch = operations(&object, &wanted);
            apply(&mut object, &patch).unwrap();
            assert_eq!(object["spec"]["affinity"], after, "{before}");
        }
    }

    proptest! {
        /// On any object with metadata and spec the patch applies, and a second one is empty.
        #[test]
        fn the_patch_applies_and_is_idempotent(present in prop::option::of(prop::collection::btree_map("[a-z./~-]{1,12}", ".{0,8}", 0..4))) {
            let object = json!({"metadata": {"annotations": present}, "spec": {}});
            // A Pod with terms is given none again, see `score_terms`.
            let wanted = PodMutation { score_terms: Vec::new(), ..wanted() };
            let mut patched = object.clone();
            apply(&mut patched, &operations(&object, &wanted)).unwrap();
            prop_assert!(operations(&patched, &wanted).0.is_empty());
        }
    }
}
