//! The models that may forecast in a simulation, by name.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Model {
    /// The trusted one of several with the lowest error, as the service does by default.
    #[default]
    Auto,
    /// DS-HPA: triple exponential smoothing with a factor that follows the load.
    SHpa,
    /// Triple exponential smoothing with a fixed factor.
    Tes,
    Naive,
    /// The value of a day ago.
    SeasonalNaive,
}

/// A word that is no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not accepted: auto, s-hpa, tes, naive or seasonal-naive")]
pub struct UnknownModel {
    /// The word as given.
    pub given: String,
}

impl Model {
    pub const ALL: [Self; 5] = [
        Self::Auto,
        Self::SHpa,
        Self::Tes,
        Self::Naive,
        Self::SeasonalNaive,
    ];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::SHpa => "s-hpa",
            Self::Tes => "tes",
            Self::Naive => "naive",
            Self::SeasonalNaive => "seasonal-naive",
        }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Model {
    type Err = UnknownModel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|model| model.as_str() == text);
        found.ok_or_else(|| UnknownModel {
            given: text.to_owned(),
        })
    }
}
