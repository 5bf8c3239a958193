//! The largest load of the time until there is capacity for it, by quantiles. Capacity has to cover
//! the largest load of a window, which lies above the same quantile of each moment. Models learn
//! the rise from the present load to that largest one, divided by the mean of the last hours, so
//! that one model (`global`) serves loads of any size and unit. Trees of the target's own (`own`)
//! go on from its answer. Both read the same inputs ([`inputs`]).

mod cover;
mod forecaster;
mod inputs;
mod lookback;
mod model;
mod quantiles;
mod score;

pub use cover::A_TENTH;
pub use cover::Cover;
pub use forecaster::{MinuteForecast, Peak, PeakContext, PeakForecaster};
pub use inputs::{INPUTS, Inputs, Masks, inputs};
pub use lookback::{Lookback, MinuteLookback, Minutes};
pub use model::{GlobalPeaks, OwnPeaks, PeakModelError, own_quantiles};
pub use quantiles::{LEVELS, Quantiles};
