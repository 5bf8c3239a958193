//! Label and field selectors, as query parameters and as objects.

use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::meta;

/// Fields that are `false` where they are missing.
const FLAGS: [&str; 2] = ["/spec/unschedulable", "/spec/hostNetwork"];

/// The label and field selectors of a list or watch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    labels: Vec<Requirement>,
    fields: Vec<FieldRequirement>,
}

/// A requirement on the label of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
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
        let exact = meta::map(selector, "/matchLabels").into_iter().flatten();
        let mut labels: Vec<Requirement> = exact
            .map(|(key, value)| Requirement {
                key: key.clone(),
                operator: Operator::In(vec![value.as_str().unwrap_or_default().to_owned()]),
            })
            .collect();
        for expression in meta::list(selector, "/matchExpressions") {
            let values = || strings(meta::list(expression, "/values"));
            let operator = match meta::text(expression, "/operator") {
                "In" => Operator::In(values()),
                "NotIn" => Operator::NotIn(values()),
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::Absent,
                // Nothing has a label that is in no set: an operator unknown here selects nothing.
                _ => Operator::In(Vec::new()),
            };
            let key = meta::text(expression, "/key").to_owned();
            labels.push(Requirement { key, operator });
        }
        Self {
            labels,
            fields: Vec::new(),
        }
    }

    /// True where nothing is excluded.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// True where all label and field requirements hold for the object.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.matches_labels(meta::map(object, "/metadata/labels"))
            && self.fields.iter().all(|field| field.matches(object))
    }

    /// True where all label requirements hold for a set of labels.
    pub(crate) fn matches_labels(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.labels.iter().all(|requirement| {
            let value = labels.and_then(|labels| labels.get(&requirement.key)?.as_str());
            requirement.operator.accepts(value)
        })
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
    let terms: Vec<String> = labels.iter().map(Requirement::to_text).collect();
    terms.join(",")
}

impl Requirement {
    fn to_text(&self) -> String {
        let key = &self.key;
        match &self.operator {
            Operator::In(values) if values.len() == 1 => format!("{key}={}", values[0]),
            Operator::In(values) => format!("{key} in ({})", values.join(",")),
            Operator::NotIn(values) => format!("{key} notin ({})", values.join(",")),
            Operator::Exists => key.clone(),
            Operator::Absent => format!("!{key}"),
            Operator::Above(bound) => format!("{key}>{bound}"),
            Operator::Below(bound) => format!("{key}<{bound}"),
        }
    }
}

impl Operator {
    fn accepts(&self, value: Option<&str>) -> bool {
        let within = |values: &[String]| value.is_some_and(|v| values.iter().any(|w| w == v));
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match self {
            Self::In(values) => within(values),
            Self::NotIn(values) => !within(values),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::Above(bound) => number().is_some_and(|n| n > *bound),
            Self::Below(bound) => number().is_some_and(|n| n < *bound),
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

fn strings(values: &[Value]) -> Vec<String> {
    let texts = values.iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

fn parse_labels(text: &str) -> Result<Vec<Requirement>, ApiError> {
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

fn requirement(term: &str) -> Option<Requirement> {
    let new = |key: &str, operator: Operator| {
        let key = key.trim();
        let clean =
            !key.is_empty() && !key.contains(|c: char| c.is_whitespace() || "()=!,".contains(c));
        clean.then(|| Requirement {
            key: key.to_owned(),
            operator,
        })
    };
    if let Some(open) = term.find('(') {
        let set = term[open + 1..].strip_suffix(')')?;
        let values = set
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        let (key, operator) = term[..open].trim().rsplit_once(char::is_whitespace)?;
        return match operator {
            "in" => new(key, Operator::In(values)),
            "notin" => new(key, Operator::NotIn(values)),
            _ => None,
        };
    }
    let one = |value: &str| vec![value.trim().to_owned()];
    if let Some((key, value)) = term.split_once("!=") {
        new(key, Operator::NotIn(one(value)))
    } else if let Some((key, value)) = term.split_once("==").or(term.split_once('=')) {
        new(key, Operator::In(one(value)))
    } else if let Some((key, value)) = term.split_once('>') {
        new(key, Operator::Above(value.trim().parse().ok()?))
    } else if let Some((key, value)) = term.split_once('<') {
        new(key, Operator::Below(value.trim().parse().ok()?))
    } else if let Some(key) = term.strip_prefix('!') {
        new(key, Operator::Absent)
    } else {
        new(term, Operator::Exists)
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
