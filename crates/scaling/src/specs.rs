//! Specs of custom resources and scaling annotations, checked once for each version of an object.

pub mod cron_hpa;
pub mod external_job;
pub mod horizontal_portrait;
pub mod ihpa;
mod load_query;
pub mod portrait;
pub mod scaling_policy;
mod traffic_query;
