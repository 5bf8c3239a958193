//! Forecasts of a load: models that follow it one observation at a time, and answer a horizon with
//! means and intervals.
//!
//! Pure computation: no I/O, no clock, no randomness; the same observations give the same forecast
//! to the last bit. [`Model`] is the one interface: it reads a [`Context`] (the past of the load on
//! several grids, and what all targets share, such as the calendar). The forecasts of a tick are asked
//! for together, so that a family whose parameters all loads share may make them as one batch. A model that only computes
//! means is a [`PointModel`]; [`Rolling`] adds what such models have in common (gaps, bounds,
//! intervals). `ScoredModel` is the model of one load with its score. What takes a library to fit is handed a [`Trainer`].

mod accuracy;
pub mod arima;
mod arima_gru;
pub mod backtest;
mod baseline;
mod blend;
mod calendar;
mod context;
mod corrector;
mod daily;
mod elastic_net;
mod ets;
mod gbdt;
mod gru;
mod history;
mod minimise;
mod model;
mod model_set;
mod network;
#[cfg(test)]
mod noise;
mod not_ready;
mod outlook;
mod past;
mod peak;
mod point_model;
mod prediction;
mod rolling;
mod scored_model;
mod selected;
mod series;
mod shifted;
mod smoothing;
mod swish_net;
mod traffic;
mod trainer;
mod tree_inputs;
mod tree_table;
mod trees;
mod trust;
mod widths;

pub use accuracy::{Accuracy, Scorecard};
pub use calendar::Calendar;
pub use context::{Context, Shared};
pub use elastic_net::{ElasticNet, Linear, Moments, NotSettled};
pub use gru::{NETWORK_ROWS, NETWORK_WINDOW};
pub use history::{BRIDGED, Between, DailyHighs, History, Resolution, SampleError};
pub(crate) use model::forecast_together;
pub use model::{Model, Request};
pub use model_set::{ModelSet, UnknownModel};
pub use network::{
    Dense, Gru, GruNetwork, GruWeights, Hidden, NetworkShape, SWISH_STEPS, ShapeError, SwishInput,
    SwishLoad, SwishNet, SwishPass, SwishShape, SwishWeights, WindowRows, add_products,
};
pub use not_ready::{NotEnoughHistory, NotReady};
pub use past::{Past, Recording};
pub(crate) use peak::A_TENTH;
pub use peak::{
    Cover, Followed, GlobalPeaks, INPUTS, Inputs, LEVELS, Lookback, Masks, MinuteLookback, Minutes,
    OwnPeaks, Peak, PeakContext, PeakForecaster, PeakModelError, Quantiles, inputs, own_quantiles,
};
pub use point_model::PointModel;
pub use prediction::{Forecast, Interval, Step};
pub use rolling::Rolling;
pub(crate) use scored_model::ScoredModel;
pub(crate) use selected::Selected;
pub use series::{Series, SeriesError, Usable};
pub(crate) use shifted::ShiftedTrend;
pub use smoothing::{
    AdaptiveAlpha, Alpha, AlphaError, Brown, Coefficients, SHpa, Tes, Variant, window_forecast,
};
pub use swish_net::SwishWindow;
pub use traffic::{
    HeldOutDay, LinearResidual, Moment, RESIDUAL_INPUTS, TRAFFIC_VERSION, TrafficModel,
    TrafficModelError,
};
pub use trainer::{Trainer, TreeRow, Untrained};
pub use trees::{MISSING, MOST_INPUTS, Node, TreeInput, Trees, TreesError, tree_input};
pub use trust::{Distrust, Rival, Trust};
