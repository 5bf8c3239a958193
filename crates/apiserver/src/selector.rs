//! Label and field selectors, as query parameters and as objects.

use evenkeel_label_selector::Selector;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::meta;

/// Fields that are `false` by default.
const FLAGS: [&str; 2] = ["/spec/unschedulable", "/spec/hostNetwork"];

#[derive(Debug, Clone, Default)]
pub(crate) struct ListSelector {
    labels: Selector,
    fields: Vec<FieldRequirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldRequirement {
    pointer: String,
    value: String,
    equal: bool,
}

impl ListSelector {
    pub(crate) fn parse(labels: &str, fields: &str) -> Result<Self, ApiError> {
        Ok(Self {
            labels: Selector::parse(labels)
                .map_err(|error| ApiError::bad_request(error.to_string()))?,
            fields: parse_fields(fields)?,
        })
    }

    /// The same selector by the names of stored fields; left: the names in use, right: as stored.
    pub(crate) fn with_stored_names(mut self, renamed: &[(&str, &str)]) -> Self {
        for requirement in &mut self.fields {
            let path = &requirement.pointer[1..];
            let (first, rest) = path.split_once('/').unwrap_or((path, ""));
            if let Some((_, stored)) = renamed.iter().find(|(name, _)| *name == first) {
                let separator = if rest.is_empty() { "" } else { "/" };
                requirement.pointer = format!("/{stored}{separator}{rest}");
            }
        }
        self
    }

    /// A `metav1.LabelSelector`; an empty one matches everything.
    pub(crate) fn from_object(selector: &Value) -> Self {
        let object = serde_json::from_value::<Option<LabelSelector>>(selector.clone());
        let object = object.map(Option::unwrap_or_default).ok();
        let selector = object.and_then(|object| Selector::try_from(object).ok());
        Self {
            // An invalid selector selects nothing.
            labels: selector.unwrap_or_else(Selector::nothing),
            fields: Vec::new(),
        }
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.matches_labels(meta::map(object, "/metadata/labels"))
            && self.fields.iter().all(|field| field.matches(object))
    }

    pub(crate) fn matches_labels(&self, labels: Option<&Map<String, Value>>) -> bool {
        if self.labels.is_empty() {
            return true;
        }
        let text =
            |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        let labels = labels.into_iter().flatten().filter_map(text).collect();
        self.labels.matches(&labels)
    }
}

/// In the text form of query parameters.
pub(crate) fn to_text(selector: &Value) -> String {
    let ListSelector { labels, .. } = match selector
        .get("matchLabels")
        .or(selector.get("matchExpressions"))
    {
        Some(_) => ListSelector::from_object(selector),
        None => ListSelector::from_object(&serde_json::json!({"matchLabels": selector})),
    };
    labels.to_string()
}

impl FieldRequirement {
    fn matches(&self, object: &Value) -> bool {
        let is = match object.pointer(&self.pointer) {
            Some(Value::String(text)) => *text == self.value,
            Some(Value::Bool(flag)) => flag.to_string() == self.value,
            Some(Value::Number(number)) => number.to_string() == self.value,
            _ if FLAGS.contains(&self.pointer.as_str()) => self.value == "false",
            _ => self.value.is_empty(),
        };
        is == self.equal
    }
}

fn parse_fields(text: &str) -> Result<Vec<FieldRequirement>, ApiError> {
    text.split(',')
        .filter(|term| !term.is_empty())
        .map(|term| {
            let (path, value, equal) = if let Some((path, value)) = term.split_once("!=") {
                (path, value, false)
            } else if let Some((path, value)) = term.split_once("==").or(term.split_once('=')) {
                (path, value, true)
            } else {
                return Err(ApiError::bad_request(format!(
                    "invalid selector: {text:?}; can't understand {term:?}"
                )));
            };
            Ok(FieldRequirement {
                pointer: format!("/{}", path.replace('.', "/")),
                value: value.to_owned(),
                equal,
            })
        })
        .collect()
}

/// Refuses other fields than name, namespace and `allowed`.
pub(crate) fn check_fields(text: &str, allowed: &[String]) -> Result<(), ApiError> {
    for requirement in parse_fields(text)? {
        let path = requirement.pointer[1..].replace('/', ".");
        let common = ["metadata.name", "metadata.namespace"];
        if !common.contains(&path.as_str()) && !allowed.contains(&path) {
            return Err(ApiError::bad_request(format!(
                "field label not supported: {path}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn label_selectors_are_held_against_the_labels_of_the_object() {
        let object = json!({"metadata": {"labels": {"app": "web"}}});
        for (selector, matches) in [
            ("", true),
            ("app=web", true),
            ("app notin (api,web)", false),
        ] {
            let selection = ListSelector::parse(selector, "").expect(selector);
            assert_eq!(selection.matches(&object), matches, "{selector}");
        }
        assert!(ListSelector::parse("app in web", "").is_err());
    }

    #[test]
    fn field_selectors_take_missing_for_empty() {
        let object = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n"}});
        for (selector, matches) in [
            ("metadata.name=a", true),
            ("spec.nodeName!=n", false),
            ("status.phase=", true),
            ("spec.nodeName=n,metadata.name==b", false),
        ] {
            let selection = ListSelector::parse("", selector).expect(selector);
            assert_eq!(selection.matches(&object), matches, "{selector}");
        }
        assert!(check_fields("spec.nodeName=n", &["spec.nodeName".to_owned()]).is_ok());
        assert!(check_fields("spec.other=n", &["spec.nodeName".to_owned()]).is_err());
    }

    #[test]
    fn renamed_fields_select_by_their_stored_names() {
        let object = json!({"involvedObject": {"name": "web"}, "reportingComponent": "hpa"});
        let renamed = [
            ("regarding", "involvedObject"),
            ("reportingController", "reportingComponent"),
        ];
        for (selector, matches) in [
            ("regarding.name=web,reportingController=hpa", true),
            ("regarding.name=regarding.name", false),
        ] {
            let selection = ListSelector::parse("", selector).expect(selector);
            let selection = selection.with_stored_names(&renamed);
            assert_eq!(selection.matches(&object), matches, "{selector}");
        }
    }

    #[test]
    fn objects_and_text_mean_the_same() {
        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
        });
        assert_eq!(to_text(&selector), "app=web,tier in (a,b)");
        assert_eq!(to_text(&json!({"app": "rc"})), "app=rc");
    }
}
