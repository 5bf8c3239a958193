//! The settings of scaling in the configuration.

use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_units::max_age;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::specs::scaling_policy::PredictionModel;

/// The settings that count where neither a target nor its namespace says anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The way in which decisions act.
    pub mode: ScalingMode,
    /// The models that loads are predicted with.
    pub predict: PredictionModel,
    /// The time between two ticks.
    pub interval: SignedDuration,
    /// The age from which a measurement no longer counts.
    pub max_age: SignedDuration,
    /// The loads that annotations may name.
    pub queries: Queries,
    /// The share of time in which a floor may be too low.
    pub risk: Risk,
    /// True where Pods are taken out of traffic for ReplicaProfiles.
    pub follows_profiles: bool,
    /// True where the external checks of changes are asked.
    pub asks_checks: bool,
}

/// The loads that annotations may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queries {
    /// Those that every source of measurements tells: there is no Prometheus.
    #[serde(skip)]
    Measured,
    /// The presets as well, by queries that are not their author's.
    #[default]
    Presets,
    /// Any PromQL, asked with Evenkeel's own rights.
    Any,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: ScalingMode::default(),
            predict: PredictionModel::default(),
            // As the HPA controller looks at its objects.
            interval: SignedDuration::from_secs(15),
            max_age: max_age::DEFAULT,
            // The configuration asks a Prometheus unless it says otherwise.
            queries: Queries::Presets,
            risk: Risk::default(),
            follows_profiles: false,
            asks_checks: false,
        }
    }
}
