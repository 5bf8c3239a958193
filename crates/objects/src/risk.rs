//! The risk that a target is to run at, which says how high a floor is.

use std::fmt;
use std::str::FromStr;

use evenkeel_units::Amount;

/// The share of time in which the ready Pods of a target may carry more than its target and the
/// HPA's tolerance allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Risk {
    /// Millionths of the time.
    millionths: u32,
}

/// A text or number that is no risk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not accepted; accepted: {}", Risk::ACCEPTED)]
pub struct RiskError {
    /// The text or number that was refused.
    pub given: String,
}

impl Risk {
    /// The accepted texts, for messages.
    pub const ACCEPTED: &str = "a share of time from 0.05% to 20%, such as 1% or 0.01";

    /// The risk of a target that names none: a quarter of an hour a day.
    pub const DEFAULT: Self = Self::of(10_000);

    /// The risks at which a frontier is drawn.
    pub const FRONTIER: [Self; 5] = [
        Self::of(1_000),
        Self::of(5_000),
        Self::of(10_000),
        Self::of(20_000),
        Self::of(50_000),
    ];

    /// Below it, a day without a single violation is what is asked for anyway.
    const LEAST: u32 = 500;
    /// Above it, an HPA alone runs at less.
    const MOST: u32 = 200_000;

    const fn of(millionths: u32) -> Self {
        Self { millionths }
    }

    /// A share of time, from 0.0005 to 0.2, in whole millionths.
    ///
    /// # Errors
    /// Everything outside is refused, and NaN.
    pub fn new(share: f64) -> Result<Self, RiskError> {
        let millionths = u32::try_from(Amount::from_f64(share * 1e6).get()).ok();
        let accepted = millionths.filter(|share| (Self::LEAST..=Self::MOST).contains(share));
        let refused = || RiskError {
            given: share.to_string(),
        };
        accepted.map(Self::of).ok_or_else(refused)
    }

    /// The share of time.
    pub fn get(self) -> f64 {
        f64::from(self.millionths) / 1e6
    }
}

impl Default for Risk {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Risk {
    /// As a percentage, with no more digits than it has: `1%`, `0.5%`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{:.4}", self.get() * 100.0);
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        f.pad(&format!("{percent}%"))
    }
}

impl FromStr for Risk {
    type Err = RiskError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || RiskError {
            given: text.to_owned(),
        };
        let trimmed = text.trim();
        let (number, whole) = match trimmed.strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 100.0),
            None => (trimmed, 1.0),
        };
        let number: f64 = number.parse().map_err(|_| refused())?;
        Self::new(number / whole).map_err(|_| refused())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_percentages_are_read_and_told_as_percentages() {
        for (text, share, told) in [
            ("1%", 0.01, "1%"),
            ("0.01", 0.01, "1%"),
            ("0.5%", 0.005, "0.5%"),
            (" 0.05 % ", 0.0005, "0.05%"),
            ("20%", 0.2, "20%"),
            ("0.1234", 0.1234, "12.34%"),
        ] {
            let risk: Risk = text.parse().unwrap();
            assert!((risk.get() - share).abs() < 1e-12, "{text}");
            assert_eq!(risk.to_string(), told, "{text}");
            assert_eq!(told.parse(), Ok(risk), "{text}: what is told is read");
        }
        assert_eq!("1%".parse(), Ok(Risk::default()));
    }

    #[test]
    fn what_is_no_risk_is_refused_with_what_is() {
        for text in [
            "", "1", "0.04%", "20.1%", "0", "-1%", "NaN", "inf", "1 in 100", "%",
        ] {
            let told = text.parse::<Risk>().unwrap_err().to_string();
            let accepted = "a share of time from 0.05% to 20%, such as 1% or 0.01";
            assert_eq!(
                told,
                format!("{text:?} is not accepted; accepted: {accepted}")
            );
        }
    }

    #[test]
    fn a_frontier_is_drawn_at_risks_that_are_accepted() {
        for risk in Risk::FRONTIER {
            assert_eq!(Risk::new(risk.get()), Ok(risk));
        }
        assert!(Risk::FRONTIER.contains(&Risk::default()));
    }
}
