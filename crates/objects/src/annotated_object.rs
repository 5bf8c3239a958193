//! Objects of any kind, reduced to what shows their annotations and the outcome.

use jiff::Timestamp;
use serde::Deserialize;

use crate::json::{lenient, list, null_is_default};
use crate::meta::{Meta, RelevantAnnotations};

/// An object with what it and its Pod template carry, and the conditions in its status.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AnnotatedObject {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "lenient")]
    spec: Option<AnnotatedObjectSpec>,
    #[serde(deserialize_with = "lenient")]
    status: Option<AnnotatedObjectStatus>,
}

/// A condition in a status. In the object of another product, any part of it may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReportedCondition {
    #[serde(rename = "type", deserialize_with = "null_is_default")]
    pub kind: String,
    #[serde(deserialize_with = "null_is_default")]
    pub status: String,
    #[serde(deserialize_with = "null_is_default")]
    pub reason: String,
    #[serde(deserialize_with = "null_is_default")]
    pub message: String,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AnnotatedObjectSpec {
    #[serde(deserialize_with = "lenient")]
    template: Option<Template>,
    /// The template of a CronJob: the template of its Pods is one level deeper.
    #[serde(deserialize_with = "lenient")]
    job_template: Option<JobTemplate>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct JobTemplate {
    #[serde(deserialize_with = "lenient")]
    spec: Option<JobSpec>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct JobSpec {
    #[serde(deserialize_with = "lenient")]
    template: Option<Template>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Template {
    #[serde(deserialize_with = "null_is_default")]
    metadata: Meta,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
struct AnnotatedObjectStatus {
    #[serde(deserialize_with = "list")]
    conditions: Vec<ReportedCondition>,
}

impl AnnotatedObject {
    /// The namespace; empty for an object of the cluster.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The annotations that its Pods are made with; `None` where it makes none.
    pub fn template(&self) -> Option<&RelevantAnnotations> {
        let spec = self.spec.as_ref()?;
        let of_job = spec.job_template.as_ref().and_then(|job| job.spec.as_ref());
        let template = spec.template.as_ref();
        let template = template.or_else(|| of_job?.template.as_ref())?;
        Some(&template.metadata.annotations)
    }

    pub fn conditions(&self) -> &[ReportedCondition] {
        let status = self.status.as_ref();
        status.map_or(&[], |status| &status.conditions)
    }

    pub fn is_made_by_controller(&self) -> bool {
        self.metadata.controller().is_some()
    }

    /// When it was made, where that is known.
    pub const fn created(&self) -> Option<Timestamp> {
        self.metadata.creation_timestamp
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_are_found_where_each_kind_has_them_and_other_forms_do_no_harm() {
        let pods = json!({"metadata": {"annotations": {"evenkeel.dev/skip": "true"}}});
        for (spec, is_found) in [
            (json!({"template": pods}), true),
            (
                json!({"schedule": "@daily", "jobTemplate": {"spec": {"template": pods}}}),
                true,
            ),
            (json!({"template": "a text"}), false),
            (json!({"jobTemplate": [1, 2]}), false),
            (json!(5), false),
            (json!(null), false),
        ] {
            let object = json!({"metadata": {"name": "a", "namespace": "shop"}, "spec": spec});
            let object: AnnotatedObject = serde_json::from_value(object).unwrap();
            let found = object
                .template()
                .and_then(|found| found.get("evenkeel.dev/skip"));
            assert_eq!(found.is_some(), is_found, "{spec}");
            assert_eq!((object.namespace(), object.name()), ("shop", "a"));
        }
    }

    #[test]
    fn conditions_are_read_as_far_as_they_are_there() {
        let status = json!({"conditions": [{"type": "Ready", "status": "False"}, null]});
        let object: AnnotatedObject = serde_json::from_value(json!({"status": status})).unwrap();
        let [ready] = object.conditions() else {
            panic!("{object:?}")
        };
        assert_eq!(
            (&*ready.kind, &*ready.status, &*ready.reason),
            ("Ready", "False", "")
        );
        let broken: AnnotatedObject =
            serde_json::from_value(json!({"status": {"conditions": "none"}})).unwrap();
        assert_eq!(broken.conditions(), []);
    }
}
