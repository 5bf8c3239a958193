//! The forecast that a decision reads, with what is known of its model.

use super::accuracy::HorizonAccuracy;
use super::not_ready::NotReady;
use super::prediction::Forecast;
use super::trust::ModelTrust;

#[derive(Debug, Clone, PartialEq)]
pub struct SelectedForecast {
    pub model: &'static str,
    /// Or the time until there is one.
    pub forecast: Result<Forecast, NotReady>,
    /// Decides whether the forecast is acted on or ignored.
    pub trust: ModelTrust,
    pub accuracy: HorizonAccuracy,
    /// Models that cannot forecast yet.
    pub lacking: Vec<NotReady>,
    /// The load to have capacity for, if it differs from the expected load.
    pub cover: Option<f64>,
}
