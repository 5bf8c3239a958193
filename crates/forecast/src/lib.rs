//! Forecasts of a load: models follow it one observation at a time, and forecast means and intervals.
//!
//! Pure computation: no I/O, no clock, no randomness; the same observations give the same forecast to
//! the last bit. [`Model`] is the one interface. It reads a [`ForecastContext`]: the past of the load
//! on several grids, and data that all targets share, such as the calendar. The caller asks for all
//! forecasts of a tick together, so that a family with shared parameters can compute one batch. A model
//! that only computes means is a [`PointModel`]; [`RollingModel`] adds gaps, bounds and intervals.
//! `ScoredModel` is the model of one load with its score. Models that need a library to fit get a
//! [`Trainer`].

mod accuracy;
pub mod backtest;
mod bounded_forecast;
mod calendar;
mod context;
mod elastic_net;
mod historical_load;
mod hours_ahead;
mod interval_widths;
mod load_ring_buffer;
mod minimizer;
mod model;
mod models;
mod network;
#[cfg(test)]
mod noise;
mod not_ready;
mod peak;
mod point_model;
mod prediction;
mod residual_checks;
mod rolling_model;
mod scored_model;
mod selected_forecast;
mod series;
mod traffic;
mod trainer;
mod tree_inputs;
mod tree_table;
mod trees;
mod trust;

pub use accuracy::{HorizonAccuracy, Scorecard};
pub use calendar::Calendar;
pub use context::{ForecastContext, ModelAssets};
pub use elastic_net::{ElasticNet, LinearFunction, Moments, NotSettled};
pub use historical_load::{HistoricalLoad, Recording};
pub use hours_ahead::{HOURS_AHEAD_STEP, HOURS_AHEAD_STEPS, hours_ahead};
pub use load_ring_buffer::{
    BRIDGED, LoadHighs, LoadRingBuffer, MeasurementGap, Resolution, SampleError,
};
pub use model::forecast_together;
pub use model::{ForecastRequest, Model};
pub use models::ModelSet;
pub use models::arima;
pub use models::gru::{NETWORK_ROWS, NETWORK_WINDOW};
pub use models::smoothing::{
    AdaptiveAlpha, Alpha, AlphaError, BrownSmoothing, Coefficients, SHpa, Tes, Variant,
    window_forecast,
};
pub use models::swish_net::SwishWindow;
pub use network::{
    DenseLayer, Gru, GruNetwork, GruState, GruWeights, NetworkShape, SWISH_STEPS, ShapeError,
    SwishInput, SwishLoad, SwishNet, SwishPass, SwishShape, SwishWeights, WindowRows, add_products,
};
pub use not_ready::{NotEnoughHistory, NotReady};
pub use peak::A_TENTH;
pub use peak::{
    Cover, GlobalPeaks, INPUTS, Inputs, LEVELS, Lookback, Masks, MinuteForecast, MinuteLookback,
    Minutes, OwnPeaks, Peak, PeakContext, PeakForecaster, PeakModelError, Quantiles, inputs,
    own_quantiles,
};
pub use point_model::PointModel;
pub use prediction::{Forecast, ForecastStep, Interval};
pub use residual_checks::ResidualChecks;
pub use rolling_model::RollingModel;
pub use scored_model::ScoredModel;
pub use selected_forecast::SelectedForecast;
pub use series::{GapFreeSeries, RegularSeries, RegularSeriesError};
pub use traffic::{
    CalendarInputs, HeldOutDay, LinearResidual, RESIDUAL_INPUTS, TRAFFIC_VERSION, TrafficModel,
    TrafficModelError,
};
pub use trainer::{Trainer, TrainingError, TreeRow};
pub use trees::{MISSING, MOST_INPUTS, TreeInput, TreeNode, Trees, TreesError, tree_input};
pub use trust::{Distrust, ModelTrust, Rival};
