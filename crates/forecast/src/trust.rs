//! The judgement by which a forecast is acted on or ignored.
//!
//! The measure is the last value as a forecast (a ratio of 1) and 60 % of observations inside an 80
//! % interval. Around both lies a band of 5 % each way, about the random movement of means of 120
//! forecasts. Trust is earned beyond it on the good side and lost beyond it on the bad side, so
//! that a floor does not follow the noise of the score.
//!
//! Forecasts of the largest load are measured by the worth of floors on them, against an HPA with a
//! lower target at the same cost. While too little of that is known, they are measured by their
//! loss against the last load times the best factor.

use std::fmt;

use evenkeel_units::words;

/// Scored forecasts before a model can be trusted.
pub(crate) const MIN_SCORED: u32 = 20;
/// Least share of observations inside an 80 % interval that is believed.
const MIN_COVERAGE: f64 = 0.60;
/// Error over that of the naive forecast at which trust ends.
const MAX_RATIO: f64 = 1.0;
/// Loss over that of an equally dear rival at which trust in forecasts of peaks ends.
const RIVAL_LOST: f64 = 1.1;
/// Time under-provisioned by floors over that of the HPA with a lower target at the same cost:
/// floors begin to act below the first, and end at the second. Both lie above 1, because the trial
/// behind the ratio knows the HPA's load without delays, and because floors that come and go help
/// less than lasting ones.
const GATE_OPENS: f64 = 1.2;
const GATE_SHUTS: f64 = 1.5;
/// Half width of the band, as a share of the measure.
const BAND: f64 = 0.05;

/// Ratio below which trust is kept, or earned by a model without it.
pub(crate) const fn most_ratio(trusted: bool) -> f64 {
    let band = if trusted { BAND } else { -BAND };
    MAX_RATIO * (1.0 + band)
}

/// Coverage from which on trust is kept, or earned by a model without it.
pub(crate) const fn least_coverage(trusted: bool) -> f64 {
    let band = if trusted { -BAND } else { BAND };
    MIN_COVERAGE * (1.0 + band)
}

/// With the figures that it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModelTrust {
    /// Forecasts may be acted on.
    Trusted {
        /// The measure over that of the rival; below 1 is better.
        ratio: f64,
        rival: Rival,
    },
    Untrusted(Distrust),
}

words! {
    pub enum Rival {
        /// The last value as the forecast; by errors.
        LastValue = "naive",
        /// The last load times the best factor for the largest one; by quantile losses.
        Factor = "a factor on the last load",
        /// The plain HPA with the lower target that has as many replicas; by time
        /// under-provisioned.
        LowerTarget = "an HPA with a lower target",
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distrust {
    /// Too few forecasts are scored.
    Unproven {
        /// Below 20.
        scored: u32,
    },
    /// The last value would be about as good.
    NotBetterThanNaive {
        /// Error over that of the naive forecast; `None` if the naive forecast made none.
        ratio: Option<f64>,
    },
    /// Floors leave Pods overloaded for longer than an equally dear HPA with a lower target, or the
    /// last load times a factor is the better forecast of the largest.
    DoesNotPay {
        /// The measure over that of the rival.
        ratio: Option<f64>,
        rival: Rival,
    },
    /// Floors that hold the risk need more replicas than the plain HPA at two thirds of its target.
    CostMore,
    /// Intervals are too narrow.
    Coverage {
        /// Share of observations inside the 80 % interval.
        coverage: f64,
    },
    /// The residuals of the fit are no noise, and this is required
    /// ([`ResidualChecks`](crate::ResidualChecks)).
    Residuals,
}

impl ModelTrust {
    /// For forecasts of the largest load; `ratio` is their loss over that of [`Rival::Factor`],
    /// `None` if the rival made no error, `trusted` the last judgement. Equal loss means equal
    /// cost, so trust begins at a ratio of 1 and ends above it.
    pub(crate) fn judged(scored: u32, ratio: Option<f64>, trusted: bool) -> Self {
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

    /// By the worth of floors: `ratio` is the time under-provisioned over that of
    /// [`Rival::LowerTarget`].
    pub const fn by_worth(ratio: f64, trusted: bool) -> Self {
        let rival = Rival::LowerTarget;
        if ratio < if trusted { GATE_SHUTS } else { GATE_OPENS } {
            return Self::Trusted { ratio, rival };
        }
        let ratio = Some(ratio);
        Self::Untrusted(Distrust::DoesNotPay { ratio, rival })
    }

    /// Floors cost more than the plain HPA at the lowest target, so no equally dear alternative is
    /// known.
    pub const COST_MORE: Self = Self::Untrusted(Distrust::CostMore);

    /// Forecasts may be acted on.
    pub const fn is_trusted(self) -> bool {
        matches!(self, Self::Trusted { .. })
    }

    /// For conditions, Events and metrics.
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
            Self::Untrusted(Distrust::Residuals) => "ResidualsFailed",
        }
    }
}

impl Rival {
    /// The loss of a model compared with the rival's.
    fn comparison(self, ratio: f64) -> String {
        match self {
            Self::LastValue | Self::Factor => format!("error {ratio:.2} of {self}"),
            Self::LowerTarget => {
                format!("under-provisioned for {ratio:.2} times as long as {self}")
            }
        }
    }
}

impl fmt::Display for ModelTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Trusted { ratio, rival } => write!(f, "trusted ({})", rival.comparison(ratio)),
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
                Some(ratio) => write!(f, "not trusted ({})", rival.comparison(ratio)),
                None => write!(f, "not trusted ({rival} is exact)"),
            },
            Self::Untrusted(Distrust::CostMore) => f.write_str(
                "not trusted (floors cost more than an HPA with two thirds of the target)",
            ),
            Self::Untrusted(Distrust::Residuals) => {
                f.write_str("not trusted (the residuals of its fit failed a check)")
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
