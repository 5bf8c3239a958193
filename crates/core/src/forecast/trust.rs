//! The judgement by which a forecast is acted on or ignored.

use std::fmt;

/// The number of forecasts that have to be scored before a model can be trusted.
pub(super) const MIN_SCORED: u32 = 20;
/// The least share of observations inside an 80 % interval that is believed.
pub(super) const MIN_COVERAGE: f64 = 0.60;

/// A judgement of a model, with the figures that it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trust {
    /// Its forecasts may be acted on.
    Trusted {
        /// The error over that of the naive forecast, below 1.
        ratio: f64,
    },
    /// Its forecasts are ignored.
    Untrusted(Distrust),
}

/// The reason for which a forecast is ignored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distrust {
    /// Too few forecasts have met their observation.
    Unproven {
        /// The number that have, below 20.
        scored: u32,
    },
    /// The last value would have been as good.
    NotBetterThanNaive {
        /// The error over that of the naive forecast; `None` where the naive one made none.
        ratio: Option<f64>,
    },
    /// The intervals are too narrow to be believed.
    Coverage {
        /// The share of observations inside the 80 % interval.
        coverage: f64,
    },
}

impl Trust {
    /// True where the forecasts may be acted on.
    #[must_use]
    pub const fn is_trusted(self) -> bool {
        matches!(self, Self::Trusted { .. })
    }

    /// The name of the judgement, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Trusted { .. } => "BetterThanNaive",
            Self::Untrusted(Distrust::Unproven { .. }) => "Unproven",
            Self::Untrusted(Distrust::NotBetterThanNaive { .. }) => "NotBetterThanNaive",
            Self::Untrusted(Distrust::Coverage { .. }) => "LowCoverage",
        }
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            // What rounds to 1.00 is below it all the same.
            Self::Trusted { ratio } => write!(f, "trusted ({:.2} of naive)", ratio.min(0.99)),
            Self::Untrusted(Distrust::Unproven { scored }) => {
                write!(f, "not trusted ({scored} of {MIN_SCORED} forecasts scored)")
            }
            Self::Untrusted(Distrust::NotBetterThanNaive { ratio: Some(ratio) }) => {
                write!(f, "not trusted ({ratio:.2} of naive)")
            }
            Self::Untrusted(Distrust::NotBetterThanNaive { ratio: None }) => {
                f.write_str("not trusted (the naive forecast is exact)")
            }
            Self::Untrusted(Distrust::Coverage { coverage }) => {
                let percent = coverage * 100.0;
                write!(f, "not trusted ({percent:.0} % inside the 80 % interval)")
            }
        }
    }
}
