//! One requirement on one label.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelectorRequirement;
use kube_core::{Expression, ParseExpressionError, SelectorExt as _};

/// A requirement on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// A requirement on the presence or the value of the label.
    Expression(Expression),
    /// The label is a whole number above the bound.
    GreaterThan(String, i64),
    /// The label is a whole number below the bound.
    LessThan(String, i64),
}

impl From<Expression> for Requirement {
    fn from(expression: Expression) -> Self {
        Self::Expression(expression)
    }
}

impl Requirement {
    /// The requirement that a node selector spells with key, operator and values.
    ///
    /// # Errors
    /// An operator that Kubernetes does not know, values that it needs and that are absent, or a
    /// bound that is no whole number.
    pub fn of_node(
        key: String,
        operator: &str,
        values: Option<Vec<String>>,
    ) -> Result<Self, ParseExpressionError> {
        let bound = || {
            let bound = values
                .as_ref()
                .and_then(|values| values.first()?.parse().ok());
            bound.ok_or_else(|| ParseExpressionError(format!("Expected a number for {operator}")))
        };
        Ok(match operator {
            "Gt" => Self::GreaterThan(key, bound()?),
            "Lt" => Self::LessThan(key, bound()?),
            _ => Self::Expression(Expression::try_from(LabelSelectorRequirement {
                key,
                operator: operator.to_owned(),
                values,
            })?),
        })
    }

    /// True where the labels fulfil the requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let number = |key| labels.get(key).and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::Expression(expression) => expression.matches(labels),
            Self::GreaterThan(key, bound) => number(key).is_some_and(|number| number > *bound),
            Self::LessThan(key, bound) => number(key).is_some_and(|number| number < *bound),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expression(expression) => expression.fmt(f),
            Self::GreaterThan(key, bound) => write!(f, "{key}>{bound}"),
            Self::LessThan(key, bound) => write!(f, "{key}<{bound}"),
        }
    }
}
