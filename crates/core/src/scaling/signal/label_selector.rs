//! Label selectors of metrics (`metav1.LabelSelector`), with the two texts that Kubernetes gives
//! them: the one of queries, and the one of Go's `%+v` that stands in conditions and Events.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// A selector over labels: every requirement has to hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LabelSelector {
    /// The values that labels have to have.
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements, in the order given.
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One requirement on one label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelSelectorRequirement {
    /// The label.
    pub key: String,
    /// How the label and the values relate.
    pub operator: LabelOperator,
    /// The values; none for `Exists` and `DoesNotExist`.
    pub values: Vec<String>,
}

/// How a label and the values of a requirement relate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has another value.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// A word that Kubernetes does not know; a selector with it is in error.
    Unknown(String),
}

impl From<&str> for LabelOperator {
    fn from(word: &str) -> Self {
        match word {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

impl LabelOperator {
    /// The word in manifests.
    pub fn as_str(&self) -> &str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Unknown(word) => word,
        }
    }
}

/// A selector that selects nothing because it cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// The operator is none of the four.
    #[error("{0:?} is not a valid label selector operator")]
    UnknownOperator(String),
    /// `In` and `NotIn` need values.
    #[error("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// `Exists` and `DoesNotExist` take none.
    #[error("values: Invalid value: {0}: values set must be empty for exists and does not exist")]
    NeedlessValues(String),
}

impl LabelSelector {
    /// The selector of labels that have exactly these values.
    pub fn from_labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        Self {
            match_labels: labels.into_iter().map(owned).collect(),
            match_expressions: Vec::new(),
        }
    }

    /// True where the selector requires nothing.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Checks that every requirement can be understood.
    ///
    /// # Errors
    /// The first requirement that cannot.
    pub fn check(&self) -> Result<(), SelectorError> {
        for LabelSelectorRequirement {
            operator, values, ..
        } in &self.match_expressions
        {
            match operator {
                LabelOperator::Unknown(word) => {
                    return Err(SelectorError::UnknownOperator(word.clone()));
                }
                LabelOperator::In | LabelOperator::NotIn if values.is_empty() => {
                    return Err(SelectorError::NoValues);
                }
                LabelOperator::Exists | LabelOperator::DoesNotExist if !values.is_empty() => {
                    return Err(SelectorError::NeedlessValues(format!("{values:?}")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl fmt::Display for LabelSelector {
    /// The form of the `labelSelector` parameter of the API: `a=b,c in (d,e),f,!g`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (key, value) in &self.match_labels {
            write!(f, "{separator}{key}={value}")?;
            separator = ",";
        }
        for requirement in &self.match_expressions {
            write!(f, "{separator}{requirement}")?;
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Display for LabelSelectorRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            key,
            operator,
            values,
        } = self;
        let values = values.join(",");
        match operator {
            LabelOperator::In => write!(f, "{key} in ({values})"),
            LabelOperator::NotIn => write!(f, "{key} notin ({values})"),
            LabelOperator::Exists => f.write_str(key),
            LabelOperator::DoesNotExist => write!(f, "!{key}"),
            LabelOperator::Unknown(word) => write!(f, "{key} {word} ({values})"),
        }
    }
}

/// A metric's selector as Go prints it with `%+v`, which is how the HPA controller words it in
/// conditions, Events and errors.
pub fn go_syntax(selector: Option<&LabelSelector>) -> String {
    let Some(selector) = selector else {
        return "nil".to_owned();
    };
    let mut text = "&LabelSelector{MatchLabels:map[string]string{".to_owned();
    for (key, value) in &selector.match_labels {
        let _ = write!(text, "{key}: {value},");
    }
    text.push_str("},MatchExpressions:[]LabelSelectorRequirement{");
    for requirement in &selector.match_expressions {
        let (operator, values) = (requirement.operator.as_str(), requirement.values.join(" "));
        let key = &requirement.key;
        let _ = write!(
            text,
            "LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},"
        );
    }
    text.push_str("},}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector() -> LabelSelector {
        let requirement = |key: &str, operator: &str, values: &[&str]| LabelSelectorRequirement {
            key: key.to_owned(),
            operator: operator.into(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let mut selector = LabelSelector::from_labels([("queue", "q1")]);
        selector.match_expressions = vec![
            requirement("tier", "In", &["a", "b"]),
            requirement("old", "DoesNotExist", &[]),
        ];
        selector
    }

    #[test]
    fn both_texts_are_those_of_kubernetes() {
        assert_eq!(selector().to_string(), "queue=q1,tier in (a,b),!old");
        let go = "&LabelSelector{MatchLabels:map[string]string{queue: q1,},\
            MatchExpressions:[]LabelSelectorRequirement{\
            LabelSelectorRequirement{Key:tier,Operator:In,Values:[a b],},\
            LabelSelectorRequirement{Key:old,Operator:DoesNotExist,Values:[],},},}";
        assert_eq!(go_syntax(Some(&selector())), go);
        assert_eq!(go_syntax(None), "nil");
    }

    #[test]
    fn requirements_that_make_no_sense_are_refused() {
        assert_eq!(selector().check(), Ok(()));
        for (operator, values) in [("Near", 1), ("In", 0), ("Exists", 1)] {
            let mut selector = selector();
            selector.match_expressions[0].operator = operator.into();
            selector.match_expressions[0].values.truncate(values);
            assert!(selector.check().is_err(), "{operator}");
        }
    }
}
