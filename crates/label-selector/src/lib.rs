//! Kubernetes label selectors, as text in queries and as objects, held against labels.
//!
//! Requirements are those of `kube-core`, and two more that compare numbers: the text form and node
//! selectors know these, selector objects do not.

#![forbid(unsafe_code)]

mod parse;
mod requirement;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_core::{Expression, ParseExpressionError};

pub use parse::SelectorError;
pub use requirement::Requirement;

/// A selector over labels: every requirement has to hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selector(Vec<Requirement>);

impl Selector {
    /// Reads the text form, such as `app=web,tier in (a,b),!old`; the empty text selects everything.
    ///
    /// # Errors
    /// Text that is no selector, in the words of Kubernetes.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::requirements(text).map(Self)
    }

    /// The selector that no labels match.
    pub fn nothing() -> Self {
        let no_value = Expression::In(String::new(), BTreeSet::new());
        Self(vec![Requirement::Expression(no_value)])
    }

    /// True where everything is selected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True where the labels fulfil every requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| requirement.matches(labels))
    }
}

impl TryFrom<LabelSelector> for Selector {
    type Error = ParseExpressionError;

    fn try_from(object: LabelSelector) -> Result<Self, Self::Error> {
        let selector = kube_core::Selector::try_from(object)?;
        let requirements = selector.into_iter().map(Requirement::Expression);
        Ok(Self(requirements.collect()))
    }
}

impl FromIterator<Requirement> for Selector {
    fn from_iter<I: IntoIterator<Item = Requirement>>(requirements: I) -> Self {
        Self(requirements.into_iter().collect())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for requirement in &self.0 {
            write!(f, "{separator}{requirement}")?;
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels() -> BTreeMap<String, String> {
        let labels = [("app", "web"), ("tier", "front"), ("n", "5")];
        labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }

    #[test]
    fn every_form_of_requirement_is_understood() {
        for (text, matches) in [
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
            ("n gt 5", false),
            ("app=", false),
        ] {
            let selector = Selector::parse(text).unwrap();
            assert_eq!(selector.matches(&labels()), matches, "{text}");
            assert_eq!(selector.is_empty(), text.is_empty());
            assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
        }
        assert!(!Selector::nothing().matches(&labels()));
    }

    #[test]
    fn objects_and_text_mean_the_same() {
        let object = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
        });
        let object: LabelSelector = serde_json::from_value(object).unwrap();
        let selector = Selector::try_from(object).unwrap();
        assert_eq!(selector.to_string(), "app=web,tier in (a,b)");
        let like = json!({"matchExpressions": [{"key": "a", "operator": "Like"}]});
        let like: LabelSelector = serde_json::from_value(like).unwrap();
        assert!(Selector::try_from(like).is_err());
    }

    #[test]
    fn node_selectors_compare_numbers_as_well() {
        for (key, operator, values, expected) in [
            ("n", "Gt", vec!["4"], Some(true)),
            ("n", "Gt", vec!["5"], Some(false)),
            ("n", "Lt", vec!["6"], Some(true)),
            ("app", "Lt", vec!["6"], Some(false)),
            ("n", "Lt", vec!["x"], None),
            ("app", "In", vec!["web"], Some(true)),
            ("app", "Like", vec!["w*"], None),
        ] {
            let texts = values.iter().map(|&value| value.to_owned()).collect();
            let requirement = Requirement::of_node(key.to_owned(), operator, Some(texts));
            let found = requirement.map(|requirement| requirement.matches(&labels()));
            assert_eq!(found.ok(), expected, "{key} {operator} {values:?}");
        }
    }
}
