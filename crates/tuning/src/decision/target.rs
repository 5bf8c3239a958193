//! The target of a limit, `[CLBP] (4.18)` and `(4.19)`: the mean use of the last five minutes,
//! times 1 + λ if usage rises and divided by it if usage falls.

use evenkeel_units::{Amount, words};

use super::samples::MinuteSamples;

/// Usage rises or falls if the newest sample differs by this share from the mean of those before
/// it; else nothing is resized.
pub const STEADY: f64 = 0.05;

/// λ of `[CLBP] (4.18)`: above 0 and at most 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Elasticity(f64);

/// Not above 0 and at most 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not accepted; accepted: a number above 0 and at most 1")]
pub struct ElasticityError {
    given: String,
}

impl Elasticity {
    /// # Errors
    /// The number is not above 0 and at most 1.
    pub fn new(lambda: f64) -> Result<Self, ElasticityError> {
        if lambda > 0.0 && lambda <= 1.0 {
            Ok(Self(lambda))
        } else {
            Err(ElasticityError {
                given: lambda.to_string(),
            })
        }
    }

    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Default for Elasticity {
    /// That of `[CLBP]`.
    fn default() -> Self {
        Self(0.2)
    }
}

/// Share of its limit from which a container is taken to want more than it gets.
pub const AT_LIMIT: f64 = 0.95;

pub(super) fn is_held(samples: &MinuteSamples, limit: Amount) -> bool {
    samples.lowest().as_f64() >= limit.as_f64() * AT_LIMIT
}

words! {
    /// The newest sample against those before it.
    pub enum Trend {
        Rising = "rises",
        Falling = "falls",
        Steady = "is steady",
        /// At its limit usage cannot rise, and the need is not seen.
        AtLimit = "is at its limit",
    }
}

impl Trend {
    pub fn of(samples: &MinuteSamples) -> Self {
        let (newest, before) = (samples.newest().as_f64(), samples.mean_before());
        if newest > before * (1.0 + STEADY) {
            Self::Rising
        } else if newest < before * (1.0 - STEADY) {
            Self::Falling
        } else {
            Self::Steady
        }
    }

    /// [`Self::of`] a container with this limit. `[CLBP]` would leave a container alone that uses
    /// all it may have, because that is steady.
    pub fn within(samples: &MinuteSamples, limit: Amount) -> Self {
        if samples.newest().as_f64() >= limit.as_f64() * AT_LIMIT {
            Self::AtLimit
        } else {
            Self::of(samples)
        }
    }
}

/// H of `[CLBP] (4.18)` for rising or limited usage, of `(4.19)` for falling; `None` for steady.
pub fn target(samples: &MinuteSamples, trend: Trend, elasticity: Elasticity) -> Option<Amount> {
    let factor = 1.0 + elasticity.get();
    let target = match trend {
        Trend::Rising | Trend::AtLimit => samples.mean() * factor,
        Trend::Falling => samples.mean() / factor,
        Trend::Steady => return None,
    };
    Some(Amount::from_f64(target))
}
