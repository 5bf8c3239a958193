//! The operators of requirements, and the text of a requirement with each.

use std::fmt;

/// How a label and the values of a requirement relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SelectorOperator {
    /// The label has the value.
    Equals,
    /// The label is absent or has another value.
    NotEquals,
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is a whole number above the value.
    GreaterThan,
    /// The label is a whole number below the value.
    LessThan,
}

impl SelectorOperator {
    /// Writes the requirement on the label `key` with this operator.
    pub(crate) fn write<'a>(
        self,
        f: &mut fmt::Formatter<'_>,
        key: &str,
        values: impl Iterator<Item = &'a str>,
    ) -> fmt::Result {
        let (mark, close) = match self {
            Self::Exists => return f.write_str(key),
            Self::DoesNotExist => return write!(f, "!{key}"),
            Self::Equals => ("=", ""),
            Self::NotEquals => ("!=", ""),
            Self::GreaterThan => (">", ""),
            Self::LessThan => ("<", ""),
            Self::In => (" in (", ")"),
            Self::NotIn => (" notin (", ")"),
        };
        write!(f, "{key}{mark}")?;
        let mut separator = "";
        for value in values {
            write!(f, "{separator}{value}")?;
            separator = ",";
        }
        f.write_str(close)
    }
}
