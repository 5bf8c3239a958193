//! A cluster in virtual time: what Pods use, when they are ready, how late metrics are, and what
//! kube-scheduler and a plain HorizontalPodAutoscaler do by default.
//!
//! `dev` puts the same parts behind a real API; [`plain`] runs them alone and fast, as the other
//! side of the comparison. Everything is a function of scenario, seed and time.

pub mod autoscaler;
pub mod hpa;
pub mod lag;
pub mod lifecycle;
pub mod load;
pub mod plain;
pub mod random;
pub mod scenario;
pub mod scheduling;
pub mod scrape;
pub mod summary;
pub mod target;
pub mod trace;

pub use lag::Lags;
pub use plain::Plain;
pub use scenario::Scenario;
pub use summary::{Recorder, Summary};
