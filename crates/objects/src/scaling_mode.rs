//! The user's choices: how decisions act, and whether forecasts may take replicas away.

use std::str::FromStr;

/// The way in which a decision acts on its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScalingMode {
    /// There are no decisions.
    Off,
    /// It is shown in status, metrics and Events only.
    #[default]
    Recommend,
    /// It raises the HPA's `minReplicas`, and the cluster's own HPA scales.
    Floor,
    /// It sets the replicas of a workload that no HPA scales.
    Direct,
}

/// The right of a forecast to take replicas away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScaleDown {
    /// No: only the load as it is now may.
    #[default]
    Reactive,
    /// Yes, where fewer replicas could carry the upper 95 % bound of the forecast.
    Early,
}

/// A word that is no such choice, with those that are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not accepted; accepted: {accepted}")]
pub struct UnknownMode {
    /// The word that was refused.
    pub given: String,
    /// The words that are accepted.
    pub accepted: &'static str,
}

impl ScalingMode {
    /// The modes that a user may choose.
    pub const CHOICES: [Self; 4] = [Self::Off, Self::Recommend, Self::Floor, Self::Direct];

    /// The accepted words, for messages.
    pub const ACCEPTED: &str = "off, recommend, floor or direct";

    /// The word in annotations and configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Recommend => "recommend",
            Self::Floor => "floor",
            Self::Direct => "direct",
        }
    }
}

impl ScaleDown {
    /// All choices of the user.
    pub const ALL: [Self; 2] = [Self::Reactive, Self::Early];

    /// The accepted words, for messages.
    pub const ACCEPTED: &str = "reactive or early";

    /// The word in annotations and configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reactive => "reactive",
            Self::Early => "early",
        }
    }
}

impl FromStr for ScalingMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::CHOICES.into_iter().find(|mode| mode.as_str() == text);
        found.ok_or_else(|| UnknownMode {
            given: text.to_owned(),
            accepted: Self::ACCEPTED,
        })
    }
}

impl FromStr for ScaleDown {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|choice| choice.as_str() == text);
        found.ok_or_else(|| UnknownMode {
            given: text.to_owned(),
            accepted: Self::ACCEPTED,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_parses_back_and_others_are_told_what_would() {
        for mode in ScalingMode::CHOICES {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        for choice in ScaleDown::ALL {
            assert_eq!(choice.as_str().parse(), Ok(choice));
        }
        for other in ["Floor", "on"] {
            let told = other.parse::<ScalingMode>().unwrap_err().to_string();
            let expected =
                format!("{other:?} is not accepted; accepted: off, recommend, floor or direct");
            assert_eq!(told, expected);
        }
        let told = "".parse::<ScaleDown>().unwrap_err().to_string();
        assert_eq!(told, "\"\" is not accepted; accepted: reactive or early");
    }
}
