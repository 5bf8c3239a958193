//! The forecast that a decision reads, with what is known of its model.

use super::accuracy::HorizonAccuracy;
use super::not_ready::NotReady;
use super::prediction::Forecast;
use super::trust::ModelTrust;

/// The chosen model, with its forecast.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SelectedForecast {
    /// The name of the model.
    pub(crate) model: &'static str,
    /// Its forecast, or the time until it has one.
    pub(crate) forecast: Result<Forecast, NotReady>,
    /// The judgement by which the forecast is acted on or ignored.
    pub(crate) trust: ModelTrust,
    /// The figures behind that.
    pub(crate) accuracy: HorizonAccuracy,
    /// The models that cannot forecast yet.
    pub(crate) lacking: Vec<NotReady>,
    /// The load that capacity is to be there for, where that is not what is expected.
    pub(crate) cover: Option<f64>,
}
