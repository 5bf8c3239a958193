//! The judgement by which a forecast is acted on or ignored.
//!
//! The measure is the last value as a forecast (a ratio of 1) and 60 % of observations inside an
//! 80 % interval. Around both lies a band of 5 % each way, about what the faded means of 120
//! forecasts move by chance: trust is earned beyond it on the good side and lost beyond it on the
//! bad one, so that a floor does not rise and fall with the noise of the score.

use std::fmt;

/// The number of forecasts that have to be scored before a model can be trusted.
pub(super) const MIN_SCORED: u32 = 20;
/// The least share of observations inside an 80 % interval that is believed.
const MIN_COVERAGE: f64 = 0.60;
/// The error over that of the naive forecast from which on it is none.
const MAX_RATIO: f64 = 1.0;
/// The loss over that of an equally dear rival from which on trust in forecasts of peaks is lost.
const RIVAL_LOST: f64 = 1.1;
/// The half width of the band between earning trust and losing it, as a share of the measure.
const BAND: f64 = 0.05;

/// The ratio below which trust is kept, or earned by a model that has none.
pub(super) const fn most_ratio(trusted: bool) -> f64 {
    let band = if trusted { BAND } else { -BAND };
    MAX_RATIO * (1.0 + band)
}

/// The coverage from which on trust is kept, or earned by a model that has none.
pub(super) const fn least_coverage(trusted: bool) -> f64 {
    let band = if trusted { -BAND } else { BAND };
    MIN_COVERAGE * (1.0 + band)
}

/// A judgement of a model, with the figures that it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trust {
    /// Its forecasts may be acted on.
    Trusted {
        /// The error over that of the naive forecast.
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
    /// The last value would have been about as good.
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
    /// The judgement of forecasts that have been trusted so far, or have not, by their loss over that of
    /// their rival; `None` where the rival made no error. The rival is as dear as they are, so that who
    /// is no worse than it costs nothing: trust begins at 1 and ends beyond it.
    pub(super) fn judged(scored: u32, ratio: Option<f64>, trusted: bool) -> Self {
        if scored < MIN_SCORED {
            return Self::Untrusted(Distrust::Unproven { scored });
        }
        match ratio {
            Some(ratio) if ratio < if trusted { RIVAL_LOST } else { MAX_RATIO } => {
                Self::Trusted { ratio }
            }
            ratio => Self::Untrusted(Distrust::NotBetterThanNaive { ratio }),
        }
    }

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
            Self::Trusted { ratio } => write!(f, "trusted ({ratio:.2} of naive)"),
            Self::Untrusted(Distrust::Unproven { scored }) => {
                write!(f, "not trusted ({scored} of {MIN_SCORED} forecasts scored)")
            }
            Self::Untrusted(Distrust::NotBetterThanNaive { ratio: Some(ratio) }) => {
                write!(f, "not trusted ({ratio:.2} of naive")?;
                if ratio < MAX_RATIO {
                    write!(f, "; trust begins below {:.2}", most_ratio(false))?;
                }
                f.write_str(")")
            }
            Self::Untrusted(Distrust::NotBetterThanNaive { ratio: None }) => {
                f.write_str("not trusted (the naive forecast is exact)")
            }
            Self::Untrusted(Distrust::Coverage { coverage }) => {
                let percent = coverage * 100.0;
                write!(f, "not trusted ({percent:.0} % inside the 80 % interval")?;
                if coverage >= MIN_COVERAGE {
                    let begins = least_coverage(false) * 100.0;
                    write!(f, "; trust begins at {begins:.0} %")?;
                }
                f.write_str(")")
            }
        }
    }
}
