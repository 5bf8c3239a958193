//! JSON patches that fail if the basis of their decision has changed. Unrelated fields change all
//! the time: the HPA controller writes a status every 15 seconds. So a patch tests the fields of
//! its decision, not the object's version; a null test holds for an absent field too, as in the API
//! server.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, TestOperation};
use serde_json::{Value, json};

use crate::meta::Meta;

/// A patch of one object, and the values that it was decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionalPatch {
    tests: Vec<PatchOperation>,
    changes: Vec<PatchOperation>,
    /// True once the object has annotations for sure, to which one may be added.
    annotated: bool,
}

impl ConditionalPatch {
    /// A patch without changes, for the object with this UID only.
    pub fn of(metadata: &Meta) -> Self {
        let mut patch = Self {
            tests: Vec::new(),
            changes: Vec::new(),
            annotated: metadata.annotations.is_there,
        };
        if let Some(uid) = &metadata.uid {
            patch.expect(&["metadata", "uid"], Value::from(uid.as_str()));
        }
        patch
    }

    /// Makes it fail unless the field has this value; null stands for an absent field.
    pub fn expect(&mut self, path: &[&str], value: Value) {
        let path = PointerBuf::from_tokens(path.iter().copied());
        let test = PatchOperation::Test(TestOperation { path, value });
        self.tests.push(test);
    }

    /// Makes it fail unless the annotation has this text, or is absent.
    pub fn expect_annotation(&mut self, key: &str, text: Option<&str>) {
        if self.annotated {
            self.expect(&["metadata", "annotations", key], Value::from(text));
        } else {
            self.expect_no_annotations();
        }
    }

    /// Gives a field a value, or takes it away with null; `is_there` where the object has it.
    pub fn change(&mut self, path: &[&str], is_there: bool, value: Value) {
        let path = PointerBuf::from_tokens(path.iter().copied());
        self.changes.push(match value {
            Value::Null if !is_there => return,
            Value::Null => PatchOperation::Remove(RemoveOperation { path }),
            value => PatchOperation::Add(AddOperation { path, value }),
        });
    }

    /// Gives the annotation a text, or takes it away; `is_there` where the object has it.
    pub fn annotate(&mut self, key: &str, is_there: bool, text: Option<String>) {
        if !self.annotated && text.is_some() {
            self.expect_no_annotations();
            self.change(&["metadata", "annotations"], false, json!({}));
            self.annotated = true;
        }
        let path = ["metadata", "annotations", key];
        self.change(&path, is_there, Value::from(text));
    }

    fn expect_no_annotations(&mut self) {
        let path = PointerBuf::from_tokens(["metadata", "annotations"]);
        let value = Value::Null;
        let test = PatchOperation::Test(TestOperation { path, value });
        if !self.tests.contains(&test) {
            self.tests.push(test);
        }
    }

    /// The value that a field is given; `None` where it is not changed, or taken away.
    pub fn changed(&self, path: &[&str]) -> Option<&Value> {
        let path = PointerBuf::from_tokens(path.iter().copied());
        self.changes.iter().find_map(|change| match change {
            PatchOperation::Add(add) if add.path == path => Some(&add.value),
            _ => None,
        })
    }

    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The values that it was decided on, as tests.
    pub fn tests(&self) -> &[PatchOperation] {
        &self.tests
    }

    pub fn to_patch(&self) -> Patch {
        Patch([self.tests.as_slice(), &self.changes].concat())
    }
}

/// Applies a patch as the API server does, for which an absent field is null in a test.
///
/// # Errors
/// A test that fails, or a field that is not there.
#[cfg(any(test, feature = "testing"))]
pub fn apply(object: &mut Value, patch: &ConditionalPatch) -> Result<(), json_patch::PatchError> {
    for operation in patch.to_patch().0 {
        let absent = match &operation {
            PatchOperation::Test(test) if test.value.is_null() => {
                let (place, _) = test.path.split_back().expect("a path of some steps");
                object.pointer(place.as_str()).is_some_and(Value::is_object)
                    && object.pointer(test.path.as_str()).is_none()
            }
            _ => false,
        };
        if !absent {
            json_patch::patch(object, &[operation])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(annotations: &Value) -> Meta {
        serde_json::from_value(json!({"uid": "u", "annotations": annotations})).unwrap()
    }

    #[test]
    fn an_annotation_finds_its_place_on_any_object() {
        for (before, after) in [
            (json!(null), json!({"a/b": "x"})),
            (json!({"c": "d"}), json!({"c": "d", "a/b": "x"})),
            (json!({"a/b": "y"}), json!({"a/b": "x"})),
        ] {
            let mut patch = ConditionalPatch::of(&meta(&before));
            patch.expect_annotation("a/b", before["a/b"].as_str());
            assert!(patch.is_empty());
            patch.annotate("a/b", before["a/b"].is_string(), Some("x".to_owned()));
            let mut object = json!({"metadata": {"uid": "u"}});
            if before.is_object() {
                object["metadata"]["annotations"] = before.clone();
            }
            let mut other = object.clone();
            apply(&mut object, &patch).unwrap();
            assert_eq!(object["metadata"]["annotations"], after, "{before}");
            other["metadata"]["annotations"]["a/b"] = json!("z");
            assert!(apply(&mut other, &patch).is_err(), "{before}");
        }
    }

    #[test]
    fn an_object_that_was_made_anew_is_another() {
        let mut patch = ConditionalPatch::of(&meta(&json!(null)));
        patch.change(&["spec", "minReplicas"], true, json!(6));
        let mut object = json!({"metadata": {"uid": "v"}, "spec": {"minReplicas": 2}});
        assert!(apply(&mut object, &patch).is_err());
        object["metadata"]["uid"] = json!("u");
        apply(&mut object, &patch).unwrap();
        assert_eq!(object["spec"]["minReplicas"], 6);
        patch.change(&["spec", "minReplicas"], true, Value::Null);
        apply(&mut object, &patch).unwrap();
        assert_eq!(object["spec"], json!({}));
    }
}
