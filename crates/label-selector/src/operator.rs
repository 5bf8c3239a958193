//! The operators of requirements, and their text.

use std::fmt;

/// Between a label and the values of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SelectorOperator {
    Equals,
    /// The label is absent or has another value.
    NotEquals,
    In,
    /// The label is absent or has none of the values.
    NotIn,
    Exists,
    DoesNotExist,
    /// The label is an integer above the value.
    GreaterThan,
    /// The label is an integer below the value.
    LessThan,
}

impl SelectorOperator {
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
