//! The judgement by which a forecast is acted on or ignored.
//!
//! The measure is the last value as a forecast (a ratio of 1) and 60 % of observations inside an
//! 80 % interval. Around both lies a band of 5 % each way, about what the faded means of 120
//! forecasts move by chance: trust is earned beyond it on the good side and lost beyond it on the
//! bad one, so that a floor does not rise and fall with the noise of the score.
//!
//! Forecasts of the largest load are measured by what floors on them are worth, beside an HPA with a
//! lower target that costs as much; as long as too little of that is known, by their loss beside the last
//! load times the best factor.

use std::fmt;

/// The number of forecasts that have to be scored before a model can be trusted.
pub(super) const MIN_SCORED: u32 = 20;
/// The least share of observations inside an 80 % interval that is believed.
const MIN_COVERAGE: f64 = 0.60;
/// The error over that of the naive forecast from which on it is none.
const MAX_RATIO: f64 = 1.0;
/// The loss over that of an equally dear rival from which on trust in forecasts of peaks is lost.
const RIVAL_LOST: f64 = 1.1;
/// The time under-provisioned by floors over that of the HPA with a lower target that costs as much: floors begin to
/// act below the first, and end from the second on. Both lie above 1, since the trial that the ratio comes from knows
/// the HPA's load without its delays, and since floors that come and go help less than ones that stay.
const GATE_OPENS: f64 = 1.2;
const GATE_SHUTS: f64 = 1.5;
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
pub enum ModelTrust {
    /// Its forecasts may be acted on.
    Trusted {
        /// The measure over that of the rival; below 1 is better.
        ratio: f64,
        rival: Rival,
    },
    /// Its forecasts are ignored.
    Untrusted(Distrust),
}

/// The rival that a forecast is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rival {
    /// The last value as the forecast; by errors.
    LastValue,
    /// The last load times the factor that is best for the largest one; by losses of a quantile.
    Factor,
    /// The plain HPA with the lower target that has as many replicas; by the time under-provisioned.
    LowerTarget,
}

impl fmt::Display for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LastValue => "naive",
            Self::Factor => "a factor on the last load",
            Self::LowerTarget => "an HPA with a lower target",
        })
    }
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
    /// Floors leave Pods with too much for longer than the HPA with the lower target does that costs as
    /// much, or the last load times a factor is the better forecast of the largest.
    DoesNotPay {
        /// The measure over that of the rival.
        ratio: Option<f64>,
        rival: Rival,
    },
    /// Floors that hold the risk have more replicas than the plain HPA at two thirds of its target.
    CostMore,
    /// The intervals are too narrow to be believed.
    Coverage {
        /// The share of observations inside the 80 % interval.
        coverage: f64,
    },
}

impl ModelTrust {
    /// The judgement of forecasts of the largest load, by `ratio`: their loss over that of
    /// [`Rival::Factor`]. `None` if the rival made no error. `trusted` is the last judgement. Equal
    /// loss means equal cost, so trust begins at a ratio of 1 and ends above it.
    pub(super) fn judged(scored: u32, ratio: Option<f64>, trusted: bool) -> Self {
        if scored < MIN_SCORED {
            return Self::Untrusted(Distrust::Unproven { scored });
        }
        match ratio {
            Some(ratio) if ratio < if trusted { RIVAL_LOST } else { MAX_RATIO } => Self::Trusted {
                ratio,
                rival: Rival::Factor,
            },
            ratio => Self::Untrusted(Distrust::DoesNotPay {
                ratio,
                rival: Rival::Factor,
            }),
        }
    }

    /// The judgement by what floors on the forecasts are worth: the time under-provisioned over that of
    /// [`Rival::LowerTarget`].
    pub(crate) const fn by_worth(ratio: f64, trusted: bool) -> Self {
        let rival = Rival::LowerTarget;
        if ratio < if trusted { GATE_SHUTS } else { GATE_OPENS } {
            return Self::Trusted { ratio, rival };
        }
        let ratio = Some(ratio);
        Self::Untrusted(Distrust::DoesNotPay { ratio, rival })
    }

    /// The judgement of floors that cost more than the plain HPA at the lowest target: what else could be had for
    /// as much is not known.
    pub(crate) const COST_MORE: Self = Self::Untrusted(Distrust::CostMore);

    /// True where the forecasts may be acted on.
    #[must_use]
    pub const fn is_trusted(self) -> bool {
        matches!(self, Self::Trusted { .. })
    }

    /// The name of the judgement, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Trusted { rival, .. } => match rival {
                Rival::LastValue => "BetterThanNaive",
                Rival::Factor => "BetterThanFactor",
                Rival::LowerTarget => "Competitive",
            },
            Self::Untrusted(Distrust::Unproven { .. }) => "Unproven",
            Self::Untrusted(Distrust::NotBetterThanNaive { .. }) => "NotBetterThanNaive",
            Self::Untrusted(Distrust::DoesNotPay { .. }) => "DoesNotPay",
            Self::Untrusted(Distrust::CostMore) => "CostMore",
            Self::Untrusted(Distrust::Coverage { .. }) => "LowCoverage",
        }
    }
}

impl fmt::Display for ModelTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Trusted { ratio, rival } => write!(f, "trusted (error {ratio:.2} of {rival})"),
            Self::Untrusted(Distrust::Unproven { scored }) => {
                write!(f, "not trusted ({scored} of {MIN_SCORED} forecasts scored)")
            }
            Self::Untrusted(Distrust::NotBetterThanNaive { ratio: Some(ratio) }) => {
                write!(f, "not trusted (error {ratio:.2} of naive")?;
                if ratio < MAX_RATIO {
                    write!(f, "; trust begins below {:.2}", most_ratio(false))?;
                }
                f.write_str(")")
            }
            Self::Untrusted(Distrust::NotBetterThanNaive { ratio: None }) => {
                f.write_str("not trusted (the naive forecast is exact)")
            }
            Self::Untrusted(Distrust::DoesNotPay { ratio, rival }) => match ratio {
                Some(ratio) => write!(f, "not trusted (error {ratio:.2} of {rival})"),
                None => write!(f, "not trusted ({rival} is exact)"),
            },
            Self::Untrusted(Distrust::CostMore) => f.write_str(
                "not trusted (floors cost more than an HPA with two thirds of the target)",
            ),
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
