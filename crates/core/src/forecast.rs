//! Forecasts of a load: models that follow it one observation at a time, and answer a horizon with
//! means and intervals.
//!
//! Pure computation: no I/O, no clock, no randomness; the same observations give the same forecast
//! to the last bit. [`Model`] is the one interface: it reads a [`Context`] (the past of the load on
//! several grids, and what all targets share, such as the calendar). The forecasts of a tick are asked
//! for together, so that a family whose parameters all loads share may make them as one batch. A model that only computes
//! means is a [`PointModel`]; [`Rolling`] adds what such models have in common (gaps, bounds,
//! intervals). `Candidates` are the models of one load with their scores, and the choice among them.

mod accuracy;
pub mod arima;
pub mod backtest;
mod baseline;
mod calendar;
mod candidates;
mod context;
mod daily;
mod ets;
mod history;
mod minimise;
mod model;
mod model_set;
#[cfg(test)]
mod noise;
mod not_ready;
mod past;
mod peak;
mod point_model;
mod prediction;
mod rolling;
mod selected;
mod series;
mod smoothing;
mod trees;
mod trust;
mod widths;

pub use accuracy::{Accuracy, Scorecard};
pub use calendar::Calendar;
pub(crate) use candidates::Candidates;
pub use context::{Context, Shared};
pub use history::{Between, History, Resolution, SampleError};
pub(crate) use model::forecast_together;
pub use model::{Model, Request};
pub use model_set::{ModelSet, UnknownModel};
pub use not_ready::{NotEnoughHistory, NotReady};
pub use past::{Past, Recording};
pub use peak::{
    Cover, GlobalPeaks, INPUTS, Inputs, LEVELS, Lookback, Masks, MinuteLookback, Minutes, OwnPeaks,
    Peak, PeakForecaster, PeakModelError, Quantiles, inputs,
};
pub use point_model::PointModel;
pub use prediction::{Forecast, Interval, Step};
pub use rolling::Rolling;
pub(crate) use selected::Selected;
pub use series::{Series, SeriesError, Usable};
pub use smoothing::{
    AdaptiveAlpha, Alpha, AlphaError, Brown, Coefficients, SHpa, Tes, Variant, window_forecast,
};
pub use trees::{MISSING, MOST_INPUTS, Node, TreeInput, Trees, TreesError, tree_input};
pub use trust::{Distrust, Trust};
