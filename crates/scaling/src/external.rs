//! Answers and questions of other programs: checks of running changes, the External metric, and portraits of
//! algorithms.

pub mod checks;
pub mod metrics;
pub mod portraits;
