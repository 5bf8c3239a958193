//! Label and field selectors, as query parameters and as objects.
//!
//! The requirements are those of `kube-core`; what is added here is their text in queries, and the
//! comparison of numbers, which only that text knows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_core::{Expression, Selector, SelectorExt as _};
use serde_json::{Map, Value};

use super::error::ApiError;
use super::meta;

/// Fields that are `false` where they are missing.
const FLAGS: [&str; 2] = ["/spec/unschedulable", "/spec/hostNetwork"];

/// The limits of a list or watch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    labels: Vec<LabelRequirement>,
    fields: Vec<FieldRequirement>,
}

/// A requirement on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LabelRequirement {
    Expression(Expression),
    /// The label is a number above the bound.
    Above(String, i64),
    /// The label is a number below the bound.
    Below(String, i64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldRequirement {
    pointer: String,
    value: String,
    equal: bool,
}

impl Selection {
    /// From the two query parameters.
    pub(crate) fn parse(labels: &str, fields: &str) -> Result<Self, ApiError> {
        Ok(Self {
            labels: parse_labels(labels)?,
            fields: parse_fields(fields)?,
        })
    }

    /// A `metav1.LabelSelector`; an empty one matches everything.
    pub(crate) fn from_object(selector: &Value) -> Self {
        let selector = serde_json::from_value::<Option<LabelSelector>>(selector.clone());
        let selector = selector.map(Option::unwrap_or_default).ok();
        let selector = selector.and_then(|selector| Selector::try_from(selector).ok());
        // Nothing has a label that is in no set: what is not understood selects nothing.
        let nothing = || Expression::In(String::new(), BTreeSet::new()).into();
        Self {
            labels: selector
                .unwrap_or_else(nothing)
                .into_iter()
                .map(LabelRequirement::Expression)
                .collect(),
            fields: Vec::new(),
        }
    }

    /// True where everything is selected.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// True where the object is selected.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.matches_labels(meta::map(object, "/metadata/labels"))
            && self.fields.iter().all(|field| field.matches(object))
    }

    /// True where a set of labels is selected.
    pub(crate) fn matches_labels(&self, labels: Option<&Map<String, Value>>) -> bool {
        if self.labels.is_empty() {
            return true;
        }
        let text =
            |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
        let labels = labels.into_iter().flatten().filter_map(text).collect();
        self.labels
            .iter()
            .all(|requirement| requirement.matches(&labels))
    }
}

/// A selector object in the text form of query parameters.
pub(crate) fn to_text(selector: &Value) -> String {
    let Selection { labels, .. } = match selector
        .get("matchLabels")
        .or(selector.get("matchExpressions"))
    {
        Some(_) => Selection::from_object(selector),
        None => Selection::from_object(&serde_json::json!({"matchLabels": selector})),
    };
    let terms: Vec<String> = labels.iter().map(ToString::to_string).collect();
    terms.join(",")
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expression(expression) => expression.fmt(f),
            Self::Above(key, bound) => write!(f, "{key}>{bound}"),
            Self::Below(key, bound) => write!(f, "{key}<{bound}"),
        }
    }
}

impl LabelRequirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let number = |key| labels.get(key).and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Expression(expression) => expression.matches(labels),
            Self::Above(key, bound) => number(key).is_some_and(|number| number > *bound),
            Self::Below(key, bound) => number(key).is_some_and(|number| number < *bound),
        }
    }
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

fn parse_labels(text: &str) -> Result<Vec<LabelRequirement>, ApiError> {
    terms(text)
        .map(|term| {
            requirement(term).ok_or_else(|| {
                ApiError::bad_request(format!(
                    "unable to parse requirement: found {term:?} in the label selector"
                ))
            })
        })
        .collect()
}

/// The parts between commas that stand outside parentheses.
fn terms(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .filter(|term| !term.is_empty())
}

fn requirement(term: &str) -> Option<LabelRequirement> {
    if let Some(open) = term.find('(') {
        return set_requirement(&term[..open], &term[open + 1..]);
    }
    let value = |value: &str| value.trim().to_owned();
    let expression = if let Some((key, is)) = term.split_once("!=") {
        Expression::NotEqual(label(key)?, value(is))
    } else if let Some((key, is)) = term.split_once("==").or(term.split_once('=')) {
        Expression::Equal(label(key)?, value(is))
    } else if let Some((key, bound)) = term.split_once('>') {
        return Some(LabelRequirement::Above(
            label(key)?,
            bound.trim().parse().ok()?,
        ));
    } else if let Some((key, bound)) = term.split_once('<') {
        return Some(LabelRequirement::Below(
            label(key)?,
            bound.trim().parse().ok()?,
        ));
    } else if let Some(key) = term.strip_prefix('!') {
        Expression::DoesNotExist(label(key)?)
    } else {
        Expression::Exists(label(term)?)
    };
    Some(LabelRequirement::Expression(expression))
}

/// A requirement with a set: `key in (a, b)` or `key notin (a, b)`, cut at the parenthesis.
fn set_requirement(begin: &str, set: &str) -> Option<LabelRequirement> {
    let values = set.strip_suffix(')')?.split(',');
    let values = values.map(|value| value.trim().to_owned()).collect();
    let (key, operator) = begin.trim().rsplit_once(char::is_whitespace)?;
    let expression = match operator {
        "in" => Expression::In(label(key)?, values),
        "notin" => Expression::NotIn(label(key)?, values),
        _ => return None,
    };
    Some(LabelRequirement::Expression(expression))
}

/// The name of a label, without what only operators consist of.
fn label(key: &str) -> Option<String> {
    let key = key.trim();
    let clean =
        !key.is_empty() && !key.contains(|c: char| c.is_whitespace() || "()=!,".contains(c));
    clean.then(|| key.to_owned())
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

/// Refuses fields that the kind cannot be selected by; `allowed` is beside name and namespace.
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
    fn label_selectors_read_every_form() {
        let object = json!({"metadata": {"labels": {"app": "web", "tier": "front", "n": "5"}}});
        for (selector, matches) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier!=back", true),
            ("app in (api, web),!missing", true),
            ("app notin (api,web)", false),
            ("missing notin (a)", true),
            ("missing!=a", true),
            ("tier", true),
            ("missing", false),
            ("n>4,n<6", true),
            ("n>5", false),
        ] {
            let selection = Selection::parse(selector, "").expect(selector);
            assert_eq!(selection.matches(&object), matches, "{selector}");
        }
        for wrong in ["app in web", "a b", "=x", "app in (a", "n>x"] {
            assert!(Selection::parse(wrong, "").is_err(), "{wrong}");
        }
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
            let selection = Selection::parse("", selector).expect(selector);
            assert_eq!(selection.matches(&object), matches, "{selector}");
        }
        assert!(check_fields("spec.nodeName=n", &["spec.nodeName".to_owned()]).is_ok());
        assert!(check_fields("spec.other=n", &["spec.nodeName".to_owned()]).is_err());
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
