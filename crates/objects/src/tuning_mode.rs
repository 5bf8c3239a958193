//! How far tuning goes.

use std::fmt;
use std::str::FromStr;

/// Mode of a workload, by its annotation, its namespace's, or the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TuningMode {
    /// Nothing is decided, and earlier changes are reverted.
    Off,
    /// Recommendations are reported, and earlier changes are reverted.
    #[default]
    Recommend,
    On,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not accepted; accepted: off, recommend or on")]
pub struct UnknownMode(pub String);

impl TuningMode {
    /// The least intrusive first.
    pub const ALL: [Self; 3] = [Self::Off, Self::Recommend, Self::On];

    /// In annotations and configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Recommend => "recommend",
            Self::On => "on",
        }
    }
}

impl fmt::Display for TuningMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for TuningMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter();
        all.find(|mode| mode.as_str() == text)
            .ok_or_else(|| UnknownMode(text.to_owned()))
    }
}
