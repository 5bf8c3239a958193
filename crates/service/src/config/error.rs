//! A configuration that is refused: each problem with the file, variable or flag that brought the
//! value, the field's path, and what is accepted.

use std::fmt;
use std::path::PathBuf;

/// Layer that a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    File(PathBuf),
    Environment(String),
    Flag(String),
    /// The built-in default, when values contradict each other.
    Default,
}

impl Origin {
    /// The place of the layer among those that it lies over.
    pub(super) const fn strength(&self) -> u8 {
        match self {
            Self::Default | Self::File(_) => 0,
            Self::Environment(_) => 1,
            Self::Flag(_) => 2,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => f.write_str(name),
            Self::Default => f.write_str("configuration"),
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The layer that brought the value.
    pub origin: Origin,
    /// The field, such as `scheduling.headroom`; empty for the file as a whole.
    pub path: String,
    /// The value and what is accepted.
    pub message: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "{}: {}", self.origin, self.message)
        } else {
            write!(f, "{}: {}: {}", self.origin, self.path, self.message)
        }
    }
}

/// A configuration that is refused, with all that was found wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.problems))]
pub struct ConfigError {
    pub problems: Vec<ConfigProblem>,
}

impl ConfigError {
    /// One problem of `origin` as a whole.
    pub(crate) fn whole(origin: Origin, message: impl fmt::Display) -> Self {
        Self {
            problems: vec![ConfigProblem {
                origin,
                path: String::new(),
                message: message.to_string(),
            }],
        }
    }
}

fn lines(problems: &[ConfigProblem]) -> String {
    let lines: Vec<String> = problems.iter().map(ConfigProblem::to_string).collect();
    lines.join("\n")
}
