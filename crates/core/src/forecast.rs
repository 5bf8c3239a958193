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
mod baseline;
mod calendar;
mod candidates;
mod context;
mod daily;
mod history;
mod model;
mod model_set;
mod not_ready;
mod point_model;
mod prediction;
mod rolling;
mod series;
mod smoothing;
mod trust;
mod widths;

pub use accuracy::{Accuracy, Scorecard};
pub use calendar::Calendar;
pub(crate) use candidates::{Candidates, Selected};
pub use context::{Context, Shared};
pub use history::{Between, History, Resolution, SampleError};
pub(crate) use model::forecast_together;
pub use model::{Model, NotEnoughHistory, Request};
pub use model_set::{ModelSet, UnknownModel};
pub use not_ready::NotReady;
pub use point_model::PointModel;
pub use prediction::{Forecast, Interval, Step};
pub use rolling::Rolling;
pub use series::{Series, SeriesError, Usable};
pub use smoothing::{
    AdaptiveAlpha, Alpha, AlphaError, Brown, Coefficients, SHpa, Tes, Variant, window_forecast,
};
pub use trust::{Distrust, Trust};
