//! One requirement on one label.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::error::SelectorError;
use crate::label_rules;
use crate::operator::SelectorOperator;

/// A requirement on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    pub(crate) key: String,
    pub(crate) operator: SelectorOperator,
    pub(crate) values: BTreeSet<String>,
}

impl Requirement {
    /// The requirement, as it is.
    pub(crate) fn unchecked<'a>(
        key: &str,
        operator: SelectorOperator,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self {
            key: key.to_owned(),
            operator,
            values: values.into_iter().map(str::to_owned).collect(),
        }
    }

    /// The requirement, once it is checked; errors tell of values by their places.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn new(
        key: &str,
        operator: SelectorOperator,
        values: &[&str],
    ) -> Result<Self, SelectorError> {
        label_rules::requirement(key, operator, values)?;
        Ok(Self::unchecked(key, operator, values.iter().copied()))
    }

    /// The requirement that a node selector spells with key, operator and values. It may be on a field
    /// of the node. Fields and labels follow different rules for names, so neither is checked.
    ///
    /// # Errors
    /// An operator that Kubernetes does not know, a wrong number of values, or a bound that is no
    /// whole number.
    pub fn of_node(key: &str, operator: &str, values: &[String]) -> Result<Self, SelectorError> {
        let operator = match operator {
            "In" => SelectorOperator::In,
            "NotIn" => SelectorOperator::NotIn,
            "Exists" => SelectorOperator::Exists,
            "DoesNotExist" => SelectorOperator::DoesNotExist,
            "Gt" => SelectorOperator::GreaterThan,
            "Lt" => SelectorOperator::LessThan,
            other => return Err(SelectorError::UnknownOperator(other.to_owned())),
        };
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        label_rules::values(operator, &values)?;
        Ok(Self::unchecked(key, operator, values))
    }

    /// True where the labels fulfil the requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        let has = || value.is_some_and(|value| self.values.contains(value));
        let compare = || {
            let number = value?.parse::<i64>().ok()?;
            let bound = self.values.first()?.parse().ok()?;
            Some(number.cmp(&bound))
        };
        match self.operator {
            SelectorOperator::Equals | SelectorOperator::In => has(),
            SelectorOperator::NotEquals | SelectorOperator::NotIn => !has(),
            SelectorOperator::Exists => value.is_some(),
            SelectorOperator::DoesNotExist => value.is_none(),
            SelectorOperator::GreaterThan => compare().is_some_and(std::cmp::Ordering::is_gt),
            SelectorOperator::LessThan => compare().is_some_and(std::cmp::Ordering::is_lt),
        }
    }
}

impl fmt::Display for Requirement {
    /// The form of queries, such as `tier in (a,b)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.iter().map(String::as_str);
        self.operator.write(f, &self.key, values)
    }
}
