//! Fitting of Evenkeel's forecast models.
//!
//! The models are in `evenkeel-forecast`, and need none of this. Fitting takes libraries, time and
//! memory, so commands and the background of the service do it. The same rows give the same model,
//! for any number of threads.

mod boosting;
mod caching_trainer;
mod gradient_descent;
mod holdout_fit;
mod network_file;
mod networks;
mod peak_evaluation;
mod peaks;
mod swish;
mod swish_file;
mod swish_pasts;
pub mod synthetic;
mod tensors;
mod traffic;
mod trainer;

pub use boosting::{BoostingError, BoostingSettings, Rows, fit, fit_mean};
pub use caching_trainer::TrainedOnce;
pub use gradient_descent::Descent;
pub use holdout_fit::learn;
pub use network_file::{HeldOutError, NetworkDescription, NetworkFile};
pub use networks::{NetworkError, NetworkSettings, fit_networks};
pub use peak_evaluation::{PeakEvaluation, judge};
pub use peaks::{GlobalSettings, OwnSettings, fit_global};
pub use swish::{SwishSeries, SwishSettings, fit_swish};
pub use swish_file::{LearntLoad, OtherStep, SwishDescription, SwishFile, SwishLoads};
pub use swish_pasts::{SwishName, SwishPasts};
pub use synthetic::synthetic;
pub use tensors::{MODEL_VERSION, ModelFileError};
pub use traffic::{TrafficFitError, TrafficNames, TrafficSample, TrafficSettings, fit_traffic};
pub use trainer::ModelTrainer;
