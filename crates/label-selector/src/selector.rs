//! Checked selectors, matched against labels.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::SelectorError;
use crate::object::LabelSelector;
use crate::operator::SelectorOperator;
use crate::parse;
use crate::requirement::Requirement;

/// Every requirement has to hold, in the order of labels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selector {
    requirements: Vec<Requirement>,
    /// No labels match, whatever is required.
    is_nothing: bool,
}

impl Selector {
    /// For example `app=web,tier in (a,b),!old`; the empty text selects everything.
    ///
    /// # Errors
    /// Invalid text, in the words of Kubernetes.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::requirements(text).map(Self::of)
    }

    /// Matches no labels.
    pub const fn nothing() -> Self {
        Self {
            requirements: Vec::new(),
            is_nothing: true,
        }
    }

    /// Matches labels with exactly these values. An impossible label is no error, but matches
    /// nothing.
    pub fn from_labels(labels: &BTreeMap<String, String>) -> Self {
        let requirements = labels.iter().map(|(key, value)| {
            Requirement::unchecked(key, SelectorOperator::Equals, [value.as_str()])
        });
        Self::of(requirements.collect())
    }

    pub const fn is_empty(&self) -> bool {
        self.requirements.is_empty() && !self.is_nothing
    }

    /// The labels fulfil every requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let mut requirements = self.requirements.iter();
        !self.is_nothing && requirements.all(|requirement| requirement.matches(labels))
    }

    /// `None` if objects cannot express it: a comparison of numbers, or [`Self::nothing`].
    pub fn to_object(&self) -> Option<LabelSelector> {
        let requirements = Some(&self.requirements).filter(|_| !self.is_nothing);
        LabelSelector::of(requirements?)
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self {
            requirements,
            is_nothing: false,
        }
    }
}

impl TryFrom<&LabelSelector> for Selector {
    type Error = SelectorError;

    fn try_from(object: &LabelSelector) -> Result<Self, Self::Error> {
        object.check()?;
        Ok(Self::of(object.requirements().collect()))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for requirement in &self.requirements {
            write!(f, "{separator}{requirement}")?;
            separator = ",";
        }
        Ok(())
    }
}
