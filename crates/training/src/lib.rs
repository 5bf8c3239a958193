//! Fitting of the models that Evenkeel forecasts with.
//!
//! What serves is in `evenkeel-core`, and needs none of this. Fitting takes libraries, time and memory, so it is apart,
//! and runs where nobody waits for it. The same rows give the same model, whatever the number of
//! threads.

mod boosting;
mod held_out;
mod judged;
mod peaks;
mod synthetic;

pub use boosting::{BoostingError, BoostingSettings, Rows, fit};
pub use held_out::{HeldOut, hold_out};
pub use judged::{Judged, judge};
pub use peaks::{GlobalSettings, OwnSettings, fit_global, fit_own};
pub use synthetic::synthetic;
