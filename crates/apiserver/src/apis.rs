//! The parts of the API that are computed and not stored.

pub(crate) mod authorization;
pub(crate) mod custom_metrics;
pub(crate) mod discovery;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod proxy;
