//! Label selectors as objects of the API have them (`metav1.LabelSelector`), unchecked, with the two
//! texts that Kubernetes gives them: the one of queries, and the one of Go's `%+v` that stands in
//! conditions and Events.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};

use crate::error::SelectorError;
use crate::label_rules;
use crate::operator::SelectorOperator;
use crate::requirement::Requirement;

/// A selector over labels as an object has it: every requirement has to hold.
///
/// It keeps the order in which its parts were written, for [`go_syntax`] and to be written back. Two
/// that require the same in another order are equal.
#[derive(Debug, Clone, Default)]
pub struct LabelSelector {
    /// The values that labels have to have.
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements, in the order given.
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One requirement on one label.
#[derive(Debug, Clone)]
pub struct LabelSelectorRequirement {
    /// The label.
    pub key: String,
    /// How the label and the values relate.
    pub operator: LabelOperator,
    /// The values, in the order given; none for `Exists` and `DoesNotExist`.
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

/// A requirement of either form; an operator that is not known is a word.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SelectorTerm<'a> {
    key: &'a str,
    operator: Result<SelectorOperator, &'a str>,
    values: BTreeSet<&'a str>,
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

    /// The selector of requirements; `None` where objects have no word for one, as for a comparison of
    /// numbers.
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

    /// True where the selector requires nothing.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Checks that every requirement can be understood, and that labels can meet it.
    ///
    /// # Errors
    /// The first requirement that is wrong. Kubernetes begins with any of `matchLabels`; here they
    /// come in their order.
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

    /// The requirements with operators that are known.
    pub(crate) fn requirements(&self) -> impl Iterator<Item = Requirement> {
        self.terms().into_iter().filter_map(|term| {
            let operator = term.operator.ok()?;
            Some(Requirement::unchecked(term.key, operator, term.values))
        })
    }

    /// The requirements of both forms in the order of their labels.
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

    /// The requirements in one order, whichever they were given in.
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
    /// The form of the `labelSelector` parameter of the API: `a=b,c in (d,e),f,!g`.
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

/// A selector as Go prints it with `%+v`, which is how the HPA controller words that of a metric in
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
