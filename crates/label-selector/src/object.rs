//! Unchecked label selectors of API objects (`metav1.LabelSelector`), with two texts of Kubernetes:
//! the form of queries, and Go's `%+v` in conditions and Events.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};

use crate::error::SelectorError;
use crate::label_rules;
use crate::operator::SelectorOperator;
use crate::requirement::Requirement;

/// Every requirement has to hold. The order of parts is kept for [`go_syntax`] and writing, but
/// does not matter for equality.
#[derive(Debug, Clone, Default)]
pub struct LabelSelector {
    pub match_labels: BTreeMap<String, String>,
    /// In the order given.
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

#[derive(Debug, Clone)]
pub struct LabelSelectorRequirement {
    pub key: String,
    pub operator: LabelOperator,
    /// In the order given; empty for `Exists` and `DoesNotExist`.
    pub values: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has another value.
    NotIn,
    Exists,
    DoesNotExist,
    /// Unknown to Kubernetes; a selector with it is in error.
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
    pub fn as_str(&self) -> &str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Unknown(word) => word,
        }
    }

    fn known(&self) -> Result<SelectorOperator, &str> {
        match self {
            Self::In => Ok(SelectorOperator::In),
            Self::NotIn => Ok(SelectorOperator::NotIn),
            Self::Exists => Ok(SelectorOperator::Exists),
            Self::DoesNotExist => Ok(SelectorOperator::DoesNotExist),
            Self::Unknown(word) => Err(word),
        }
    }
}

impl LabelSelectorRequirement {
    fn of(requirement: &Requirement) -> Option<Self> {
        let operator = match requirement.operator {
            SelectorOperator::Equals | SelectorOperator::In => LabelOperator::In,
            SelectorOperator::NotEquals | SelectorOperator::NotIn => LabelOperator::NotIn,
            SelectorOperator::Exists => LabelOperator::Exists,
            SelectorOperator::DoesNotExist => LabelOperator::DoesNotExist,
            SelectorOperator::GreaterThan | SelectorOperator::LessThan => return None,
        };
        Some(Self {
            key: requirement.key.clone(),
            operator,
            values: requirement.values.iter().cloned().collect(),
        })
    }
}

/// A requirement of either form, with any operator.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SelectorTerm<'a> {
    key: &'a str,
    operator: Result<SelectorOperator, &'a str>,
    values: BTreeSet<&'a str>,
}

impl LabelSelector {
    /// Labels with exactly these values.
    pub fn from_labels<'a>(labels: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        Self {
            match_labels: labels.into_iter().map(owned).collect(),
            match_expressions: Vec::new(),
        }
    }

    /// `None` if objects cannot express a requirement, for example a comparison of numbers.
    pub(crate) fn of(requirements: &[Requirement]) -> Option<Self> {
        let mut selector = Self::default();
        for one in requirements {
            let value = one.values.first();
            match value.filter(|_| one.operator == SelectorOperator::Equals) {
                Some(value) if !selector.match_labels.contains_key(&one.key) => {
                    let (key, value) = (one.key.clone(), value.clone());
                    selector.match_labels.insert(key, value);
                }
                _ => selector
                    .match_expressions
                    .push(LabelSelectorRequirement::of(one)?),
            }
        }
        Some(selector)
    }

    /// Nothing is required.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Checks that every requirement is valid and can be met.
    ///
    /// # Errors
    /// The first wrong requirement in order. Kubernetes begins with any of `matchLabels`.
    pub fn check(&self) -> Result<(), SelectorError> {
        for (key, value) in &self.match_labels {
            label_rules::requirement(key, SelectorOperator::Equals, &[value])?;
        }
        for one in &self.match_expressions {
            let unknown = |word: &str| SelectorError::UnknownOperator(word.to_owned());
            let values: Vec<&str> = one.values.iter().map(String::as_str).collect();
            label_rules::requirement(&one.key, one.operator.known().map_err(unknown)?, &values)?;
        }
        Ok(())
    }

    /// Those with known operators.
    pub(crate) fn requirements(&self) -> impl Iterator<Item = Requirement> {
        self.terms().into_iter().filter_map(|term| {
            let operator = term.operator.ok()?;
            Some(Requirement::unchecked(term.key, operator, term.values))
        })
    }

    /// Requirements of both forms, in the order of labels.
    fn terms(&self) -> Vec<SelectorTerm<'_>> {
        let labels = self.match_labels.iter().map(|(key, value)| SelectorTerm {
            key,
            operator: Ok(SelectorOperator::Equals),
            values: BTreeSet::from([value.as_str()]),
        });
        let expressions = self.match_expressions.iter().map(|one| SelectorTerm {
            key: &one.key,
            operator: one.operator.known(),
            values: one.values.iter().map(String::as_str).collect(),
        });
        let mut terms: Vec<_> = labels.chain(expressions).collect();
        terms.sort_by(|a, b| a.key.cmp(b.key));
        terms
    }

    /// Independent of the given order.
    fn identity(&self) -> Vec<SelectorTerm<'_>> {
        let mut terms = self.terms();
        terms.sort();
        terms
    }
}

impl PartialEq for LabelSelector {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for LabelSelector {}

impl PartialOrd for LabelSelector {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LabelSelector {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl Hash for LabelSelector {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl fmt::Display for LabelSelector {
    /// As in the API's `labelSelector` parameter: `a=b,c in (d,e),f,!g`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for term in self.terms() {
            write!(f, "{separator}{term}")?;
            separator = ",";
        }
        Ok(())
    }
}

impl fmt::Display for SelectorTerm<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.iter().copied();
        match self.operator {
            Ok(operator) => operator.write(f, self.key, values),
            Err(word) => {
                let values: Vec<&str> = values.collect();
                write!(f, "{} {word} ({})", self.key, values.join(","))
            }
        }
    }
}

/// Go's `%+v`, by which the HPA controller words a metric's selector in conditions, Events and
/// errors.
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
