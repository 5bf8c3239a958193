//! The four kinds of patch.

pub(crate) mod apply;
mod fields;
mod merge_keys;
mod strategic;

use serde_json::Value;

use crate::error::{ApiError, StatusReason};

#[derive(Debug, Clone)]
pub(crate) enum Patch {
    Json(json_patch::Patch),
    Merge(Value),
    Strategic(Value),
    /// Server-side apply, with the manager's fields.
    Apply(Value),
}

impl Patch {
    /// Only objects of `builtin` kinds take strategic merge patches.
    ///
    /// # Errors
    /// 400 if the body does not parse, 415 for another media type.
    pub(crate) fn read(media: &str, body: &[u8], builtin: bool) -> Result<Self, ApiError> {
        let unreadable =
            |error: String| ApiError::bad_request(format!("error decoding patch: {error}"));
        let json = || serde_json::from_slice::<Value>(body).map_err(|e| unreadable(e.to_string()));
        let media = media.split(';').next().unwrap_or_default().trim();
        match media {
            "application/json-patch+json" => serde_json::from_slice(body)
                .map(Self::Json)
                .map_err(|error| unreadable(error.to_string())),
            "application/merge-patch+json" => json().map(Self::Merge),
            "application/strategic-merge-patch+json" if builtin => json().map(Self::Strategic),
            "application/apply-patch+yaml" => {
                let text = std::str::from_utf8(body).map_err(|e| unreadable(e.to_string()))?;
                serde_saphyr::from_str(text)
                    .map(Self::Apply)
                    .map_err(|error| unreadable(error.to_string()))
            }
            _ => {
                let mut accepted = vec![
                    "application/json-patch+json",
                    "application/merge-patch+json",
                    "application/apply-patch+yaml",
                ];
                if builtin {
                    accepted.push("application/strategic-merge-patch+json");
                }
                let accepted = accepted.join(", ");
                Err(ApiError::new(
                    StatusReason::UnsupportedMediaType,
                    format!(
                        "the body of the request was in an unknown format - accepted media types include: {accepted}"
                    ),
                ))
            }
        }
    }

    /// An apply is merged by [`apply`], which knows the managers.
    pub(crate) fn apply(&self, current: &Value) -> Result<Value, ApiError> {
        let mut object = current.clone();
        match self {
            Self::Json(patch) => json(&mut object, patch).map_err(|error| {
                let why = format!(
                    "the server rejected our request due to an error in our request: {error}"
                );
                ApiError::new(StatusReason::Invalid, why)
            })?,
            Self::Merge(patch) => json_patch::merge(&mut object, patch),
            Self::Strategic(patch) => strategic::merge(&mut object, patch)
                .map_err(|why| ApiError::bad_request(format!("invalid patch: {why}")))?,
            Self::Apply(wanted) => object = wanted.clone(),
        }
        Ok(object)
    }

    /// The patch has a resource version, which must be the present one.
    pub(crate) fn pins_version(&self) -> bool {
        match self {
            Self::Json(operations) => {
                let json = serde_json::to_value(operations).unwrap_or_default();
                let mut paths = json.as_array().into_iter().flatten().map(|o| &o["path"]);
                paths.any(|path| {
                    path == "/metadata/resourceVersion" || path == "/metadata" || path == ""
                })
            }
            Self::Merge(patch) | Self::Strategic(patch) | Self::Apply(patch) => {
                patch.pointer("/metadata/resourceVersion").is_some()
            }
        }
    }
}

/// In order. A test for null holds if the field is absent but its parent exists, as in the library
/// of Kubernetes.
fn json(object: &mut Value, patch: &json_patch::Patch) -> Result<(), json_patch::PatchError> {
    for operation in &patch.0 {
        if !is_absent_as_tested(object, operation) {
            json_patch::patch(object, std::slice::from_ref(operation))?;
        }
    }
    Ok(())
}

fn is_absent_as_tested(object: &Value, operation: &json_patch::PatchOperation) -> bool {
    let json_patch::PatchOperation::Test(test) = operation else {
        return false;
    };
    let place = test.path.split_back().map(|(place, _)| place.as_str());
    test.value.is_null()
        && place.is_some_and(|place| object.pointer(place).is_some_and(Value::is_object))
        && object.pointer(test.path.as_str()).is_none()
}
