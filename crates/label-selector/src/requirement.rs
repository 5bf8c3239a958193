//! One requirement on one label.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::error::SelectorError;
use crate::label_rules;
use crate::operator::SelectorOperator;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    pub(crate) key: String,
    pub(crate) operator: SelectorOperator,
    pub(crate) values: BTreeSet<String>,
}

impl Requirement {
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

    /// Checked; errors name values by index.
    ///
    /// # Errors
    /// All faults.
    pub(crate) fn new(
        key: &str,
        operator: SelectorOperator,
        values: &[&str],
    ) -> Result<Self, SelectorError> {
        label_rules::requirement(key, operator, values)?;
        Ok(Self::unchecked(key, operator, values.iter().copied()))
    }

    /// A requirement of a node selector, on a label or a field of the node. Their names follow
    /// different rules, so neither is checked.
    ///
    /// # Errors
    /// An operator unknown to Kubernetes, a wrong number of values, or a bound that is no integer.
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
    /// As in queries, such as `tier in (a,b)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.iter().map(String::as_str);
        self.operator.write(f, &self.key, values)
    }
}
