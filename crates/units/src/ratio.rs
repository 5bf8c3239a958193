//! A ratio that is finite by construction.

use std::fmt;
use std::str::FromStr;

/// A finite, dimensionless number, such as a share, a threshold or a headroom ratio.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Ratio(f64);

/// A number that is no ratio, with what is accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not accepted; accepted: {accepted}")]
pub struct RatioError {
    /// The text or number as given.
    pub given: String,
    /// The numbers that are accepted.
    pub accepted: &'static str,
}

impl Ratio {
    /// All of something.
    pub const ONE: Self = Self(1.0);

    /// Any finite number as a ratio.
    ///
    /// # Errors
    /// NaN and infinities are refused.
    pub fn new(value: f64) -> Result<Self, RatioError> {
        Self::checked(value, value.is_finite(), "a finite number")
    }

    /// A share of a whole: above 0 and at most 1.
    ///
    /// # Errors
    /// Everything outside (0, 1] is refused.
    pub fn share(value: f64) -> Result<Self, RatioError> {
        let inside = value > 0.0 && value <= 1.0;
        Self::checked(value, inside, "a number above 0 and at most 1")
    }

    fn checked(value: f64, good: bool, accepted: &'static str) -> Result<Self, RatioError> {
        if good {
            Ok(Self(value))
        } else {
            Err(RatioError {
                given: value.to_string(),
                accepted,
            })
        }
    }

    /// The ratio as a float.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// A share written as text, as annotations hold it.
    ///
    /// # Errors
    /// Text that is not a number, and numbers outside (0, 1], are refused.
    pub fn share_from_str(text: &str) -> Result<Self, RatioError> {
        text.trim()
            .parse()
            .ok()
            .and_then(|value| Self::share(value).ok())
            .ok_or_else(|| RatioError {
                given: text.to_owned(),
                accepted: "a number above 0 and at most 1",
            })
    }
}

impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.trim()
            .parse()
            .ok()
            .and_then(|value| Self::new(value).ok())
            .ok_or_else(|| RatioError {
                given: text.to_owned(),
                accepted: "a finite number",
            })
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finite_numbers_are_ratios_and_only_shares_are_shares() {
        assert!(Ratio::new(f64::NAN).is_err());
        assert!(Ratio::new(f64::INFINITY).is_err());
        assert_eq!(Ratio::new(-2.0).map(Ratio::get), Ok(-2.0));
        for (text, accepted) in [
            ("0.8", true),
            (" 1 ", true),
            ("0", false),
            ("1.01", false),
            ("-0.1", false),
            ("NaN", false),
            ("80%", false),
        ] {
            assert_eq!(Ratio::share_from_str(text).is_ok(), accepted, "{text}");
        }
    }
}
