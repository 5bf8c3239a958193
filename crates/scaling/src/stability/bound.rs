//! A value against a bound.

use std::str::FromStr;

use evenkeel_units::words;

use super::reading::{CheckReading, Freshness, decimal};
use super::verdict::CheckVerdict;

words! {
    /// How a value compares with a bound.
    #[derive(Default)]
    pub enum ComparisonOperator {
        Equal = "==",
        #[default]
        Greater = ">",
        Less = "<",
        GreaterOrEqual = ">=",
        LessOrEqual = "<=",
    }
}

/// A text that is no operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an operator; accepted: ==, >, <, >=, <=")]
pub struct UnknownOperator(String);

impl ComparisonOperator {
    const fn holds(self, value: i64, bound: i64) -> bool {
        match self {
            Self::Equal => value == bound,
            Self::Greater => value > bound,
            Self::Less => value < bound,
            Self::GreaterOrEqual => value >= bound,
            Self::LessOrEqual => value <= bound,
        }
    }
}

impl FromStr for ComparisonOperator {
    type Err = UnknownOperator;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::named(text).ok_or_else(|| UnknownOperator(text.to_owned()))
    }
}

/// A rule that names an anomaly, as an alert does: the check fails while the value is on this side of the
/// bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricBound {
    /// The name of the metric, for people.
    pub metric: String,
    pub operator: ComparisonOperator,
    /// The bound, in thousandths of the metric's unit.
    pub milli: i64,
}

impl MetricBound {
    /// The verdict on a reading.
    pub fn judge(&self, reading: Option<CheckReading>, freshness: &Freshness) -> CheckVerdict {
        let Self {
            metric,
            operator,
            milli,
        } = self;
        let taken = match freshness.take(reading) {
            Ok(taken) => taken,
            Err(why) => return CheckVerdict::Unknown(format!("{metric}: {why}")),
        };
        let (shown, bound) = (decimal(taken.milli), decimal(*milli));
        if operator.holds(taken.milli, *milli) {
            CheckVerdict::Fail(format!("{metric} is {shown}, {operator} {bound}"))
        } else {
            taken.pass(format!("{metric} is {shown}, not {operator} {bound}"))
        }
    }
}
